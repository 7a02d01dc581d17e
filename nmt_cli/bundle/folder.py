"""The model folder that people use and share: what `--model` names.

    bundle.json         format version, task, languages, sizes, search options, scores, file hashes
    config.yaml         the configuration it was trained with
    tokenizer.json      the vocabulary (tokenizer.source.json and tokenizer.target.json if separate)
    model.safetensors   the weights by name
    ctranslate2/        the same for the fast engine, a folder for each number format
    README.md           a model card

Reading one runs no code from it. The manifest reads with the standard library alone, so finding and
describing a model costs nothing; the weights and vocabularies are read when asked for.
"""

import contextlib
import fcntl
import json
import math
import os
import shlex
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, get_origin

from nmt_cli import __version__
from nmt_cli.errors import ModelFileError, TrainingError
from nmt_cli.files import (
    atomic_dir,
    crc32_of,
    existing_dir,
    os_errors_as,
    remove_leftovers,
    sha256_of,
    write_text,
)

if TYPE_CHECKING:
    from nmt_cli.bundle.ctranslate2_form import Conversion
    from nmt_cli.config.schema import Config
    from nmt_cli.model.weights import Arrays
    from nmt_cli.text.vocabulary import Vocabularies

FORMAT_VERSION = 1
MANIFEST = "bundle.json"
_CHECKSUM = "crc32"  # of the manifest itself
WEIGHTS = "model.safetensors"
CTRANSLATE2 = "ctranslate2"
_CARD = "README.md"
_MOST_SUMMED = 1 << 26  # bytes of a file whose checksum is looked at whenever it is read
PLAIN_FORMAT = "float32"
_RUNS = Path("runs")
TASKS = ("translation", "chat", "classification")
_MADE_BY = {
    "translation": "nmt train",
    "chat": "nmt train chat",
    "classification": "nmt train sentiment",
}


@dataclass(frozen=True)
class Manifest:
    """What `bundle.json` says.

    Attributes:
        name: The run's name.
        task: "translation", "chat" or "classification".
        source_lang: Code of the source language, may be empty.
        target_lang: Code of the target language, may be empty.
        parameters: Number of weights.
        model: The `model` section of the configuration.
        decode: The `decode` section: the default search options.
        chat: The `chat` section.
        vocabulary: `{"source": pieces, "target": pieces, "joint": bool}`.
        scores: `{"dev" | "test": {"bleu" | ...: {"score", "signature"}}}`.
        training: Steps, pairs, data fingerprint.
        ctranslate2: `{"auto": number format to use, "formats": {name: what is known of it}}`.
        versions: Of nmt and of the libraries that matter.
        parts: How many weights the embeddings, the encoder, ... have; older bundles do not say.
        licence: Of the training data, may be empty.
        classification: Of a classifier the `classification` section, its labels among it, and how
            many `texts` it reads together.
        files: File name -> `{"bytes", "sha256", "crc32"}`; older bundles have no crc32.
        format_version: Of this layout.
    """

    name: str
    task: str
    source_lang: str
    target_lang: str
    parameters: int
    model: dict[str, Any]
    decode: dict[str, Any]
    chat: dict[str, Any]
    vocabulary: dict[str, Any]
    scores: dict[str, dict[str, dict[str, Any]]]
    training: dict[str, Any]
    versions: dict[str, str]
    ctranslate2: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    licence: str = ""
    classification: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION

    @property
    def layers(self) -> str:
        """Depths, for people: of encoder and decoder, or of an encoder alone."""
        depth = f"{self.model['encoder_layers']}"
        return depth if self.classification else f"{depth}+{self.model['decoder_layers']}"

    @property
    def examples(self) -> str:
        """What it was trained on, for people."""
        return "texts" if self.classification else "pairs"

    @property
    def dev_loss(self) -> str:
        """Its loss on development text, for people; "" where that is not known."""
        loss = self.training.get("dev_loss")
        unit = "an example" if self.classification else "a token"
        return "" if loss is None else f"{loss:.3f} nats {unit}"

    def megabytes(self, number_format: str) -> float:
        """Return the size of the fast engine's files in one number format."""
        folder = f"{CTRANSLATE2}/{number_format}/"
        sizes = (known["bytes"] for name, known in self.files.items() if name.startswith(folder))
        return float(sum(sizes)) / 1e6


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk whose manifest has been read and whose files have the right sizes."""

    path: Path
    manifest: Manifest

    def verify(self) -> None:
        """Check the hash of every file.

        Raises:
            ModelFileError: Names the first file that changed.
        """
        for name, known in self.manifest.files.items():
            with os_errors_as(ModelFileError, f"{self.path / name}: cannot be read"):
                digest = sha256_of(self.path / name)
            if digest != known["sha256"]:
                raise ModelFileError(f"{self.path / name}: its content changed (wrong sha256)")

    def check_files(self, is_wanted: Callable[[str], bool]) -> None:
        """Check that the wanted files are there with the right sizes and, if small, checksums.

        The weights, which the fast engine does without, are summed up by who reads them; the model
        card, which nobody does, by `verify`.

        Raises:
            ModelFileError: Names the first file that is missing or not as it was written.
        """
        for name, known in self.manifest.files.items():
            if not is_wanted(name):
                continue
            file = self.path / name
            if not file.is_file():
                raise ModelFileError(
                    f"{file}: missing from the model folder", hint=_mend_hint(name)
                )
            if not file.resolve().is_relative_to(self.path.resolve()):
                raise ModelFileError(f"{file}: a link out of the model folder")
            if file.stat().st_size != known["bytes"]:
                raise ModelFileError(
                    f"{file}: damaged: it has {file.stat().st_size} bytes, not {known['bytes']}",
                    hint=_mend_hint(name),
                )
            if name not in (WEIGHTS, _CARD):
                self._check_sum(name)

    def _check_sum(self, name: str) -> None:
        """Check the checksum of a file that is small enough for that to cost nothing."""
        known = self.manifest.files.get(name, {})
        if "crc32" not in known or known["bytes"] > _MOST_SUMMED:
            return
        with os_errors_as(ModelFileError, f"{self.path / name}: cannot be read"):
            found = zlib.crc32((self.path / name).read_bytes())
        if found != known["crc32"]:
            raise ModelFileError(
                f"{self.path / name}: damaged: its content changed (wrong checksum)",
                hint=_mend_hint(name),
            )

    def load_weights(self, prefix: str = "") -> "Arrays":
        """Read the weights by name; nothing is read of those whose names begin otherwise.

        Raises:
            ModelFileError: The file is damaged, or a weight is not a number.
        """
        from safetensors import SafetensorError, safe_open

        if WEIGHTS not in self.manifest.files:
            raise ModelFileError(
                f"{self.path / WEIGHTS}: this model was shared without its weights",
                hint="ask for them: nmt export --share FILE --with-weights",
            )
        try:
            with safe_open(self.path / WEIGHTS, "numpy") as file:
                names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
                weights = {name: file.get_tensor(name) for name in names}
        except (SafetensorError, OSError, TypeError) as error:
            raise ModelFileError(f"{self.path / WEIGHTS}: damaged: {error}") from error
        self._check_sum(WEIGHTS)
        if name := _not_finite(weights):
            raise ModelFileError(
                f"{self.path / WEIGHTS}: '{name}' holds what is no finite number",
                hint=_mend_hint(WEIGHTS),
            )
        return weights

    def ctranslate2_folder(self, number_format: str | None = None) -> Path:
        """Return the folder that the fast engine loads.

        Args:
            number_format: Such as "int8"; None is the one that the manifest chose.

        Raises:
            ModelFileError: The bundle does not have it, or not whole.
        """
        wanted = number_format or self.manifest.ctranslate2.get("auto")
        if wanted not in self.manifest.ctranslate2.get("formats", {}):
            option = f" --format {number_format}" if number_format else ""
            raise ModelFileError(
                f"{self.path}: holds nothing for CTranslate2"
                + (f" in {number_format}" if number_format else ""),
                hint=f"make it with: nmt export --model {shlex.quote(str(self.path))}{option}"
                + ("" if self.manifest.classification else "   (or use: --engine tensorflow)"),
            )
        folder = f"{CTRANSLATE2}/{wanted}"
        self.check_files(lambda name: name.startswith(f"{folder}/"))
        from nmt_cli.bundle.ctranslate2_file import check_folder

        check_folder(self.path / folder, self.manifest.model, self.manifest.vocabulary)
        return self.path / folder

    def conversion(self, vocabularies: "Vocabularies") -> "Conversion":
        """Return what `ctranslate2_form.py` needs of this bundle.

        Raises:
            ModelFileError: The weights are damaged.
        """
        return conversion_of(self.manifest.model, self.load_weights(), vocabularies)


def save_bundle(
    path: Path,
    *,
    config: "Config",
    vocabularies: "Vocabularies",
    weights: "Arrays",
    scores: dict[str, dict[str, dict[str, Any]]],
    training: dict[str, Any],
) -> Bundle:
    """Write a whole bundle; an older one of that name is replaced in one rename.

    Args:
        path: The bundle's folder.
        config: The resolved configuration.
        vocabularies: The tokenizers.
        weights: Every weight by name.
        scores: See `Manifest.scores`.
        training: See `Manifest.training`.

    Raises:
        OSError: The disk is full or the folder is not writable; the older bundle is whole.
        TrainingError: A weight is not finite; the older bundle is whole.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    from nmt_cli.bundle.model_card import model_card
    from nmt_cli.config.reading import to_yaml

    if name := _not_finite(weights):
        raise TrainingError(f"the weights '{name}' are no finite numbers: nothing was written")
    with atomic_dir(path) as folder:
        vocabularies.save(folder)
        try:
            # safetensors writes the memory as it lies: a transposed array would come back wrong.
            save_file({n: np.ascontiguousarray(a) for n, a in weights.items()}, folder / WEIGHTS)
        except SafetensorError as error:
            raise OSError(None, str(error)) from error
        (folder / "config.yaml").write_text(to_yaml(config), encoding="utf-8")
        conversion = conversion_of(config.model.model_dump(mode="json"), weights, vocabularies)
        conversion.write(folder / CTRANSLATE2 / PLAIN_FORMAT, PLAIN_FORMAT)
        manifest = Manifest(
            name=config.name,
            task=config.task,
            source_lang=config.data.source_lang,
            target_lang=config.data.target_lang,
            parameters=sum(int(array.size) for array in weights.values()),
            model=config.model.model_dump(mode="json"),
            decode=config.decode.model_dump(mode="json"),
            chat=config.chat.model_dump(mode="json"),
            vocabulary=vocabularies.describe(),
            scores=scores,
            training=training,
            versions=versions(),
            ctranslate2={"auto": PLAIN_FORMAT, "formats": {PLAIN_FORMAT: {}}},
            parts=_parts(weights),
            licence=config.data.licence,
            classification=classification_of(config),
        )
        (folder / _CARD).write_text(model_card(manifest), encoding="utf-8")
        manifest = replace(manifest, files=_describe_files(folder, folder))
        (folder / MANIFEST).write_text(as_text(manifest), encoding="utf-8")
    return open_bundle(path)


def add_ctranslate2(
    bundle: Bundle,
    vocabularies: "Vocabularies",
    number_format: str,
) -> Bundle:
    """Write one more form for the fast engine into a bundle, which is whole at every moment.

    Args:
        bundle: Gets the form; one that it has already is written anew.
        vocabularies: The bundle's.
        number_format: One of `convert.NUMBER_FORMATS`.

    Raises:
        OSError: The disk is full or the folder is not writable.
        ModelFileError: The weights are damaged.
    """
    conversion = bundle.conversion(vocabularies)
    folder = bundle.path / CTRANSLATE2 / number_format
    with changing(bundle) as now:
        with atomic_dir(folder) as temporary:
            conversion.write(temporary, number_format)
        known = now.manifest.ctranslate2
        formats = {**known.get("formats", {}), number_format: {}}
        return rewrite_manifest(
            now,
            files=now.manifest.files | _describe_files(folder, bundle.path),
            ctranslate2={"auto": known.get("auto", number_format), "formats": formats},
        )


@contextlib.contextmanager
def changing(bundle: Bundle) -> Iterator[Bundle]:
    """Give a bundle as it is now, for this process alone to change; others wait.

    Raises:
        ModelFileError: The folder holds another model by now: a training run wrote a better one.
    """
    handle = os.open(bundle.path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        now = read_manifest(bundle.path / MANIFEST)
        if now.files.get(WEIGHTS) != bundle.manifest.files.get(WEIGHTS):
            raise ModelFileError(
                f"{bundle.path}: a training run wrote another model there meanwhile",
                hint="run the same command again when training has ended",
            )
        for folder in (bundle.path, bundle.path / CTRANSLATE2):
            remove_leftovers(folder)
        yield Bundle(bundle.path, now)
    finally:
        os.close(handle)


def rewrite_manifest(bundle: Bundle, **changes: Any) -> Bundle:
    """Replace fields of a bundle's manifest on disk, atomically; return the changed bundle.

    The bundle is one that `changing` gave.
    """
    manifest = replace(bundle.manifest, **changes)
    write_text(bundle.path / MANIFEST, as_text(manifest))
    return Bundle(bundle.path, manifest)


def _mend_hint(name: str) -> str:
    """Return what to do about a file of a bundle that is missing or damaged."""
    parts = name.split("/")
    if parts[0] == CTRANSLATE2:
        return f"nmt export --format {parts[1]} writes it anew; --engine tensorflow does without"
    return "copy the model folder again, or run nmt train again to write it anew"


def as_text(manifest: Manifest) -> str:
    """Return a manifest as its file has it."""
    values = asdict(manifest)
    values[_CHECKSUM] = _checksum(values)
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _checksum(values: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a manifest's values, whatever their order and layout in the file."""
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def _not_finite(weights: "Arrays") -> str | None:
    """Return the name of the first array that holds a NaN or an infinity."""
    import numpy as np

    return next((name for name, a in weights.items() if not np.isfinite(a).all()), None)


def _describe_files(folder: Path, root: Path) -> dict[str, dict[str, Any]]:
    return {
        file.relative_to(root).as_posix(): {
            "bytes": file.stat().st_size,
            "sha256": sha256_of(file),
            "crc32": crc32_of(file),
        }
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def conversion_of(
    model: dict[str, Any], weights: "Arrays", vocabularies: "Vocabularies"
) -> "Conversion":
    """Return a model as CTranslate2 can have it.

    Args:
        model: The `model` section of its configuration.
        weights: Every weight by name.
        vocabularies: Its vocabularies.
    """
    from nmt_cli.bundle.ctranslate2_form import Conversion, EncoderConversion

    kind = EncoderConversion if "head.kernel" in weights else Conversion
    return kind(
        model=model,
        weights=weights,
        source_pieces=vocabularies.source.all_pieces(),
        target_pieces=vocabularies.target.all_pieces(),
    )


def classification_of(config: "Config") -> dict[str, Any]:
    """Return what the manifest says of a configuration's `classification`; see there."""
    if config.task != "classification":
        return {}
    return config.classification.model_dump(mode="json") | {"texts": config.num_texts}


def _parts(weights: "Arrays") -> dict[str, int]:
    """Return the number of weights by the first word of their names."""
    parts: dict[str, int] = {}
    for name, array in weights.items():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + int(array.size)
    return parts


def versions() -> dict[str, str]:
    """Return the versions of nmt and of the libraries that a model depends on."""
    from importlib.metadata import version

    return {
        "nmt": __version__,
        **{name: version(name) for name in ("tensorflow", "tokenizers", "ctranslate2")},
    }


def open_bundle(path: Path) -> Bundle:
    """Read a bundle's manifest and check version and file sizes.

    What only the fast engine reads is checked by `Bundle.ctranslate2_folder`.

    Raises:
        ModelFileError: Something is missing, damaged, or from a newer nmt; says what.
    """
    path = existing_dir(path)
    bundle = Bundle(path, read_manifest(path / MANIFEST))
    bundle.check_files(lambda name: not name.startswith(f"{CTRANSLATE2}/"))
    return bundle


def read_manifest(path: Path) -> Manifest:
    """Return what a `bundle.json` says.

    Raises:
        ModelFileError: It cannot be read, or says what no model can be.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("not an ordinary file")
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
            raise ModelFileError(f"{path}: damaged: 'files' says nothing of {name}")
    if problem := next(_problems(manifest), None):
        raise ModelFileError(f"{path}: damaged: {problem}")
    if checksum not in (None, _checksum(values)):
        raise ModelFileError(
            f"{path}: damaged: its checksum is wrong",
            hint=f'if you changed it yourself, take the line "{_CHECKSUM}" out',
        )
    return manifest


def _problems(manifest: Manifest) -> Iterator[str]:
    """Yield what is wrong with the values of a manifest; pydantic's import would take longer."""
    if manifest.task not in TASKS:
        yield f"no task is called {manifest.task!r}"
    for name, known in manifest.files.items():
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts or "\0" in name:
            yield f"'files' names {name!r}, which is not in the folder"
        if not all(_is_number(known.get(key, 0), int) for key in ("bytes", "crc32")):
            yield f"'files' does not say how large {name} is"
    sections = ("model", "decode", "chat", "vocabulary", "training", "classification")
    for section in sections:
        for key, value in getattr(manifest, section).items():
            if (is_fine := _KINDS.get(key)) and not is_fine(value):
                yield f"{section}.{key} cannot be {value!r:.40}"
    needed = {"model": _MODEL_SIZES, "vocabulary": ("source", "target")}
    for section, keys in needed.items():
        yield from (
            f"{section}.{k} is missing" for k in keys if k not in getattr(manifest, section)
        )
    if not all(_is_number(number, int) for number in manifest.parts.values()):
        yield "'parts' are no numbers"
    if not all(isinstance(version, str) for version in manifest.versions.values()):
        yield "'versions' are no texts"
    for name, scores in manifest.scores.items():
        values = scores.values() if isinstance(scores, dict) else [None]
        if not all(isinstance(v, dict) and _is_number(v.get("score"), float) for v in values):
            yield f"scores.{name} are no scores"
    yield from _format_problems(manifest.ctranslate2)


def _format_problems(known: dict[str, Any]) -> Iterator[str]:
    formats = known.get("formats", {})
    if not isinstance(formats, dict) or not all(isinstance(f, dict) for f in formats.values()):
        yield "ctranslate2.formats says nothing of a format"
        return
    if any(not name.replace("_", "").isalnum() for name in formats):
        yield "ctranslate2.formats names what is no number format"
    if known and known.get("auto") not in list(formats):
        yield f"ctranslate2.auto is {known.get('auto')!r:.40}, which is no format of the model"
    for facts in formats.values():
        numbers = [facts.get(key) for key in ("bleu", "accuracy", "lines_per_second", "megabytes")]
        if not all(number is None or _is_number(number, float) for number in numbers):
            yield "ctranslate2.formats holds a score that is no number"


def _is_number(value: Any, kind: type, least: float = -math.inf) -> bool:
    """Return whether a value is a finite number from `least`; a whole one if `kind` is int."""
    kinds = (int,) if kind is int else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    return is_number and least <= value <= _MOST_OF_ALL


_MOST_OF_ALL = 1 << 53
_MODEL_SIZES = ("d_model", "d_ff", "num_heads", "encoder_layers", "max_length")
_COUNTS = ("beam_size", "source", "target", *_MODEL_SIZES)
_WHOLE: tuple[str, ...] = (
    "decoder_layers",
    "min_length",
    "no_repeat_ngram_size",
    "top_k",
    "history_turns",
    "rerank",
)
_WHOLE += ("step", "pairs", "texts", "long_source", "finished_step")
_REAL: tuple[str, ...] = (
    "length_penalty",
    "coverage_penalty",
    "min_length_ratio",
    "repetition_penalty",
)
_REAL += ("temperature", "top_p", "borrowed_history", "anti_generic_weight", "dropout")
_MAY_MISS = ("max_length_ratio", "dev_loss")
_TRUTHS = ("sample", "joint", "turn_embeddings")
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_COUNTS, lambda v: _is_number(v, int, 1) and v < 1 << 31),
    **dict.fromkeys(_WHOLE, lambda v: _is_number(v, int, 0)),
    **dict.fromkeys(_REAL, lambda v: _is_number(v, float)),
    **dict.fromkeys(_MAY_MISS, lambda v: v is None or _is_number(v, float)),
    **dict.fromkeys(_TRUTHS, lambda v: isinstance(v, bool)),
    "norm": lambda v: v in ("pre", "post"),
    "activation": lambda v: v in ("relu", "gelu", "swiglu"),
    "positions": lambda v: v in ("sinusoidal", "learned"),
    "persona": lambda v: v is None or isinstance(v, str),
    "labels": lambda v: v is None or (isinstance(v, list) and all(isinstance(x, str) for x in v)),
}


def find_bundle(model: str | None, tasks: tuple[str, ...]) -> Bundle:
    """Return the bundle that a command should use.

    Args:
        model: What the user gave: a bundle or a run folder; None looks at `$NMT_MODEL` and then
            takes the newest bundle of the right task below `runs/`.
        tasks: The tasks that the command can use.

    Raises:
        ModelFileError: There is none, it is damaged, or it is for another task.
    """
    given = model or os.environ.get("NMT_MODEL")
    if not given:
        return _newest_bundle(tasks)
    if Path(given).is_file() and Path(given).name != MANIFEST:
        from nmt_cli.bundle.sharing import unpacked

        bundle = unpacked(Path(given))
    else:
        bundle = open_bundle(_bundle_dir(Path(given)))
    check_task(bundle, tasks, given)
    return bundle


def check_task(bundle: Bundle, tasks: tuple[str, ...], named: str = "") -> None:
    """Raise ModelFileError unless a bundle is for one of the tasks.

    Args:
        bundle: The model.
        tasks: What it is wanted for.
        named: What the user called it; by default its folder.
    """
    task = bundle.manifest.task
    if task not in tasks:
        raise ModelFileError(
            f"{named or bundle.path}: is a {task} model, not for {' or '.join(tasks)}"
        )


def _bundle_dir(path: Path) -> Path:
    if path.name == MANIFEST and path.is_file():
        path = path.parent
    candidates = [existing_dir(path), existing_dir(path / "model")]
    for candidate in candidates:
        if (candidate / MANIFEST).is_file():
            return candidate
    if not path.exists():
        raise ModelFileError(f"{path}: no such folder")
    if not path.is_dir():
        raise ModelFileError(f"{path}: is a file, not a model folder")
    raise ModelFileError(
        f"{path}: holds no model ({MANIFEST} is missing)",
        hint="name a model folder or a run folder such as runs/quickstart",
    )


def _newest_bundle(tasks: tuple[str, ...]) -> Bundle:
    folders = [existing_dir(run / "model") for run in _RUNS.glob("*") if run.is_dir()]
    manifests = [folder / MANIFEST for folder in folders if (folder / MANIFEST).is_file()]
    for path in sorted(manifests, key=lambda p: p.stat().st_mtime, reverse=True):
        if read_manifest(path).task in tasks:
            return open_bundle(path.parent)
    raise ModelFileError(
        f"no {' or '.join(tasks)} model below {_RUNS}/",
        hint=f"make one with: {_MADE_BY[tasks[0]]}   (or name one with --model)",
    )
