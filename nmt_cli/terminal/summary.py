"""What `nmt translate` tells at its end: of a glossary, of a memory."""

from typing import TYPE_CHECKING

from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.search.memory import Memory
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import Translation

_MISSED_SHOWN = 5  # terms


class Summary:
    """Counts what became of terms, and what a memory had, while lines or texts are translated."""

    def __init__(self, glossary: "Glossary | None", memory: "Memory | None") -> None:
        from nmt_cli.search.glossary import Tally
        from nmt_cli.search.memory import Matches

        self._terms = None if glossary is None else Tally()
        self._matches = None if memory is None else Matches()

    def add(self, found: "Translation") -> None:
        """Count those of a line or text."""
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


def open_memory(path: str | None, model: "Model", options: "SearchOptions") -> "Memory | None":
    """Return a translation memory for a search; tell if it is of two minds."""
    memory = model.memory(path, options)
    if memory is not None and memory.num_doubtful:
        several = f"{memory.num_doubtful:,} of {len(memory.targets):,} texts have several"
        console.warn(f"{path}: {several} translations; the first is taken")
    return memory
