"""The ways in which Korean users type one and the same sentence."""

import random
from collections.abc import Callable, Mapping

from generators import small_talk_style
from generators.small_talk_script import Record, fill

Style = Callable[[str, random.Random], str]

MISSPELLINGS: dict[str, tuple[str, ...]] = {
    "같아": ("가타",),
    "고마워": ("고마어", "고마웡"),
    "그냥": ("걍",),
    "내일": ("낼",),
    "너무": ("넘", "넘넘"),
    "네모": ("내모",),
    "뭐": ("머", "모"),
    "반가": ("방가",),
    "싫어": ("시러",),
    "심심": ("씸심",),
    "안녕": ("안뇽",),
    "어떻게": ("어케", "어떡해"),
    "없어": ("업어",),
    "예요": ("에요",),
    "오늘": ("오눌",),
    "왜": ("외",),
    "이야기": ("얘기",),
    "있어": ("잇어",),
    "재미있": ("재밌", "잼있"),
    "정말": ("증말",),
    "조금": ("쪼금",),
    "좋아": ("조아",),
    "주세요": ("주세여", "주세용"),
    "추천": ("추쳔",),
    "해요": ("해여", "해용"),
    "했어": ("햇어",),
    "돼": ("되",),
}

QUESTION_TAILS = ("??", "~?", "? ㅎㅎ")
OTHER_TAILS = ("~", "..", "!!", " ㅎㅎ")


def plain(text: str, _rng: random.Random) -> str:
    """Return the text as it is."""
    return text


def casual(text: str, _rng: random.Random) -> str:
    """Return the text in lower case and without its last punctuation mark."""
    return small_talk_style.casual(text)


def joined(text: str, rng: random.Random) -> str:
    """Return the text as `casual`, with one of its spaces or all of them left out."""
    words = casual(text, rng).split(" ")
    if len(words) == 1 or rng.random() < 0.5:
        return "".join(words)
    gap = rng.randrange(1, len(words))
    return " ".join(words[:gap]) + " ".join(words[gap:])


def lively(text: str, rng: random.Random) -> str:
    """Return the text with a mark or a smile at its end as in a messenger."""
    return casual(text, rng) + rng.choice(QUESTION_TAILS if text.endswith("?") else OTHER_TAILS)


def misspelt(text: str, rng: random.Random) -> str:
    """Return the text as `casual`, with one common word misspelt if there is one."""
    text = casual(text, rng)
    words = [word for word in MISSPELLINGS if word in text]
    if not words:
        return text
    word = rng.choice(words)
    return text.replace(word, rng.choice(MISSPELLINGS[word]), 1)


# The styles and how often they are used, in the first turn of a chat and in later turns.
FIRST_TURN: Mapping[Style, int] = {plain: 8, casual: 7, joined: 3, lively: 2, misspelt: 1}
LATER_TURN: Mapping[Style, int] = {plain: 8, casual: 7, joined: 3, lively: 1}


def first_turn(template: str, values: Record, rng: random.Random) -> str:
    """Return a template with its slots filled, typed as the first turn of a chat."""
    return _any_style(fill(template, values), rng, FIRST_TURN)


def later_turn(template: str, values: Record, rng: random.Random) -> str:
    """Return a template with its slots filled, typed as another turn."""
    return _any_style(fill(template, values), rng, LATER_TURN)


def _any_style(text: str, rng: random.Random, styles: Mapping[Style, int]) -> str:
    """Return the text in a random one of the styles, which are given with weights."""
    return rng.choices(list(styles), list(styles.values()))[0](text, rng)
