"""A document through a model: its texts are translated, their marks placed, the file written."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.api.model import Model
from nmt_cli.documents.inline import Alignment, Filled, Inline
from nmt_cli.documents.opening import Document, kind_of, open_document
from nmt_cli.documents.protected import protector
from nmt_cli.errors import ConfigError
from nmt_cli.files import write_bytes
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import WINDOW_LINES, AlignedPart, Translation, aligned


@dataclass(frozen=True)
class Outcome:
    """What became of a document."""

    num_texts: int
    # what was put at the best place that its neighbours gave, since no word belonged to it: the
    # number of its text, and it
    guessed: list[tuple[int, str]]


def translate_document(
    source: str | Path,
    output: str | Path,
    model: Model,
    options: SearchOptions | None = None,
    *,
    kind: str | None = None,
    protect: Iterable[str] = (),
    with_translated: bool = False,
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
        on_done: Called with how many texts are done, and of how many.

    Raises:
        ConfigError: A pattern is no regular expression, the kind is unknown, or the output is the
            input.
        DataError: The document cannot be read, is damaged or too large.
        NmtError: A package is missing.
    """
    if Path(source).resolve() == Path(output).resolve():
        raise ConfigError(f"{output}: the output is the input")
    try:
        words = protector(protect)
    except re.error as error:
        raise ConfigError(f"a pattern of words to protect: {error}") from error
    path = Path(source)
    document = open_document(path, kind_of(path, kind), words, with_translated=with_translated)
    filled: list[Filled] = []
    for one in _filled(document, model, options or model.search_options()):
        filled.append(one)
        on_done(len(filled), len(document.texts))
    write_bytes(Path(output), document.filled([one.text for one in filled]))
    guessed = [(i, what) for i, one in enumerate(filled, start=1) for what in one.guessed]
    return Outcome(len(filled), guessed)


def _filled(document: Document, model: Model, options: SearchOptions) -> Iterator[Filled]:
    """Yield each text of a document, translated, with its marks; one without a letter stays."""
    translator = model.translator()
    for start in range(0, len(document.texts), WINDOW_LINES):
        window = document.texts[start : start + WINDOW_LINES]
        wordy = [inline for inline in window if inline.has_words]
        found = [*translator.translate_windows([[inline.text for inline in wordy]], options)]
        filled = iter(with_marks(model, wordy, found))
        for inline in window:
            yield next(filled)[0] if inline.has_words else inline.unchanged()


def with_marks(
    model: Model, texts: Sequence[Inline], found: Sequence[Translation]
) -> list[list[Filled]]:
    """Return all hypotheses of each text, best first, with the text's marks."""
    rows = [
        one
        for text, line in zip(texts, found, strict=True)
        for one in line.hypotheses
        if text.marks
    ]
    alignments = map(_alignment, aligned(model.engine, model.vocabularies, rows))
    return [
        [
            text.filled(one.text, next(alignments) if text.marks else Alignment())
            for one in line.hypotheses
        ]
        for text, line in zip(texts, found, strict=True)
    ]


def _alignment(parts: Sequence[AlignedPart]) -> Alignment:
    """Return which words a line was made of; those of its parts one after the other."""
    nearest = {
        s + part.words_before[0]: column.index(max(column)) + part.words_before[1]
        for part in parts
        for s, column in enumerate(zip(*part.words, strict=True))
    }
    return Alignment([pair for part in parts for pair in part.pairs()], nearest)
