"""The options of search and chat with defaults and ranges: one source for configuration and use.

Standard library only.
"""

import math
from typing import Any, NamedTuple

MAX_INT = (1 << 31) - 1


class Option(NamedTuple):
    """An option's default, its least and greatest value, and how to say these.

    Without words they are said as "LEAST to GREATEST".
    """

    default: int | float | None
    least: float
    most: float
    words: str = ""

    @property
    def range_text(self) -> str:
        """The range, for people."""
        return self.words or f"{self.least} to {self.most}"


_FACTOR = (0.01, 100)  # what scores are multiplied by or raised to: 32 bits hold it
OPTIONS = {
    "beam_size": Option(5, 1, 512),
    "n_best": Option(1, 1, 512),
    "length_penalty": Option(1.0, 0, 100),
    "coverage_penalty": Option(0.0, 0, 100),
    "max_length": Option(256, 1, MAX_INT),
    "max_length_ratio": Option(None, math.ulp(0), 100, "above 0, up to 100"),
    "min_length": Option(1, 0, MAX_INT),
    "min_length_ratio": Option(0.0, 0, 100),
    "no_repeat_ngram_size": Option(0, 0, MAX_INT),
    "repetition_penalty": Option(1.0, *_FACTOR),
    "temperature": Option(1.0, *_FACTOR),
    "top_k": Option(0, 0, MAX_INT),
    "top_p": Option(1.0, 1e-6, 1),
    "seed": Option(0, 0, MAX_INT),
    "history_turns": Option(3, 0, MAX_INT),
    "rerank": Option(1, 1, 64),
    "anti_generic_weight": Option(0.5, 0, 100),
}


def default(name: str) -> Any:
    """Return the default of an option."""
    return OPTIONS[name].default


def within(name: str) -> dict[str, Any]:
    """Return the range of an option as pydantic's `gt` or `ge`, and `le`."""
    _, least, most, _ = OPTIONS[name]
    return ({"gt": 0.0} if least == math.ulp(0) else {"ge": least}) | {"le": most}
