"""The vocabularies of a model: one or two `Subwords` and the files they are kept in."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.text.languages import NO_LANGUAGES, Direction, Languages
from nmt_cli.text.tokenizer import Subwords

JOINT = "tokenizer.json"
SEPARATE = ("tokenizer.source.json", "tokenizer.target.json")


@dataclass(frozen=True)
class Vocabularies:
    """The subwords of both sides; the same object twice when joint.

    Imported ones may be joint with two ways of splitting text: the ids mean the same tokens.
    """

    source: Subwords
    target: Subwords
    languages: Languages = NO_LANGUAGES

    @functools.cached_property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        is_imported = self.source.is_imported and self.target.is_imported
        return self.source is self.target or (
            is_imported and self.source.all_tokens() == self.target.all_tokens()
        )

    @property
    def largest(self) -> int:
        """Tokens of the larger one."""
        return max(self.source.vocab_size, self.target.vocab_size)

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """Return what says that a text is translated from one language to another.

        None leaves a language to `Languages.way`, which raises ConfigError when that is no choice.
        """
        before, forced = self.languages.tokens_of(self.languages.way(source, target))
        return Direction(tuple(self.source.ids(before)), tuple(self.target.ids(forced)))

    def with_unmade(self, names: Sequence[str]) -> "Vocabularies":
        """Return them with more tokens that no text makes; what follows the tags moves."""
        source = self.source.with_unmade(names)
        is_joint = self.target is self.source
        target = source if is_joint else self.target.with_unmade(names)
        return Vocabularies(source, target, self.languages)

    def describe(self) -> dict[str, Any]:
        """Return sizes for the manifest."""
        tags = {"tags": len(self.target.tags)} if self.target.tags else {}
        return {
            "source": self.source.vocab_size,
            "target": self.target.vocab_size,
            "joint": self.joint,
            **tags,
        }

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, or one file a side when separate."""
        if self.source is self.target:
            self.source.save(folder / JOINT)
        else:
            self.source.save(folder / SEPARATE[0])
            self.target.save(folder / SEPARATE[1])

    @classmethod
    def load(cls, folder: Path, languages: Languages = NO_LANGUAGES) -> "Vocabularies":
        """Read what `save` wrote; ModelFileError when a file is missing or damaged."""
        tags = languages.tokens
        if (folder / SEPARATE[0]).exists():
            source, target = (Subwords.load(folder / name, tags) for name in SEPARATE)
            return cls(source, target, languages)
        joint = Subwords.load(folder / JOINT, tags)
        return cls(joint, joint, languages)
