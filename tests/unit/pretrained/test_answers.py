"""Imported models that write text against what `transformers` makes of it (make_pretrained)."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.pretrained.importing import import_model
from nmt_cli.search.loading import EngineOptions, load_engine, search_options
from nmt_cli.search.tensorflow_engine import load_engine as load_tensorflow_engine
from nmt_cli.text.shards import Encoder
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID, PAD_ID
from nmt_cli.text.vocabulary import Vocabularies

FOLDER = Path(__file__).parents[2] / "data" / "pretrained"
NEVER_WRITTEN = [i for i in range(len(CONTROL_TOKENS)) if i != EOS_ID]
TOLERANCE = 1e-4  # of the largest logit; those in the file are rounded to 1e-5


class Case:
    """A published model, its bundle, and the ids of one as ids of the other."""

    def __init__(self, name: str, target: Path) -> None:
        self.answers = json.loads((FOLDER / name / "answers.json").read_text())
        config = json.loads((FOLDER / name / "config.json").read_text())
        ids = json.loads((FOLDER / name / "vocab.json").read_text())
        self.bundle = import_model(FOLDER / name, target)
        self.vocabularies = Vocabularies.load(self.bundle.path)
        self.pad, self.eos = config["pad_token_id"], config["eos_token_id"]
        self.start = config["decoder_start_token_id"]
        rest = [i for i in sorted(ids.values()) if i not in (self.pad, self.eos, self.start)]
        # Ours first control tokens, then the published ones in their order.
        self.theirs = [self.pad, self.start, self.eos, None, None, None, *rest]
        self.ours = {i: n for n, i in reversed([*enumerate(self.theirs)])}

    def rows(self, name: str) -> list[list[int]]:
        """Return rows of the answers as our ids."""
        return [[self.ours[i] for i in row] for row in self.answers[name]]

    def published(self, ids) -> list[int]:
        """Return their ids of ours; what is beyond stands for the unknown token."""
        return [self.theirs[i] if i < len(self.theirs) else 3 for i in ids]


@pytest.fixture(scope="module", params=["marian", "blenderbot-small", "blenderbot"])
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp("imported") / request.param)


def test_text_becomes_the_ids_of_the_published_tokenizer(case):
    """Spaces, full-width letters, ligatures, emoji, unknown runs, and control tokens as typed."""
    for text, ids in zip(case.answers["texts"], case.answers["ids"], strict=True):
        assert case.published(case.vocabularies.source.encode(text)) == ids, text


def test_no_text_makes_a_control_token_or_one_of_the_other_side(case):
    for side in (case.vocabularies.source, case.vocabularies.target):
        for text in (*side.all_tokens(), " </s> <pad>", "<s><user> <unk>"):
            ids = side.encode(text)
            assert not {*ids} & {*range(len(CONTROL_TOKENS))}, text


def test_both_sides_share_their_ids(case):
    assert case.vocabularies.joint
    assert case.bundle.manifest.vocabulary["joint"]


def test_logits_are_those_of_transformers(case):
    model = load_tensorflow_engine(case.bundle, batch_tokens=1024, threads=1).model
    rows = case.rows("sources")
    width = max(map(len, rows))
    padded = tf.constant([[*row, *[PAD_ID] * (width - len(row))] for row in rows])
    targets = [[BOS_ID, *row[1:]] for row in case.rows("targets")]
    states = model.decode(tf.constant(targets), model.start_cache(model.encode(padded)))
    logits = model.logits(states).numpy()
    expected = np.array(case.answers["logits"])
    expected = expected.reshape(-1, expected.shape[-1])
    columns = [i for i in range(expected.shape[1]) if i not in (case.pad, case.start)]
    found = logits[:, [case.ours[i] for i in columns]]
    np.testing.assert_allclose(found, expected[:, columns], atol=TOLERANCE * np.abs(expected).max())
    assert logits[:, NEVER_WRITTEN].max() < -9000
    assert logits[:, len(case.theirs) :].max(initial=-1e4) < -9000


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
@pytest.mark.parametrize(("search", "beam_size"), [("greedy", 1), ("beam", 4)])
def test_outputs_are_those_of_transformers(case, engine, search, beam_size):
    running = load_engine(case.bundle, case.vocabularies, EngineOptions(engine=engine))
    options = search_options(case.bundle, beam_size=beam_size, max_length=20)
    options = options.override(min_length=0, length_penalty=1.0)
    found = running.search(case.rows("sources"), options)
    assert [case.published(row[0].ids) for row in found] == case.answers[search]


def test_decoded_text_is_that_of_transformers(case):
    for ids, text in zip(case.rows("greedy"), case.answers["greedy_texts"], strict=True):
        # A word that the limit of length cut off would end with @@.
        assert case.vocabularies.target.decode(ids) == text.strip().removesuffix("@@")


def test_much_text_gets_the_same_ids_as_single_lines(case):
    """In imported vocabularies a word may be split in another way beside other words."""
    source, target = case.vocabularies.source, case.vocabularies.target
    encoder = Encoder(source, target, is_chat=False, persona=None, max_length=99)
    texts = [f" {text}  {text} " for text in case.answers["texts"]]
    assert encoder.with_word_cache().source.encode_batch(texts) == [*map(source.encode, texts)]
