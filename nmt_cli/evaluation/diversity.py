"""How varied outputs are, without a look at references.

Reference: Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation
Models", arXiv 1510.03055.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.search.text_stream import has_loop


@dataclass(frozen=True)
class Diversity:
    """How varied outputs are. Words are what stands between spaces, in small letters.

    Attributes:
        distinct_1: Different words / words (Li et al. 2016, section 5.2).
        distinct_2: Different pairs of neighbouring words / words.
        mean_words: Words of an output.
        most_frequent: The commonest output.
        most_frequent_share: Of the outputs, 0 to 1.
        loop_share: Outputs that repeat a few words over and over, 0 to 1.
    """

    distinct_1: float
    distinct_2: float
    mean_words: float
    most_frequent: str
    most_frequent_share: float
    loop_share: float


def diversity(outputs: Sequence[str]) -> Diversity:
    """Return how varied some outputs, at least one, are."""
    rows = [output.casefold().split() for output in outputs]
    num_words = max(1, sum(map(len, rows)))
    commonest, count = Counter(outputs).most_common(1)[0]
    return Diversity(
        distinct_1=len({word for words in rows for word in words}) / num_words,
        distinct_2=len({pair for words in rows for pair in itertools.pairwise(words)}) / num_words,
        mean_words=sum(map(len, rows)) / len(rows),
        most_frequent=commonest,
        most_frequent_share=count / len(outputs),
        loop_share=sum(map(has_loop, outputs)) / len(outputs),
    )
