"""What a model makes of each line that it has to translate: a pair, and how likely it finds it."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nmt_cli.api.model import Model
from nmt_cli.augmentation.made_pairs import Pair
from nmt_cli.augmentation.plan import DISTIL, HYPOTHESES, Augmentation, Line, Maker
from nmt_cli.evaluation.outputs import bounded
from nmt_cli.lines.work import Work
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translation


@dataclass(frozen=True, kw_only=True)
class Pairing(Work):
    """Translates lines, and scores the pairs that they make."""

    maker: Maker
    options: SearchOptions
    way: Mapping[str, Any]  # languages, for a model that knows several
    is_distilled: bool  # of several translations, the one nearest to the other side is taken
    tag: str  # put in front of each source

    @classmethod
    def of(cls, plan: Augmentation, maker: Maker, model: Model) -> "Pairing":
        """Return what a plan wants of one of its models."""
        search: dict[str, Any] = {"n_best": 1, "sample": plan.is_sampled}
        if plan.method == DISTIL:
            search |= {"n_best": HYPOTHESES, "beam_size": HYPOTHESES}
        if plan.is_sampled:
            search |= {"beam_size": 1, "seed": plan.loaded.config.seed}
        way: dict[str, Any] = {"to": plan.to, "from_": plan.from_} if maker.given else {}
        return cls(
            model=model,
            maker=maker,
            # What gets much longer than its source is hardly ever kept, and takes long to write.
            options=bounded(model.search_options(**search, **way)),
            way=way,
            is_distilled=plan.method == DISTIL,
            tag=plan.tag,
        )

    def found(self, windows: Iterable[list[Line]]) -> Iterator[Pair]:
        """Yield the pair of each line."""
        # What is read first is ahead by what is being translated and scored.
        read, known = itertools.tee(windows)
        texts = ([line.text for line in window] for window in read)
        found = self.model.translator(split=False).translate_windows(texts, self.options)
        lines = itertools.chain.from_iterable(known)
        outputs = (
            (line, self._chosen(one, line.other)) for line, one in zip(lines, found, strict=True)
        )
        written, chosen = itertools.tee(outputs)
        # Forced scores: those of a search leave out what it may not write, such as an empty line.
        scores = self.model.iter_scores(((line.text, text) for line, text in written), **self.way)
        here, there = self.maker.sides
        for (line, text), scored in zip(chosen, scores, strict=True):
            pair = {here: line.text, there: text}
            yield {
                "source": self.tag + pair["source"],
                "target": pair["target"],
                "from": self.maker.name,
                "file": line.file,
                "line": line.number,
                "score": round(scored.score, 4),
            }

    def line(self, found: Pair) -> str:
        """Return the line of a pair, as JSON."""
        return json.dumps(found, ensure_ascii=False) + "\n"

    def _chosen(self, found: Translation, other: str) -> str:
        """Return the hypothesis nearest to what a person wrote, or else the likeliest."""
        if not (self.is_distilled and other):
            return found.text
        from sacrebleu import sentence_chrf

        texts = [one.text for one in found.hypotheses]
        return max(texts, key=lambda text: float(sentence_chrf(text, [other]).score))
