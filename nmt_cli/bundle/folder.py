"""The model folder that people use and share: what `--model` names.

    bundle.json         format version, task, languages, sizes, search options, scores, file hashes
    config.yaml         the configuration it was trained with
    tokenizer.json      the vocabulary (tokenizer.source.json and tokenizer.target.json if separate)
    model.safetensors   the weights by name
    ctranslate2/        the same for CTranslate2, a folder for each number format
    README.md           a model card

Reading one runs no code from it. The manifest reads with the standard library alone, so finding and
describing a model costs nothing; the weights and vocabularies are read when asked for.
"""

import contextlib
import fcntl
import os
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli import __version__
from nmt_cli.bundle.manifest import CTRANSLATE2, MANIFEST, Manifest, as_text, read_manifest
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
from nmt_cli.text.languages import Languages

if TYPE_CHECKING:
    from nmt_cli.bundle.ctranslate2_form import Conversion
    from nmt_cli.config.schema import Config
    from nmt_cli.model.weights import Arrays
    from nmt_cli.text.vocabulary import Vocabularies

WEIGHTS = "model.safetensors"
HEAD = "head.safetensors"  # a shared classifier's outputs, which CTranslate2 does not have
_CARD = "README.md"
_MOST_SUMMED = 1 << 26  # bytes of a file whose checksum is looked at whenever it is read
PLAIN_FORMAT = "float32"


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk whose manifest has been read and whose files have the right sizes."""

    path: Path
    manifest: Manifest
    partners: tuple["Bundle", ...] = ()  # the other models of an ensemble, if it is one
    # the model of the other direction that chooses among hypotheses
    backward: "Bundle | None" = None
    given: str = ""  # what the user named, if that is not the folder: a shared file or a URL

    @property
    def named(self) -> str:
        """What the user knows it by."""
        return self.given or str(self.path)

    def verify(self) -> None:
        """Check the hash of every file; ModelFileError names the first one that changed."""
        for name, known in self.manifest.files.items():
            with os_errors_as(ModelFileError, f"{self.path / name}: cannot be read"):
                digest = sha256_of(self.path / name)
            if digest != known["sha256"]:
                raise ModelFileError(f"{self.path / name}: its content changed (wrong sha256)")

    @property
    def identity(self) -> str:
        """What tells this model from others: the hash of its weights, and those of its helpers."""
        files = self.manifest.files
        weights = [WEIGHTS] if WEIGHTS in files else sorted(n for n in files if n.endswith(".bin"))
        own = "+".join(files[name]["sha256"] for name in weights)
        together = "+".join([own, *(partner.identity for partner in self.partners)])
        return together if self.backward is None else f"{together}<{self.backward.identity}"

    @property
    def all(self) -> tuple["Bundle", ...]:
        """This bundle, its partners, and last the model of the other direction."""
        return self, *self.partners, *([] if self.backward is None else [self.backward])

    def check_files(self, is_wanted: Callable[[str], bool]) -> None:
        """Check that the wanted files are there with the right sizes and, if small, checksums.

        The weights, which CTranslate2 does without, are summed up by who reads them; the model
        card, which nobody does, by `verify`. ModelFileError names the first file that is not as it
        was written.
        """
        for name, known in self.manifest.files.items():
            if not is_wanted(name):
                continue
            file = self.path / name
            if not file.is_file():
                raise ModelFileError(
                    f"{file}: missing from the model folder", hint=self._mend_hint(name)
                )
            if not file.resolve().is_relative_to(self.path.resolve()):
                raise ModelFileError(f"{file}: links to a file outside the model folder")
            if file.stat().st_size != known["bytes"]:
                raise ModelFileError(
                    f"{file}: damaged: it has {file.stat().st_size} bytes, not {known['bytes']}",
                    hint=self._mend_hint(name),
                )
            if name not in (WEIGHTS, _CARD):
                self.check_sum(name)

    def _mend_hint(self, name: str) -> str:
        """Return what to do about a file that is missing or damaged."""
        parts = name.split("/")
        if WEIGHTS not in self.manifest.files:
            return "copy the model again, or ask its sender for it"
        if parts[0] == CTRANSLATE2:
            again = f"nmt export --format {parts[1]} writes it again"
            return f"{again}; --engine tensorflow does not need it"
        return "copy the model folder again, or write it again with nmt train"

    def check_sum(self, name: str) -> None:
        """Check the checksum of a file that is small enough for that to cost nothing."""
        known = self.manifest.files.get(name, {})
        if "crc32" not in known or known["bytes"] > _MOST_SUMMED:
            return
        with os_errors_as(ModelFileError, f"{self.path / name}: cannot be read"):
            found = zlib.crc32((self.path / name).read_bytes())
        if found != known["crc32"]:
            raise ModelFileError(
                f"{self.path / name}: damaged: its content changed (wrong checksum)",
                hint=self._mend_hint(name),
            )

    def check_has_weights(self) -> None:
        """Raise ModelFileError if the model was shared without its weights."""
        if WEIGHTS not in self.manifest.files:
            raise ModelFileError(
                f"{self.named}: this model was shared without its weights",
                hint="ask the sender for: nmt export --share FILE --with-weights",
            )

    def load_weights(self, prefix: str = "") -> "Arrays":
        """Read the weights whose names begin so; ModelFileError if one is damaged or no number."""
        from safetensors import SafetensorError, safe_open

        source = HEAD if prefix == "head." and HEAD in self.manifest.files else WEIGHTS
        if source == WEIGHTS:
            self.check_has_weights()
        self.check_sum(source)
        try:
            with safe_open(self.path / source, "numpy") as file:
                names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
                weights = {name: file.get_tensor(name) for name in names}
        # NumPy has some of the format's types not at all, and no room for some of its sizes.
        except (SafetensorError, OSError, TypeError, AttributeError, ValueError) as error:
            raise ModelFileError(
                f"{self.path / source}: damaged, or not weights that nmt wrote",
                hint=self._mend_hint(source),
            ) from error
        if not prefix and self.manifest.parts not in ({}, _sizes_of_parts(weights)):
            raise ModelFileError(
                f"{self.path / source}: these are not the weights of the model",
                hint=self._mend_hint(source),
            )
        if name := _not_finite(weights):
            raise ModelFileError(
                f"{self.path / source}: '{name}' has numbers that are not finite",
                hint=self._mend_hint(source),
            )
        return weights

    def load_vocabularies(self) -> "Vocabularies":
        """Read the vocabularies; ModelFileError when one is missing or damaged."""
        from nmt_cli.text.vocabulary import Vocabularies

        return Vocabularies.load(self.path, self.manifest.known_languages)

    def ctranslate2_folder(self, number_format: str | None = None) -> Path:
        """Return the folder that CTranslate2 loads; without a number format, the one of choice.

        ModelFileError says that the bundle does not have it, or not whole.
        """
        wanted = number_format or self.manifest.ctranslate2.get("auto")
        if wanted not in (formats := self.manifest.ctranslate2.get("formats", {})):
            option = ""
            if number_format is not None:
                from nmt_cli.bundle.ctranslate2_form import check_number_format

                check_number_format(number_format)
                option = f" --format {number_format}"
            target = " --share FILE" if self.given else ""  # to a shared file nothing is added
            hint = f"make it with: nmt export --model {shlex.quote(self.named)}{target}{option}"
            if not self.manifest.facts.has_labels:
                hint += "   (or use: --engine tensorflow)"
            if WEIGHTS not in self.manifest.files:  # from which it would be made
                hint = f"it has {', '.join(formats)}; ask the sender for: nmt export --share FILE"
                hint += option
            raise ModelFileError(
                f"{self.named}: has no form for CTranslate2"
                + (f" in {number_format}" if number_format else ""),
                hint=hint,
            )
        folder = f"{CTRANSLATE2}/{wanted}"
        self.check_files(lambda name: name.startswith(f"{folder}/"))
        from nmt_cli.bundle.ctranslate2_file import check_folder

        check_folder(self.path / folder, self.manifest.model, self.manifest.vocabulary)
        return self.path / folder


def save_bundle(
    path: Path,
    *,
    config: "Config",
    vocabularies: "Vocabularies",
    weights: "Arrays",
    scores: dict[str, dict[str, dict[str, Any]]],
    training: dict[str, Any],
    number_format: str = PLAIN_FORMAT,
) -> Bundle:
    """Write a whole bundle; an older one of that name is replaced in one rename, or stays whole.

    Scores and training are those of the `Manifest`; the number format is that of CTranslate2's
    form. A weight that is not finite is a TrainingError.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    from nmt_cli.bundle.model_card import model_card
    from nmt_cli.config.reading import RUN_CONFIG, to_yaml

    if name := _not_finite(weights):
        raise TrainingError(f"the weights '{name}' are not finite: nothing was written")
    with atomic_dir(path) as folder:
        vocabularies.save(folder)
        try:
            # safetensors writes the memory as it lies: a transposed array would come back wrong.
            save_file({n: np.ascontiguousarray(a) for n, a in weights.items()}, folder / WEIGHTS)
        except SafetensorError as error:
            raise OSError(None, str(error)) from error
        (folder / RUN_CONFIG).write_text(to_yaml(config), encoding="utf-8")
        conversion = conversion_of(config.model.model_dump(mode="json"), weights, vocabularies)
        conversion.write(folder / CTRANSLATE2 / number_format, number_format)
        known = vocabularies.languages
        languages = known if known.tokens else Languages.of(config)
        parts = _sizes_of_parts(weights)
        manifest = Manifest(
            name=config.name,
            task=config.task,
            source_lang=languages.default[0],
            target_lang=languages.default[1],
            parameters=sum(parts.values()),
            model=config.model.model_dump(mode="json"),
            decode=config.decode.model_dump(mode="json"),
            chat=config.chat.model_dump(mode="json"),
            vocabulary=vocabularies.describe(),
            scores=scores,
            training=training,
            versions=versions(),
            ctranslate2={"auto": number_format, "formats": {number_format: {}}},
            parts=parts,
            licence=config.data.licence,
            classification=classification_of(config),
            languages=languages.as_json(),
        )
        (folder / _CARD).write_text(model_card(manifest), encoding="utf-8")
        manifest = replace(manifest, files=_describe_files(folder, folder))
        (folder / MANIFEST).write_text(as_text(manifest), encoding="utf-8")
    return open_bundle(path)


def add_ctranslate2(bundle: Bundle, number_format: str) -> Bundle:
    """Write one more form for CTranslate2 into a bundle, or anew; it is whole at every moment."""
    vocabularies = bundle.load_vocabularies()
    conversion = conversion_of(bundle.manifest.model, bundle.load_weights(), vocabularies)
    folder = bundle.path / CTRANSLATE2 / number_format
    with changing(bundle) as now:
        with atomic_dir(folder) as temporary:
            try:
                conversion.write(temporary, number_format)
            except (LookupError, ValueError, TypeError) as error:
                problem = "these are not the weights of the model"
                raise ModelFileError(f"{bundle.path / WEIGHTS}: {problem}") from error
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
                f"{bundle.named}: a training run has written another model there meanwhile",
                hint="run the same command again when training has finished",
            )
        for folder in (bundle.path, bundle.path / CTRANSLATE2):
            remove_leftovers(folder)
        yield replace(bundle, manifest=now)
    finally:
        os.close(handle)


def rewrite_manifest(bundle: Bundle, **changes: Any) -> Bundle:
    """Replace fields of the manifest of a bundle that `changing` gave, atomically."""
    manifest = replace(bundle.manifest, **changes)
    write_text(bundle.path / MANIFEST, as_text(manifest))
    return replace(bundle, manifest=manifest)


def _not_finite(weights: "Arrays") -> str | None:
    """Return the name of the first array that holds a NaN or an infinity."""
    import numpy as np

    return next((name for name, a in weights.items() if not np.isfinite(a).all()), None)


def _sizes_of_parts(weights: "Arrays") -> dict[str, int]:
    """Return how many numbers there are, by the first word of the names."""
    parts = Counter[str]()
    for name, array in weights.items():
        parts[name.split(".")[0]] += int(array.size)
    return dict(parts)


def describe_file(file: Path) -> dict[str, Any]:
    """Return what a manifest says of a file."""
    size = file.stat().st_size
    return {"bytes": size, "sha256": sha256_of(file), "crc32": crc32_of(file)}


def _describe_files(folder: Path, root: Path) -> dict[str, dict[str, Any]]:
    return {
        file.relative_to(root).as_posix(): describe_file(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def conversion_of(
    model: dict[str, Any], weights: "Arrays", vocabularies: "Vocabularies"
) -> "Conversion":
    """Return a model as CTranslate2 can have it; `model` is that section of its configuration."""
    from nmt_cli.bundle.ctranslate2_form import Conversion, EncoderConversion

    kind = EncoderConversion if "head.kernel" in weights else Conversion
    return kind(
        model=model,
        weights=weights,
        source_tokens=vocabularies.source.all_tokens(),
        target_tokens=vocabularies.target.all_tokens(),
        num_tags=len(vocabularies.target.tags),
    )


def classification_of(config: "Config") -> dict[str, Any]:
    """Return what the manifest says of a configuration's `classification`; see there."""
    if not config.facts.has_labels:
        return {}
    found = config.classification.model_dump(mode="json") | {"texts": config.num_texts}
    return found | {"labels": found["labels"] or []}  # of an imported encoder there are none yet


def versions() -> dict[str, str]:
    """Return the versions of nmt and of the libraries that a model depends on, if installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"nmt": __version__}
    for name in ("tensorflow", "tokenizers", "ctranslate2"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _check_entries(path: Path) -> None:
    """Check what a model folder has, before it is read or written; ModelFileError names an entry.

    To read a pipe might never end, and to write a number format through a link would delete what
    is there.
    """
    whole, walk = path.resolve(), os.walk(path / CTRANSLATE2)
    below = (Path(folder, name) for folder, *names in walk for name in chain(*names))
    for entry in chain(path.iterdir(), below):
        if entry.is_symlink() and not entry.resolve().is_relative_to(whole):
            raise ModelFileError(f"{entry}: links to a file outside the model folder")
        if entry.exists() and not (entry.is_file() or entry.is_dir()):
            raise ModelFileError(f"{entry}: not an ordinary file")


def open_bundle(path: Path) -> Bundle:
    """Read a bundle's manifest and check version and file sizes.

    What only CTranslate2 reads is checked by `Bundle.ctranslate2_folder`. ModelFileError says what
    is missing, damaged, or from a newer nmt.
    """
    path = existing_dir(path)
    bundle = Bundle(path, read_manifest(path / MANIFEST))
    _check_entries(path)
    bundle.check_files(lambda name: not name.startswith(f"{CTRANSLATE2}/"))
    return bundle
