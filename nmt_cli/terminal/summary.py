"""What `nmt translate` tells at its end: of a glossary, of a memory, and on a page to review."""

from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import DataError
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.search.glossary import Glossary, Tally
    from nmt_cli.search.memory import Matches, Memory
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import Translation

_MISSED_SHOWN = 5  # terms


class Summary:
    """Counts what became of terms, and what a memory had, while lines or texts are translated.

    `page` is the file of a page that shows them all.
    """

    def __init__(
        self, glossary: "Glossary | None", memory: "Memory | None", page: str | None = None
    ) -> None:
        self._terms: Tally | None = None
        self._matches: Matches | None = None
        self._page = page
        self._found: list[Translation] = []
        if glossary is not None:
            from nmt_cli.search import glossary as terms

            self._terms = terms.Tally()
        if memory is not None:
            from nmt_cli.search import memory as memories

            self._matches = memories.Matches()

    def add(self, found: "Translation") -> None:
        """Count those of a line or text."""
        self._found += [found] if self._page is not None else []
        if self._terms is not None:
            self._terms.add(found.terms)
        if self._matches is not None:
            self._matches.add(found.source, found.match)

    def tell(self) -> None:
        """Tell how many terms were used, and the missed, and why; how much is from the memory."""
        if self._terms is not None:
            missed = self._terms.missed
            console.note(f"glossary: {self._terms.used:,} used, {missed.total():,} missed")
            for use, count in missed.most_common(_MISSED_SHOWN):
                console.warn(f"glossary: missed {use.source!r} ({count:,}): {use.why}")
        if self._matches is not None:
            console.note(f"memory: {self._matches.taken:,} taken, {self._matches.near:,} near")
            for text, near in self._matches.first:
                has = f"{near.source!r:.70}: {near.target!r:.70}"
                console.note(f"memory: {near.percent} %: {text!r:.70} is like {has}")

    def write_page(self, name: str, model: "Model", options: "SearchOptions") -> None:
        """Write the page, if one is wanted; `name` is what was translated."""
        if self._page is None:
            return
        from nmt_cli.files import os_errors_as, write_text
        from nmt_cli.report.review_page import review_page
        from nmt_cli.search.translator import confidences

        sure = [*confidences(model.engine, (one.hypotheses[0] for one in self._found))]
        way = model.vocabularies.languages.way(options.from_, options.to)
        with os_errors_as(DataError, f"{self._page}: cannot be written"):
            write_text(Path(self._page), review_page(name, self._found, sure, way))
        console.note(f"the page to review is in {self._page}")


def open_memory(path: str | None, model: "Model", options: "SearchOptions") -> "Memory | None":
    """Return a translation memory for a search; warn if some texts have several translations."""
    memory = model.memory(path, options)
    if memory is not None and memory.num_doubtful:
        several = f"{memory.num_doubtful:,} of {len(memory.targets):,} texts have several"
        console.warn(f"{path}: {several} translations; the first is taken")
    return memory
