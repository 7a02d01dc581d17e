"""Scores of outputs: through sacreBLEU, each with its signature; diversity; and misuse.

References: Post 2018, "A Call for Clarity in Reporting BLEU Scores", arXiv 1804.08771; Koehn 2004,
"Statistical Significance Tests for Machine Translation Evaluation"; Li et al. 2016, "A
Diversity-Promoting Objective Function for Neural Conversation Models", arXiv 1510.03055.
"""

import itertools
import os
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from nmt_cli.search.chat_session import has_loop
from nmt_cli.text.languages import Way, by_way

QUICK = ("bleu", "chrf")
ALL = ("bleu", "chrf", "chrf++", "ter")
# Languages that 13a does not split into words; sacreBLEU brings `zh`, the others need `char`.
_TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}
_LONGEST = (5, 10, 15, 20, 30, 50)  # source words of each class of length but the last
RESAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """A corpus score."""

    score: float  # 0 to 100
    signature: str  # sacreBLEU's account of every setting behind the number

    def as_json(self) -> dict[str, float | str]:
        """Return the score as JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class LengthScore:
    """BLEU of the segments of about one length."""

    shortest: int  # words of their shortest source
    longest: int | None  # words of their longest source; None is any
    segments: int  # how many there are
    bleu: float  # their BLEU


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str,
    names: Sequence[str] = QUICK,
) -> dict[str, Score]:
    """Return some of the scores of `ALL`, cased, of detokenised text, a segment a line.

    The code of the target language decides how BLEU splits words.
    """
    scores = {}
    for name in names:
        metric = _metric(name, language)
        result = metric.corpus_score(list(hypotheses), [list(references)])
        scores[name] = Score(float(result.score), str(metric.get_signature()))
    return scores


def scores_by_way(
    hypotheses: Sequence[str],
    references: Sequence[str],
    ways: Sequence[Way],
    language: str,
    names: Sequence[str] = QUICK,
) -> dict[str, Score]:
    """Return scores as `corpus_scores`; of several directions their mean, then each of them.

    `ways` has the direction of each segment, with the code of the target last; `language` is that
    of targets whose direction does not tell it.
    """
    found: dict[str, dict[str, Score]] = {}
    for (source, target), indices in by_way(ways).items():
        outputs, right = ([side[i] for i in indices] for side in (hypotheses, references))
        found[f"{source}-{target}"] = corpus_scores(outputs, right, target or language, names)
    if len(found) == 1:
        return next(iter(found.values()))
    signature = f"mean of {', '.join(found)}"
    means = {
        name: Score(statistics.fmean(of[name].score for of in found.values()), signature)
        for name in names
    }
    return means | {f"{name} {way}": found[way][name] for way in found for name in names}


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
    """Return BLEU of short, longer and long sources, measured in words between spaces.

    Those without a word are in no class.
    """
    lengths = [len(source.split()) for source in sources]
    found, shortest = [], 1
    for longest in (*_LONGEST, None):
        picked = [i for i, n in enumerate(lengths) if shortest <= n <= (longest or n)]
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
        is when the two are equally good; 1 for equal outputs, for which the bootstrap finds a small
        one. The seed is sacreBLEU's: 12345, or $SACREBLEU_SEED.
    """
    systems: list[tuple[str, Sequence[str]]] = [
        (str(i), list(outputs)) for i, outputs in enumerate((baseline, *others))
    ]
    metrics = {name: _metric(name, language) for name in names}
    test = PairedTest(systems, metrics, [list(references)], test_type="bs", n_samples=RESAMPLES)
    results: Any = test()[1]  # by sacreBLEU's names of the scores, in the order given
    columns = dict(zip(names, list(results.values())[1:], strict=True))
    return [
        dict.fromkeys(names, 1.0)
        if [*outputs] == [*baseline]
        else {name: float(column[i].p_value) for name, column in columns.items()}
        for i, outputs in enumerate(others, start=1)
    ]


def bootstrap_signature() -> str:
    """Return what decides p-values, in the words of sacreBLEU's signatures."""
    return f"bs:{RESAMPLES}|seed:{os.environ.get('SACREBLEU_SEED', '12345').lower()}"


def bleu_tokenizer(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language."""
    return _TOKENIZERS.get(language.replace("_", "-").split("-")[0].lower(), "13a")


def _metric(name: str, language: str) -> Metric:
    if name == "bleu":
        # `force` keeps sacreBLEU from logging what `warnings` says; it changes no score.
        return BLEU(tokenize=bleu_tokenizer(language), force=True)
    if name == "ter":
        return TER()
    return CHRF(word_order=2 if name == "chrf++" else 0)


@dataclass(frozen=True)
class Diversity:
    """How varied outputs are. Words are what stands between spaces, in small letters."""

    distinct_1: float  # different words / words (Li et al. 2016, section 5.2)
    distinct_2: float  # different pairs of neighbouring words / words
    mean_words: float  # words of an output
    most_frequent: str  # the commonest output
    most_frequent_share: float  # of the outputs, 0 to 1
    loop_share: float  # outputs that repeat a few words over and over, 0 to 1


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


_TOKENISED = re.compile(r"\w [.,](?: |$)")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOKENISED_SHARE = 0.3  # of the lines
_LOWER_SHARE = 0.9  # of the lines with letters that have a capital form
_UNSPACED_SHARE = 0.3  # of the characters


def warnings(hypotheses: Sequence[str], references: Sequence[str], language: str) -> list[str]:
    """Return what is odd about the text for scores to be compared with others."""
    found = []
    sides = {"outputs": hypotheses, "references": references}
    tokenised = [name for name, lines in sides.items() if _is_tokenised(lines)]
    if tokenised:
        found.append(
            f"the {' and the '.join(tokenised)} look tokenised (a space before . and ,): "
            "only scores of detokenised text can be compared"
        )
    lower = [name for name, lines in sides.items() if _is_lower(lines)]
    if len(lower) == 1 and all(map(_is_cased, sides.values())):
        found.append(
            f"the {lower[0]} are in lower case, the others are not: each capital letter "
            "counts as an error"
        )
    if len(lower) > 1:
        found.append(
            "all text is in lower case: the scores cannot be compared with those of cased text"
        )
    if bleu_tokenizer(language) == "13a" and _is_unspaced(references):
        found.append(
            "the references are Chinese, Japanese, Korean or Thai, but the target language is "
            f"{language or 'not known'}: BLEU splits words at spaces only"
        )
    return found


def _is_tokenised(lines: Sequence[str]) -> bool:
    count = sum(1 for line in lines if _TOKENISED.search(line))
    return count > _TOKENISED_SHARE * len(lines)


def _is_cased(lines: Sequence[str]) -> bool:
    """Whether some line has letters of two cases, as Korean has not."""
    return any(line.lower() != line.upper() for line in lines)


def _is_lower(lines: Sequence[str]) -> bool:
    """Whether most lines with letters of two cases have small ones only."""
    cased = [line for line in lines if _is_cased([line])]
    count = sum(1 for line in cased if line == line.lower())
    return count > _LOWER_SHARE * len(cased)


def _is_unspaced(lines: Sequence[str]) -> bool:
    text = "".join(lines)
    return len(_UNSPACED.findall(text)) > _UNSPACED_SHARE * len(text)
