"""A document through a model: its texts are translated, their marks placed, the file written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.api.model import Model
from nmt_cli.documents.inline import Filled
from nmt_cli.documents.masking import MarkedTranslator
from nmt_cli.documents.opening import Document, kind_of, open_document
from nmt_cli.documents.protected import protector
from nmt_cli.errors import ConfigError
from nmt_cli.files import write_bytes
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import WINDOW_LINES

if TYPE_CHECKING:
    from nmt_cli.search.glossary import Glossary, TermUse


@dataclass(frozen=True)
class Outcome:
    """What became of a document."""

    num_texts: int
    # what was put at the best place that its neighbours gave, since no word belonged to it: the
    # number of its text, and it
    guessed: list[tuple[int, str]]
    terms: "list[TermUse]"  # what became of those of a glossary


def translate_document(
    source: str | Path,
    output: str | Path,
    model: Model,
    options: SearchOptions | None = None,
    *,
    kind: str | None = None,
    protect: Iterable[str] = (),
    with_translated: bool = False,
    glossary: "Glossary | str | Path | None" = None,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> Outcome:
    """Translate a document; all but its text stays as it was.

    Args:
        source: The file.
        output: The file to write.
        model: A translation model.
        options: How to search, as `model.search_options` gives it; None is the model's own way.
        kind: One of `opening.KINDS`; None is what the name of the file says.
        protect: Regular expressions of words that stay as they are, in catalogues.
        with_translated: Also translate the texts of a catalogue that have a translation.
        glossary: A glossary, or its file, as `model.translate` takes it.
        on_done: Called with how many texts are done, and of how many.

    Raises:
        ConfigError: A pattern is no regular expression, the kind is unknown, the output is the
            input, or a PDF file cannot be written as the output is named.
        DataError: The document or the glossary cannot be read, is damaged or too large.
        NmtError: A package is missing.
    """
    if Path(source).resolve() == Path(output).resolve():
        raise ConfigError(f"{output}: the output is the input")
    path, words = Path(source), protector(protect)
    document = open_document(
        path, kind_of(path, kind), words, with_translated=with_translated, output=Path(output)
    )
    translator = MarkedTranslator(model, options or model.search_options(), glossary=glossary)
    filled: list[Filled] = []
    terms: list[TermUse] = []
    for one in _filled(document, translator, terms):
        filled.append(one)
        on_done(len(filled), len(document.texts))
    write_bytes(Path(output), document.filled([one.text for one in filled]))
    guessed = [(i, what) for i, one in enumerate(filled, start=1) for what in one.guessed]
    return Outcome(len(filled), guessed, terms)


def _filled(
    document: Document, translator: MarkedTranslator, terms: "list[TermUse]"
) -> Iterator[Filled]:
    """Yield each text of a document, translated, with its marks; one without a letter stays.

    What becomes of terms is added to `terms`.
    """
    for start in range(0, len(document.texts), WINDOW_LINES):
        window = document.texts[start : start + WINDOW_LINES]
        results = translator.translate([inline for inline in window if inline.has_words])
        terms += [use for hypotheses, _ in results for use in hypotheses[0].terms]
        found = iter(results)
        for inline in window:
            yield next(found)[1][0] if inline.has_words else inline.unchanged()
