"""The ranges of the options of search and chat: one source for configurations and commands.

Standard library only.
"""

import math
from typing import Any

MAX_INT = (1 << 31) - 1
_FACTOR = (0.01, 100)  # what scores are multiplied by or raised to: 32 bits hold it
# Least and greatest value, and how to say it where "LEAST to GREATEST" is not the way.
RANGES: dict[str, tuple[float, float] | tuple[float, float, str]] = {
    "beam_size": (1, 512),
    "n_best": (1, math.inf, "at least 1"),
    "length_penalty": (0, 100),
    "coverage_penalty": (0, 100),
    "max_length": (1, MAX_INT),
    "min_length": (0, MAX_INT),
    "min_length_ratio": (0, 100),
    "max_length_ratio": (math.ulp(0), 100, "above 0, up to 100"),
    "no_repeat_ngram_size": (0, MAX_INT),
    "repetition_penalty": _FACTOR,
    "temperature": _FACTOR,
    "top_k": (0, MAX_INT),
    "top_p": (1e-6, 1),
    "seed": (0, MAX_INT),
    "history_turns": (0, MAX_INT, "at least 0"),
    "rerank": (1, 64),
    "anti_generic_weight": (0, 100),
}


def within(name: str) -> dict[str, Any]:
    """Return the range of an option as pydantic's `gt` or `ge`, and `le`."""
    least, most, *_ = RANGES[name]
    lower = {"gt": 0.0} if least == math.ulp(0) else {"ge": least}
    return lower if most == math.inf else lower | {"le": most}
