"""Which language a line is in, as far as its own corpus tells.

Each side's text makes a model of its letter trigrams. A line that the other side's model explains
better stands on the wrong side, or was not translated. A line that its own side hardly explains is
looked at for the commonest words of the languages below.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import LINE_FEED, Chunk, Ints, Side, lower_table
from nmt_cli.doctor.findings import Marks

Floats = npt.NDArray[np.float32]

MIN_TRIGRAMS = 15  # of a line that is judged
OTHER_SIDE_MARGIN = 0.7  # nats a trigram by which the other side's model must be better
STRANGE = 2.5  # robust standard deviations below the usual: worth a look at its words
UNLIKE_ALL = 9.0  # so many are gibberish, whatever the words
MIN_UNLIKE_TRIGRAMS = 30  # of a line that is gibberish; a list of names is shorter
MIN_WORDS = 2  # different common words of another language
SEPARABLE = 0.95  # share of lines that their own model must explain better than the other one
COMMON_SHARE = 0.1  # of the words: so many are common ones in a text of any language
CLEARLY = 1.5  # times as many common words make a text be in another language
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

# The commonest words of languages in Latin letters, but those of one letter, which are everywhere.
# A word counts for all languages that have it.
_COMMON_WORDS = {
    "en": (
        "the of and to in is that it was for on are with as his they at be this from have or "
        "by had not but what were we when your can said there an each which she do their if "
        "will how you"
    ),
    "de": (
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als "
        "auch es an er hat dass sie nach wird bei einer um am sind noch wie einem über einen "
        "so zum war ich wir du mein dein bin hast was da nur sehr"
    ),
    "fr": (
        "le de la les et des en un une du dans est que pour qui par sur pas plus au il elle "
        "ne se ce sont avec son sa ses ou mais nous vous je cette aux été ont était leur"
    ),
    "es": (
        "de la que el en los se del las un por con no una su para es al lo como más pero sus "
        "le ya este sí porque esta entre cuando muy sin sobre está son hay yo"
    ),
    "it": (
        "di che la il un per in una sono mi ho non ma lo ha le si con del da al della nel gli "
        "dei come questo più ci anche alla nella su se dell"
    ),
    "pt": (
        "de que não um para com uma os em do da se na por mais as dos como mas ao ele das seu "
        "sua ou quando muito já está eu também pelo isso são"
    ),
    "nl": (
        "de het een van en in is dat op te zijn met voor niet aan er om ook als dan maar bij "
        "uit nog naar heeft hij ze wordt door over ik je deze worden of"
    ),
    "sv": (
        "och att det en jag som är på för med av den inte har till ett om han de var sig från "
        "men vi kan så hon eller när"
    ),
    "da": (
        "og at det en jeg som er på for med af den ikke har til et om han de var sig fra men "
        "vi kan så hun eller når"
    ),
    "no": (
        "og det en jeg som er på for med av den ikke har til et om han de var seg fra men vi "
        "kan så hun eller når"
    ),
    "fi": (
        "ja on ei se että hän oli mutta en kun niin mitä ovat tämä minä joka sitä olen mukaan "
        "myös sen kuin hänen tai ole"
    ),
    "pl": (
        "na nie do się to jest że jak po co ale przez od za tak są dla był przy jego czy już "
        "tylko być może"
    ),
    "cs": (
        "se na je že to do ve jsem za by ale jako jsou po pro tak jak který není co od při byl být"
    ),
    "hu": (
        "az és hogy nem is egy ez van volt meg de csak el ha már mint kell még vagy után ki lesz"
    ),
    "ro": ("de și în la cu pe nu că să un din mai se este pentru care sunt ca au fi ce dar am lui"),
    "tr": (
        "ve bir bu da de için ne çok ben ile var daha gibi ama mi kadar sonra olarak olan değil"
    ),
    "id": (
        "yang dan di dengan untuk ini dari itu tidak dalam ke pada adalah akan saya ada juga "
        "kita bisa"
    ),
    "vi": "và của là có không được cho một các trong người với này những đã để tôi khi đến như",
}
_LANGUAGES_OF: dict[str, set[str]] = {}
for _language, _words in _COMMON_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, set()).add(_language)
_WORD = re.compile(r"[^\W\d_]+")


def script_of(language: str) -> str | None:
    """Return the script of a language code such as `de` or `pt-BR`, or None."""
    code = language.lower().split("-")[0].split("_")[0]
    return next((script for script, codes in SCRIPTS_OF.items() if code in codes.split()), None)


def commonest_language(lines: Sequence[str]) -> str:
    """Return the language whose common words make up most of the lines, or "" for none of them."""
    hits, words = _common_words(lines)
    best = hits.most_common(1)
    return best[0][0] if best and best[0][1] > COMMON_SHARE * words else ""


def contradicts(lines: Sequence[str], language: str) -> str | None:
    """Return the language that the lines are in rather than in `language`, or None."""
    hits, _ = _common_words(lines)
    measured = commonest_language(lines)
    known = language.lower()[:2]
    if known not in _COMMON_WORDS or not measured:
        return None
    return measured if hits[measured] > CLEARLY * hits[known] else None


def _common_words(lines: Sequence[str]) -> tuple[Counter[str], int]:
    """Return how many common words of each language the lines have, and how many words."""
    hits: Counter[str] = Counter()
    words = 0
    for line in lines:
        found = _WORD.findall(line.lower())
        words += len(found)
        for word in found:
            hits.update(_LANGUAGES_OF.get(word, ()))
    return hits, words


@dataclass(frozen=True)
class SideModel:
    """What the lines of one side look like.

    Attributes:
        log_probs: [65536] of hashed letter trigrams.
        usual: Median of the lines' means.
        spread: Their robust standard deviation.
        language: The side's language, or "" when it is unknown.
    """

    log_probs: Floats
    usual: float
    spread: float
    language: str


def build_model(side: Side, language: str) -> SideModel:
    """Return the model of a side, from a sample of its lines.

    Args:
        side: The sample.
        language: As the configuration has it; "" finds out.
    """
    grams = _trigrams(side)
    counts = np.bincount(grams[0], minlength=_BUCKETS).astype(np.float64) + _UNSEEN
    log_probs = np.log(counts / counts.sum()).astype(np.float32)
    means, lengths = _means(log_probs, grams, len(side.lines))
    judged = means[lengths >= MIN_TRIGRAMS]
    usual = float(np.median(judged)) if len(judged) else 0.0
    spread = 1.4826 * float(np.median(np.abs(judged - usual))) if len(judged) else 0.0
    code = language.lower().split("-")[0].split("_")[0]
    return SideModel(log_probs, usual, spread or math.inf, code or commonest_language(side.lines))


def are_separable(models: tuple[SideModel, SideModel], chunk: Chunk) -> bool:
    """Return whether the models tell the sides of a sample apart: they are not in one language."""
    for number, side in enumerate(chunk.sides):
        advantage, lengths, _ = _compare(models, number, side)
        judged = advantage[lengths >= MIN_TRIGRAMS]
        if not len(judged) or (judged > 0).mean() < SEPARABLE:
            return False
    return True


def wrong_language(
    chunk: Chunk, models: tuple[SideModel, SideModel], *, separable: bool
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
            if row not in found and (language := _other_language(side.lines[row], models[number])):
                found[row] = language
        gibberish = (deviation > UNLIKE_ALL) & (lengths >= MIN_UNLIKE_TRIGRAMS)
        for row in map(int, np.flatnonzero(gibberish)):
            found.setdefault(row, "letters in an order unlike all other lines")
        rows = np.array(sorted(found), np.int64)
        yield Marks("language", number, rows, deviation[rows].astype(np.float64), _describe(found))


def _describe(found: dict[int, str]) -> Callable[[int], str]:
    return lambda row: found[row]


def _other_language(line: str, model: SideModel) -> str | None:
    """Return a message when a line has common words of another language, and hardly of its own."""
    words = set(_WORD.findall(line.lower()))
    hits: dict[str, list[str]] = {}
    for word in sorted(words & _LANGUAGES_OF.keys()):
        for language in _LANGUAGES_OF[word]:
            hits.setdefault(language, []).append(word)
    own = len(hits.pop(model.language, ()))
    if not model.language or model.language not in _COMMON_WORDS or not hits:
        return None
    language, found = max(hits.items(), key=lambda item: (len(item[1]), item[0]))
    only = [word for word in found if model.language not in _LANGUAGES_OF[word]]
    if len(only) < max(MIN_WORDS, 2 * own) or len(only) * 8 < len(words):
        return None
    return f"looks like {language!r} ({', '.join(only[:4])}), not {model.language!r}"


def _compare(
    models: tuple[SideModel, SideModel], number: int, side: Side
) -> tuple[Floats, Ints, Floats]:
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
