"""Self-contained HTML pages: one file with its style, its script, and its words explained."""

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template

from nmt_cli import __version__

Rows = Sequence[Sequence[str]]  # of a table, the heading first


def page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a whole page: a title as plain text, and HTML below it.

    It may have CSS beside that of all pages, and JavaScript that runs when it is there.
    """
    return Template(asset("page.html")).substitute(
        version=__version__,
        title=html.escape(title),
        style=asset("page.css") + style,
        body=body,
        code=f"<script>\n{script}</script>\n" if script else "",
    )


def with_numbers(figures: str, numbers: Rows) -> str:
    """Return drawings as HTML and, folded up below them, their numbers."""
    return figures + folded("The numbers", table(numbers))


def sections(parts: Mapping[str, str]) -> str:
    """Return parts, heading -> HTML or "", below links to all of them."""
    shown = {heading: body for heading, body in parts.items() if body}
    ids = {heading: heading.lower().replace(" ", "-") for heading in shown}
    links = "".join(f'<li><a href="#{i}">{html.escape(h)}</a></li>' for h, i in ids.items())
    bodies = "".join(
        f'<section id="{ids[heading]}">\n<h2>{html.escape(heading)}</h2>\n{body}</section>\n'
        for heading, body in shown.items()
    )
    return f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav>\n{bodies}'


def texts(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return texts of any language, each beside what it is.

    A row is what it is, the text, and the code of its language or "" where that is not known.
    """
    entries = []
    for name, text, language in rows:
        lang = f' lang="{html.escape(language)}"' if language else ""
        entries.append(
            f'<dt>{html.escape(name)}</dt><dd dir="auto"{lang}>{html.escape(text)}</dd>\n'
        )
    return f"<dl>\n{''.join(entries)}</dl>\n"


def facts(rows: Mapping[str, str]) -> str:
    """Return short facts by name as HTML."""
    return texts((name, text, "") for name, text in rows.items())


def paragraphs(lines: Iterable[str], *, kind: str = "") -> str:
    """Return lines of plain text as HTML; "warning" is a kind that stands out."""
    mark = f' class="{kind}"' if kind else ""
    return "".join(f"<p{mark}>{html.escape(line)}</p>\n" for line in lines)


def folded(summary: str, body: str) -> str:
    """Return HTML that is shown on demand, below a line of plain text."""
    return f"<details><summary>{html.escape(summary)}</summary>\n{body}</details>\n"


def table(rows: Rows, *, kind: str = "numbers") -> str:
    """Return rows of plain text, the heading first, as HTML.

    Of "numbers" all columns but the first stand on the right, of "texts" none.
    """
    heading, *others = (
        "".join(f"<{cell}>{_breakable(text)}</{cell}>" for text in row)
        for cell, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    )
    body = "".join(f"<tr>{row}</tr>\n" for row in others)
    return (
        f'<div class="{kind}" tabindex="0"><table>\n'
        f"<thead><tr>{heading}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def asset(name: str) -> str:
    """Return a file of this room: a style, a script, a part of a page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _breakable(text: str) -> str:
    """Return plain text as HTML in which a long path can wrap."""
    return html.escape(text).replace("/", "/<wbr>")


_MEANINGS = {
    "loss": "minus the natural logarithm of the probability that the model gives to each token of "
    "the references, averaged over the tokens. 0 would be certainty.",
    "loss of labels": "minus the natural logarithm of the probability that the model gives to the "
    "right label, averaged over the examples. 0 would be certainty.",
    "perplexity": "e to the power of the loss: the number of equally likely tokens that the model "
    "chooses from. Only models with the same vocabulary can be compared by loss and perplexity.",
    "bleu": "how many sequences of one to four words the outputs share with the references, from "
    "0 to 100. It compares models on the same text, but says little about a single sentence.",
    "chrf": "like BLEU, with sequences of characters; a wrong ending of a word costs less.",
    "chrf++": "like chrF, with single words and pairs of words beside the characters.",
    "ter": "words to insert, delete, replace or move, for each hundred of the references: less is "
    "better.",
    "accuracy": "how many of a hundred texts get exactly the right labels.",
    "macro f1": "the harmonic mean of precision and recall of each label, averaged over the "
    "labels: a rare one counts as much as a frequent one.",
    "precision": "of the texts to which the model gives a label, how many of a hundred have it.",
    "recall": "of the texts that have a label, to how many of a hundred the model gives it.",
    "f1": "the harmonic mean of precision and recall.",
    "distinct 1": "different words, divided by all words of the outputs: 0 to 1, more is more "
    "varied. distinct 2 counts pairs of neighbouring words.",
    "most frequent share": "how much of the outputs is the commonest one.",
    "loop share": "how much of the outputs repeats a few words over and over.",
    "latency ms": "milliseconds for a reply, the median.",
    "micro f1": "the harmonic mean of precision and recall of all labels that are given.",
}


def explained(names: Iterable[str]) -> str:
    """Return what each of these words means as HTML; nothing for one that needs no explanation."""
    plain = (name.replace("_", " ") for name in names)
    known = {name: _MEANINGS[name] for name in plain if name in _MEANINGS}
    rows = "".join(
        f"<dt>{html.escape(name.removesuffix(' of labels'))}</dt><dd>{html.escape(meaning)}</dd>\n"
        for name, meaning in known.items()
    )
    return f'<dl class="words">\n{rows}</dl>\n' if rows else ""
