"""Lines of text -> translations: encode, cut what is too long, search, decode, join.

N lines give N translations. A blank line stays as it is without asking the model; any other gets a
text that is not blank.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nmt_cli.decoding.engine import Engine, Hypothesis
from nmt_cli.decoding.options import SearchOptions
from nmt_cli.text.tokenizer import EOS_ID, Subwords
from nmt_cli.text.vocabulary import Vocabularies

_WINDOW = 2048  # lines that are sorted together


@dataclass(frozen=True)
class TextHypothesis:
    """One output as text.

    Attributes:
        text: Detokenised, on one line.
        score: See `SearchOptions.length_penalty`.
        tokens: The pieces it is made of, with `</s>`.
    """

    text: str
    score: float
    tokens: list[str]


@dataclass(frozen=True)
class Translation:
    """A source line and its translations, best first; a blank line has one, itself."""

    source: str
    hypotheses: list[TextHypothesis]


class Translator:
    """Translates lines with an engine.

    Args:
        engine: Searches.
        vocabularies: The model's subwords.
        on_warning: Told, in one line, of anything unusual about an input line.
    """

    def __init__(
        self,
        engine: Engine,
        vocabularies: Vocabularies,
        on_warning: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._vocabularies = vocabularies
        self._on_warning = on_warning

    def translate(self, lines: Iterable[str], options: SearchOptions) -> Iterator[Translation]:
        """Yield one translation a line, in order."""
        numbered = enumerate(lines, start=1)
        while window := list(itertools.islice(numbered, _WINDOW)):
            yield from self._translate_window(window, options)

    def _translate_window(
        self, window: list[tuple[int, str]], options: SearchOptions
    ) -> Iterator[Translation]:
        encoded = self._vocabularies.source.encode_batch([line for _, line in window])
        cuts: list[list[int]] = []
        cuts_of_line: list[int] = []
        for (number, line), ids in zip(window, encoded, strict=True):
            parts = self._cut(ids, number) if line.strip() else []
            cuts += parts
            cuts_of_line.append(len(parts))
        first = window[0][0] if window else 0
        found = self._engine.search(cuts, options, first_index=first) if cuts else []
        results = iter(found)
        for (_, line), count in zip(window, cuts_of_line, strict=True):
            parts_results = list(itertools.islice(results, count))
            yield Translation(line, self._join(line, parts_results))

    def _cut(self, ids: list[int], number: int) -> list[list[int]]:
        """Cut a line that is longer than the model reads; each part gets its `</s>`."""
        room = self._engine.max_length - 1
        if len(ids) > room:
            self._on_warning(
                f"line {number} has {len(ids)} pieces; it is translated in cuts of {room} "
                f"(model.max_length is {self._engine.max_length})"
            )
        return [[*ids[start : start + room], EOS_ID] for start in range(0, len(ids), room)]

    def _join(self, line: str, parts: list[list[Hypothesis]]) -> list[TextHypothesis]:
        if not parts:
            return [TextHypothesis(line, 0.0, [])]
        ranks = range(max(map(len, parts)))
        candidates = [
            self._join_rank([part[min(rank, len(part) - 1)] for part in parts]) for rank in ranks
        ]
        solid = [candidate for candidate in candidates if candidate.text.strip()]
        return solid or [TextHypothesis(line, candidates[0].score, candidates[0].tokens)]

    def _join_rank(self, hypotheses: list[Hypothesis]) -> TextHypothesis:
        target = self._vocabularies.target
        return TextHypothesis(
            text=" ".join(one_line(target, hypothesis.ids) for hypothesis in hypotheses),
            score=sum(hypothesis.score for hypothesis in hypotheses) / len(hypotheses),
            tokens=[piece for h in hypotheses for piece in target.pieces(h.ids)],
        )


def one_line(vocabulary: Subwords, ids: Sequence[int]) -> str:
    """Return the text of target ids with line ends, should the model write any, as spaces."""
    return vocabulary.decode(ids).replace("\n", " ").replace("\r", " ")
