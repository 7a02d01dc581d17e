"""What a model wrote in training: the same sentences, followed through all evaluations."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nmt_cli.report.curves import Event
from nmt_cli.report.page import folded, texts

_NEWEST = 4  # outputs of a sentence that are shown at once
_Key = tuple[str, str]


def followed(evaluations: Sequence[Event], languages: tuple[str, str]) -> str:
    """Return each sentence with its reference and what the model made of it, the newest first.

    Args:
        evaluations: Those whose outputs count, in their order.
        languages: Codes of source and target; "" where not known.
    """
    outputs: dict[_Key, list[tuple[str, str]]] = {}
    for event in evaluations:
        for sample in event["samples"]:
            told = outputs.setdefault((sample["source"], sample["reference"]), [])
            told.append((place(event), sample["output"]))
    now = {(s["source"], s["reference"]) for event in evaluations[-1:] for s in event["samples"]}
    blocks = {key: _sentence(key, _merged(told), languages) for key, told in outputs.items()}
    older = [block for key, block in blocks.items() if key not in now]
    shown = "".join(block for key, block in blocks.items() if key in now)
    body = f'<div class="samples">\n{shown}</div>\n' if shown else ""
    return body + (folded(f"{len(older)} other sentences", "".join(older)) if older else "")


def place(event: Mapping[str, Any]) -> str:
    """Return at which step, and of which average of the weights, an evaluation was."""
    return ", ".join([f"step {event['step']:,}", *averaged(event)])


def averaged(event: Mapping[str, Any]) -> list[str]:
    """Return which average of the weights was evaluated, if it was one."""
    label = event.get("label", "dev")
    return [label.removeprefix("dev, ")] if label != "dev" else []


def _merged(told: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (when, output), the newest first; the same output twice in a row is one."""
    merged: list[tuple[str, str]] = []
    for when, output in told:
        if merged and merged[-1][1] == output:
            first = merged.pop()[0].split(" to ")[0]
            when = f"{first} to {when.removeprefix('step ')}"
        merged.append((when, output))
    return merged[::-1]


def _sentence(key: _Key, told: list[tuple[str, str]], languages: tuple[str, str]) -> str:
    source, reference = key
    rows = [("source", source, languages[0]), ("reference", reference, languages[1])]
    rows += [(when, output, languages[1]) for when, output in told[:_NEWEST]]
    earlier = texts((when, output, languages[1]) for when, output in told[_NEWEST:])
    older = folded("earlier", earlier) if told[_NEWEST:] else ""
    name = html.escape(source if len(source) <= 40 else f"{source[:40]}...")
    return f'<article aria-label="{name}">\n{texts(rows)}{older}</article>\n'
