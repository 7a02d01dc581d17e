"""What is done with each line of an input: it is translated, scored or given labels.

Each kind of work makes an output line of every input line, in order. It is pickled with its model
and settings, so other processes can do it, and it knows all that its output depends on.
"""

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from nmt_cli.api.model import Model
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import aligned

if TYPE_CHECKING:
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.search.labeller import Labelled
    from nmt_cli.search.memory import Memory
    from nmt_cli.search.translator import PairScore, TextHypothesis, Translation


@dataclass(frozen=True, kw_only=True)
class Work(ABC):
    """Makes output lines: plain text, or with `json` one object a line."""

    model: Model
    json: bool = False

    @abstractmethod
    def found(self, windows: Iterable[list[Any]]) -> Iterator[Any]:
        """Yield what the model finds for each line of windows of lines, in order."""

    @abstractmethod
    def line(self, found: Any) -> str:
        """Return the output for one line, with its line feed."""

    def settings(self) -> dict[str, Any]:
        """Return all fields but the model and what is counted, by name."""
        told = [field for field in dataclasses.fields(self) if field.compare]
        fields = {field.name: getattr(self, field.name) for field in told}
        del fields["model"]
        return fields

    def depends_on(self) -> dict[str, Any]:
        """Return all that decides the output beside the input, by what people call it; as JSON."""
        manifest, options = self.model.bundle.manifest, self.model.options
        own_format = manifest.ctranslate2.get("auto")  # may be another one tomorrow
        return {
            "model": self.model.bundle.identity,
            "engine": [options.engine, options.number_format or own_format],
            "options": json.loads(json.dumps(self.settings(), default=_facts)),
        }


def _facts(setting: Any) -> Any:
    """Return what a setting is for JSON; of a large file only what tells it from others."""
    return getattr(setting, "fingerprint", None) or vars(setting)


@dataclass(frozen=True, kw_only=True)
class Scoring(Work):
    """Scores pairs of lines; with `json`, the tokens' log-probabilities too."""

    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # of `Model.iter_scores`

    def found(self, windows: Iterable[list[Any]]) -> "Iterator[PairScore]":
        """Yield the score of each pair."""
        return self.model.iter_scores(chain.from_iterable(windows), **self.options)

    def line(self, found: "PairScore") -> str:
        """Return the line of a pair."""
        if not self.json:
            return f"{found.score:.4f}\n"
        record = {"score": found.score, "tokens": found.tokens, "log_probs": found.log_probs}
        return json.dumps(record, ensure_ascii=False) + "\n"


@dataclass(frozen=True, kw_only=True)
class Labelling(Work):
    """Gives labels to texts."""

    top: int | None = None  # so many of the likeliest; None is those that the text got
    proba: bool = False  # each has its probability beside it

    def found(self, windows: Iterable[list[str]]) -> "Iterator[Labelled]":
        """Yield the labels of each text."""
        return self.model.iter_labels(windows)

    def line(self, found: "Labelled") -> str:
        """Return the line of a text."""
        if self.json:
            return self._json(found)
        names = found.labels if self.top is None else list(found.probabilities)[: self.top]
        if self.proba:
            return "\t".join(f"{name}\t{found.probabilities[name]:.4f}" for name in names) + "\n"
        if self.top is not None:
            return "\t".join(names) + "\n"
        return (self.model.labeller.labels.separator or "").join(names) + "\n"

    def _json(self, found: "Labelled") -> str:
        likeliest = dict(list(found.probabilities.items())[: self.top])
        record = {"source": found.source, "labels": found.labels, "probabilities": likeliest}
        return json.dumps(record, ensure_ascii=False) + "\n"


@dataclass(frozen=True, kw_only=True)
class Translating(Work):
    """Translates lines."""

    options: SearchOptions
    split: bool = True  # split long lines into sentences
    n_best: bool = False  # write all hypotheses with rank and score
    align: bool = False  # write word pairs, and with `json` the attention between tokens
    token_scores: bool = False  # write each token's log-probability, with `json`
    bilingual: bool = False  # write the line, a tab and its translation
    glossary: "Glossary | None" = None
    memory: "Memory | None" = None
    # called with the translation of each line
    on_found: "Callable[[Translation], None]" = dataclasses.field(
        default=lambda _: None, compare=False
    )

    def found(self, windows: Iterable[list[str]]) -> "Iterator[Translation]":
        """Yield the translation of each line."""
        translator = self.model.translator(
            split=self.split, glossary=self.glossary, memory=self.memory
        )
        for found in translator.translate_windows(windows, self.options):
            self.on_found(found)
            yield found

    def line(self, found: "Translation") -> str:
        """Return the output of a line; there are several lines with `n_best`."""
        if self.json:
            hypotheses = [self._record(hypothesis) for hypothesis in found.hypotheses]
            record: dict[str, Any] = {"source": found.source, "hypotheses": hypotheses}
            if self.memory is not None:
                record["memory"] = found.match and vars(found.match)
            return json.dumps(record, ensure_ascii=False) + "\n"
        if self.n_best:
            rows = enumerate(found.hypotheses, start=1)
            return "".join(f"{i}\t{h.score:.4f}\t{self._plain(h)}\n" for i, h in rows)
        source = f"{found.source}\t" if self.bilingual else ""
        return f"{source}{self._plain(found.hypotheses[0])}\n"

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
        if self.glossary is not None:
            record["terms"] = [dataclasses.asdict(use) for use in hypothesis.terms]
        sides = list(zip(*((p.source, p.target) for p in hypothesis.parts), strict=True))
        if self.token_scores:
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
        (parts,) = aligned(self.model.engine, self.model.vocabularies, [hypothesis])
        maps = [{"source": p.source, "target": p.target, "weights": p.weights} for p in parts]
        return [pair for part in parts for pair in part.pairs()], maps
