"""`bundle.json`: what a model is, read by the standard library alone, each value checked."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePath
from typing import Any, get_origin

from nmt_cli.config.tasks import TASKS, TaskFacts
from nmt_cli.errors import ModelFileError
from nmt_cli.text.languages import Languages

FORMAT_VERSION = 1
MANIFEST = "bundle.json"
CTRANSLATE2 = "ctranslate2"
_CHECKSUM = "crc32"  # of the manifest itself


@dataclass(frozen=True)
class Manifest:
    """What `bundle.json` says."""

    name: str  # the run's name
    task: str  # "translation", "chat" or "classification"
    source_lang: str  # code of the source language, may be empty
    target_lang: str  # code of the target language, may be empty
    parameters: int  # number of weights
    model: dict[str, Any]  # the `model` section of the configuration
    decode: dict[str, Any]  # the `decode` section: the default search options
    chat: dict[str, Any]  # the `chat` section
    vocabulary: dict[str, Any]  # `{"source": tokens, "target": tokens, "joint": bool}`
    # `{"dev" | "test": {"bleu" | ...: {"score", "signature"}}}`
    scores: dict[str, dict[str, dict[str, Any]]]
    training: dict[str, Any]  # steps, pairs, data fingerprint
    versions: dict[str, str]  # of nmt and of the libraries that matter
    # `{"auto": number format to use, "formats": {name: what is known of it}}`
    ctranslate2: dict[str, Any] = field(default_factory=dict)
    # how many weights the embeddings, the encoder, ... have; older bundles do not say
    parts: dict[str, int] = field(default_factory=dict)
    licence: str = ""  # of the training data, may be empty
    # of a classifier the `classification` section, its labels among it, and how many `texts` it
    # reads together
    classification: dict[str, Any] = field(default_factory=dict)
    # which tokens say which languages are meant, as `Languages.as_json` has it; empty for one pair
    languages: dict[str, Any] = field(default_factory=dict)
    # file name -> `{"bytes", "sha256", "crc32"}`; older bundles have no crc32
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION  # of this layout

    @property
    def facts(self) -> TaskFacts:
        """What there is to know of the task."""
        return TASKS[self.task]

    @property
    def known_languages(self) -> Languages:
        """The languages that it reads and writes."""
        return Languages.of_manifest(self.languages, (self.source_lang, self.target_lang))

    @property
    def layers(self) -> str:
        """Depths, for people: of encoder and decoder, or of an encoder alone."""
        depth = f"{self.model['encoder_layers']}"
        return depth if self.facts.has_labels else f"{depth}+{self.model['decoder_layers']}"

    @property
    def examples(self) -> str:
        """What it was trained on, for people."""
        return "texts" if self.facts.has_labels else "pairs"

    @property
    def dev_loss(self) -> str:
        """Its loss on development text, for people; "" where that is not known."""
        loss = self.training.get("dev_loss")
        unit = "per example" if self.facts.has_labels else "per token"
        return "" if loss is None else f"{loss:.3f} nats {unit}"

    def megabytes(self, number_format: str) -> float:
        """Return the size of CTranslate2's files in one number format."""
        folder = f"{CTRANSLATE2}/{number_format}/"
        sizes = (known["bytes"] for name, known in self.files.items() if name.startswith(folder))
        return float(sum(sizes)) / 1e6


def as_text(manifest: Manifest) -> str:
    """Return a manifest as its file has it."""
    values = asdict(manifest)
    values[_CHECKSUM] = _checksum(values)
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _checksum(values: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a manifest's values, whatever their order and layout in the file."""
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def read_manifest(path: Path) -> Manifest:
    """Return what a `bundle.json` says; ModelFileError if it says what no model can be."""
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a regular file")
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not readable as a model's manifest: {error}") from error
    version = values.get("format_version") if isinstance(values, dict) else None
    if not isinstance(version, int):
        raise ModelFileError(f"{path}: not a model's manifest (no format_version)")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format version {version}; this nmt reads up to {FORMAT_VERSION}",
            hint="update nmt: pip install --upgrade nmt-cli",
        )
    checksum = values.pop(_CHECKSUM, None)  # an older nmt wrote none
    try:
        manifest = Manifest(**values)
    except TypeError as error:
        raise ModelFileError(f"{path}: damaged: {error}") from error
    for entry in fields(Manifest):
        kind: Any = get_origin(entry.type) or entry.type
        if not isinstance(getattr(manifest, entry.name), kind):
            raise ModelFileError(f"{path}: damaged: '{entry.name}' is not of the right type")
    for name, known in manifest.files.items():
        if not isinstance(known, dict) or not {"bytes", "sha256"} <= known.keys():
            raise ModelFileError(f"{path}: damaged: 'files' does not list {name}")
    if problem := next(_problems(manifest), None):
        raise ModelFileError(f"{path}: damaged: {problem}")
    if checksum not in (None, _checksum(values)):
        raise ModelFileError(
            f"{path}: damaged: its checksum is wrong",
            hint=f'if you changed it yourself, remove the line "{_CHECKSUM}"',
        )
    return manifest


def _problems(manifest: Manifest) -> Iterator[str]:
    """Yield what is wrong with the values of a manifest; pydantic's import would take longer."""
    if manifest.task not in TASKS:
        yield f"unknown task {manifest.task!r}"
    for name, known in manifest.files.items():
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts or "\0" in name:
            yield f"'files' names {name!r}, which is not in the folder"
        if not all(_is_number(known.get(key, 0), int, 0) for key in ("bytes", "crc32")):
            yield f"'files' does not say how large {name} is"
    sections = ("model", "decode", "chat", "vocabulary", "training", "classification")
    for section in sections:
        for key, value in getattr(manifest, section).items():
            if (is_fine := _KINDS.get(key)) and not is_fine(value):
                yield f"{section}.{key} cannot be {value!r:.40}"
    for section, keys in _needed(manifest).items():
        yield from (
            f"{section}.{k} is missing" for k in keys if k not in getattr(manifest, section)
        )
    if not all(_is_number(number, int) for number in manifest.parts.values()):
        yield "'parts' are not numbers"
    if not all(isinstance(version, str) for version in manifest.versions.values()):
        yield "'versions' are not texts"
    for name, scores in manifest.scores.items():
        values = scores.values() if isinstance(scores, dict) else [None]
        if not all(isinstance(v, dict) and _is_score(v) for v in values):
            yield f"scores.{name} are not scores"
    yield from _language_problems(manifest)
    yield from _format_problems(manifest.ctranslate2)


def _needed(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Return the keys that each section must have."""
    has_labels = manifest.facts.has_labels
    return {
        "model": _MODEL_KEYS if has_labels else (*_MODEL_KEYS, "decoder_layers"),
        "decode": ("beam_size",),
        "vocabulary": ("source", "target", "joint"),
        "versions": ("nmt",),
        "classification": _LABEL_KEYS if has_labels else (),
    }


def _is_score(values: dict[str, Any]) -> bool:
    return _is_number(values.get("score"), float) and isinstance(values.get("signature"), str)


def _language_problems(manifest: Manifest) -> Iterator[str]:
    known = manifest.languages
    if known:
        sides = known.get("source"), known.get("target")
        are_texts = all(
            isinstance(side, dict) and all(isinstance(token, str) for token in side.values())
            for side in sides
        )
        if not are_texts or not isinstance(known.get("forced"), bool):
            yield "'languages' does not say which tokens they have"
            return
    if manifest.vocabulary.get("tags", 0) != len(manifest.known_languages.tokens):
        yield "'languages' and 'vocabulary' have different numbers of tokens"


def _format_problems(known: dict[str, Any]) -> Iterator[str]:
    formats = known.get("formats", {})
    if not isinstance(formats, dict) or not all(isinstance(f, dict) for f in formats.values()):
        yield "ctranslate2.formats has a format without facts"
        return
    if any(not name.replace("_", "").isalnum() for name in formats):
        yield "ctranslate2.formats names an unknown number format"
    if known and known.get("auto") not in list(formats):
        yield f"ctranslate2.auto is {known.get('auto')!r:.40}, which the model does not have"
    for facts in formats.values():
        scores = [facts[key] for key in ("bleu", "accuracy") if facts.get(key) is not None]
        measured = [facts.get("megabytes", 0), *scores]
        measured += [facts.get("lines_per_second")] if scores else []
        if not all(_is_number(number, float) for number in measured):
            yield "ctranslate2.formats has a score that is not a number"


_MOST_OF_ALL = 1 << 53


def _is_number(value: Any, kind: type, least: float = -_MOST_OF_ALL) -> bool:
    """Return whether a value is a finite number from `least`; a whole one if `kind` is int."""
    kinds = (int,) if kind is int else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    return is_number and least <= value <= _MOST_OF_ALL


def _is_origin(value: Any) -> bool:
    """Return whether a value says where a model was imported from."""
    keys = {"source", "family", "revision"}
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


_MODEL_SIZES = ("d_model", "d_ff", "num_heads", "encoder_layers", "max_length")
_MODEL_KEYS = (*_MODEL_SIZES, "norm", "activation", "positions")
_LABEL_KEYS = ("labels", "multi_label", "separator", "threshold", "pooling", "texts")
_COUNTS = ("beam_size", "source", "target", *_MODEL_SIZES)
_WHOLE: tuple[str, ...] = ("decoder_layers", "min_length", "no_repeat_ngram_size", "top_k")
_WHOLE += ("tags", "history_turns", "rerank", "step", "pairs", "long_source", "finished_step")
_REAL: tuple[str, ...] = ("length_penalty", "coverage_penalty", "min_length_ratio", "dropout")
_REAL += ("repetition_penalty", "temperature", "top_p", "borrowed_history", "anti_generic_weight")
_REAL += ("norm_epsilon", "threshold")
_MAY_MISS = ("max_length_ratio", "dev_loss")
_TRUTHS = ("sample", "joint", "turn_embeddings", "attention_bias", "output_bias", "multi_label")
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_COUNTS, lambda v: _is_number(v, int, 1) and v < 1 << 31),
    **dict.fromkeys(_WHOLE, lambda v: _is_number(v, int, 0)),
    **dict.fromkeys(_REAL, lambda v: _is_number(v, float)),
    **dict.fromkeys(_MAY_MISS, lambda v: v is None or _is_number(v, float)),
    **dict.fromkeys(_TRUTHS, lambda v: isinstance(v, bool)),
    "norm": lambda v: v in ("pre", "post"),
    "activation": lambda v: v in ("relu", "gelu", "silu", "swiglu"),
    "embedding_norm": lambda v: v in ("none", "encoder", "both"),
    "positions": lambda v: v in ("sinusoidal", "learned", "table"),
    "imported": _is_origin,
    "pooling": lambda v: v in ("mean", "max", "first"),
    "texts": lambda v: v in (1, 2),
    "separator": lambda v: isinstance(v, str) and v != "",
    "fingerprint": lambda v: isinstance(v, str),
    "persona": lambda v: v is None or isinstance(v, str),
    "labels": lambda v: v is None or (isinstance(v, list) and all(isinstance(x, str) for x in v)),
}
