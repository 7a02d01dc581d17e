"""What `nmt evaluate` prints: the scores of one system, or of several side by side."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from nmt_cli import console
from nmt_cli.metrics.misuse import warnings
from nmt_cli.metrics.scores import ALL, corpus_scores, p_values, scores_by_length, segment_scores

_NUM_SAMPLES = 5
_NUM_EXTREMES = 20
_NUM_PRINTED = 3
_PERCENTS = ("most_frequent_share", "loop_share")


class Corpus(NamedTuple):
    """The segments that are scored.

    Attributes:
        sources: None where they are not known.
        references: One a segment.
        language: Code of the target language, or "".
    """

    sources: list[str] | None
    references: list[str]
    language: str


class Result(NamedTuple):
    """What a system wrote.

    Attributes:
        name: The model, the file, or what is set differently.
        outputs: One a segment.
        facts: What is known beside scores against references, as JSON data by name.
    """

    name: str
    outputs: list[str]
    facts: dict[str, Any]


def show_one(result: Result, corpus: Corpus, *, as_json: bool) -> None:
    """Print a system's scores with signatures, by source length, and its best and worst segments.

    As JSON it is all there; for people the segments are few.
    """
    scores = _scores(result, corpus)
    lengths = corpus.sources if corpus.sources is not None else corpus.references
    by_length = scores_by_length(lengths, result.outputs, corpus.references, corpus.language)
    worst, best = _extremes(result, corpus)
    problems = warnings(result.outputs, corpus.references, corpus.language)
    if as_json:
        extremes = {"worst": worst, "best": best, "warnings": problems}
        classes = {"by_length": [asdict(length) for length in by_length]}
        console.result_json({"segments": len(result.outputs)} | scores | classes | extremes)
        return
    for problem in problems:
        console.warn(problem)
    for name, value in scores.items():
        signature = f"  {value['signature']}" if isinstance(value, dict) else ""
        console.result(f"{name} {_text(name, value)}{signature}")
    what = "source" if corpus.sources is not None else "reference"
    rows = [[f"words of the {what}", "segments", "bleu"]]
    for length in by_length:
        words = f"{length.shortest} to {length.longest}" if length.longest else "more"
        rows.append([words, f"{length.segments:,}", f"{length.bleu:.2f}"])
    console.result("")
    console.result_columns(rows)
    for title, segments in (("worst", worst), ("best", best)):
        for segment in segments[:_NUM_PRINTED]:
            console.result("")
            rows = [[title, f"line {segment['line']}, chrF++ {segment['chrf++']:.1f}"]]
            rows += [[k, segment[k]] for k in ("source", "reference", "output") if k in segment]
            console.result_columns(rows)


def show_side_by_side(results: Sequence[Result], corpus: Corpus, *, as_json: bool) -> None:
    """Print the scores of several systems in columns, then samples of what they wrote.

    Beside the scores of all but the first stands the p-value of the difference to the first.
    """
    first, *others = results
    scores = [_scores(result, corpus) for result in results]
    p = p_values(first.outputs, [o.outputs for o in others], corpus.references, corpus.language)
    samples = _samples(results, corpus)
    if as_json:
        systems = [
            {"name": result.name} | score | {"p_values": values}
            for result, score, values in zip(results, scores, [None, *p], strict=True)
        ]
        record = {"segments": len(first.outputs), "systems": systems, "samples": samples}
        console.result_json(record)
        return
    for problem in warnings(first.outputs, corpus.references, corpus.language):
        console.warn(problem)
    rows = [["", *(result.name for result in results)]]
    for name in {name: None for score in scores for name in score}:
        cells = [_text(name, score[name]) if name in score else "" for score in scores]
        for i, values in enumerate(p, start=1):
            cells[i] += _p_value(values[name], first, others[i - 1]) if name in values else ""
        rows.append([name, *cells])
    console.result_columns(rows)
    for sample in samples:
        console.result("")
        sides = [(k, sample[k]) for k in ("source", "reference") if k in sample]
        outputs = zip((result.name for result in results), sample["outputs"], strict=True)
        console.result_columns([*sides, *outputs])


def _p_value(p: float, first: Result, other: Result) -> str:
    """Return a p-value in words. SacreBLEU's is small for equal outputs, where it means nothing."""
    return " (the same)" if first.outputs == other.outputs else f" (p = {p:.3f})"


def _scores(result: Result, corpus: Corpus) -> dict[str, Any]:
    scores = corpus_scores(result.outputs, corpus.references, corpus.language, ALL)
    return {name: score.as_json() for name, score in scores.items()} | result.facts


def _extremes(result: Result, corpus: Corpus) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the worst segments, worst first, and the best, best first."""
    chrf = segment_scores(result.outputs, corpus.references)
    order = sorted(range(len(chrf)), key=chrf.__getitem__)
    rows = [
        {"line": i + 1, "chrf++": chrf[i]}
        | ({"source": corpus.sources[i]} if corpus.sources is not None else {})
        | {"reference": corpus.references[i], "output": result.outputs[i]}
        for i in order
    ]
    return rows[:_NUM_EXTREMES], rows[::-1][:_NUM_EXTREMES]


def _samples(results: Sequence[Result], corpus: Corpus) -> list[dict[str, Any]]:
    size = len(corpus.references)
    return [
        ({"source": corpus.sources[i]} if corpus.sources is not None else {})
        | {"reference": corpus.references[i], "outputs": [result.outputs[i] for result in results]}
        for i in range(0, size, max(1, size // _NUM_SAMPLES))[:_NUM_SAMPLES]
    ]


def _text(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['score']:.2f}"
    if isinstance(value, str):
        return value
    if name in _PERCENTS:
        return f"{value:.1%}"
    return f"{value:.3f}" if name.startswith("distinct") else f"{value:.2f}"
