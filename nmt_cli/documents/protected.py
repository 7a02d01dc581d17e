"""Words of a plain text that stay as they are: addresses, code, placeholders of programs."""

import re
from collections.abc import Iterable

from nmt_cli.documents.inline import Inline, Mark

# Nothing in them may be looked for from each character to the end: that takes for ever.
_PATTERNS = (
    r"https?://[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]",
    r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+",
    r"``?[^`\n]+``?",  # code of Markdown and reStructuredText
    r":[a-z][\w:+.-]{0,64}:`[^`\n]+`",  # a role of reStructuredText
    r"%\(\w+\)[#0 +-]{0,5}\d{0,9}(?:\.\d{1,9})?[diouxXeEfFgGcrs]",
    r"%(?:\d{1,9}\$)?[#0+-]{0,5}\d{0,9}(?:\.\d{1,9})?(?:hh|h|ll|l|z)?[diouxXeEfFgGcrs@](?![a-z])",
    r"\$\{[^{}\s]+\}",
    r"\{\{[^{}\n]+\}\}",
    r"\{[^{}\s]*\}",
    r"</?[A-Za-z][^<>]*>",
    r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
)


def protector(patterns: Iterable[str] = ()) -> re.Pattern[str]:
    """Return what finds the words; `patterns` are those that a person adds.

    Raises:
        re.error: One is no regular expression.
    """
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*patterns, *_PATTERNS)))


def protected(text: str, words: re.Pattern[str]) -> Inline:
    """Return a text with marks for the words that stay."""
    found = (match.span() for match in words.finditer(text))
    return Inline(text, [Mark(a, b, is_kept=True) for a, b in found if a < b])
