"""An evaluation as a page: scores, what they depend on, the best and the worst outputs."""

import html
from collections.abc import Mapping
from datetime import UTC, datetime

from nmt_cli.evaluation.comparison import Comparison, Evaluation, words_text
from nmt_cli.evaluation.label_judging import Judged, LabelComparison
from nmt_cli.evaluation.scores import bootstrap_signature
from nmt_cli.report.charts import bar_figure
from nmt_cli.report.matrices import Confusion
from nmt_cli.report.page import explained, facts, page, paragraphs, sections, table, texts

_NUM_SAMPLES = 20
_P = (
    "p is how likely a difference at least as large would be if both were equally good, by "
    "sacreBLEU's paired bootstrap with 1,000 samples of the {unit}."
)
_REPLIES = (
    "A good reply can differ from its one reference: for a chat model, BLEU, chrF and TER say "
    "little."
)


def evaluation_page(evaluation: Evaluation | LabelComparison) -> str:
    """Return an evaluation as a page."""
    first, *others = evaluation.results
    size, language = len(evaluation.corpus.references), evaluation.corpus.language
    scored = f"{size:,} {evaluation.unit}" + (f", target language {language}" if language else "")
    lines = [
        *(f"compared with {other.name}" for other in others),
        f"{scored} (written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC)",
    ]
    if isinstance(evaluation, LabelComparison):
        own = _label_parts(evaluation)
    else:
        own = _text_parts(evaluation)
    parts = {
        "Warnings": paragraphs(evaluation.warnings, kind="warning"),
        "Scores": _scores(evaluation),
        **own,
        "Settings": _settings(evaluation),
    }
    return page(f"Evaluation of {first.name}", paragraphs(lines, kind="faint") + sections(parts))


def _text_parts(evaluation: Evaluation) -> dict[str, str]:
    def segments(indices: list[int]) -> str:
        scores = {i: [f"{chrf[i]:.1f}" for chrf in evaluation.segment_scores] for i in indices}
        headings = {i: f"Line {i + 1:,}: chrF++ {', '.join(row)}" for i, row in scores.items()}
        return _segments(evaluation, headings)

    return {
        "By length": _by_length(evaluation),
        "Samples": segments(evaluation.samples(_NUM_SAMPLES)),
        "Worst segments": segments(evaluation.worst),
        "Best segments": segments(evaluation.best),
    }


def _label_parts(evaluation: LabelComparison) -> dict[str, str]:
    mistakes = evaluation.first.mistakes(_NUM_SAMPLES)
    surest = {
        m["example"] - 1: f"Example {m['example']:,}: probability {m['probability']:.2f}"
        for m in mistakes
    }
    differences = {i: f"Example {i + 1:,}" for i in evaluation.samples(_NUM_SAMPLES)}
    return {
        "Labels": _labels(evaluation),
        "Confusion": "".join(
            _confusion(result.name, judged)
            for result, judged in zip(evaluation.results, evaluation.judged, strict=True)
        ),
        "Surest mistakes": _segments(evaluation, surest),
        "Differences": _segments(evaluation, differences),
    }


def _labels(evaluation: LabelComparison) -> str:
    """Return the scores of each label: of the first system all, of the others F1."""
    names = [f"f1 of {result.name}" for result in evaluation.results]
    rows: list[tuple[str, ...]] = [("label", "examples", "precision", "recall", "f1", *names[1:])]
    for first, *others in zip(*(judged.by_label() for judged in evaluation.judged), strict=True):
        numbers = (first.precision, first.recall, first.f1, *(other.f1 for other in others))
        rows.append((first.label, f"{first.support:,}", *(f"{n:.2f}" for n in numbers)))
    return table(rows) + explained(rows[0])


def _confusion(name: str, judged: Judged) -> str:
    """Return which labels a system took for which; nothing where examples have several."""
    if judged.multi_label:
        return ""
    picture = Confusion(title=name, labels=list(judged.labels.names), counts=judged.confusion())
    return f"<h3>{html.escape(name)}</h3>\n{picture.body()}"


def _scores(evaluation: Comparison) -> str:
    """Return the scores of all systems, with what makes them comparable."""
    scores = evaluation.scores
    signatures = {n: v["signature"] for n, v in scores[0].items() if isinstance(v, dict)}
    names = dict.fromkeys(name for score in scores for name in score)
    rows = [("", *(result.name for result in evaluation.results))]
    for name in sorted(names, key=signatures.__contains__):  # what only a model can tell is first
        rows.append((name.replace("_", " "), *evaluation.cells(name)))
    test = {"p": bootstrap_signature()} if len(scores) > 1 else {}
    notes = [_P.format(unit=evaluation.unit)] if len(scores) > 1 else []
    notes += [_REPLIES] if any(result.facts for result in evaluation.results) else []
    return (
        table(rows, kind="texts")
        + explained(names)
        + paragraphs(notes, kind="faint")
        + "<h3>Signatures</h3>\n"
        + facts(signatures | test)
    )


def _by_length(evaluation: Evaluation) -> str:
    names = [result.name for result in evaluation.results]
    classes = evaluation.by_length
    if not classes[0]:
        return ""
    labels = [words_text(length) for length in classes[0]]
    bleus = [[length.bleu for length in found] for found in classes]
    series = list(zip(names, bleus, strict=True))
    rows: list[tuple[str, ...]] = [(evaluation.length_unit, "segments", *names)]
    for label, length, *row in zip(labels, classes[0], *bleus, strict=True):
        rows.append((label, f"{length.segments:,}", *(f"{bleu:.2f}" for bleu in row)))
    short = [label.replace(" to ", "-") for label in labels]
    return bar_figure(f"BLEU by {evaluation.length_unit}", short, series) + table(rows)


def _segments(evaluation: Comparison, headings: Mapping[int, str]) -> str:
    """Return segments, by their numbers from 0, with source, reference and what was written."""
    sources, references, language, _ = evaluation.corpus
    names = [result.name for result in evaluation.results] if len(evaluation.results) > 1 else [""]
    blocks = []
    for index, heading in headings.items():
        rows = [("source", sources[index], "")] if sources is not None else []
        rows.append(("reference", references[index], language))
        for name, result in zip(names, evaluation.results, strict=True):
            own = evaluation.own_text(result, index)
            rows += [
                (f"{name}: {side}", text, language if side == "reference" else "")
                for side, text in own.items()
            ]
            rows.append((name or "output", result.outputs[index], language))
        blocks.append(f"<h3>{html.escape(heading)}</h3>\n{texts(rows)}")
    return "".join(blocks)


def _settings(evaluation: Comparison) -> str:
    return "".join(
        f"<h3>{html.escape(result.name)}</h3>\n{facts(result.settings)}"
        for result in evaluation.results
        if result.settings
    )
