"""Pairs that models made: written with where each came from, and filtered.

Every file is JSON lines. A made pair has `source`, `target`, `from` (which model made it), `file`
and `line` (from 1) of the text that it was made from, and `score` (of that model, which was forced
to write it). Files are read from their beginning to their end, a few lines at a time.
"""

import collections
import json
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt_cli.errors import DataError
from nmt_cli.files import atomic_text, read_lines
from nmt_cli.search.chat_session import has_loop
from nmt_cli.text.corpus import Example, sample_evenly

MOST_TIMES_AS_LONG = 3.0  # than what its other side makes one expect
ALREADY_THERE, UNLIKELY = "already there", "unlikely"  # reasons that tell nothing bad of a model
_SAME_LETTERS = re.compile(r"([^\W\d_]{1,4}?)\1{9}")  # one to four of them, ten times in a row

Pair = Mapping[str, Any]


def write_examples(path: Path, examples: Iterable[Example]) -> int:
    """Write examples; return how many there are."""
    return write_pairs(path, ({"source": e.source[-1], "target": e.target} for e in examples))


def write_pairs(path: Path, pairs: Iterable[Pair]) -> int:
    """Write pairs as they come; return how many there are."""
    count = 0
    with atomic_text(path) as file:
        for count, pair in enumerate(pairs, start=1):  # noqa: B007
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    return count


def read_pairs(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the pairs of some files, one after the other; DataError: one is damaged."""
    for path in paths:
        for number, line in enumerate(read_lines(path), start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                hint = "delete it, and run the same command again"
                raise DataError(f"{path}:{number}: damaged", hint=hint) from error


class Filter:
    """Drops made pairs that would teach nothing, or something wrong; counts why.

    Of each pair that it has seen it remembers a hash.

    Args:
        given: Files of the pairs that people wrote.
        lowest: The score below which a model did not believe in what it wrote, by its name.
        is_beside: The made pairs will stand beside the given ones, and should differ from them.
        tag: What is in front of the source of each made pair.
    """

    def __init__(
        self,
        given: Sequence[Path],
        lowest: Mapping[str, float],
        *,
        is_beside: bool,
        tag: str = "",
    ) -> None:
        self._seen: set[int] = set()
        ratios, _ = sample_evenly(self._ratios(given, is_beside=is_beside))
        self._ratio = statistics.median(ratios)
        self._lowest, self._tag = lowest, tag
        self.dropped: collections.Counter[tuple[str, str]] = collections.Counter()  # model, reason
        self.num_kept: collections.Counter[str] = collections.Counter()  # by model

    def _ratios(self, given: Sequence[Path], *, is_beside: bool) -> Iterator[float]:
        """Yield how long each target is beside its source; see the pairs that count as seen."""
        for source, target in ((pair["source"], pair["target"]) for pair in read_pairs(given)):
            if is_beside:
                self._seen.add(hash((source, target)))
            yield _ratio(source, target)

    def kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that are worth learning from."""
        for pair in pairs:
            if why := self._problem(pair):
                self.dropped[pair["from"], why] += 1
            else:
                self.num_kept[pair["from"]] += 1
                yield pair

    def _problem(self, pair: Pair) -> str:
        source, target = pair["source"].removeprefix(self._tag), pair["target"]
        times = _ratio(source, target) / self._ratio
        key = hash((source, target))  # of 64 bits, to keep less than the text itself
        if not source.strip() or not target.strip():
            return "blank"
        if source == target:
            return "not translated"
        if key in self._seen:
            return ALREADY_THERE
        self._seen.add(key)
        if not 1 / MOST_TIMES_AS_LONG <= times <= MOST_TIMES_AS_LONG:
            return "too long or too short for its other side"
        if any(has_loop(side) or _SAME_LETTERS.search(side) for side in (source, target)):
            return "repeats itself"
        if pair["score"] < self._lowest[pair["from"]]:
            return UNLIKELY
        return ""


def _ratio(source: str, target: str) -> float:
    return (len(target) + 1) / (len(source) + 1)


def lowest_scores(paths: Sequence[Path], share: float) -> dict[str, float]:
    """Return, by model, the score that this share of its pairs lies below."""
    # Scores are written with four digits: there are few different ones, however many pairs.
    found: dict[str, collections.Counter[float]] = collections.defaultdict(collections.Counter)
    for pair in read_pairs(paths):
        found[pair["from"]][pair["score"]] += 1
    return {name: _quantile(counts, share) for name, counts in found.items()}


def _quantile(counts: Mapping[float, int], share: float) -> float:
    left = int(share * sum(counts.values()))
    for score in sorted(counts):
        left -= counts[score]
        if left < 0:
            return score
    raise ValueError(share)
