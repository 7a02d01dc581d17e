"""How long one side should be for the other, and pairs that are far from it.

The logarithm of target length over source length has a usual value, and a spread that is wider for
short lines; both are measured on the corpus itself by medians, which its bad lines do not move
(after Gale & Church 1993, who model the same by a normal distribution).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import Chunk, Ints
from nmt_cli.doctor.findings import Marks
from nmt_cli.errors import number_of

OUTLIER = 5.0  # robust standard deviations
LEAST_FACTOR = 2.0  # times the usual ratio, or a half of it: less is never an outlier
MIN_SPREAD = 0.12  # of the logarithm; generated text has next to none
# How deep the costs of all places must fall at the best one, in standard deviations of a random
# walk: one falls as deep in 1 of 1000 (its depth is a Bessel process of 3 dimensions; Pitman 1975).
DEPTH = 4.0
_OFFSET = 3  # characters added to both sides, so that very short lines do not count for much
_BINS = 12
_MIN_PAIRS = 30

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LengthModel:
    """The usual ratio of lengths."""

    usual: float  # median of log(target / source), in visible characters
    lengths: Floats  # [K] lengths of both sides together, rising
    spreads: Floats  # [K] robust standard deviation at each of them

    def deviations(self, source: Ints, target: Ints) -> tuple[Floats, Floats]:
        """Return by pair the logarithm of the ratio less the usual one, and that in spreads."""
        distance = _log_ratio(source, target) - self.usual
        spread = np.interp(source + target, self.lengths, self.spreads)
        return distance, distance / spread


def build_length_model(chunk: Chunk) -> LengthModel | None:
    """Return the model of a sample; None when it is too small to tell."""
    source, target = (side.visible for side in chunk.sides)
    both = (source > 0) & (target > 0)
    source, target = source[both], target[both]
    if len(source) < _MIN_PAIRS:
        return None
    ratios = _log_ratio(source, target)
    usual = float(np.median(ratios))
    totals = source + target
    order = np.argsort(totals, kind="stable")
    bins = np.array_split(order, min(_BINS, len(order) // _MIN_PAIRS))
    spreads = [1.4826 * float(np.median(np.abs(ratios[b] - usual))) for b in bins]
    return LengthModel(
        usual,
        np.array([float(np.median(totals[b])) for b in bins]),
        np.maximum(spreads, MIN_SPREAD),
    )


def _log_ratio(source: Ints, target: Ints) -> Floats:
    ratios: Floats = np.log((target + _OFFSET) / (source + _OFFSET))
    return ratios


def odd_lengths(chunk: Chunk, model: LengthModel) -> Iterator[Marks]:
    """Find pairs of which one side is far longer than usual for the other."""
    source, target = (side.visible for side in chunk.sides)
    distance, deviation = model.deviations(source, target)
    odd = (np.abs(deviation) >= OUTLIER) & (np.abs(distance) >= np.log(LEAST_FACTOR))
    rows = np.flatnonzero(odd & (source > 0) & (target > 0))
    usual = np.exp(model.usual)

    def describe(row: int) -> str:
        return (
            f"{number_of(source[row], 'character')} against {target[row]}; "
            f"usual: {max(1, round(source[row] * usual))}"
        )

    yield Marks("length-ratio", 0, rows, describe, np.abs(deviation[rows]))


def shift_of(source: Ints, target: Ints, model: LengthModel) -> int | None:
    """Return the line from which on two files are probably out of step, or None if unknown.

    The shorter file lacks as many lines as it is shorter, all in one place: the one that makes the
    lengths of the pairs before it and of the shifted pairs behind it fit best. In text sorted by
    length a shifted pair fits as well as another, and the best place is a chance. The lengths are
    visible characters of each line.
    """
    gap, shorter = abs(len(source) - len(target)), min(len(source), len(target))
    if not gap or not shorter or gap > shorter:
        return None
    first, second = ((source[:shorter], target[:shorter]), (source[-shorter:], target[-shorter:]))
    in_step, shifted = (_misfit(model, *pair) for pair in (first, second))
    gains = in_step - shifted
    costs = np.concatenate(([0.0], np.cumsum(gains)))
    depth = costs[0] + costs[-1] - 2 * costs.min()
    if depth < DEPTH * np.std(gains) * np.sqrt(shorter):
        return None
    # Lines are lost at an end more often than near one: a single line does not tell them apart.
    end = 0 if costs[0] < costs[-1] else shorter
    place = end if costs[end] <= costs.min() + OUTLIER else costs.argmin()
    return int(place) + 1


def _misfit(model: LengthModel, source: Ints, target: Ints) -> Floats:
    _, deviation = model.deviations(source, target)
    return np.minimum(np.abs(deviation), OUTLIER)
