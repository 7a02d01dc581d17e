"""What a text got -> an output line of `nmt classify`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.search.labeller import Labelled
    from nmt_cli.text.labels import Labels


@dataclass(frozen=True)
class LabelLines:
    """How lines look.

    Attributes:
        labels: Of the model.
        top: How many of the likeliest labels to show; None is those that the text got.
        proba: Whether each has its probability beside it.
        json: Whether a line is a JSON object.
    """

    labels: "Labels"
    top: int | None = None
    proba: bool = False
    json: bool = False

    def of(self, found: "Labelled") -> str:
        """Return the line for a text, with its line feed."""
        if self.json:
            return self._json(found)
        names = found.labels if self.top is None else list(found.probabilities)[: self.top]
        if self.proba:
            return "\t".join(f"{name}\t{found.probabilities[name]:.4f}" for name in names) + "\n"
        if self.top is not None:
            return "\t".join(names) + "\n"
        return (self.labels.separator or "").join(names) + "\n"

    def _json(self, found: "Labelled") -> str:
        import json

        likeliest = dict(list(found.probabilities.items())[: self.top])
        record = {"source": found.source, "labels": found.labels, "probabilities": likeliest}
        return json.dumps(record, ensure_ascii=False) + "\n"
