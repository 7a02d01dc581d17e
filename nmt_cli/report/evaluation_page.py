"""An evaluation as a page: scores, how they depend on length, the best and the worst segments."""

import html
from datetime import UTC, datetime

from nmt_cli.metrics.evaluation import Evaluation, value_text, words_text
from nmt_cli.metrics.scores import bootstrap_signature
from nmt_cli.report.page import facts, page, paragraphs, sections, table, texts
from nmt_cli.report.svg import bar_figure

_NUM_SAMPLES = 20
_P = (
    "p is how likely a difference at least as large would be if both were equally good, by "
    "sacreBLEU's paired bootstrap with 1,000 samples of the segments."
)
_REPLIES = (
    "A reply can be good and unlike its one reference: of a chat model, BLEU, chrF and TER say "
    "little."
)


def evaluation_page(evaluation: Evaluation) -> str:
    """Return an evaluation as a page."""
    first, *others = evaluation.results
    size, language = len(evaluation.corpus.references), evaluation.corpus.language
    scored = f"{size:,} segments" + (f", target language {language}" if language else "")
    lines = [
        *(f"beside {other.name}" for other in others),
        f"{scored} (written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC)",
    ]
    parts = {
        "Warnings": paragraphs(evaluation.warnings, kind="warning"),
        "Scores": _scores(evaluation),
        "By length": _by_length(evaluation),
        "Samples": _segments(evaluation, evaluation.samples(_NUM_SAMPLES)),
        "Worst segments": _segments(evaluation, evaluation.worst),
        "Best segments": _segments(evaluation, evaluation.best),
        "Settings": _settings(evaluation),
    }
    return page(f"Evaluation of {first.name}", paragraphs(lines, kind="faint") + sections(parts))


def _scores(evaluation: Evaluation) -> str:
    """Return the scores of all systems, with what makes them comparable."""
    scores = evaluation.scores
    signatures = {n: v["signature"] for n, v in scores[0].items() if isinstance(v, dict)}
    names = dict.fromkeys(name for score in scores for name in score)
    rows = [("", *(result.name for result in evaluation.results))]
    for name in sorted(names, key=signatures.__contains__):  # what only a model can tell is first
        cells = [value_text(name, score[name]) if name in score else "" for score in scores]
        for system in range(1, len(cells)):
            p = evaluation.p_text(system, name)
            cells[system] += f" ({p})" if p else ""
        rows.append((name.replace("_", " "), *cells))
    test = {"p": bootstrap_signature()} if len(scores) > 1 else {}
    notes = [_P] if len(scores) > 1 else []
    notes += [_REPLIES] if any(result.facts for result in evaluation.results) else []
    return (
        table(rows, kind="texts")
        + paragraphs(notes, kind="faint")
        + "<h3>Signatures</h3>\n"
        + facts(signatures | test)
    )


def _by_length(evaluation: Evaluation) -> str:
    names = [result.name for result in evaluation.results]
    classes = evaluation.by_length
    labels = [words_text(length) for length in classes[0]]
    series = [
        (name, [length.bleu for length in found])
        for name, found in zip(names, classes, strict=True)
    ]
    rows: list[tuple[str, ...]] = [(evaluation.length_unit, "segments", *(f"{n}" for n in names))]
    for place, label in enumerate(labels):
        bleus = (f"{found[place].bleu:.2f}" for found in classes)
        rows.append((label, f"{classes[0][place].segments:,}", *bleus))
    short = [label.replace(" to ", "-") for label in labels]
    return bar_figure(f"BLEU by {evaluation.length_unit}", short, series) + table(rows)


def _segments(evaluation: Evaluation, indices: list[int]) -> str:
    """Return segments with their chrF++, source, reference and what each system wrote."""
    sources, references, language = evaluation.corpus
    names = [result.name for result in evaluation.results] if len(evaluation.results) > 1 else [""]
    blocks = []
    for index in indices:
        chrf = ", ".join(f"{scores[index]:.1f}" for scores in evaluation.segment_scores)
        rows = [("source", sources[index], "")] if sources is not None else []
        rows.append(("reference", references[index], language))
        rows += [
            (name or "output", result.outputs[index], language)
            for name, result in zip(names, evaluation.results, strict=True)
        ]
        heading = html.escape(f"Line {index + 1:,}: chrF++ {chrf}")
        blocks.append(f"<h3>{heading}</h3>\n{texts(rows)}")
    return "".join(blocks)


def _settings(evaluation: Evaluation) -> str:
    return "".join(
        f"<h3>{html.escape(result.name)}</h3>\n{facts(result.settings)}"
        for result in evaluation.results
        if result.settings
    )
