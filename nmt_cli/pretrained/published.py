"""A published model as it lies in a folder, and what a family's file makes of it."""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.tensors import Tensors, read_tensors
from nmt_cli.text.vocabulary import Vocabularies


@dataclass
class Published:
    """A folder with a model of others.

    Every method raises ModelFileError for a file that is missing or damaged.
    """

    folder: Path

    @functools.cached_property
    def config(self) -> Mapping[str, Any]:
        """Its `config.json`."""
        return self.json("config.json")

    @functools.cached_property
    def tensors(self) -> Tensors:
        """Its weights by their published names."""
        return read_tensors(self.folder)

    @functools.cached_property
    def tokenizer(self) -> Mapping[str, Any]:
        """Its `tokenizer.json`; empty where there is none."""
        return self.json("tokenizer.json", default={})

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return (self.folder / name).is_file()

    def text(self, name: str) -> str:
        """Return the content of a file."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelFileError(f"{self.folder / name}: cannot be read: {reason}") from error

    def json(self, name: str, default: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the object that a file in JSON holds; where there is no file, the default."""
        if default is not None and not self.has(name):
            return default
        try:
            values = json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{self.folder / name}: not JSON: {error}") from error
        if not isinstance(values, dict):
            raise ModelFileError(f"{self.folder / name}: holds no names with values")
        return values

    def take(self, name: str, *shape: int | None) -> Array:
        """Return a tensor of this shape; None is any size."""
        if name not in self.tensors:
            raise ModelFileError(f"{self.folder}: the weights lack '{name}'")
        found = self.tensors[name]
        if len(found.shape) != len(shape) or any(
            wanted not in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        ):
            raise ModelFileError(
                f"{self.folder}: '{name}' has shape {found.shape}, which does not fit config.json"
            )
        return found


@dataclass(frozen=True)
class Pretrained:
    """A model as this package has it, not yet on disk."""

    model: dict[str, Any]  # the `model` section of a configuration
    weights: Arrays  # every weight by our name
    vocabularies: Vocabularies
    languages: tuple[str, str] = ("", "")  # codes of source and target; "" where not known
    task: str = "translation"
    sections: dict[str, Any] = field(default_factory=dict)  # others: `chat`, `classification`


class Family(NamedTuple):
    """A kind of published model."""

    about: str  # what it is, for people
    files: tuple[str, ...]  # what is read beside the configuration, the weights and the card
    read: Callable[[Published], Pretrained]
