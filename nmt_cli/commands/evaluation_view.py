"""What `nmt evaluate` prints: the scores of one system, or of several side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli import console

if TYPE_CHECKING:
    from nmt_cli.text.corpus import Example

_NUM_SAMPLES = 5
_PERCENTS = ("most_frequent_share", "loop_share")


class Result(NamedTuple):
    """What a system wrote and how it scored.

    Attributes:
        name: The model, or what is set differently.
        outputs: One for each example.
        scores: JSON data by name.
    """

    name: str
    outputs: list[str]
    scores: dict[str, Any]


def show_one(result: Result, num_segments: int, *, as_json: bool) -> None:
    """Print a system's scores, those of sacreBLEU with their signatures."""
    if as_json:
        console.result_json({"segments": num_segments} | result.scores)
        return
    for name, value in result.scores.items():
        signature = f"  {value['signature']}" if isinstance(value, dict) else ""
        console.result(f"{name} {_text(name, value)}{signature}")


def show_side_by_side(
    results: Sequence[Result], examples: Sequence["Example"], *, as_json: bool
) -> None:
    """Print the scores of several systems in columns, then samples of what they wrote."""
    step = max(1, len(examples) // _NUM_SAMPLES)
    picked = range(0, len(examples), step)[:_NUM_SAMPLES]
    if as_json:
        samples = [
            {
                "source": list(examples[i].source),
                "reference": examples[i].target,
                "outputs": [result.outputs[i] for result in results],
            }
            for i in picked
        ]
        systems = [{"name": result.name} | result.scores for result in results]
        console.result_json({"segments": len(examples), "systems": systems, "samples": samples})
        return
    names = list(results[0].scores)
    rows = [["", *(result.name for result in results)]]
    rows += [[name, *(_text(name, result.scores[name]) for result in results)] for name in names]
    console.result_columns(rows)
    for i in picked:
        console.result("")
        sides = [("source", " / ".join(examples[i].source)), ("reference", examples[i].target)]
        outputs = [(result.name, result.outputs[i]) for result in results]
        console.result_columns([*sides, *outputs])


def _text(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['score']:.2f}"
    if isinstance(value, str):
        return value
    if name in _PERCENTS:
        return f"{value:.1%}"
    return f"{value:.3f}" if name.startswith("distinct") else f"{value:.2f}"
