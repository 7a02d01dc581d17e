"""Scores of outputs: against references through sacreBLEU, and how varied they are by themselves.

References: Post 2018, "A Call for Clarity in Reporting BLEU Scores", arXiv 1804.08771; Li et al.
2016, "A Diversity-Promoting Objective Function for Neural Conversation Models", arXiv 1510.03055.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

# Languages that 13a does not split into words; sacreBLEU brings `zh`, the others need `char`.
_TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}
_LOOP_WORDS, _LOOP_TIMES = 4, 4  # a loop: up to so many words, so many times in a row


@dataclass(frozen=True)
class Score:
    """A corpus score.

    Attributes:
        score: 0 to 100.
        signature: sacreBLEU's account of every setting behind the number.
    """

    score: float
    signature: str

    def as_json(self) -> dict[str, float | str]:
        """Return the score as JSON data."""
        return asdict(self)


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str
) -> dict[str, Score]:
    """Return cased BLEU and chrF of detokenised text.

    Args:
        hypotheses: One output a segment.
        references: One reference a segment.
        language: Code of the target language; decides how BLEU splits words.
    """
    tokenizer = _TOKENIZERS.get(language.replace("_", "-").split("-")[0].lower(), "13a")
    metrics = {"bleu": BLEU(tokenize=tokenizer), "chrf": CHRF()}
    scores = {}
    for name, metric in metrics.items():
        result = metric.corpus_score(list(hypotheses), [list(references)])
        scores[name] = Score(float(result.score), str(metric.get_signature()))
    return scores


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


def has_loop(text: str) -> bool:
    """Return whether one to four words come at least four times in a row."""
    words = text.split()
    for size in range(1, _LOOP_WORDS + 1):
        equal = 0  # words in a row that equal the one `size` before
        for word, before in zip(words[size:], words, strict=False):
            equal = equal + 1 if word == before else 0
            if equal == size * (_LOOP_TIMES - 1):
                return True
    return False
