"""Corpus scores through sacreBLEU, each with the signature that makes it comparable.

Reference: Post 2018, "A Call for Clarity in Reporting BLEU Scores", arXiv 1804.08771.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

# Languages that 13a does not split into words; sacreBLEU brings `zh`, the others need `char`.
_TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}


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
