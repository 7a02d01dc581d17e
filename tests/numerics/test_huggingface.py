"""What `transformers` makes of models that `nmt export --huggingface` wrote.

    pip install '.[test,peers]' && pytest tests/numerics/test_huggingface.py

Without PyTorch they are skipped; what of the files can be told without it is in
tests/unit/pretrained/test_exporting.py.
"""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch._dynamo")  # its compiler, Triton, crashes if TensorFlow is there first
transformers = pytest.importorskip("transformers")

from small_bundles import own_bundle  # noqa: E402

from nmt_cli.bundle.folder import open_bundle  # noqa: E402
from nmt_cli.pretrained.exporting import write_huggingface  # noqa: E402
from nmt_cli.pretrained.importing import import_model  # noqa: E402
from nmt_cli.search.loading import EngineOptions, load_engine, search_options  # noqa: E402
from nmt_cli.search.tensorflow_engine import load_engine as load_tensorflow_engine  # noqa: E402
from nmt_cli.text.special_tokens import BOS_ID, EOS_ID, never_written  # noqa: E402
from nmt_cli.text.vocabulary import Vocabularies  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

PUBLISHED = Path(__file__).parents[1] / "data" / "pretrained" / "marian"
TEXTS = ["red dog", "a big cat sees the old bird and not", "Ünïcode 日本"]
TOLERANCE = 1e-4  # of the largest logit


@pytest.fixture(scope="module", params=["imported", "post", "pre", "gelu", "trained"])
def pair(request, tmp_path_factory, toy_bundle):
    """A bundle of ours and what `transformers` loaded of it."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "imported":
        bundle = import_model(str(PUBLISHED), folder / "model")
    elif request.param == "trained":
        bundle = open_bundle(toy_bundle)
    elif request.param == "gelu":
        bundle = own_bundle(folder, activation="gelu", attention_bias=True, output_bias=True)
    else:
        bundle = own_bundle(folder, norm=request.param)
    write_huggingface(bundle, folder / "written")
    model, told = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder / "written", output_loading_info=True
    )
    assert not [name for names in told.values() for name in names if "embed_positions" not in name]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "written")
    return bundle, model.eval(), tokenizer


def to_ours(bundle, tokenizer, ids) -> list[int]:
    """Return our ids of published ones: only imported models have others."""
    subwords = Vocabularies.load(bundle.path).target
    if not subwords.is_imported:
        return list(ids)
    names = tokenizer.convert_ids_to_tokens(ids)
    return [BOS_ID if name == "<pad>" else subwords.ids([name])[0] for name in names]


def test_tokens_and_logits_are_the_same(pair):
    bundle, model, tokenizer = pair
    vocabularies = Vocabularies.load(bundle.path)
    # Marian's tokenizer takes a typed control token for one; ours never does.
    texts = [*TEXTS, *([] if vocabularies.source.is_imported else ["</s> <pad> typed"])]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    ours = [[*vocabularies.source.encode(text), EOS_ID] for text in texts]
    for row, mask, expected in zip(batch.input_ids, batch.attention_mask, ours, strict=True):
        assert to_ours(bundle, tokenizer, row[mask.bool()].tolist()) == expected
    start = model.config.decoder_start_token_id
    rows = [[start, 270, 280, 290], [start, 265, 266, 267], [start, 9, 8, 7], [start, 99, 98, 97]]
    targets = torch.tensor(rows[: len(texts)])
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=targets).logits.numpy()
    running = load_tensorflow_engine(bundle, batch_tokens=1024, threads=1).model
    longest = max(map(len, ours))
    sources = np.array([[*row, *[0] * (longest - len(row))] for row in ours])
    read = np.array([to_ours(bundle, tokenizer, row.tolist()) for row in targets])
    states = running.decode(read, running.start_cache(running.encode(sources)))
    found = running.logits(states).numpy().reshape(*targets.shape, -1)
    ids = [i for i in range(logits.shape[-1]) if i != model.config.pad_token_id]
    columns = to_ours(bundle, tokenizer, ids)
    kept = [k for k, column in enumerate(columns) if column not in never_written(0)]
    expected = logits[..., np.array(ids)[kept]]
    difference = np.abs(found[..., np.array(columns)[kept]] - expected).max()
    assert difference < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_outputs_are_the_same(pair, beam_size):
    bundle, model, tokenizer = pair
    vocabularies = Vocabularies.load(bundle.path)
    options = search_options(bundle, beam_size=beam_size, max_length=20)
    options = options.override(length_penalty=1.0)
    running = load_engine(bundle, vocabularies, EngineOptions())
    sources = [[*vocabularies.source.encode(text), EOS_ID] for text in TEXTS]
    expected = [row[0].ids for row in running.search(sources, options)]
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    limits = {"num_beams": beam_size, "max_new_tokens": 20, "length_penalty": 1.0}
    written = model.generate(**batch, do_sample=False, max_length=None, **limits)
    skipped = {model.config.pad_token_id, model.config.eos_token_id}
    skipped.add(model.config.decoder_start_token_id)
    for row, ids in zip(written.tolist(), expected, strict=True):
        kept = [i for i in row if i not in skipped]
        assert to_ours(bundle, tokenizer, kept) == [i for i in ids if i != EOS_ID]
        text = vocabularies.target.decode(ids)
        assert tokenizer.decode(row, skip_special_tokens=True) == text
