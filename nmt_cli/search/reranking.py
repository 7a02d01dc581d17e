"""Choosing among hypotheses with a model of the other direction (noisy-channel reranking).

A translation that leaves something out, or invents something, does not give its source back. The
rank is log p(y|x) / |y|^alpha + 0.2 log p(x|y) / |x| (Yee et al. 2019, arXiv 1908.05731, section
2.3, with normalised lengths and without a language model).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nmt_cli.search.engine import Engine, Found, Rows, TokenStream
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

_WEIGHT = 0.2  # of log p(x|y): the best on Multi30k's dev text, with little loss from 0.1 to 0.3
_NUM_CANDIDATES = 12


@dataclass(eq=False)
class Reranker(Engine):
    """An engine whose beam search ends with a choice by a second one; all else is the first's."""

    engine: Engine
    vocabularies: Vocabularies
    backward: Engine
    backward_vocabularies: Vocabularies

    def __post_init__(self) -> None:
        self.max_length = self.engine.max_length
        self.description = f"{self.engine.description}, hypotheses chosen with another model"

    def search(
        self,
        sources: Rows,
        options: SearchOptions,
        *,
        first_index: int = 0,
        prefixes: Rows | None = None,
    ) -> Found:
        """See `Engine.search`; a score is the rank."""
        found = self.engine.search(
            sources, _widened(options), first_index=first_index, prefixes=prefixes
        )
        return self._reranked(sources, found, options)

    def begin(
        self, sources: Rows, options: SearchOptions, *, first_index: int = 0
    ) -> Callable[[], Found]:
        """See `Searcher.begin`."""
        begun = self.engine.begin(sources, _widened(options), first_index=first_index)
        return lambda: self._reranked(sources, begun(), options)

    def restart(self) -> None:
        """See `Searcher.restart`."""
        self.engine.restart()

    def stream(
        self, source: Sequence[int], options: SearchOptions, *, index: int = 0
    ) -> TokenStream:
        """See `Engine.stream`; one output leaves no choice."""
        return self.engine.stream(source, options, index=index)

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """See `Engine.score`."""
        return self.engine.score(sources, targets)

    def attention(self, sources: Rows, targets: Rows) -> list[list[list[float]]]:
        """See `Engine.attention`."""
        return self.engine.attention(sources, targets)

    def _reranked(self, sources: Rows, found: Found, options: SearchOptions) -> Found:
        """Return the best of each source's hypotheses, with their ranks as scores."""
        if options.sample:
            return found
        back = iter(self._log_probs(sources, found, options))
        ranked = [[replace(h, score=h.score + _WEIGHT * next(back)) for h in row] for row in found]
        ranked = [sorted(row, key=lambda h: -h.score) for row in ranked]
        return [row[: options.n_best] for row in ranked]

    def _log_probs(self, sources: Rows, found: Found, options: SearchOptions) -> list[float]:
        """Return the mean log-probability of each source's tokens, given each of its hypotheses."""
        own, other = self.vocabularies, self.backward_vocabularies
        heads = other.direction(options.to, options.from_)
        room = self.backward.max_length - 1 - max(map(len, heads))
        texts = [own.source.decode(row) for row in sources]
        read = other.source.encode_batch([own.target.decode(h.ids) for row in found for h in row])
        forced = other.target.encode_batch(texts)
        asked = [[*heads.source, *ids[:room], EOS_ID] for ids in read]
        targets = [
            [*heads.output, *ids[:room], EOS_ID]
            for ids, row in zip(forced, found, strict=True)
            for _ in row
        ]
        return [sum(row) / len(row) for row in self.backward.score(asked, targets)]


def _widened(options: SearchOptions) -> SearchOptions:
    """Return the options of a search that finds enough to choose from."""
    if options.sample:
        return options
    num_candidates = max(_NUM_CANDIDATES, options.n_best, options.beam_size)
    return replace(options, beam_size=num_candidates, n_best=num_candidates)
