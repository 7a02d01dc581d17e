"""What searches: the contract that the TensorFlow and the CTranslate2 engine both keep."""

import functools
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from nmt_cli.search.options import SearchOptions


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search: ids, with `</s>` if it ended, and log-probability / length^alpha."""

    ids: list[int]
    score: float


Rows = Sequence[Sequence[int]]  # ids of several texts
Found = list[list[Hypothesis]]  # of several sources, best first
TokenStream = Generator[int, None, None]


class Searcher(Protocol):
    """A model that is ready to search, for at most `max_length` tokens, with `</s>`, a side."""

    max_length: int

    def search(self, sources: Rows, options: SearchOptions, *, first_index: int = 0) -> Found:
        """Return the `options.n_best` best hypotheses (or all there are) of each source.

        The engine makes its own batches; what it finds for a source does not depend on the others.

        Args:
            sources: Source ids with `</s>`, none longer than `max_length`; any number of them.
            options: The search options.
            first_index: Running number of the first source. The TensorFlow engine's samples are a
                function of it and the seed; CTranslate2's of the seed and the samples before.
        """

    def begin(
        self, sources: Rows, options: SearchOptions, *, first_index: int = 0
    ) -> Callable[[], Found]:
        """Begin a search and return what waits for its end and gives what `search` would.

        An engine that works on threads of its own is kept busy by the search that was begun while
        the caller sees to the one before; any other begins when its end is waited for.
        """
        return functools.partial(self.search, sources, options, first_index=first_index)

    def restart(self) -> None:
        """Repeat a seed's samples from the first one, where each depends on those before."""
        return


class Engine(Searcher, Protocol):
    """A model that is ready for anything; the description names it, for people."""

    description: str

    def search(
        self,
        sources: Rows,
        options: SearchOptions,
        *,
        first_index: int = 0,
        prefixes: Rows | None = None,
    ) -> Found:
        """See `Searcher.search`; `prefixes` are those of each source, not `options.prefix`."""

    def stream(
        self, source: Sequence[int], options: SearchOptions, *, index: int = 0
    ) -> TokenStream:
        """Yield the target ids of one output, each as soon as it is written.

        They are those that `search` finds with a beam of 1: greedy, or sampled if the options say
        so. The last is `</s>` unless the length limit comes first. Closing the iterator ends the
        search.
        """

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """Return the log-probability of each target id given its source and the ids before it.

        Sources end with `</s>`, and so do targets where its probability shall count. That of a
        language's token, which is forced, is 1.
        """

    def attention(self, sources: Rows, targets: Rows) -> list[list[list[float]]]:
        """Return how much each target id looks at each source id: for each pair a [T, S] matrix.

        It is the last decoder layer's attention, mean over its heads. Rows sum to one.
        """
