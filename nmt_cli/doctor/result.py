"""The result of a check-up: what each corpus holds, and all findings, the worst first."""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nmt_cli.config.schema import CorpusConfig
from nmt_cli.doctor.findings import BIT, CHECKS, SEVERITIES, Check, Finding
from nmt_cli.doctor.lines import ROW, Tested
from nmt_cli.errors import LineError, number_of
from nmt_cli.text.held_out import too_many_held_out

TRAIT_SHARE = 0.05  # of the rows: so many that a test finds are a trait of the corpus
TRAIT_ROWS = 20  # at least
KEPT_FINDINGS = 10_000  # of a test in a corpus, the worst ones
KEPT_BROKEN = 1000  # lines of a corpus that are no row
MIN_TRAIN, MIN_DEV = 1000, 100  # rows: with fewer, little can be learned or told
# What a comparison of the sides finds means nothing where the files are out of step.
_COMPARISONS = ("identical", "length-ratio", "numbers", "links")


@dataclass
class CorpusRows:
    """What the tests found in one corpus."""

    split: str  # "train", "dev" or "test"
    config: CorpusConfig  # as the configuration has it
    files: list[Path]
    is_dialogue: bool  # whether it holds conversations, of which greetings and the like repeat
    rows: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, ROW))  # [N] `lines.ROW`
    visible: tuple[int, int] = (0, 0)  # characters without spaces, by side
    # lines that are no row, or that stop the reading
    broken: list[Finding] = field(default_factory=list)
    shift: int | None = None  # the line from which on two files are out of step, or None
    _parts: list[npt.NDArray[np.void]] = field(default_factory=list)
    _worst: dict[str, list[tuple[float, int, int, Finding]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """Its `files` as the configuration has them."""
        named = (self.config.source, self.config.target, self.config.file)
        return [name for name in named if name is not None]

    def add(self, tested: Tested) -> None:
        """Take what the tests found in the next rows."""
        self._parts.append(tested.rows)
        ours, theirs = self.visible, tested.visible
        self.visible = (ours[0] + theirs[0], ours[1] + theirs[1])
        for side, finding in tested.worst:
            self.note(side, finding)

    def note_broken(self, problem: LineError) -> None:
        """Keep what is wrong with a line that is no row, unless there are many."""
        if len(self.broken) < KEPT_BROKEN:
            what = (problem.problem, problem.file, problem.line)
            self.broken.append(Finding("format", "error", *what))

    def note(self, side: int, finding: Finding) -> None:
        """Keep what a test found in a row, if it is among the worst."""
        heap = self._worst.setdefault(finding.check, [])
        entry = (finding.rank, -(finding.line or 0), side, finding)
        if len(heap) < KEPT_FINDINGS:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)

    def close(self) -> None:
        """Join what was added."""
        self.rows = np.concatenate([self.rows, *self._parts])
        self._parts.clear()

    def place(self, row: int, side: int = 0) -> tuple[Path, int]:
        """Return file and line of a side of a row."""
        return self.files[-side], int(self.rows["line"][row])

    def has(self, *checks: str) -> npt.NDArray[np.bool_]:
        """Return [N] whether one of these tests found something in a row."""
        mask = np.uint32(sum(1 << BIT[check] for check in checks))
        found: npt.NDArray[np.bool_] = (self.rows["found"] & mask) != 0
        return found

    def is_trait(self, check: Check) -> bool:
        """Return whether so many rows have it that it is how this corpus is."""
        least = max(TRAIT_ROWS, TRAIT_SHARE * len(self))
        return check.may_be_trait and int(self.has(check.name).sum()) >= least

    @property
    def flagged(self) -> npt.NDArray[np.bool_]:
        """[N] whether a row has an error or a warning."""
        told = (check for check in CHECKS if check.severity != "info" and not self.is_trait(check))
        return self.has(*(check.name for check in told))

    def findings(self) -> Iterator[Finding]:
        """Yield what the tests of rows found, the worst of each test first."""
        yield from self.broken
        for check in CHECKS:
            entries = sorted(self._worst.get(check.name, ()), reverse=True)
            worst = [finding for *_, finding in entries]
            if self.shift is not None and check.name in _COMPARISONS:
                worst = [finding for finding in worst if (finding.line or 0) < self.shift]
            if worst and self.is_trait(check):
                count, example = int(self.has(check.name).sum()), worst[0]
                message = (
                    f"{check.title} in {count:,} rows ({count / len(self):.1%}), for example "
                    f"line {example.line}: {example.message}"
                )
                worst = [Finding(check.name, "info", message, example.file)]
            yield from worst


@dataclass(frozen=True)
class Report:
    """All that a check-up found."""

    corpora: list[CorpusRows]  # the corpora of all splits
    # errors first, then warnings, then information; of each check the worst first
    findings: list[Finding]

    @property
    def has_errors(self) -> bool:
        """Whether something must be mended before training."""
        return any(finding.severity == "error" for finding in self.findings)


def size_findings(found: list[CorpusRows], held_out: Mapping[str, int]) -> Iterator[Finding]:
    """Yield an error for a split without rows, a warning for one with few.

    `held_out` are the rows that are taken out of train, by split.
    """
    in_train = sum(int(np.sum(~c.has("empty"))) for c in found if c.split == "train")
    if in_train and in_train <= sum(held_out.values()):
        yield Finding("size", "error", too_many_held_out(held_out, in_train))
    for name, least in (("train", MIN_TRAIN), ("dev", MIN_DEV), ("test", MIN_DEV)):
        corpora = [corpus for corpus in found if corpus.split == name]
        rows = sum(map(len, corpora))
        if corpora and not rows:
            yield Finding("size", "error", f"{name} has no rows", corpora[0].files[0])
        elif corpora and rows < least:
            why = "too little to learn much from" if name == "train" else "a rough measure"
            yield Finding("size", "warning", f"{name} has only {number_of(rows, 'row')}: {why}")


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, then by check, the worst first."""
    return sorted(
        findings, key=lambda f: (SEVERITIES.index(f.severity), BIT.get(f.check, -1), -f.rank)
    )
