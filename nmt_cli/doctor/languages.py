"""Which language a line is in, as far as its own corpus tells.

Each side's text makes a model of its letter trigrams. A line that the other side's model explains
better stands on the wrong side, or was not translated. A line that its own side hardly explains may
be in a third language.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import LINE_FEED, Chunk, Ints, Side, lower_table
from nmt_cli.doctor.findings import Finding, Marks
from nmt_cli.text.language_id import language_code, language_of, other_language
from nmt_cli.text.scripts import NAMES

Floats = npt.NDArray[np.float32]

MIN_TRIGRAMS = 15  # of a line that is judged
OTHER_SIDE_MARGIN = 0.7  # nats a trigram by which the other side's model must be better
STRANGE = 2.5  # robust standard deviations below the usual: worth a look at its language
UNLIKE_ALL = 9.0  # so many are gibberish, whatever the language
MIN_UNLIKE_TRIGRAMS = 30  # of a line that is gibberish; a list of names is shorter
SEPARABLE = 0.95  # share of lines that their own model must explain better than the other one
MAIN_SCRIPT = 0.5  # share of the letters that makes a script a side's main one
USUAL_SCRIPT = 0.02  # likewise a usual one
_BUCKETS = 1 << 16
_UNSEEN = 0.2  # added to each count

# The scripts that each language is written in; languages that are not here may use any.
SCRIPTS_OF = {
    "Latin": (
        "en de fr es it pt nl sv da no nb nn fi pl cs sk hu ro hr sl tr vi id ms sw tl ca eu gl et "
        "lv lt is ga cy sq af az uz eo la"
    ),
    "Cyrillic": "ru uk be bg mk kk ky mn tg",
    "Hangul": "ko",
    "Arabic": "ar fa ur ps",
    "Hebrew": "he yi",
    "Greek": "el",
    "Devanagari": "hi mr ne sa",
    "Bengali": "bn as",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Thai": "th",
    "Lao": "lo",
    "Khmer": "km",
    "Myanmar": "my",
    "Georgian": "ka",
    "Armenian": "hy",
    "Ethiopic": "am ti",
    "Sinhala": "si",
    "Han": "zh",
}


def script_of(language: str) -> str | None:
    """Return the script of a language code such as `de` or `pt-BR`, or None."""
    code = language_code(language)
    return next((script for script, codes in SCRIPTS_OF.items() if code in codes.split()), None)


def language_findings(chunk: Chunk, languages: tuple[str, str]) -> Iterator[Finding]:
    """Yield a warning for a side that is not in the language that the configuration names."""
    for name, language, side in zip(("source", "target"), languages, chunk.sides, strict=True):
        key = f"{name}_lang is {language}"
        expected, shares = script_of(language), _script_shares(side)
        if expected and shares[NAMES.index(expected)] < MAIN_SCRIPT:
            most = int(shares[1:].argmax()) + 1
            message = f"{key}, but {shares[most]:.0%} of its letters are {NAMES[most]}"
        elif measured := other_language(" ".join(side.lines), language):
            message = f"{key}, but most of it looks like {measured}"
        else:
            continue
        yield Finding("language", "warning", f"{message}; are the sides swapped?")


def usual_scripts(side: Side, language: str) -> tuple[int, Ints]:
    """Return the number of a side's main script in `scripts.NAMES`, 0 for none, and of all it uses.

    The language is a code, "" where it is unknown.
    """
    shares = _script_shares(side)
    if expected := script_of(language):
        main = NAMES.index(expected)
    else:
        main = int(shares.argmax()) if shares.max() >= MAIN_SCRIPT else 0
    # Names and abbreviations in Latin letters belong to any text.
    return main, np.union1d(np.flatnonzero(shares >= USUAL_SCRIPT), [main, NAMES.index("Latin")])


def _script_shares(side: Side) -> npt.NDArray[np.float64]:
    """Return the share of a side's letters that each script has."""
    counts = np.bincount(side.scripts, minlength=len(NAMES)).astype(float)
    counts[0] = 0.0
    shares: npt.NDArray[np.float64] = counts / max(1.0, counts.sum())
    return shares


@dataclass(frozen=True)
class SideModel:
    """What the lines of one side look like."""

    log_probs: Floats  # [65536] of hashed letter trigrams
    usual: float  # median of the lines' means
    spread: float  # their robust standard deviation
    language: str  # the side's language, or "" when it is unknown


def build_model(side: Side, language: str) -> SideModel:
    """Return the model of a side, from a sample of its lines; a language of "" is found out."""
    grams = _trigrams(side)
    counts = np.bincount(grams[0], minlength=_BUCKETS).astype(np.float64) + _UNSEEN
    log_probs = np.log(counts / counts.sum()).astype(np.float32)
    means, lengths = _means(log_probs, grams, len(side.lines))
    judged = means[lengths >= MIN_TRIGRAMS]
    usual = float(np.median(judged)) if len(judged) else 0.0
    spread = 1.4826 * float(np.median(np.abs(judged - usual))) if len(judged) else 0.0
    known = language_code(language) or language_of(side.lines)
    return SideModel(log_probs, usual, spread or math.inf, known)


def are_separable(models: Sequence[SideModel], chunk: Chunk) -> bool:
    """Return whether the models tell the sides of a sample apart: they are not in one language."""
    for number, side in enumerate(chunk.sides):
        advantage, lengths, _ = _compare(models, number, side)
        judged = advantage[lengths >= MIN_TRIGRAMS]
        if not len(judged) or (judged > 0).mean() < SEPARABLE:
            return False
    return True


def wrong_language(
    chunk: Chunk, models: Sequence[SideModel], *, separable: bool
) -> Iterator[Marks]:
    """Find lines in the language of the other side, in a third one, or in none."""
    for number, side in enumerate(chunk.sides):
        advantage, lengths, deviation = _compare(models, number, side)
        found: dict[int, str] = {}
        if separable:
            swapped = (advantage < -OTHER_SIDE_MARGIN) & (lengths >= MIN_TRIGRAMS)
            other = ("target", "source")[number]
            found |= dict.fromkeys(map(int, np.flatnonzero(swapped)), f"reads like the {other}")
        strange = np.flatnonzero((deviation > STRANGE) & (lengths >= MIN_TRIGRAMS))
        for row in map(int, strange):
            own = models[number].language
            if row not in found and (third := other_language(side.lines[row], own)):
                found[row] = f"looks like {third!r}, not {own!r}"
        gibberish = (deviation > UNLIKE_ALL) & (lengths >= MIN_UNLIKE_TRIGRAMS)
        for row in map(int, np.flatnonzero(gibberish)):
            found.setdefault(row, "letters in an order unlike all other lines")
        marks = Marks.of("language", number, found)
        yield marks._replace(ranks=deviation[marks.rows])


def _compare(models: Sequence[SideModel], number: int, side: Side) -> tuple[Floats, Ints, Floats]:
    """Return by line: how much better its own model is, trigrams, deviation below the usual."""
    grams = _trigrams(side)
    own, lengths = _means(models[number].log_probs, grams, len(side.lines))
    other, _ = _means(models[1 - number].log_probs, grams, len(side.lines))
    return own - other, lengths, (models[number].usual - own) / models[number].spread


def _trigrams(side: Side) -> tuple[npt.NDArray[np.uint32], Ints]:
    """Return the hashed trigrams of all lines, without case, and the line that each is in."""
    codes = lower_table()[side.codes]
    hashed = codes[:-2] * np.uint32(961748927)
    hashed ^= codes[1:-1] * np.uint32(982451653)
    hashed ^= codes[2:] * np.uint32(899809343)
    lines = np.repeat(np.arange(len(side.lines)), np.diff(np.append(side.starts, len(codes))))
    inside = codes[1:-1] != LINE_FEED
    return ((hashed >> np.uint32(13)) & np.uint32(_BUCKETS - 1))[inside], lines[1:-1][inside]


def _means(
    log_probs: Floats, grams: tuple[npt.NDArray[np.uint32], Ints], num_lines: int
) -> tuple[Floats, Ints]:
    """Return by line: mean log-probability of a trigram, and how many there are."""
    hashed, lines = grams
    lengths = np.bincount(lines, minlength=num_lines)
    sums = np.bincount(lines, log_probs[hashed], minlength=num_lines)
    return (sums / np.maximum(lengths, 1)).astype(np.float32), lengths
