"""The ways in which users type one and the same sentence."""

import random
import re
from collections.abc import Callable, Mapping

from generators.small_talk_script import asks

Style = Callable[[str, random.Random], str]

MISSPELLINGS: dict[str, tuple[str, ...]] = {
    "about": ("abuot",),
    "and": ("adn",),
    "animal": ("anmial",),
    "answer": ("anser",),
    "are": ("r", "aer"),
    "because": ("becuase",),
    "colour": ("color",),
    "do": ("doo",),
    "favourite": ("favorite", "favourit"),
    "for": ("fro",),
    "friend": ("freind",),
    "good": ("goood", "gud"),
    "have": ("hav", "haev"),
    "hello": ("helo", "hellow"),
    "holiday": ("holliday",),
    "how": ("hwo",),
    "know": ("konw", "kno"),
    "like": ("liek",),
    "love": ("luv",),
    "morning": ("mornign",),
    "name": ("nmae",),
    "night": ("nite",),
    "people": ("peple",),
    "please": ("pls", "plz", "pleese"),
    "really": ("realy",),
    "something": ("somthing",),
    "sorry": ("sory",),
    "speak": ("speek",),
    "tell": ("tel",),
    "thank": ("thnak",),
    "thanks": ("thx", "thanx"),
    "the": ("teh",),
    "think": ("thnik",),
    "to": ("too",),
    "today": ("todya",),
    "tomorrow": ("tommorow", "tomorow"),
    "very": ("verry",),
    "want": ("wnat",),
    "weather": ("wheather",),
    "weekend": ("weekand",),
    "what": ("waht", "wat"),
    "where": ("were",),
    "which": ("wich",),
    "who": ("woh",),
    "with": ("wiht",),
    "you": ("u", "yuo"),
    "your": ("ur", "yoru"),
}

ADDRESSES = ("Hi, ", "Hello, ", "Hey, ", "Nemo, ", "Hey Nemo, ", "Hi Nemo, ", "So, ")
_WORD = re.compile(r"[a-z']+")


def plain(text: str, _rng: random.Random) -> str:
    """Return the text as it is."""
    return text


def casual(text: str, _rng: random.Random) -> str:
    """Return the text in lower case and without its last punctuation mark."""
    return text.lower().rstrip(".!? ") or text


def addressed(text: str, rng: random.Random) -> str:
    """Return a question after an address ("Hi, what is ..."), and other texts as `casual`."""
    if not text.endswith("?") or not asks(text) or "Nemo" in text:
        return casual(text, rng)
    return rng.choice(ADDRESSES) + text[0].lower() + text[1:]


def misspelt(text: str, rng: random.Random) -> str:
    """Return the text as `casual`, with one common word misspelt if there is one."""
    text = casual(text, rng)
    words = [word for word in _WORD.finditer(text) if word[0] in MISSPELLINGS]
    if not words:
        return text
    word = rng.choice(words)
    return text[: word.start()] + rng.choice(MISSPELLINGS[word[0]]) + text[word.end() :]


# The styles and how often they are used, in the first turn of a chat and in later turns.
FIRST_TURN: Mapping[Style, int] = {plain: 10, casual: 5, addressed: 2, misspelt: 1}
LATER_TURN: Mapping[Style, int] = {plain: 10, casual: 5, misspelt: 1}


def any_style(text: str, rng: random.Random, styles: Mapping[Style, int]) -> str:
    """Return the text in a random one of the styles, which are given with weights."""
    return rng.choices(list(styles), list(styles.values()))[0](text, rng)
