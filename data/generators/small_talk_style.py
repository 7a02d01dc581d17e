"""The ways in which users type one and the same sentence.

People write "whats ur name pls" for "What is your name, please?". Here a template becomes what
somebody may have typed for it. The words in its slots keep their letters, since the answer repeats
them.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from generators.small_talk_script import Record, asks, fill

# What people write instead, in any place.
SHORT_FORMS: Mapping[str, tuple[str, ...]] = {
    "a lot": ("alot", "lots"),
    "about": ("bout", "abt"),
    "am": ("m",),
    "and": ("n", "&"),
    "are": ("r",),
    "are you": ("r u", "are u", "ru"),
    "because": ("cause", "cuz", "coz", "bc"),
    "brother": ("bro",),
    "can i": ("may i", "could i"),
    "can you": ("could you", "can u", "could u", "would you"),
    "colour": ("color",),
    "could you": ("can you", "could u"),
    "dad": ("father",),
    "do you": ("do u", "d'you"),
    "do you have": ("have you got", "u got", "you got"),
    "do you know": ("d'you know", "do u know", "you know"),
    "evening": ("eve",),
    "favourite": ("favorite", "fav", "favorit", "favourit", "fave"),
    "film": ("movie",),
    "films": ("movies",),
    "for": ("4",),
    "friend": ("frend", "friend"),
    "give me": ("gimme", "give me"),
    "going to": ("gonna",),
    "good": ("gud", "goood"),
    "great": ("gr8",),
    "have to": ("gotta", "got to", "need to"),
    "hello": ("hallo", "helo", "hellow"),
    "holiday": ("vacation",),
    "how are": ("how're", "hows"),
    "how is": ("how's", "hows"),
    "i am": ("i'm", "im"),
    "i don't know": ("idk", "i dunno"),
    "i have": ("i've got", "i got"),
    "i will": ("i'll", "ill"),
    "i would like": ("i'd like", "i want"),
    "i'd like to": ("i want to", "i wanna", "i would like to"),
    "is not": ("isn't", "isnt"),
    "it is": ("it's", "its"),
    "know": ("kno",),
    "later": ("l8r", "l8er"),
    "like": ("lik", "like"),
    "love": ("luv",),
    "maths": ("math", "mathematics"),
    "mum": ("mom", "mother", "mama"),
    "night": ("nite",),
    "okay": ("ok", "k"),
    "people": ("ppl",),
    "please": ("pls", "plz", "pleas"),
    "really": ("rly", "realy"),
    "right now": ("rn", "now"),
    "see you": ("see ya", "cu", "c u"),
    "should i": ("shall i", "do i"),
    "so": ("sooo", "soo", "very", "really"),
    "something": ("smth", "sth", "somthing"),
    "talk": ("chat", "speak"),
    "tell me": ("pls tell me", "can you tell me", "could you tell me", "tell us"),
    "thank you": ("thank u", "thx", "ty"),
    "thanks": ("thx", "thanx", "tnx"),
    "that is": ("that's", "thats"),
    "they": ("dey",),
    "though": ("tho",),
    "today": ("2day", "tday"),
    "tomorrow": ("tmrw", "tomorow", "tommorow"),
    "tonight": ("tonite",),
    "very": ("really", "so", "super"),
    "want to": ("wanna",),
    "weather": ("wether", "wheather"),
    "what": ("wat", "wut"),
    "what are": ("what're", "wat r"),
    "what do you": ("what do u", "whaddya"),
    "what is": ("what's", "whats", "wats"),
    "what's": ("what is", "whats", "wats", "wat is"),
    "where is": ("where's", "wheres"),
    "who is": ("who's", "whos"),
    "with": ("w", "wit"),
    "yes": ("yea", "yes"),
    "you": ("u", "ya"),
    "you are": ("you're", "ur", "youre", "u r"),
    "your": ("ur", "yor"),
}

# What may stand before and after a sentence without changing what it says.
BEFORE_ALL = (
    *("hey ", "hi ", "hello ", "hey nemo ", "nemo ", "ok ", "well ", "so ", "oh ", "hmm ", "um "),
    *(
        "btw ",
        "hi nemo, ",
        "hey, ",
        "oh, ",
        "well, ",
        "ok, ",
        "hey bot, ",
        "yo ",
        "honestly ",
        "now ",
    ),
)
BEFORE_QUESTIONS = (
    *("tell me, ", "and ", "but ", "just curious, ", "quick question: ", "i wonder, ", "say, "),
    *("please tell me, ", "can you tell me, ", "i want to know, ", "one question, ", "i ask you: "),
    *("may i ask, ", "you know what, ", "just wondering, ", "i have a question, ", "by the way, "),
)
AFTER_ALL = (
    *(
        " nemo",
        " bot",
        " buddy",
        " my friend",
        " mate",
        " lol",
        " haha",
        " :)",
        " you know",
        " man",
    ),
    *(" actually", " dude", " bro", "...", "!!", " right now", " :D", " :(", " ..", ", nemo"),
)
AFTER_QUESTIONS = (" please", " pls", "??", " then", " anyway", "?!", " exactly", " though")

# What a bot may say in place of Nemo's words.
OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "and how are you": ("how about you", "what about you", "and yourself", "how are you doing"),
    "and you": ("how about you", "what about you", "and yourself", "you"),
    "and yours": ("what about yours", "how about you", "and what's yours"),
    "because": ("since",),
    "best": ("most", "the most", "a lot"),
    "can't": ("cannot", "am not able to", "can never"),
    "chat": ("talk", "talk to people"),
    "chat bot": ("chatbot", "bot", "computer program"),
    "colour": ("color",),
    "computer": ("machine", "PC", "little computer"),
    "do you want": ("would you like", "want", "don't you want"),
    "do you want to hear": ("would you like to hear", "want to hear", "shall I tell you"),
    "don't": ("do not",),
    "favourite": ("favorite", "absolute favourite"),
    "glad": ("happy", "pleased", "so glad"),
    "great": ("good", "nice", "wonderful", "cool"),
    "how about": ("what about", "maybe"),
    "how nice": ("oh nice", "lovely", "that's great", "cool"),
    "i'm": ("I am", "well, I'm"),
    "i'm fine": ("I'm good", "I'm doing well", "I'm okay", "doing great", "all good here"),
    "i'm sorry to hear that": ("oh no", "I'm so sorry", "that's sad", "sorry to hear that"),
    "it's": ("it is", "that's"),
    "like": ("love", "enjoy", "really like", "like"),
    "lovely": ("nice", "beautiful", "great", "cool"),
    "my name is": ("I'm", "I'm called", "they call me"),
    "nice to meet you": ("hello", "good to meet you", "great to meet you", "pleased to meet you"),
    "no": ("nope", "no, no"),
    "of course": ("sure", "yes", "certainly"),
    "shall i": ("should I", "can I", "may I", "do you want me to", "would you like me to"),
    "thank you": ("thanks", "thanks for asking", "many thanks"),
    "thanks": ("thank you", "thanks a lot"),
    "very": ("really", "so", "quite"),
    "very well": ("quite well", "really good", "pretty good"),
    "what happened": ("what's wrong", "what went wrong", "why", "what's the matter"),
    "what is": ("what's", "tell me,"),
    "wonderful": ("great", "fantastic", "very nice"),
    "would you like": ("do you want", "want"),
    "you're welcome": ("no problem", "any time", "my pleasure", "gladly"),
}
OTHER_BEGINNINGS = (
    *("Well! ", "Oh! ", "Hm. ", "Good question! ", "Let me see. ", "Ah! ", "Haha! ", "Okay! "),
    *("Sure! ", "Hey! ", "I see. ", "Oh, thanks for asking! ", "Aw! ", "To be honest: "),
)
OTHER_WORD, BEGUN, SHORTENED, WORD_LEFT_OUT = 0.6, 0.15, 0.35, 0.2

REWORDED, ADDRESSED, CASUAL, WITHOUT_APOSTROPHES = 0.25, 0.08, 0.5, 0.4
MISTYPED, MISSPELT = 0.35, 0.15
SHORT_FORM, MISTYPED_WORD, MISSPELT_WORD, RUN_TOGETHER = 0.4, 0.3, 0.4, 0.04

# Letters that sound alike, and what is written for them by ear or in haste.
SOUNDS: Mapping[str, tuple[str, ...]] = {
    "ai": ("ia", "ay", "a"),
    "au": ("o", "ua"),
    "ck": ("k", "c"),
    "ea": ("ee", "e", "ae"),
    "ee": ("ea", "e", "i"),
    "ei": ("ie",),
    "er": ("re", "or", "a"),
    "gh": ("", "hg"),
    "ie": ("ei", "y"),
    "igh": ("y", "ie", "ihg"),
    "ing": ("in", "ign", "ng"),
    "kn": ("n",),
    "le": ("el", "l"),
    "oo": ("u", "o"),
    "ou": ("u", "o", "uo"),
    "ow": ("ou", "wo"),
    "ph": ("f",),
    "qu": ("kw", "q"),
    "th": ("ht", "t", "d"),
    "tion": ("shun", "toin", "sion"),
    "wh": ("w", "hw"),
    "y": ("i", "ie"),
    "c": ("k", "s"),
    "k": ("c", "ck"),
    "s": ("z", "ss"),
    "e": ("", "a"),
}

_NEIGHBOURS = {
    **{"q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij"},
    **{"i": "uok", "o": "ipl", "p": "ol", "a": "qsz", "s": "awdx", "d": "sefc", "f": "drgv"},
    **{"g": "fthb", "h": "gyjn", "j": "hukm", "k": "jil", "l": "kop", "z": "asx", "x": "zsdc"},
    **{"c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk"},
}
_VOWELS = "aeiou"
_SLOT = re.compile(r"(\{\w+\})")
_GAP = re.compile(r"(?<=\w) (?=\w)")
_WORD = re.compile(r"[A-Za-z']{3,}")
_SOUND = re.compile(
    "(?<=[A-Za-z])(?:" + "|".join(sorted(SOUNDS, key=len, reverse=True)) + ")|wh|ph|kn|th"
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of whole words, the longest first."""
    parts = "|".join(sorted(words, key=len, reverse=True))
    return re.compile(rf"\b({parts})\b", re.IGNORECASE)


_OTHER_WORD = _any_of(OTHER_WORDS)
_SHORT_FORM = _any_of(SHORT_FORMS)


def typed(template: str, values: Record, rng: random.Random) -> str:
    """Return a template with its slots filled, as somebody may have typed it."""
    if rng.random() < REWORDED:
        template = outside_slots(template, lambda text: reworded(text, rng))
    if rng.random() < ADDRESSED:
        template = addressed(template, rng)
    if rng.random() < MISTYPED:
        template = outside_slots(template, lambda text: mistyped(text, rng))
    if rng.random() < MISSPELT:
        template = outside_slots(template, lambda text: misspelt(text, rng))
    text = fill(template, values)
    if rng.random() < CASUAL:
        text = casual(text)
        return text.replace("'", "") if rng.random() < WITHOUT_APOSTROPHES else text
    return text


def outside_slots(template: str, change: Callable[[str], str]) -> str:
    """Return a template with the text between its slots changed."""
    parts = _SLOT.split(template)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)


def reworded(text: str, rng: random.Random) -> str:
    """Return the text with some of its words in a form that people type instead."""
    return _replaced(text, _SHORT_FORM, SHORT_FORMS, SHORT_FORM, rng)


def retold(template: str, rng: random.Random) -> str:
    """Return something that Nemo says, more or less in the words of another bot."""
    sentences = _SENTENCE_END.split(template)
    if len(sentences) > 1 and rng.random() < SHORTENED:
        sentences = shortened(sentences, rng)
    text = " ".join(sentences)
    if rng.random() < WORD_LEFT_OUT:
        text = without_a_word(text, rng)
    text = outside_slots(text, lambda part: in_other_words(part, rng))
    return rng.choice(OTHER_BEGINNINGS) + text if rng.random() < BEGUN else text


def shortened(sentences: Sequence[str], rng: random.Random) -> list[str]:
    """Return all of the sentences but one; no question and nothing with a slot goes."""
    spare = [text for text in sentences if "{" not in text and not text.endswith("?")]
    gone = rng.choice(spare) if spare else None
    return [text for text in sentences if text != gone]


def without_a_word(text: str, rng: random.Random) -> str:
    """Return a text without one of its short words, if it has many words."""
    words = text.split()
    short = [at for at, word in enumerate(words) if word.isalpha() and len(word) <= 3]
    if len(words) < 5 or not short:
        return text
    del words[rng.choice(short)]
    return " ".join(words)


def in_other_words(text: str, rng: random.Random) -> str:
    """Return a text with some of its words replaced by others that say much the same."""
    return _replaced(text, _OTHER_WORD, OTHER_WORDS, OTHER_WORD, rng)


def _replaced(
    text: str,
    pattern: re.Pattern[str],
    others: Mapping[str, Sequence[str]],
    share: float,
    rng: random.Random,
) -> str:
    """Return the text with a share of what the pattern finds in one of its other forms."""

    def replace(found: re.Match[str]) -> str:
        return rng.choice(others[found[0].lower()]) if rng.random() < share else found[0]

    return pattern.sub(replace, text)


def addressed(text: str, rng: random.Random) -> str:
    """Return the text with a word before or after it that says nothing more."""
    question = asks(text) or text.endswith("?")
    if rng.random() < 0.5:
        before = rng.choice(BEFORE_ALL + BEFORE_QUESTIONS if question else BEFORE_ALL)
        return before + text[:1].lower() + text[1:]
    after = rng.choice(AFTER_ALL + AFTER_QUESTIONS if question else AFTER_ALL)
    end = text[-1] if after[-1].isalpha() and text[-1] in ".!?" else ""
    return text.rstrip(".!? ") + after + end


def mistyped(text: str, rng: random.Random) -> str:
    """Return the text with slips of the fingers in some of its words."""
    return _WORD.sub(
        lambda word: slip(word[0], rng) if rng.random() < MISTYPED_WORD else word[0], text
    )


def slip(word: str, rng: random.Random) -> str:
    """Return a word with letters swapped, left out, doubled, missed or confused.

    The first letter is nearly always right, as it is when people type.
    """
    at = rng.randrange(1, len(word)) if rng.random() < 0.92 else 0
    letter = word[at].lower()
    kind = rng.choice(("swapped", "swapped", "left out", "left out", "doubled", "missed", "vowel"))
    if kind == "swapped" and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "doubled":
        return word[: at + 1] + word[at:]
    if kind == "missed" and letter in _NEIGHBOURS:
        return word[:at] + rng.choice(_NEIGHBOURS[letter]) + word[at + 1 :]
    if kind == "vowel" and letter in _VOWELS:
        return word[:at] + rng.choice(_VOWELS) + word[at + 1 :]
    return word[:at] + word[at + 1 :]


def misspelt(text: str, rng: random.Random) -> str:
    """Return the text with words written as they sound, and a space forgotten here and there."""
    text = _WORD.sub(
        lambda word: by_ear(word[0], rng) if rng.random() < MISSPELT_WORD else word[0], text
    )
    return _GAP.sub(lambda gap: "" if rng.random() < RUN_TOGETHER else gap[0], text)


def by_ear(word: str, rng: random.Random) -> str:
    """Return a word with one of its sounds in other letters, or as it is if none can be."""
    sounds = list(_SOUND.finditer(word))
    if not sounds:
        return word
    found = rng.choice(sounds)
    return word[: found.start()] + rng.choice(SOUNDS[found[0]]) + word[found.end() :]


def casual(text: str) -> str:
    """Return the text in lower case and without its last punctuation mark."""
    return text.lower().rstrip(".!? ") or text
