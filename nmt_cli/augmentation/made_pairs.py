"""Pairs that models made: written with where each came from, and filtered.

Every file is JSON lines. A made pair has `source`, `target`, `from` (which model made it), `line`
(of the text that it was made from, from 1) and `score` (what that model gives it).
"""

import collections
import itertools
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt_cli.files import atomic_text, read_lines
from nmt_cli.search.chat_session import has_loop
from nmt_cli.text.corpus import Example

MOST_TIMES_AS_LONG = 3.0  # than what its other side makes one expect

Pair = Mapping[str, Any]


def write_examples(path: Path, examples: Iterable[Example]) -> int:
    """Write examples; return how many there are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = [{"source": example.source[-1], "target": example.target} for example in examples]
    write_pairs(path, pairs)
    return len(pairs)


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write made pairs."""
    with atomic_text(path) as file:
        file.writelines(map(_line, pairs))


def read_pairs(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the pairs of some files, one after the other."""
    return map(json.loads, itertools.chain.from_iterable(map(read_lines, paths)))


def _line(pair: Pair) -> str:
    return json.dumps(pair, ensure_ascii=False) + "\n"


class Filter:
    """Drops made pairs that would teach nothing, or something wrong; counts why.

    Args:
        given: Files of the pairs that people wrote.
        lowest: The score below which a model did not believe in what it wrote, by its name.
        is_beside: The made pairs will stand beside the given ones, and should differ from them.
    """

    def __init__(
        self, given: Sequence[Path], lowest: Mapping[str, float], *, is_beside: bool
    ) -> None:
        pairs = [(pair["source"], pair["target"]) for pair in read_pairs(given)]
        self._seen = set(map(hash, pairs if is_beside else []))
        self._ratio = statistics.median((len(t) + 1) / (len(s) + 1) for s, t in pairs)
        self._lowest = lowest
        self.dropped: collections.Counter[str] = collections.Counter()

    def kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that are worth learning from."""
        for pair in pairs:
            if why := self._problem(pair):
                self.dropped[why] += 1
            else:
                yield pair

    def _problem(self, pair: Pair) -> str:
        source, target = pair["source"], pair["target"]
        times = (len(target) + 1) / (len(source) + 1) / self._ratio
        key = hash((source, target))  # of 64 bits, to keep less than the text itself
        if not source.strip() or not target.strip():
            return "blank"
        if key in self._seen:
            return "already there"
        self._seen.add(key)
        if not 1 / MOST_TIMES_AS_LONG <= times <= MOST_TIMES_AS_LONG:
            return "too long or too short for its other side"
        if has_loop(source) or has_loop(target):
            return "repeats itself"
        if pair["score"] < self._lowest[pair["from"]]:
            return "unlikely"
        return ""


def lowest_scores(paths: Sequence[Path], share: float) -> dict[str, float]:
    """Return, by model, the score that this share of its pairs lies below."""
    found: dict[str, list[float]] = collections.defaultdict(list)
    for pair in read_pairs(paths):
        found[pair["from"]].append(pair["score"])
    return {name: sorted(scores)[int(share * len(scores))] for name, scores in found.items()}
