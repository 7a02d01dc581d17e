"""What a family's file makes of a published model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.model.weights import Arrays
from nmt_cli.text.vocabulary import Vocabularies


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
    read: Callable[[Path, Mapping[str, Any]], Pretrained]  # of a folder and its `config.json`
