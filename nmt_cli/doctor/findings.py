"""What a check-up finds: the list of checks, and the records that tests hand over."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Check:
    """One kind of test.

    Attributes:
        name: As `--json` and the table in `data/README.md` have it.
        severity: Of a line that it finds.
        title: What such lines have in common.
        may_be_trait: Whether many such lines are a trait of the corpus and told in one line.
    """

    name: str
    severity: Severity
    title: str
    may_be_trait: bool = False


CHECKS = (
    Check("format", "error", "lines that are not a row"),
    Check("encoding", "error", "lines that are not UTF-8"),
    Check("empty", "warning", "one side without text: left out of training"),
    Check("control-characters", "warning", "invisible or control characters"),
    Check("mojibake", "warning", "characters lost or garbled by a wrong encoding"),
    Check("leakage", "warning", "in training and in development or test"),
    Check("duplicate", "warning", "pairs that occur more than once", may_be_trait=True),
    Check("identical", "warning", "both sides are the same", may_be_trait=True),
    Check("length-ratio", "warning", "one side far longer than it should be", may_be_trait=True),
    Check("too-long", "warning", "longer than model.max_length", may_be_trait=True),
    Check("script", "warning", "wrong writing system", may_be_trait=True),
    Check("language", "warning", "wrong language", may_be_trait=True),
    Check("numbers", "warning", "numbers that differ between the sides", may_be_trait=True),
    Check("links", "warning", "addresses that differ between the sides", may_be_trait=True),
    Check("markup", "warning", "markup", may_be_trait=True),
    Check("repetition", "warning", "the same words repeated", may_be_trait=True),
    Check("no-words", "warning", "a side without a letter or digit", may_be_trait=True),
    Check("white-space", "info", "tabs, double spaces, spaces at the ends", may_be_trait=True),
)
BIT = {check.name: bit for bit, check in enumerate(CHECKS)}


class Marks(NamedTuple):
    """What one test found in a chunk of rows.

    Attributes:
        check: Its name in `CHECKS`.
        side: 0 for the source, 1 for the target; a test of both sides says 0.
        rows: [M] the rows it found.
        describe: Row -> what is wrong with it. Called for the worst rows only.
        ranks: [M] numbers, the worst row the highest; None where all are alike.
    """

    check: str
    side: int
    rows: npt.NDArray[np.int64]
    describe: Callable[[int], str]
    ranks: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, check: str, side: int, found: dict[int, str]) -> Self:
        """Return the marks of rows of which a test has said what is wrong."""
        return cls(check, side, np.array(sorted(found), np.int64), found.__getitem__)


class Finding(NamedTuple):
    """One thing that is wrong, or worth knowing.

    Attributes:
        check: The name of the test.
        severity: What it means: "error" stops or falsifies training, "warning" is worth mending.
        file: The file, or None for what concerns the whole.
        line: Its line, or None for what concerns the file.
        message: What is wrong.
        text: The beginning of the line.
        rank: The worst finding of a check has the highest.
    """

    check: str
    severity: Severity
    file: Path | None
    line: int | None
    message: str
    text: str = ""
    rank: float = 0.0

    @property
    def place(self) -> str:
        """`file:line`, as far as there is one."""
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)
