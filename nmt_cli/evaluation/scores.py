"""Scores against references through sacreBLEU, each with the signature that makes it comparable.

References: Post 2018, "A Call for Clarity in Reporting BLEU Scores", arXiv 1804.08771; Koehn 2004,
"Statistical Significance Tests for Machine Translation Evaluation".
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

QUICK = ("bleu", "chrf")
ALL = ("bleu", "chrf", "chrf++", "ter")
# Languages that 13a does not split into words; sacreBLEU brings `zh`, the others need `char`.
_TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}
_LONGEST = (5, 10, 15, 20, 30, 50)  # source words of each class of length but the last
RESAMPLES = 1000


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


@dataclass(frozen=True)
class LengthScore:
    """BLEU of the segments of about one length.

    Attributes:
        shortest: Words of their shortest source.
        longest: Words of their longest source; None is any.
        segments: How many there are.
        bleu: Their BLEU.
    """

    shortest: int
    longest: int | None
    segments: int
    bleu: float


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str,
    names: Sequence[str] = QUICK,
) -> dict[str, Score]:
    """Return cased scores of detokenised text.

    Args:
        hypotheses: One output a segment.
        references: One reference a segment.
        language: Code of the target language; decides how BLEU splits words.
        names: Which of `ALL`.
    """
    scores = {}
    for name in names:
        metric = _metric(name, language)
        result = metric.corpus_score(list(hypotheses), [list(references)])
        scores[name] = Score(float(result.score), str(metric.get_signature()))
    return scores


def segment_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return chrF++ of each segment, which means more of single sentences than their BLEU."""
    metric = _metric("chrf++", "")
    return [
        float(metric.sentence_score(hypothesis, [reference]).score)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def scores_by_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], language: str
) -> list[LengthScore]:
    """Return BLEU of short, longer and long sources, measured in words between spaces."""
    lengths = [len(source.split()) for source in sources]
    found, shortest = [], 0
    for longest in (*_LONGEST, None):
        picked = [
            i for i, n in enumerate(lengths) if n >= shortest and (longest is None or n <= longest)
        ]
        if picked:
            some = ([hypotheses[i] for i in picked], [references[i] for i in picked])
            bleu = corpus_scores(*some, language, ("bleu",))["bleu"].score
            found.append(LengthScore(shortest, longest, len(picked), bleu))
        shortest = (longest or 0) + 1
    return found


def p_values(
    baseline: Sequence[str],
    others: Sequence[Sequence[str]],
    references: Sequence[str],
    language: str,
    names: Sequence[str] = ALL,
) -> list[dict[str, float]]:
    """Compare systems with a baseline by sacreBLEU's paired bootstrap of 1,000 samples.

    Returns:
        For each other system the p-value of each score: how likely a difference at least as large
        is when the two are equally good. The seed is sacreBLEU's: 12345, or $SACREBLEU_SEED.
    """
    systems: list[tuple[str, Sequence[str]]] = [
        (str(i), list(outputs)) for i, outputs in enumerate((baseline, *others))
    ]
    metrics = {name: _metric(name, language) for name in names}
    test = PairedTest(systems, metrics, [list(references)], test_type="bs", n_samples=RESAMPLES)
    results = test()[1]  # by sacreBLEU's names of the scores, in the order given
    columns: dict[str, Any] = dict(zip(names, list(results.values())[1:], strict=True))
    return [
        {name: float(column[i].p_value) for name, column in columns.items()}
        for i in range(1, len(systems))
    ]


def bootstrap_signature() -> str:
    """Return what decides p-values, in the words of sacreBLEU's signatures."""
    return f"bs:{RESAMPLES}|seed:{os.environ.get('SACREBLEU_SEED', '12345').lower()}"


def bleu_tokenizer(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language."""
    return _TOKENIZERS.get(language.replace("_", "-").split("-")[0].lower(), "13a")


def _metric(name: str, language: str) -> Metric:
    if name == "bleu":
        # `force` keeps sacreBLEU from logging what `misuse.warnings` says; it changes no score.
        return BLEU(tokenize=bleu_tokenizer(language), force=True)
    if name == "ter":
        return TER()
    return CHRF(word_order=2 if name == "chrf++" else 0)
