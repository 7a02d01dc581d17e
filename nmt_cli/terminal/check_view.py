"""A check-up -> lines for a terminal, or one JSON object."""

import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import number_of

if TYPE_CHECKING:
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.doctor.findings import Finding
    from nmt_cli.doctor.result import CorpusRows, Report

_WORST = 20  # lines of a test that are shown
_NARROWEST = 40  # columns


def as_json(loaded: "LoadedConfig", report: "Report") -> dict[str, Any]:
    """Return the report as data."""
    return {
        "config": loaded.name,
        "corpora": [_corpus_json(corpus) for corpus in report.corpora],
        "counts": _counts(report),
        "findings": [
            {
                "check": finding.check,
                "severity": finding.severity,
                "file": str(finding.file) if finding.file is not None else None,
                "line": finding.line,
                "message": finding.message,
            }
            for finding in report.findings
        ],
    }


def _corpus_json(corpus: "CorpusRows") -> dict[str, Any]:
    return {
        "split": corpus.split,
        "files": [str(file) for file in corpus.files],
        "rows": len(corpus),
        "flagged": int(corpus.flagged.sum()),
        "characters": {"source": corpus.visible[0], "target": corpus.visible[1]},
    }


def _counts(report: "Report") -> dict[str, int]:
    found = [finding.severity for finding in report.findings]
    return {severity: found.count(severity) for severity in ("error", "warning", "info")}


def summary(loaded: "LoadedConfig", report: "Report") -> Iterator[str]:
    """Yield the lines of the report, within the width of the terminal; but for commands."""
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    yield _cut(f"{loaded.name}, text in {loaded.data_dir}", width)
    yield ""
    yield from _table(loaded, report, width)
    rows = [f for f in report.findings if f.severity != "info" or f.line is not None]
    infos = [f for f in report.findings if f.severity == "info" and f.line is None]
    for (severity, check), group in groupby(rows, key=lambda f: (f.severity, f.check)):
        yield from _group(severity, check, list(group), loaded.data_dir, width)
    if infos:
        yield ""
        yield "good to know"
        for finding in infos:
            where = f"{_short(finding.file, loaded.data_dir)}: " if finding.file else ""
            yield from _wrapped(f"{where}{finding.message}", width)
    yield ""
    yield _verdict(report)


def _table(loaded: "LoadedConfig", report: "Report", width: int) -> Iterator[str]:
    """Yield a line for each corpus: how many rows it has, how long, how many are flagged."""
    numbers = "{:>11} {:>7} {:>7} {:>8}"
    room = max(12, min(50, width - 6 - 37))
    sides = ("text", "label") if loaded.config.facts.has_labels else ("source", "target")
    yield f"{'split':<6}{'file':<{room}}" + numbers.format("rows", *sides, "flagged")
    for corpus in report.corpora:
        name = " + ".join(_short(file, loaded.data_dir) for file in corpus.files)
        rows = max(1, len(corpus))
        means = (f"{characters / rows:.0f}" for characters in corpus.visible)
        cells = numbers.format(f"{len(corpus):,}", *means, f"{corpus.flagged.sum():,}")
        yield f"{corpus.split:<6}{_cut(name, room - 1):<{room}}{cells}"
    for split in ("dev", "test"):
        wanted = sum(corpus.rows or 0 for corpus in getattr(loaded.config.data, split))
        if wanted:
            name = _cut("taken out of train", room - 1)
            yield f"{split:<6}{name:<{room}}{f'about {wanted:,}':>11}"
    told = f"({', '.join(sides)}: mean number of characters in a row, without spaces)"
    yield _cut(told, width)


def _group(
    severity: str, check: str, findings: "list[Finding]", data_dir: Path, width: int
) -> Iterator[str]:
    from nmt_cli.doctor.findings import CHECKS

    titles = {known.name: known.title for known in CHECKS}
    yield ""
    count = f" ({len(findings):,})" if len(findings) > 1 else ""
    yield _cut(f"{severity}: {titles.get(check, check)}{count}", width)
    # What is the same in many lines is told once.
    alike = groupby(findings[:_WORST], key=lambda f: f._replace(line=f.line and 1, rank=0.0))
    for finding, same in alike:
        lines = ", ".join(str(one.line) for one in same)
        place = _short(finding.file, data_dir) + (f":{lines}" if finding.line else "")
        if finding.text:
            yield _cut(f"  {place}  {finding.message} | {_printable(finding.text)}", width)
        else:
            told = finding.message.removesuffix(finding.command)
            yield from _wrapped(f"{place}  {told}".strip(), width)
        if finding.command:  # on one line, however long, to be pasted
            yield f"    {_printable(finding.command)}"
    if len(findings) > _WORST:
        yield f"  ... and {len(findings) - _WORST:,} more (--json has them)"


def _verdict(report: "Report") -> str:
    counts = _counts(report)
    flagged = sum(int(corpus.flagged.sum()) for corpus in report.corpora)
    if counts["error"]:
        return f"{number_of(counts['error'], 'error')} to fix before training"
    if not counts["warning"]:
        return "no problems found"
    if not flagged:
        return "no errors"
    return (
        f"no errors; {number_of(flagged, 'row')} to look at (--fix DIR leaves them out of training)"
    )


def _short(file: Path | None, data_dir: Path) -> str:
    if file is None:
        return ""
    return str(file.relative_to(data_dir) if file.is_relative_to(data_dir) else file)


def _wrapped(text: str, width: int) -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(_printable(text), width, initial_indent="  ", subsequent_indent="    ")


def _printable(text: str) -> str:
    """Return a text without what would disturb a terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def _cut(text: str, width: int) -> str:
    """Return a text cut to so many columns; Korean and Chinese characters take two."""
    from rich.cells import cell_len, set_cell_size

    text = _printable(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 3).rstrip() + "..."


def time_told(loaded: "LoadedConfig") -> str | None:
    """Return what to note of how long training will take here; None if it has begun."""
    from nmt_cli.training.auto_values import foretold_time
    from nmt_cli.training.run_folder import RunFolder

    has_begun = RunFolder.of(loaded.config).has_begun
    return None if has_begun else f"training: {foretold_time(loaded)}"
