"""What `nmt init --recipe` proposes: on which text to train and for how long, and why.

The sizes are those of `auto` (`auto.py`): `fast` writes what it chooses for a short time limit on
this machine; `best` leaves them to it, since each of its trainings has text of another size.
"""

from collections.abc import Mapping
from typing import NamedTuple

from nmt_cli.config.schema import Config

BEST, FAST = RECIPES = ("best", "fast")
FAST_LIMIT = "5m"  # for which the sizes under a time limit were measured
# Where `auto` has its sizes from, by section.
SOURCES = {
    "tokenizer": "Sennrich & Zhang 2019, arXiv 1905.11901",
    "model": (
        "Sennrich & Zhang 2019, arXiv 1905.11901; Araabi & Monz 2020, arXiv 2011.02266; "
        "van Biljon et al. 2020, arXiv 2004.04418; for large text Vaswani et al. 2017"
    ),
    "train": (
        "rate and warm-up: Vaswani et al. 2017, arXiv 1706.03762; muon: Jordan et al. 2024; "
        "batch and steps: tuned on Multi30k (tests/benchmarks/EXPERIMENTS.md)"
    ),
}
_COPIES = 2
_MOST_PAIRS_TO_DIVERSIFY = 300_000


class Proposal(NamedTuple):
    """A recipe for one text, ready to be written into a configuration."""

    values: Mapping[str, int | float | str | list[str]]  # by key (`section.key`)
    notes: Mapping[str, str]  # what is written above a key or a section
    commands: list[str]  # what follows `nmt check`; a comment says how long it takes, and why


def copies(config: Config, pairs: int) -> tuple[int, str]:
    """Return how many models a direction `best` lets make text (0: none do), and why."""
    if len({config.data.way_of(corpus) for corpus in config.data.train}) > 1:
        return 0, "nmt augment, which would add text, is for one direction"
    if pairs > _MOST_PAIRS_TO_DIVERSIFY:
        most = f"{_MOST_PAIRS_TO_DIVERSIFY:,}"
        return 0, f"more than {most} pairs: to train {2 * _COPIES} models more is too long"
    reason = (
        "diversified text of this size gives 1 to 2 BLEU (Nguyen et al. 2020, arXiv 1911.01986)"
    )
    return _COPIES, reason
