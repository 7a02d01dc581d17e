"""What names say: of files, of columns, of keys.

A name is taken apart at dots, dashes and spaces. A part may be a split (`train`, `newstest2014`), a
language (`ko`, `kor`, `korean`), a role (`source`, `question`), or tell labels from the text that
they belong to.
"""

import re

_SPLITS = {
    "dev": re.compile(r"(dev|val|valid|validation|development|newsdev)\d*"),
    "test": re.compile(r"(test|tst|newstest|eval)\d*"),
}
_CODES = re.compile(
    "af|am|ar|az|be|bg|bn|bs|ca|cs|cy|da|de|el|en|eo|es|et|eu|fa|fi|fr|ga|gl|gu|he|hi|hr|hu|hy|id|is"
    "|it|ja|jv|ka|kk|km|kn|ko|ku|ky|la|lb|lo|lt|lv|mg|mk|ml|mn|mr|ms|mt|my|nb|ne|nl|nn|no|or|pa|pl"
    "|ps|pt|ro|ru|rw|si|sk|sl|sq|sr|sv|sw|ta|te|tg|th|tl|tr|ug|uk|ur|uz|vi|xh|yi|zh|zu"
)
_REGION = re.compile(r"(?<=[^a-z][a-z]{2})_(cn|tw|hk|br|mx|us|gb)(?![a-z])")
_LANGUAGE_NAMES = {
    name: code
    for code, names in {
        "ar": "ara arabic",
        "cs": "ces cze czech",
        "de": "deu ger german",
        "en": "eng english 영어",
        "es": "spa spanish",
        "fi": "fin finnish",
        "fr": "fra fre french",
        "hi": "hin hindi",
        "it": "ita italian",
        "ja": "jpn jp japanese",
        "ko": "kor kr korean 한국어",
        "nl": "nld dut dutch",
        "pl": "pol polish",
        "pt": "por portuguese",
        "ru": "rus russian",
        "sv": "swe swedish",
        "tr": "tur turkish",
        "uk": "ukr ukrainian",
        "vi": "vie vietnamese",
        "zh": "zho chi cn chinese",
    }.items()
    for name in names.split()
}
_TALK = (
    "q a",
    "question answer",
    "questions answers",
    "prompt response",
    "user bot",
    "user assistant",
    "질문 답변",
)
_ROLES = ("source target", "src tgt", "src trg", "input output", "원문 번역문", *_TALK)
_RANKS = {role: rank for roles in _ROLES for rank, role in enumerate(roles.split())}
_TALK_ROLES = frozenset(role for roles in _TALK for role in roles.split())
_LABELS = re.compile(
    r"(label|class|category|sentiment|emotion|polarity|intent|topic|tag|rating|stars|target)(e?s|_id)?"
    r"|(labels|label|class)_?(name|text)|categories|classification|y"
)
_TEXTS = re.compile(
    r"(text|txt|sentence|review|comment|utterance|document|message|tweet|headline|sms|query)s?"
    r"|content|body|data|input|x"
)
_TEXTS_OF_A_PAIR = re.compile(r"(text|sentence|question|query)_?[12ab]|premise|hypothesis")
_LABEL_VALUES = re.compile(
    r"pos(itive)?|neg(ative)?|neu(tral)?|good|bad|spam|ham|toxic|clean|true|false|happy|sad"
)


def tokens(name: str) -> list[str]:
    """Return the parts of a file's name, in lower case; `zh_CN` is `zh`."""
    name = _REGION.sub("", name.removesuffix(".gz").lower())
    return re.split(r"[._\-\s]+", name)


def split_of(name: str) -> str:
    """Return the split that a file's name says, "train" when it says none."""
    for split, words in _SPLITS.items():
        if any(words.fullmatch(token) for token in tokens(name)):
            return split
    return "train"


def language(marker: str) -> str:
    """Return the code of a language by its code or name; "" for anything else."""
    marker = marker.lower()
    return marker if _CODES.fullmatch(marker) else _LANGUAGE_NAMES.get(marker, "")


def rank(marker: str) -> int:
    """Return 1 for the role of a target (`answer`), 0 for that of a source and for no role."""
    return _RANKS.get(marker.lower(), 0)


def is_side(marker: str) -> bool:
    """Return whether a name is a language or a role."""
    return bool(language(marker)) or marker.lower() in _RANKS


def is_talk(marker: str) -> bool:
    """Return whether a name is a role in a conversation."""
    return marker.lower() in _TALK_ROLES


def is_labels(marker: str) -> bool:
    """Return whether labels are called so."""
    return bool(_LABELS.fullmatch(marker.lower()))


def is_labelled_text(marker: str) -> bool:
    """Return whether the text that labels belong to is called so."""
    return bool(_TEXTS.fullmatch(marker.lower())) or is_text_of_a_pair(marker)


def is_text_of_a_pair(marker: str) -> bool:
    """Return whether one of two texts that share a label is called so."""
    return bool(_TEXTS_OF_A_PAIR.fullmatch(marker.lower()))


def is_known(marker: str) -> bool:
    """Return whether a name says anything of a column."""
    return is_side(marker) or is_labels(marker) or is_labelled_text(marker)


def is_label_value(token: str) -> bool:
    """Return whether a file so named may hold the texts of one label (`pos.txt`)."""
    return bool(_LABEL_VALUES.fullmatch(token))
