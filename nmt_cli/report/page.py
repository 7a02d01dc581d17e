"""Self-contained HTML pages: one file with its style and script, which loads nothing."""

import html
import re
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.report.canvas import INK

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a whole page.

    Args:
        title: Plain text; the heading, too.
        body: HTML below the heading.
        style: CSS beside that of all pages.
        script: JavaScript that runs when the page is there.
    """
    code = f"<script>\n{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="nmt {__version__}">\n'
        f"<title>{html.escape(title)}</title>\n"
        f"<style>\n{asset('page.css')}{style}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n{code}</body>\n</html>\n"
    )


def chart_page(title: str, svg: str, table: list[tuple[str, ...]]) -> str:
    """Return a page with a drawing and, folded up, its numbers.

    Args:
        title: Plain text.
        svg: From `canvas.as_svg`, on no background.
        table: Rows of text, the heading first.
    """
    return page(
        title,
        f'<figure role="img" aria-label="{html.escape(title)}">\n{_inline(svg)}</figure>\n'
        f"<details><summary>The numbers</summary>\n{_table(table)}</details>",
    )


def asset(name: str) -> str:
    """Return a style or script file of this room."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _inline(svg: str) -> str:
    """Return an SVG document as an element of a page, its ink in the page's text colour."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    return element.replace(INK, "currentColor")


def _table(rows: list[tuple[str, ...]]) -> str:
    heading, *others = (
        "".join(f"<{cell}>{html.escape(text)}</{cell}>" for text in row)
        for cell, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    )
    body = "".join(f"<tr>{row}</tr>\n" for row in others)
    return (
        '<div class="numbers" tabindex="0"><table>\n'
        f"<thead><tr>{heading}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )
