"""Words of a plain text that stay as they are: addresses, code, placeholders of programs, tags."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nmt_cli.documents.inline import Filled, Inline
from nmt_cli.documents.masking import MarkedTranslator
from nmt_cli.documents.tags import keeping
from nmt_cli.errors import ConfigError
from nmt_cli.lines.work import Translating
from nmt_cli.search.translator import Translation
from nmt_cli.text.placeholders import NUMBER, PROTECTED

# What may stand in place of a pattern: numbers, or nothing beyond what is always protected.
_NAMED = {"numbers": NUMBER, "auto": r"(?!)"}


def protector(patterns: Iterable[str] = ()) -> re.Pattern[str]:
    """Return what finds the words; `patterns` are those that a person adds.

    Raises:
        ConfigError: One is no regular expression.
    """
    wanted = [_NAMED.get(pattern, pattern) for pattern in patterns]
    try:
        return re.compile("|".join(f"(?:{pattern})" for pattern in (*wanted, *PROTECTED)))
    except re.error as error:
        raise ConfigError(f"a pattern of words to protect: {error}") from error


def protected(text: str, words: re.Pattern[str]) -> Inline:
    """Return a text with marks for its tags, and for the words that stay."""
    (marked,) = keeping([Inline(text)], words)
    return marked


@dataclass(frozen=True, kw_only=True)
class ProtectedTranslating(Translating):
    """Translates lines, in which some words stay as they are."""

    protect: Sequence[str]  # see `protector`

    def found(self, windows: Iterable[list[str]]) -> Iterator[Translation]:
        """Yield the translation of each line; what has no words but those that stay is its own."""
        words = protector(self.protect)
        translator = MarkedTranslator(
            self.model, self.options, self.split, self.glossary, self.memory
        )
        number = 0
        for window in windows:
            texts = [protected(line, words) for line in window]
            results = translator.translations(texts, [*map(_is_open, texts)])
            for line, (found, filled) in zip(window, results, strict=True):
                number += 1
                found = _with_tags(line, found, filled)
                for what in found.guessed:
                    self.model.on_warning(
                        f"line {number}: check {what}: no word of the translation belongs to it"
                    )
                self.on_found(found)
                yield found


def _with_tags(line: str, found: Translation, filled: Sequence[Filled]) -> Translation:
    """Return the translation of a line as it is, with its tags."""
    both = zip(found.hypotheses, filled, strict=True)
    hypotheses = [replace(hypothesis, text=one.text) for hypothesis, one in both]
    return replace(found, source=line, hypotheses=hypotheses)


def _is_open(text: Inline) -> bool:
    """Return whether there is something to translate."""
    return text.has_words or not text.marks
