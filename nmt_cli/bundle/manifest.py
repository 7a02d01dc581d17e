"""`bundle.json`: what a model is, read by the standard library alone, each value checked."""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path, PurePath
from typing import Any

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
    values = _read_json(path)
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
    except TypeError:
        raise ModelFileError(f"{path}: damaged: {next(_wrong_keys(values))}") from None
    if problem := next(_problems(manifest), None):
        raise ModelFileError(f"{path}: damaged: {problem}")
    if checksum not in (None, _checksum(values)):
        raise ModelFileError(
            f"{path}: damaged: its checksum is wrong",
            hint=f'if you changed it yourself, remove the line "{_CHECKSUM}"',
        )
    return manifest


def _read_json(path: Path) -> Any:
    """Return what a JSON file has; ModelFileError tells what is wrong with it."""
    line = ""
    try:
        if not path.exists() or path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
        problem = "not a regular file"
    except json.JSONDecodeError as error:
        problem, line = "not JSON", f":{error.lineno}"
    except UnicodeDecodeError:
        problem = "not UTF-8"
    except (ValueError, RecursionError):
        problem = "a number is too long, or lists are too deep"
    except OSError as error:
        problem = str(error.strerror)
    raise ModelFileError(f"{path}{line}: not readable as a model's manifest: {problem}")


# What a value can be: a type, a range of whole numbers, one of several, or what each key has. A key
# that ends in "?" may be missing, `...` stands for all others, and what is not named may be
# anything. Pydantic's import would take longer than a sentence's translation.
_COUNT, _WHOLE, _MOST = range(1, 1 << 31), range(1 << 53), 1 << 53
_MODEL: dict[Any, Any] = {
    **dict.fromkeys(("d_model", "d_ff", "num_heads", "encoder_layers", "max_length"), _COUNT),
    **dict.fromkeys(("turn_embeddings?", "attention_bias?", "output_bias?"), bool),
    "tie_embeddings?": bool,
    **dict.fromkeys(("dropout?", "norm_epsilon?"), float),
    "norm": ("pre", "post"),
    "activation": ("relu", "gelu", "silu", "swiglu"),
    "positions": ("sinusoidal", "learned", "table"),
    "embedding_norm?": ("none", "encoder", "both"),
}
_RATES = ("length_penalty?", "coverage_penalty?", "min_length_ratio?", "repetition_penalty?")
_LABELS: dict[Any, Any] = {
    "labels": (None, [str]),
    "multi_label": bool,
    "separator": str,
    "threshold": float,
    "pooling": ("mean", "max", "first"),
    "texts": (1, 2),
    "dropout?": float,
}
_VALUES: dict[Any, Any] = {
    **dict.fromkeys(("name", "source_lang", "target_lang", "licence"), str),
    **dict.fromkeys(("parameters", "format_version"), int),
    "task": tuple(TASKS),
    "decode": {
        **dict.fromkeys(("min_length?", "no_repeat_ngram_size?", "top_k?"), _WHOLE),
        **dict.fromkeys((*_RATES, "temperature?", "top_p?"), float),
        "beam_size": _COUNT,
        "max_length?": _COUNT,
        "max_length_ratio?": (None, float),
        "sample?": bool,
    },
    "chat": {
        **dict.fromkeys(("history_turns?", "rerank?"), _WHOLE),
        **dict.fromkeys(("borrowed_history?", "anti_generic_weight?"), float),
        "persona?": (None, str),
        "format?": ("nmt", "blenderbot", "blenderbot-small"),
    },
    "vocabulary": {"source": _COUNT, "target": _COUNT, "joint": bool, "tags?": _WHOLE},
    "scores": {...: {...: {"score": float, "signature": str}}},
    "training": {
        **dict.fromkeys(
            ("step?", "pairs?", "long_source?", "sentences?", "finished_step?"), _WHOLE
        ),
        **dict.fromkeys(("dev_loss?", "score?"), (None, float)),
        "fingerprint?": str,
        "imported?": {"source": str, "family": str, "revision": str},
    },
    "versions": {"nmt": str, ...: str},
    "ctranslate2": {"formats?": {...: {"megabytes?": float}}},
    "parts": {...: int},
    "languages": ({}, {"source": {...: str}, "target": {...: str}, "forced": bool}),
    "files": {...: {"bytes": _WHOLE, "sha256": str, "crc32?": _WHOLE}},
}


def _wrong_keys(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a manifest lacks, and what it has that no manifest has."""
    keys = {one.name: one for one in fields(Manifest)}
    for name, one in keys.items():
        if name not in values and one.default is one.default_factory is MISSING:
            yield f"{name} is missing"
    yield from (f"{name} is an unknown key" for name in values.keys() - keys.keys())


def _problems(manifest: Manifest) -> Iterator[str]:
    """Yield what is wrong with the values of a manifest."""
    yield from (
        f"'files' does not list {name}"
        for name, known in (manifest.files if isinstance(manifest.files, dict) else {}).items()
        if not isinstance(known, dict) or not {"bytes", "sha256"} <= known.keys()
    )
    yield from _misfits(vars(manifest), _VALUES, "")
    has_labels = manifest.facts.has_labels
    decoder = {} if has_labels else {"decoder_layers": _WHOLE}
    yield from _misfits(manifest.model, _MODEL | decoder, "model.")
    yield from _misfits(manifest.classification, _LABELS if has_labels else {}, "classification.")
    if manifest.classification.get("separator") == "":
        yield "classification.separator is empty"
    for name in manifest.files:
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts or "\0" in name:
            yield f"'files' names {name!r}, which is not in the folder"
    if manifest.vocabulary.get("tags", 0) != len(manifest.known_languages.tokens):
        yield "'languages' and 'vocabulary' have different numbers of tokens"
    known = manifest.ctranslate2
    formats = known.get("formats", {})
    if any(not name.replace("_", "").isalnum() for name in formats):
        yield "ctranslate2.formats names an unknown number format"
    if known and known.get("auto") not in list(formats):
        yield f"ctranslate2.auto is {known.get('auto')!r:.40}, which the model does not have"
    for name, facts in formats.items():
        scores = [key for key in ("bleu", "accuracy") if facts.get(key) is not None]
        measured = dict.fromkeys([*scores, "lines_per_second"] if scores else [], float)
        yield from _misfits(facts, measured, f"ctranslate2.formats.{name}.")


def _misfits(values: Any, kinds: Mapping[Any, Any], prefix: str) -> Iterator[str]:
    """Yield what is wrong with the values of some keys, whose names begin with `prefix`."""
    if not isinstance(values, dict):
        yield f"{prefix.rstrip('.')} cannot be {values!r:.40}"
        return
    for key, kind in kinds.items():
        name = str(key).removesuffix("?")
        if key is not ... and name == key and key not in values:
            yield f"{prefix}{key} is missing"
        for given in values.keys() - kinds.keys() if key is ... else values.keys() & {name}:
            if isinstance(kind, dict):
                yield from _misfits(values[given], kind, f"{prefix}{given}.")
            elif not _is(values[given], kind):
                yield f"{prefix}{given} cannot be {values[given]!r:.40}"


def _is(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind; numbers are finite, and True is none."""
    match kind:
        case range():
            return type(value) is int and value in kind
        case tuple():
            return any(_is(value, one) for one in kind)
        case [item]:
            return isinstance(value, list) and all(_is(one, item) for one in value)
        case dict():
            return not [*_misfits(value, kind, "")] and (bool(kind) or not value)
        case type() if kind in (int, float):
            numbers = (int,) if kind is int else (int, float)
            return type(value) in numbers and -_MOST <= value <= _MOST
    return isinstance(value, kind) if isinstance(kind, type) else bool(value == kind)
