"""The result of a check-up: what each corpus holds, and all findings, the worst first."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nmt_cli.config.schema import CorpusConfig
from nmt_cli.doctor.findings import BIT, CHECKS, SEVERITIES, Check, Finding
from nmt_cli.doctor.lines import Keys, Mark, Tested

TRAIT_SHARE = 0.05  # of the rows: so many that a test finds are a trait of the corpus
TRAIT_ROWS = 20  # at least
KEPT_FINDINGS = 10_000  # of a test in a corpus, the worst ones
# What a comparison of the sides finds means nothing where the files are out of step.
_COMPARISONS = {BIT[name] for name in ("identical", "length-ratio", "numbers", "links")}


@dataclass
class CorpusRows:
    """What the tests found in one corpus.

    Attributes:
        split: "train", "dev" or "test".
        config: As the configuration has it.
        files: Its files.
        lines: [N] uint32 line of each row.
        keys: [N] uint64 by side (see `lines.Tested`).
        telling: [N] bool (see `lines.Tested`).
        found: [N] uint32 bits of `CHECKS`.
        visible: Characters without spaces, by side.
        is_dialogue: Whether it holds conversations, of which greetings and the like repeat.
        broken: Lines that are no row, or that stop the reading.
        shift: The line from which on two files are out of step, or None.
    """

    split: str
    config: CorpusConfig
    files: list[Path]
    lines: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    keys: tuple[Keys, Keys] = field(
        default_factory=lambda: (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    )
    telling: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    found: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    visible: tuple[int, int] = (0, 0)
    is_dialogue: bool = False
    broken: list[Finding] = field(default_factory=list)
    shift: int | None = None
    _parts: list[Tested] = field(default_factory=list)
    _worst: dict[int, list[tuple[float, int, Mark]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, tested: Tested) -> None:
        """Take what the tests found in the next rows."""
        self._parts.append(tested._replace(worst=[]))
        for mark in tested.worst:
            self.note(mark)

    def note(self, mark: Mark) -> None:
        """Keep a row that a test found, if it is among the worst."""
        heap = self._worst.setdefault(mark.check, [])
        entry = (mark.rank, -mark.line, mark)
        if len(heap) < KEPT_FINDINGS:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)

    def close(self) -> None:
        """Join what was added."""
        if self._parts:
            self.lines = np.concatenate([part.lines for part in self._parts])
            self.keys = (self._joined_keys(0), self._joined_keys(1))
            self.telling = np.concatenate([part.telling for part in self._parts])
            self.found = np.concatenate([part.found for part in self._parts])
            sums = (sum(p.visible[0] for p in self._parts), sum(p.visible[1] for p in self._parts))
            self.visible = sums
        self._parts.clear()

    def _joined_keys(self, side: int) -> Keys:
        return np.concatenate([part.keys[side] for part in self._parts])

    def place(self, row: int, side: int = 0) -> str:
        """Return `file:line` of a side of a row."""
        return f"{self._file(side)}:{self.lines[row]}"

    def _file(self, side: int) -> Path:
        return self.files[side if len(self.files) == 2 else 0]

    def has(self, check: str) -> npt.NDArray[np.bool_]:
        """Return [N] whether a test found something in a row."""
        found: npt.NDArray[np.bool_] = (self.found & np.uint32(1 << BIT[check])) != 0
        return found

    def count(self, check: str) -> int:
        """Return the number of rows that a test found."""
        return int(self.has(check).sum())

    def is_trait(self, check: Check) -> bool:
        """Return whether so many rows have it that it is how this corpus is."""
        least = max(TRAIT_ROWS, TRAIT_SHARE * len(self))
        return check.may_be_trait and self.count(check.name) >= least

    @property
    def flagged(self) -> npt.NDArray[np.bool_]:
        """[N] whether a row has an error or a warning."""
        told = (check for check in CHECKS if check.severity != "info" and not self.is_trait(check))
        mask = sum(1 << BIT[check.name] for check in told)
        flagged: npt.NDArray[np.bool_] = (self.found & np.uint32(mask)) != 0
        return flagged

    def findings(self) -> Iterator[Finding]:
        """Yield what the tests of rows found, the worst of each test first."""
        yield from self.broken
        for bit, check in enumerate(CHECKS):
            marks = [mark for _, _, mark in sorted(self._worst.get(bit, ()), reverse=True)]
            if self.shift is not None and bit in _COMPARISONS:
                marks = [mark for mark in marks if mark.line < self.shift]
            if marks and self.is_trait(check):
                yield self._trait(check, marks[0])
            else:
                yield from (self._finding(check, mark) for mark in marks)

    def _finding(self, check: Check, mark: Mark) -> Finding:
        file = self._file(mark.side)
        return Finding(
            check.name, check.severity, file, mark.line, mark.message, mark.text, mark.rank
        )

    def _trait(self, check: Check, example: Mark) -> Finding:
        count = self.count(check.name)
        return Finding(
            check.name,
            "info",
            self._file(example.side),
            None,
            f"{check.title} in {count:,} rows ({count / len(self):.1%}), for example "
            f"line {example.line}: {example.message}",
        )


@dataclass(frozen=True)
class Report:
    """All that a check-up found.

    Attributes:
        corpora: The corpora of all splits.
        findings: Errors first, then warnings, then information; of each check the worst first.
    """

    corpora: list[CorpusRows]
    findings: list[Finding]

    @property
    def has_errors(self) -> bool:
        """Whether something must be mended before training."""
        return any(finding.severity == "error" for finding in self.findings)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, then by check, the worst first."""
    order = {check.name: bit for bit, check in enumerate(CHECKS)}

    def key(finding: Finding) -> tuple[int, int, float]:
        severity = SEVERITIES.index(finding.severity)
        return severity, order.get(finding.check, -1), -finding.rank

    return sorted(findings, key=key)
