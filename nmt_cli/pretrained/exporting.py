"""A translation bundle -> a folder that Hugging Face `transformers` loads, with the same logits.

Two of its architectures carry ours: Marian has norms behind sublayers, Pegasus in front of them. A
norm, a residual sum and a product of matrices do not care in which order the columns of the hidden
states are, so long as all keep to it; so ours, in which sines and cosines alternate, are put into
theirs, all sines first. Their norms add 1e-5 to the variance, ours 1e-6: that is all that differs.

What came from SentencePiece goes back into two of its models and `vocab.json`, as Marian's
tokenizer wants them; our own vocabulary is a `tokenizer.json` that any of its programs reads.
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec
from tokenizers import processors

from nmt_cli.bundle.folder import Bundle
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.model_card import front_matter
from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import ConfigError
from nmt_cli.files import atomic_dir
from nmt_cli.model.weights import Arrays, never_written_bias
from nmt_cli.pretrained.bart import EPSILON, KEYS
from nmt_cli.pretrained.layout import STATES, stack_rows
from nmt_cli.pretrained.marian import halved_sinusoids
from nmt_cli.pretrained.tensors import SAFE
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID, HIDDEN, PAD_ID, UNKNOWN
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

# By where the norms are: `model_type`, and the class.
_KINDS = {
    "post": ("marian", "MarianMTModel"),
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
}
_CARD = """{}

# {}

A translation model, written for `transformers` by nmt {}.

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
batch = tokenizer(["..."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```
"""


def write_huggingface(bundle: Bundle, target: Path) -> str:
    """Write a bundle as a folder for `transformers`; return the class that loads it.

    Raises:
        ConfigError: The model is of a kind that is not written, or the folder is in use.
        ModelFileError: The bundle is damaged.
    """
    is_ours = (target / "config.json").is_file() and (target / SAFE).is_file()
    if target.exists() and not is_ours and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(
            f"--huggingface {target}: exists already and is not such a model",
            hint="name a new folder",
        )
    vocabularies, weights = Vocabularies.load(bundle.path), bundle.load_weights()
    model = ModelConfig().model_dump() | bundle.manifest.model
    if reasons := _obstacles(bundle, model, vocabularies, weights):
        raise ConfigError(
            f"{bundle.named}: --huggingface writes no model with {', '.join(reasons)}",
            hint="--share works for every model",
        )
    is_imported = vocabularies.source.is_imported
    size = vocabularies.target.vocab_size
    # A published model has no tokens of ours, and begins with its <pad>.
    rows = [EOS_ID, *range(len(CONTROL_TOKENS), size), BOS_ID] if is_imported else [*range(size)]
    ids = {"pad_token_id": rows.index(BOS_ID if is_imported else PAD_ID)}
    ids |= {"eos_token_id": rows.index(EOS_ID), "decoder_start_token_id": rows.index(BOS_ID)}
    generation = _generation(bundle.manifest) | ids
    if is_imported:
        generation["bad_words_ids"] = [[ids["pad_token_id"]]]
    else:  # elsewhere the search is told which tokens are no output
        bias = weights.get("output_bias", np.zeros(size, np.float32))
        following = len(vocabularies.target.unmade)  # there are no tags in between
        weights["output_bias"] = bias + never_written_bias(size, num_tags=following)
    write_vocabulary = _write_sentencepiece if is_imported else _write_tokenizer
    with atomic_dir(target) as folder:
        save_file(_tensors(weights, model, rows), folder / SAFE, metadata={"format": "pt"})
        files = write_vocabulary(vocabularies, bundle.manifest, folder)
        files["config.json"] = _config(model, len(rows)) | ids
        files["generation_config.json"] = generation
        for name, values in files.items():
            text = json.dumps(values, ensure_ascii=False, indent=2)
            (folder / name).write_text(text, encoding="utf-8")
        front = "\n".join(front_matter(bundle.manifest, library="transformers"))
        card = _CARD.format(front, bundle.manifest.name, bundle.manifest.versions["nmt"])
        (folder / "README.md").write_text(card, encoding="utf-8")
    return _KINDS[model["norm"]][1]


def _obstacles(
    bundle: Bundle, model: dict[str, Any], vocabularies: Vocabularies, weights: Arrays
) -> list[str]:
    """Return what of a model cannot be written."""
    halved = halved_sinusoids(model["max_length"], model["d_model"])
    tables = [weights.get(f"{side}.positions", halved) for side in ("encoder", "decoder")]
    has_other_positions = model["positions"] != "sinusoidal" and not all(
        table.shape == halved.shape and np.allclose(table, halved, atol=1e-6) for table in tables
    )
    found = {
        f"the task {bundle.manifest.task}": not bundle.manifest.facts.is_parallel,
        "activation: swiglu": model["activation"] == "swiglu",
        "turn embeddings": model["turn_embeddings"],
        "several languages": bundle.manifest.languages != {},
        "norms of embeddings": model.get("embedding_norm", "none") != "none",
        f"positions: {model['positions']}": has_other_positions,
        f"norm_epsilon: {model['norm_epsilon']:g}": model["norm_epsilon"] > EPSILON,
        "two vocabularies or untied embeddings": "embedding" not in weights,
    }
    return [what for what, is_there in found.items() if is_there]


def _tensors(weights: Arrays, model: dict[str, Any], rows: Sequence[int]) -> Arrays:
    """Return our weights under their published names, with `rows` of the tables of tokens."""
    columns = np.arange(model["d_model"])
    if model["positions"] == "sinusoidal":
        columns = np.concatenate([columns[::2], columns[1::2]])
    found: Arrays = {
        "model.shared.weight": weights["embedding"][rows][:, columns],
        "final_logits_bias": weights["output_bias"][None, rows],
    }
    for side in ("encoder", "decoder"):
        if model["norm"] == "pre":
            positions = halved_sinusoids(model["max_length"], model["d_model"])
            found[f"model.{side}.embed_positions.weight"] = positions
        for row in stack_rows(side, model | {"positions": "table"}):
            if row.ours in weights:
                parts = row.parted(weights[row.ours])
            else:  # a bias that ours has not
                parts = {name: np.zeros(model["d_model"], np.float32) for name in row.theirs}
            for axis, kind in enumerate(row.axes):
                if kind == STATES:
                    parts = {name: part.take(columns, axis) for name, part in parts.items()}
            found |= parts
    # safetensors writes the memory as it lies: a transposed array would come back wrong.
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def _config(model: dict[str, Any], vocab_size: int) -> dict[str, Any]:
    model_type, architecture = _KINDS[model["norm"]]
    shared = {"decoder_vocab_size": vocab_size, "share_encoder_decoder_embeddings": True}
    return {
        "model_type": model_type,
        "architectures": [architecture],
        "vocab_size": vocab_size,
        **{theirs: model[ours] for theirs, ours in KEYS.items()},
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "bos_token_id": None,
        "forced_eos_token_id": None,
        **(shared if model_type == "marian" else {}),
    }


def _generation(manifest: Manifest) -> dict[str, Any]:
    """Return the options of search that mean the same there; lengths count `<s>`."""
    decode = manifest.decode
    return {
        "num_beams": decode["beam_size"],
        "length_penalty": decode["length_penalty"],
        "early_stopping": True,  # as soon as there are as many outputs as beams
        "max_length": min(decode["max_length"], manifest.model["max_length"]) + 1,
        "no_repeat_ngram_size": decode["no_repeat_ngram_size"],
        "repetition_penalty": decode["repetition_penalty"],
    }


def _write_tokenizer(words: Vocabularies, manifest: Manifest, folder: Path) -> dict[str, Any]:
    """Write our own vocabulary, and return what belongs into other files.

    A `</s>` that somebody types stays text, as it is here.
    """
    tokenizer = words.source.tokenizer.from_str(words.source.to_json())
    pad, end = CONTROL_TOKENS[PAD_ID], CONTROL_TOKENS[EOS_ID]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B {end}", special_tokens=[(end, EOS_ID)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": pad,
        "eos_token": end,
        "additional_special_tokens": [name for name in CONTROL_TOKENS if name not in (pad, end)],
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": manifest.model["max_length"],
    }
    return {"tokenizer_config.json": settings}


def _write_sentencepiece(words: Vocabularies, manifest: Manifest, folder: Path) -> dict[str, Any]:
    """Write imported vocabularies for Marian's tokenizer; return what belongs into other files."""
    (folder / "source.spm").write_bytes(_sentencepiece_of(words.source))
    (folder / "target.spm").write_bytes(_sentencepiece_of(words.target))
    tokens = words.target.all_tokens()[len(CONTROL_TOKENS) :]
    names = [CONTROL_TOKENS[EOS_ID], *tokens, CONTROL_TOKENS[PAD_ID]]
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": manifest.source_lang,
        "target_lang": manifest.target_lang,
        "separate_vocabs": False,
        "model_max_length": manifest.model["max_length"],
    }
    ids = {name: number for number, name in enumerate(names)}
    return {"vocab.json": ids, "tokenizer_config.json": settings}


def _sentencepiece_of(subwords: Subwords) -> bytes:
    """Return a SentencePiece model that splits as an imported vocabulary does."""
    state = json.loads(subwords.to_json())
    steps = {step["type"]: step for step in state["normalizer"]["normalizers"]}
    model, kinds = ModelProto(), ModelProto.SentencePiece
    model.trainer_spec.model_type = TrainerSpec.UNIGRAM
    model.pieces.add(piece=UNKNOWN, score=0.0, type=kinds.UNKNOWN)
    for name in ("<s>", "</s>"):
        model.pieces.add(piece=name, score=0.0, type=kinds.CONTROL)
    for name, score in state["model"]["vocab"]:
        if not name.startswith(HIDDEN):
            model.pieces.add(piece=name, score=score)
    if "Precompiled" in steps:
        charsmap = base64.b64decode(steps["Precompiled"]["precompiled_charsmap"])
        model.normalizer_spec.precompiled_charsmap = charsmap
    model.normalizer_spec.remove_extra_whitespaces = "Replace" in steps
    model.normalizer_spec.add_dummy_prefix = state["pre_tokenizer"]["prepend_scheme"] == "always"
    return bytes(model.SerializeToString())
