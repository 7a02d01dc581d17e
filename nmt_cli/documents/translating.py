"""A document through a model: its texts are translated, their marks placed, the file written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.api.model import Model
from nmt_cli.documents.masking import MarkedTranslator
from nmt_cli.documents.opening import (
    HTML,
    LINES,
    MARKDOWN,
    SUBTITLES,
    Document,
    check_name,
    check_output,
    kind_of,
    open_document,
)
from nmt_cli.documents.protected import protector
from nmt_cli.errors import ConfigError
from nmt_cli.files import write_bytes
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translation

if TYPE_CHECKING:
    from nmt_cli.search.glossary import Glossary, TermUse
    from nmt_cli.search.memory import Memory
    from nmt_cli.search.translator import Match

_WINDOW = 2048  # texts that are searched together: at the end of a search some cores are idle
# What stands between a text and its translation where a document gets both.
_BETWEEN = {HTML: "<br/>", MARKDOWN: "<br>", SUBTITLES: "\n", LINES: "\t"}
# Characters that XML cannot have, nor can people read them; a model or a memory may.
_ODD = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


@dataclass
class Outcome:
    """What became of a document."""

    num_texts: int = 0
    # what was put at the best place that its neighbours gave, since no word belonged to it: the
    # number of its text, and it
    guessed: list[tuple[int, str]] = field(default_factory=list)
    terms: "list[TermUse]" = field(default_factory=list)  # what became of those of a glossary
    # what a memory has, and the number of the text
    matches: "list[tuple[int, Match]]" = field(default_factory=list)

    def add(self, found: Translation) -> None:
        """Add what became of the next text."""
        self.num_texts += 1
        self.guessed += [(self.num_texts, what) for what in found.guessed]
        self.terms += found.terms
        self.matches += [(self.num_texts, found.match)] if found.match else []


def translate_document(
    source: str | Path,
    output: str | Path,
    model: Model,
    options: SearchOptions | None = None,
    *,
    kind: str | None = None,
    protect: Iterable[str] = (),
    with_translated: bool = False,
    bilingual: bool = False,
    glossary: "Glossary | str | Path | None" = None,
    memory: "Memory | str | Path | None" = None,
    on_text: Callable[[Translation], None] = lambda _: None,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> Outcome:
    """Translate a document; all but its text stays as it was.

    Args:
        source: The file.
        output: The file to write.
        model: A translation model.
        options: How to search, as `model.search_options` gives it; None is the model's own way.
        kind: One of `opening.KINDS`; None is what the name of the file says.
        protect: Regular expressions of words that stay, beside addresses, code and the like.
        with_translated: Also translate the texts of a catalogue that have a translation.
        bilingual: Write each text before its translation: HTML, Markdown, subtitles and lines.
        glossary: A glossary, or its file, as `model.translate` takes it.
        memory: A translation memory, or its file, in the same way. It has a text with marks if it
            has the same words with the same marks in the same order.
        on_text: Called with the translation of each text, without markup.
        on_done: Called with how many texts are done, and of how many.

    Raises:
        ConfigError: A pattern is no regular expression, the kind is unknown or cannot have both
            languages, or the output is the input, or is named like another format.
        DataError: The document, the glossary or the memory cannot be read, is damaged or too large.
        NmtError: A package is missing.
    """
    if Path(source).resolve() == Path(output).resolve():
        raise ConfigError(f"{output}: the output is the input")
    if kind is None:
        check_name(Path(source))
        check_output(Path(source), Path(output))
    path, words, kind = Path(source), protector(protect), kind_of(source, kind)
    if bilingual and kind not in _BETWEEN:
        known = ", ".join(_BETWEEN)
        raise ConfigError(f"{path}: cannot have both languages; {known} can (a catalogue has them)")
    document = open_document(
        path, kind, words, with_translated=with_translated, output=Path(output)
    )
    options = options or model.search_options()
    translator = MarkedTranslator(
        model, options, glossary=glossary, memory=model.memory(memory, options)
    )
    filled: list[str] = []
    outcome = Outcome()
    results = zip(document.texts, _filled(document, translator), strict=True)
    for inline, (found, text) in results:
        if bilingual and inline.has_words:
            text = inline.unchanged().text + _BETWEEN[kind] + text
        filled.append(text)
        outcome.add(found)
        on_text(found)
        on_done(len(filled), len(document.texts))
    write_bytes(Path(output), document.filled(filled))
    return outcome


def _filled(document: Document, translator: MarkedTranslator) -> Iterator[tuple[Translation, str]]:
    """Yield each text of a document, translated, and with marks; one without a letter stays."""
    for start in range(0, len(document.texts), _WINDOW):
        window = document.texts[start : start + _WINDOW]
        is_open = [inline.has_words for inline in window]
        results = translator.translations(window, is_open)
        for (found, filled), is_translated in zip(results, is_open, strict=True):
            text = filled[0].text
            yield found, text.translate(_ODD) if is_translated else text
