"""Translations -> output lines: plain text, the n best with scores, or JSON."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.search.translator import TextHypothesis, Translation


@dataclass(frozen=True)
class TranslationLines:
    """Makes output lines of translations.

    Attributes:
        model: Gives attention and the tokens' scores when these are wanted.
        json: One JSON object a line.
        n_best: All hypotheses with rank and score.
        align: Word pairs, and with `json` the attention between tokens.
        scores: Each token's log-probability, with `json`.
    """

    model: "Model"
    json: bool
    n_best: bool
    align: bool
    scores: bool

    def of(self, translation: "Translation") -> str:
        """Return the output of one input line."""
        import json

        if self.json:
            found = [self._record(hypothesis) for hypothesis in translation.hypotheses]
            record = {"source": translation.source, "hypotheses": found}
            return json.dumps(record, ensure_ascii=False) + "\n"
        if self.n_best:
            rows = enumerate(translation.hypotheses, start=1)
            return "".join(f"{i}\t{h.score:.4f}\t{self._plain(h)}\n" for i, h in rows)
        return self._plain(translation.hypotheses[0]) + "\n"

    def _plain(self, hypothesis: "TextHypothesis") -> str:
        if not self.align:
            return hypothesis.text
        pairs, _ = self._alignment(hypothesis)
        return f"{hypothesis.text}\t{' '.join(f'{s}-{t}' for s, t in pairs)}"

    def _record(self, hypothesis: "TextHypothesis") -> dict[str, Any]:
        record: dict[str, Any] = {
            "text": hypothesis.text,
            "score": hypothesis.score,
            "tokens": hypothesis.tokens,
        }
        sides = list(zip(*((p.source, p.target) for p in hypothesis.parts), strict=True))
        if self.scores:
            found = self.model.engine.score(*sides) if sides else []
            record["token_scores"] = [score for row in found for score in row]
        if self.align:
            pairs, maps = self._alignment(hypothesis)
            record["alignment"] = pairs
            record["attention"] = maps
        return record

    def _alignment(
        self, hypothesis: "TextHypothesis"
    ) -> tuple[list[tuple[int, int]], list[dict[str, Any]]]:
        """Return word pairs over the whole line, and for each part its tokens and attention."""
        from nmt_cli.search.alignment import word_attention, word_pairs, words_of

        pairs, maps = [], []
        words_before = [0, 0]
        for part in hypothesis.parts:
            (attention,) = self.model.engine.attention([part.source], [part.target])
            source = self.model.vocabularies.source.tokens(part.source)
            target = self.model.vocabularies.target.tokens(part.target)
            words = words_of(source), words_of(target)
            for s, t in word_pairs(word_attention(attention, *words)):
                pairs.append((s + words_before[0], t + words_before[1]))
            words_before[0] += len(words[0])
            words_before[1] += len(words[1])
            maps.append({"source": source, "target": target, "weights": attention})
        return pairs, maps
