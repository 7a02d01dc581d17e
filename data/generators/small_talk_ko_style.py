"""The ways in which Korean users type one and the same sentence."""

import random
from collections.abc import Mapping

from generators.small_talk_style import Style, casual, plain

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
