"""What makes scores mislead: text that is not as sacreBLEU expects it."""

import re
from collections.abc import Sequence

from nmt_cli.evaluation.scores import bleu_tokenizer

_TOKENISED = re.compile(r"\w [.,](?: |$)")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOKENISED_SHARE = 0.3  # of the lines
_LOWER_SHARE = 0.9  # of the lines with letters that have a capital form
_UNSPACED_SHARE = 0.3  # of the characters


def warnings(hypotheses: Sequence[str], references: Sequence[str], language: str) -> list[str]:
    """Return what is odd about the text for scores to be compared with others.

    Args:
        hypotheses: One output a segment.
        references: One reference a segment.
        language: Code of the target language, as BLEU was told.
    """
    found = []
    sides = {"outputs": hypotheses, "references": references}
    tokenised = [name for name, lines in sides.items() if _is_tokenised(lines)]
    if tokenised:
        found.append(
            f"the {' and the '.join(tokenised)} look tokenised (a space before . and ,): "
            "scores of detokenised text are what can be compared"
        )
    lower = [name for name, lines in sides.items() if _is_lower(lines)]
    if len(lower) == 1:
        found.append(
            f"the {lower[0]} are in small letters, the others are not: each capital letter "
            "counts as an error"
        )
    if len(lower) > 1:
        found.append("all text is in small letters: the scores are not those of cased text")
    if bleu_tokenizer(language) == "13a" and _is_unspaced(references):
        found.append(
            "the references are Chinese, Japanese, Korean or Thai, but the target language is "
            f"{language or 'not known'}: BLEU splits words at spaces only"
        )
    return found


def _is_tokenised(lines: Sequence[str]) -> bool:
    count = sum(1 for line in lines if _TOKENISED.search(line))
    return count > _TOKENISED_SHARE * len(lines)


def _is_lower(lines: Sequence[str]) -> bool:
    """Whether most lines with letters of two cases have small ones only."""
    cased = [line for line in lines if line.lower() != line.upper()]
    count = sum(1 for line in cased if line == line.lower())
    return count > _LOWER_SHARE * len(cased)


def _is_unspaced(lines: Sequence[str]) -> bool:
    text = "".join(lines)
    return len(_UNSPACED.findall(text)) > _UNSPACED_SHARE * len(text)
