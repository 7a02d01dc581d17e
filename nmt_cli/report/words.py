"""What the words of a report mean, said where they stand."""

import html
from collections.abc import Iterable

_MEANINGS = {
    "loss": "minus the logarithm of the probability that the model gives to each token of the "
    "references, on average: so many nats a token. 0 would be certainty.",
    "loss of labels": "minus the logarithm of the probability that the model gives to the right "
    "label, on average: so many nats an example. 0 would be certainty.",
    "perplexity": "e to the power of the loss: among how many equally likely tokens the model has "
    "to choose. Only models with the same vocabulary can be compared by loss and perplexity.",
    "bleu": "how many sequences of one to four words the outputs share with the references, from "
    "0 to 100. It compares models on the same text, and says little of a single sentence.",
    "chrf": "the same with sequences of characters, which forgives wrong endings of words.",
    "ter": "words to insert, delete, replace or move, for each hundred of the references: less is "
    "better.",
    "accuracy": "of a hundred texts so many get exactly the right labels.",
    "macro f1": "the harmonic mean of precision and recall of each label, averaged over the "
    "labels: a rare one counts as much as a frequent one.",
    "micro f1": "the harmonic mean of precision and recall of all labels that are given.",
}


def explained(names: Iterable[str]) -> str:
    """Return what each of these words means as HTML; nothing for one that needs no explanation."""
    known = {name: _MEANINGS[name] for name in map(_plain, names) if name in _MEANINGS}
    rows = "".join(
        f"<dt>{html.escape(name.removesuffix(' of labels'))}</dt><dd>{html.escape(meaning)}</dd>\n"
        for name, meaning in known.items()
    )
    return f'<dl class="words">\n{rows}</dl>\n' if rows else ""


def _plain(name: str) -> str:
    return name.replace("_", " ")
