"""A published model, on disk or on the Hugging Face hub -> a bundle."""

import contextlib
import glob
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import metadata_load
from pydantic import ValidationError

from nmt_cli.bundle.folder import PLAIN_FORMAT, Bundle, save_bundle
from nmt_cli.bundle.manifest import MANIFEST, read_manifest
from nmt_cli.bundle.sharing import ENDINGS, is_archive, unpack
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TASKS
from nmt_cli.errors import ConfigError, ModelFileError, TrainingError
from nmt_cli.files import os_errors_as, remove_leftovers
from nmt_cli.pretrained import (
    blenderbot,
    encoders,
    hub,
    m2m_100,
    marian,
    marian_native,
    tokenizer_file,
)
from nmt_cli.pretrained.published import Family, Pretrained, Published
from nmt_cli.resources import RUNS_DIR

_NATIVE = "marian-npz"  # is told by its files, as it has no `config.json`
FAMILIES: Mapping[str, Family] = {
    "marian": Family("Marian, OPUS-MT", marian.FILES, marian.read),
    _NATIVE: Family("Marian, native", (), marian_native.read),
    "m2m_100": Family("M2M-100, NLLB-200", m2m_100.FILES, m2m_100.read),
    "blenderbot-small": Family("BlenderbotSmall", tokenizer_file.FILES, blenderbot.read_small),
    "blenderbot": Family("Blenderbot", tokenizer_file.FILES, blenderbot.read_large),
    "bert": Family("BERT", tokenizer_file.FILES, encoders.read_bert),
    "electra": Family("ELECTRA", tokenizer_file.FILES, encoders.read_bert),
    "roberta": Family("RoBERTa", tokenizer_file.FILES, encoders.read_roberta),
    "xlm-roberta": Family("XLM-RoBERTa", encoders.XLM_FILES, encoders.read_xlm_roberta),
}
_BEAM_SIZE, _MOST_BEAMS = 4, 16
# Weights that take more than so many bytes are computed with in int8, which quarters them.
_LARGE = 100_000_000


@dataclass(frozen=True)
class _Source:
    """A published model that is on this disk."""

    folder: Path
    name: str  # of the model
    revision: str = ""  # commit of the hub
    given: str = ""  # the hub's name, else that of the folder or the archive


def import_model(
    source: str | Path,
    target: str | Path | None = None,
    *,
    revision: str | None = None,
    on_note: Callable[[str], None] = lambda _: None,
) -> Bundle:
    """Write a published model as a bundle.

    Args:
        source: A folder, an archive of one, or the name of a repository on the Hugging Face hub.
        target: The bundle's folder, made or replaced; `runs/NAME/model` if left out.
        revision: A branch, tag or commit of the repository.
        on_note: Told, in one line, that the hub is asked, which may take a while.

    Raises:
        ConfigError: There is neither such a folder nor such a name, or the target holds something
            else than an imported model.
        ModelFileError: The model cannot be had, is damaged, or is of a family that is not known.

    Example:
        nmt_cli.import_model("Helsinki-NLP/opus-mt-en-de")
    """
    if not str(source):
        raise ConfigError("the name of the model to import is empty")
    with os_errors_as(ModelFileError, f"{source}: cannot be imported"):
        if target is not None:
            _check_target(Path(target))
        with _opened(str(source), revision, on_note) as found:
            path = RUNS_DIR / found.name / "model" if target is None else Path(target)
            _check_target(path)
            try:
                return _write(found, path)
            finally:
                if target is None:
                    with contextlib.suppress(OSError):  # there is a model in it
                        path.parent.rmdir()


def _write(source: _Source, path: Path) -> Bundle:
    folder = source.folder
    published = Published(folder)
    name, family = _family(published, str(folder))
    origin = {"source": source.given, "family": name, "revision": source.revision}
    try:
        found = family.read(published)
    except ModelFileError:
        raise
    except Exception as error:  # there is no end to what can be wrong in files of others
        fault = "lacks" if isinstance(error, KeyError) else "cannot be used:"
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"{folder}: its configuration or vocabulary {fault} {reason}"
        raise ModelFileError(message) from error
    del published  # else all weights would be there twice while they are written
    size = sum(array.nbytes for array in found.weights.values())
    remove_leftovers(path.resolve().parent, glob.escape(path.resolve().name))
    try:
        with os_errors_as(ModelFileError, f"{path}: cannot be written"):
            return save_bundle(
                path,
                config=_config(found, source),
                vocabularies=found.vocabularies,
                weights=found.weights,
                scores={},
                training={"pairs": 0, "step": 0, "fingerprint": "", "imported": origin},
                number_format=PLAIN_FORMAT if size < _LARGE else "int8",
            )
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        reason = problem["msg"].removeprefix("Value error, ")
        raise ModelFileError(f"{folder}/config.json: {key}: {reason}") from error
    except TrainingError as error:
        raise ModelFileError(f"{folder}: {error}") from error


def _family(published: Published, called: str) -> tuple[str, Family]:
    """Return of which family a model is, by name; an error calls it as it is `called`."""
    if published.has("config.json"):
        name = str(published.config.get("model_type"))
    elif any(published.folder.glob("*.npz")):
        name = _NATIVE
    elif published.has(MANIFEST):
        raise ConfigError(f"{called}: is a model of nmt already", hint="use it with -m")
    else:
        raise ModelFileError(f"{called}: holds neither config.json nor a .npz of Marian's")
    if name not in FAMILIES:
        raise ModelFileError(
            f"{called}: models of type {name} are not supported",
            hint=f"supported are: {', '.join(FAMILIES)}",
        )
    return name, FAMILIES[name]


@contextlib.contextmanager
def _opened(source: str, revision: str | None, on_note: Callable[[str], None]) -> Iterator[_Source]:
    """Give a model's folder, downloaded or unpacked if need be."""
    path = Path(source)
    if revision is not None and path.exists():
        raise ConfigError(f"--revision is for models of the hub; {source} is on this disk")
    if path.is_dir():
        yield _of_folder(path.resolve())
    elif path.is_file() and (source.lower().endswith(ENDINGS) or is_archive(path)):
        with tempfile.TemporaryDirectory(prefix="nmt-") as temporary:
            unpack(path, Path(temporary))
            inner = [*Path(temporary).iterdir()]
            folder = inner[0] if len(inner) == 1 and inner[0].is_dir() else Path(temporary)
            yield _Source(folder, _run_name(path.name.split(".")[0]), given=path.name)
    elif path.exists():
        raise ConfigError(f"{source}: neither a folder nor an archive", hint="name its folder")
    elif hub.NAME.fullmatch(source):
        on_note(f"asking the Hugging Face hub for {source}")
        folder = hub.download(
            source, revision, lambda folder: _family(Published(folder), source)[1].files
        )
        yield _of_folder(folder)
    else:
        raise ConfigError(
            f"{source}: neither a folder nor an archive, nor a name on the Hugging Face hub",
            hint="such a name has two parts: Helsinki-NLP/opus-mt-en-de",
        )


def _of_folder(folder: Path) -> _Source:
    """Return a model of a folder; one of the hub's cache tells its name and its commit."""
    if re.fullmatch(r"[0-9a-f]{40}", folder.name) and folder.parents[1].name.startswith("models--"):
        name = "/".join(folder.parents[1].name.split("--")[1:])
        return _Source(folder, _run_name(name.split("/")[-1]), folder.name, name)
    return _Source(folder, _run_name(folder.name), given=folder.name)


def _run_name(name: str) -> str:
    return name.lstrip(".-")[:100] or "imported"


def _check_target(path: Path) -> None:
    """Raise ConfigError unless a folder is new, empty, or an imported model to be replaced."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not (path / MANIFEST).is_file():
        raise ConfigError(f"{path}: exists already and is not a model", hint="name a new folder")
    if "imported" not in read_manifest(path / MANIFEST).training:
        raise ConfigError(
            f"{path}: holds a trained model, which is not replaced",
            hint="name another folder: nmt import SOURCE DIR",
        )


def _config(found: Pretrained, source: _Source) -> Config:
    """Return a configuration to fine-tune by."""
    return Config.model_validate(
        {
            "name": source.name,
            "task": found.task,
            "data": {
                "source_lang": found.languages[0],
                "target_lang": found.languages[1],
                "licence": _licence(source.folder),
                "train": [_corpus(found, "train")],
                "dev": [_corpus(found, "dev")],
            },
            "tokenizer": {
                "vocab_size": found.vocabularies.largest,
                "joint": found.vocabularies.joint,
            },
            "model": found.model,
            "decode": _search(Published(source.folder), found.model["max_length"]),
            **found.sections,
        }
    )


def _corpus(found: Pretrained, split: str) -> dict[str, str]:
    """Return what there may be to fine-tune on: the user's to bring."""
    facts = TASKS[found.task]
    if facts.has_labels:
        return {"file": f"{split}.tsv"}
    if facts.has_turns:
        return {"file": f"{split}.jsonl"}
    source, target = found.languages
    return {"source": f"{split}.{source or 'source'}", "target": f"{split}.{target or 'target'}"}


def _search(published: Published, longest: int) -> dict[str, Any]:
    """Return the published options of search, as far as there are such; lengths count `<s>`."""
    said = published.json("generation_config.json", default={})

    def number(name: str, least: float, most: float, default: float) -> float:
        value = said.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return default
        return value if least <= value <= most else default

    return {
        "beam_size": int(number("num_beams", 1, _MOST_BEAMS, _BEAM_SIZE)),
        "max_length": int(min(number("max_length", 2, 1 << 20, longest + 1) - 1, longest)),
        "min_length": max(0, int(number("min_length", 0, longest, 1)) - 1),
        "length_penalty": number("length_penalty", 0.0, 10.0, 1.0),
        "no_repeat_ngram_size": int(number("no_repeat_ngram_size", 0, 100, 0)),
        "repetition_penalty": number("repetition_penalty", 1.0, 10.0, 1.0),
    }


def _licence(folder: Path) -> str:
    """Return the licence that the front matter of a model's card names."""
    try:
        return str((metadata_load(folder / "README.md") or {}).get("license") or "")
    except (OSError, ValueError, yaml.YAMLError):
        return ""
