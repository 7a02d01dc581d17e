"""Translations beside their sources, as a page: read them, mend them, save what was mended."""

import html
from collections.abc import Iterator, Sequence

from nmt_cli.report.page import asset, page
from nmt_cli.search.translator import EXACT, Translation
from nmt_cli.text.languages import Way

_UNSURE = 0.5  # mean probability of the tokens


def review_page(
    name: str, found: Sequence[Translation], sure: Sequence[float | None], way: Way
) -> str:
    """Return translations as a page.

    Args:
        name: What was translated.
        found: Its lines or texts.
        sure: How sure the model is of each, see `confidences`.
        way: The languages, "" where they are not known.
    """
    rows = [_row(i, *row, way) for i, row in enumerate(zip(found, sure, strict=True), start=1)]
    unsure = sum(map(_is_unsure, found, sure))
    count = f"{unsure:,} of {len(rows):,}"
    body = asset("review.html").replace("{count}", count).replace("{rows}", "".join(rows))
    style, script = asset("review.css"), asset("review.js")
    return page(f"Review of {name}", body, style=style, script=script)


def _is_unsure(found: Translation, sure: float | None) -> bool:
    is_missed = any(use.target is None for use in found.terms)
    return is_missed or bool(found.guessed) or (sure is not None and sure < _UNSURE)


def _row(number: int, found: Translation, sure: float | None, way: Way) -> str:
    kind = ' class="unsure"' if _is_unsure(found, sure) else ""
    source, target = (f' lang="{html.escape(code)}"' if code else "" for code in way)
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in _notes(found))
    if sure is not None:
        bar = f'<span class="sure" style="--sure: {sure:.2f}"></span>'
        notes = f"<p>{bar}{100 * sure:.0f} %</p>{notes}"
    return (
        f'<li{kind}><span class="number">{number:,}</span>\n'
        f'<div class="source" dir="auto"{source}>{html.escape(found.source)}</div>\n'
        f'<div class="target" dir="auto"{target} contenteditable="plaintext-only" role="textbox" '
        f'aria-label="Translation {number}">{html.escape(found.text)}</div>\n'
        f'<div class="notes">{notes}</div></li>\n'
    )


def _notes(found: Translation) -> Iterator[str]:
    """Yield what a reader should know of a translation."""
    if found.match is not None and found.match.percent == EXACT:
        yield "from the memory"
    elif found.match is not None:
        yield f"memory, {found.match.percent} %: {found.match.source} → {found.match.target}"
    for use in found.terms:
        if use.target is None:
            yield f"missed term: {use.source} ({use.why})"
        else:
            yield f"term: {use.source} → {use.target}"
    if found.kept:
        yield f"kept: {', '.join(found.kept)}"
    for mark in found.guessed:
        yield f"check {mark}: no word of the translation belongs to it"
