"""What a number format is, in a line for people."""

from collections.abc import Mapping
from typing import Any


def describe(facts: Mapping[str, Any], beam_size: int) -> str:
    """Return size, score and speed from the fields of a `Measured`, as far as they are known.

    Its BLEU is that of a search with `beam_size`.
    """
    text = f"{facts['megabytes']:.1f} MB"
    for metric, search in (("bleu", f" (beam {beam_size})"), ("accuracy", "")):
        if facts.get(metric) is not None:
            rate = f"{facts['lines_per_second']:,.0f} lines/s"
            text += f", dev {metric} {facts[metric]:.2f}{search}, {rate}"
    return text
