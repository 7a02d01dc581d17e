"""What `nmt evaluate` prints: the scores of one system, or of several side by side."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.errors import DataError
from nmt_cli.evaluation.comparison import Comparison, Evaluation, value_text, words_text
from nmt_cli.evaluation.label_judging import Judged, LabelComparison
from nmt_cli.evaluation.scores import bootstrap_signature
from nmt_cli.files import os_errors_as, write_text
from nmt_cli.report.evaluation_page import evaluation_page
from nmt_cli.report.matrices import Confusion
from nmt_cli.terminal import console

_NUM_SAMPLES = 5
_NUM_PRINTED = 3
_NUM_MISTAKES = 20
_MISTAKES_PRINTED = 5


def show_evaluation(
    name: str, found: Evaluation | LabelComparison, report: str | None, *, as_json: bool
) -> None:
    """Print what was found of the system of that name, and of others; write it to a page, too."""
    match found:
        case _ if len(found.results) > 1:
            _show_side_by_side(found, as_json=as_json)
        case LabelComparison():
            _show_judged(name, found.first, as_json=as_json)
        case Evaluation():
            _show_scores(found, as_json=as_json)
    if report is not None:
        with os_errors_as(DataError, f"{report}: cannot be written"):
            write_text(Path(report), evaluation_page(found))
        console.note(f"the report is in {report}")


def _show_scores(evaluation: Evaluation, *, as_json: bool) -> None:
    """Print a system's scores with signatures, by source length, and its best and worst segments.

    As JSON it is all there; for people the segments are few.
    """
    (scores,), (by_length,) = evaluation.scores, evaluation.by_length
    worst, best = _segments(evaluation, evaluation.worst), _segments(evaluation, evaluation.best)
    if as_json:
        extremes = {"worst": worst, "best": best, "warnings": evaluation.warnings}
        classes = {"by_length": [asdict(length) for length in by_length]}
        size = {"segments": len(evaluation.corpus.references)}
        console.result_json(size | scores | classes | extremes)
        return
    for problem in evaluation.warnings:
        console.warn(problem)
    for name, value in scores.items():
        signature = f"  {value['signature']}" if isinstance(value, dict) else ""
        console.result(f"{name} {value_text(name, value)}{signature}")
    rows = [[evaluation.length_unit, "segments", "bleu"]]
    rows += [[words_text(c), f"{c.segments:,}", f"{c.bleu:.2f}"] for c in by_length]
    if by_length:
        console.result("")
        console.result_columns(rows)
    for title, segments in (("worst", worst), ("best", best)):
        for segment in segments[:_NUM_PRINTED]:
            console.result("")
            rows = [[title, f"line {segment['line']}, chrF++ {segment['chrf++']:.1f}"]]
            rows += [[k, segment[k]] for k in ("source", "reference", "output") if k in segment]
            console.result_columns(rows)


def _show_side_by_side(evaluation: Comparison, *, as_json: bool) -> None:
    """Print the scores of several systems in columns, then samples of what they wrote.

    Beside the scores of all but the first stands the p-value of the difference to the first.
    """
    results, scores = evaluation.results, evaluation.scores
    samples = _samples(evaluation)
    if as_json:
        systems = [
            {"name": result.name} | score | {"p_values": values}
            for result, score, values in zip(
                results, scores, [None, *evaluation.p_values], strict=True
            )
        ]
        size = {evaluation.unit: len(evaluation.corpus.references)}
        test = size | {"paired_bootstrap": bootstrap_signature()}
        console.result_json(test | {"systems": systems, "samples": samples})
        return
    for problem in evaluation.warnings:
        console.warn(problem)
    rows = [["", *(result.name for result in results)]]
    for name in {name: None for score in scores for name in score}:
        rows.append([name, *evaluation.cells(name)])
    console.result_columns(rows)
    console.result(f"p: paired bootstrap, {bootstrap_signature()}")
    for sample in samples:
        console.result("")
        rows = [[k, sample[k]] for k in ("source", "reference") if k in sample]
        for result, own, output in zip(results, sample["own"], sample["outputs"], strict=True):
            rows += [[f"{result.name}: {side}", text] for side, text in own.items()]
            rows.append([result.name, output])
        console.result_columns(rows)


def _show_judged(name: str, judged: Judged, *, as_json: bool) -> None:
    """Print accuracy, F1, the scores of each label, the confusion matrix and some mistakes."""
    scores, by_label = judged.scores(), judged.by_label()
    mistakes = judged.mistakes(_NUM_MISTAKES)
    if as_json:
        record: dict[str, Any] = {"examples": len(judged.examples)}
        record |= {metric: score.as_json() for metric, score in scores.items()}
        record["labels"] = [asdict(score) for score in by_label]
        confusion = {} if judged.multi_label else {"confusion": judged.confusion()}
        console.result_json(record | confusion | {"mistakes": mistakes})
        return
    for metric, score in scores.items():
        console.result(f"{metric} {score.score:.2f}  {score.signature}")
    console.result("")
    rows = [["label", "precision", "recall", "f1", "examples"]]
    for one in by_label:
        numbers = [f"{number:.2f}" for number in (one.precision, one.recall, one.f1)]
        rows.append([one.label, *numbers, f"{one.support:,}"])
    console.result_columns(rows)
    if not judged.multi_label:
        console.result("")
        console.show(Confusion.of(name, judged), None)
    for mistake in mistakes[:_MISTAKES_PRINTED]:
        console.result("")
        console.result_columns([[key, str(value)] for key, value in mistake.items()])


def _segments(evaluation: Evaluation, indices: list[int]) -> list[dict[str, Any]]:
    (result,), (chrf,) = evaluation.results, evaluation.segment_scores
    return [
        {"line": i + 1, "chrf++": chrf[i]} | _sides(evaluation, i) | {"output": result.outputs[i]}
        for i in indices
    ]


def _samples(evaluation: Comparison) -> list[dict[str, Any]]:
    """Return segments with what each system wrote, and its own source and reference, if any."""
    return [
        _sides(evaluation, i)
        | {
            "own": [evaluation.own_text(result, i) for result in evaluation.results],
            "outputs": [result.outputs[i] for result in evaluation.results],
        }
        for i in evaluation.samples(_NUM_SAMPLES)
    ]


def _sides(evaluation: Comparison, index: int) -> dict[str, str]:
    """Return the source, if it is known, and the reference of a segment."""
    sources, references = evaluation.corpus.sources, evaluation.corpus.references
    source = {"source": sources[index]} if sources is not None else {}
    return source | {"reference": references[index]}
