"""The first lines of a report: its score, its model, and whether the last run was better."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest

_CHOSEN_BY = ("bleu", "accuracy")  # the score of a task that has one
_NAMES = {"bleu": "BLEU", "accuracy": "accuracy", "perplexity": "perplexity"}
_LARGEST_EXPONENT = 700.0  # beyond, exp is no number any more


def headline(manifest: "Manifest", previous: "Manifest | None") -> list[str]:
    """Return the score, what the model is, and how it compares.

    Args:
        manifest: Of the run's best model.
        previous: Of the last run of this name.
    """
    name, dev = _score(manifest)
    test = manifest.scores.get("test", {}).get(name, {}).get("score")
    also = "" if test is None else f", {test:.1f} on test"
    lines = [f"{_NAMES[name]} {dev:.1f} on dev{also}", _what(manifest)]
    return lines if previous is None else [*lines, _compared(name, dev, manifest, previous)]


def perplexity(loss: float) -> float:
    """Return e to the power of a loss in nats a token."""
    return math.exp(min(loss, _LARGEST_EXPONENT))


def _score(manifest: "Manifest") -> tuple[str, float]:
    """Return what the model is judged by, and how it did on dev."""
    dev = manifest.scores.get("dev", {})
    name = next((name for name in _CHOSEN_BY if name in dev), None)
    if name is None:
        return "perplexity", perplexity(manifest.training["dev_loss"])
    return name, dev[name]["score"]


def _what(manifest: "Manifest") -> str:
    languages = " to ".join(filter(None, (manifest.source_lang, manifest.target_lang)))
    does = manifest.facts.does.format(languages=languages).strip()
    return (
        f"A model that {does}: {manifest.parameters:,} weights, {manifest.layers} layers of width "
        f"{manifest.model['d_model']}, trained on {manifest.training['pairs']:,} "
        f"{manifest.examples}; it was best at step {manifest.training['step']:,}."
    )


def _compared(name: str, dev: float, manifest: "Manifest", previous: "Manifest") -> str:
    before_name, before = _score(previous)
    if before_name != name:
        return f"The last run of this name was judged by {_NAMES[before_name]}."
    gain = before - dev if name == "perplexity" else dev - before
    how = "better" if gain > 0 else "worse"
    same = manifest.training.get("fingerprint") == previous.training.get("fingerprint")
    but = "" if same else ", with another text or vocabulary"
    if round(abs(gain), 1) == 0.0:
        return f"As good as the last run of this name{but}."
    return f"By {abs(gain):.1f} {how} than the last run of this name ({before:.1f}{but})."
