"""The vocabularies of a model: one or two `Subwords` and the files they are kept in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.text.tokenizer import Subwords

JOINT = "tokenizer.json"
SEPARATE = ("tokenizer.source.json", "tokenizer.target.json")


@dataclass(frozen=True)
class Vocabularies:
    """The subwords of both sides; the same object twice when joint."""

    source: Subwords
    target: Subwords

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def largest(self) -> int:
        """Tokens of the larger one."""
        return max(self.source.vocab_size, self.target.vocab_size)

    def describe(self) -> dict[str, Any]:
        """Return sizes for the manifest."""
        return {
            "source": self.source.vocab_size,
            "target": self.target.vocab_size,
            "joint": self.joint,
        }

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, or one file a side when separate."""
        if self.joint:
            self.source.save(folder / JOINT)
        else:
            self.source.save(folder / SEPARATE[0])
            self.target.save(folder / SEPARATE[1])

    @classmethod
    def load(cls, folder: Path) -> "Vocabularies":
        """Read what `save` wrote; ModelFileError when a file is missing or damaged."""
        if (folder / SEPARATE[0]).exists():
            return cls(*(Subwords.load(folder / name) for name in SEPARATE))
        joint = Subwords.load(folder / JOINT)
        return cls(joint, joint)
