"""A run's report: what it is trained on and how, how it went, and what its model writes.

It is made of the run's log and its model's manifest alone, so a run that goes on has all of it.
"""

import html
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nmt_cli.config.reading import to_yaml
from nmt_cli.report.curves import Event, curves_chart
from nmt_cli.report.headline import headline, perplexity
from nmt_cli.report.page import Rows, facts, page, paragraphs, sections, table
from nmt_cli.report.samples import averaged, followed
from nmt_cli.report.words import explained

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest
    from nmt_cli.config.schema import Config


def training_page(
    config: "Config",
    card: str,
    events: Iterable[Event],
    manifest: "Manifest | None",
    previous: "Manifest | None" = None,
) -> str:
    """Return the report as a page.

    Args:
        config: The run's configuration.
        card: The data, as HTML.
        events: What `events.jsonl` has.
        manifest: Of the best model so far, if there is one.
        previous: Of the last run of this name, if there was one.
    """
    history = _History()
    chart = curves_chart(config.name, {config.name: history.noting(events)})
    written = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    lines = [_task(config), f"{history.state()} (written {written})"]
    parts = {
        "Curves": chart.body() if chart.panels else "",
        "Scores": _scores(manifest) + _evaluations(history.evaluations) + _exports(history),
        "Samples": _samples(history.evaluations, config),
        "Warnings": paragraphs(history.warnings, kind="warning"),
        "Data": card,
        "Configuration": f'<pre tabindex="0">{html.escape(to_yaml(config))}</pre>\n',
        "Environment": _environment(history.starts),
    }
    told = [] if manifest is None else headline(manifest, previous)
    first = paragraphs(told[:1], kind="headline") + paragraphs(told[1:])
    return page(config.name, first + paragraphs(lines, kind="faint") + sections(parts))


class _History:
    """What happened in a run, without its steps.

    Attributes:
        starts: Of each session.
        evaluations: Those that no rollback undid.
        exports: Number formats that were measured.
        warnings: A line each.
    """

    def __init__(self) -> None:
        self.starts: list[Event] = []
        self.evaluations: list[Event] = []
        self.exports: dict[str, dict[str, Any]] = {}
        self.warnings: list[str] = []
        self._step: Event = {}
        self._last: Event = {}

    def noting(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on, and note what they say."""
        for event in events:
            self._note(event)
            yield event

    def _note(self, event: Event) -> None:
        kind, step = event["event"], event["step"]
        if kind == "StepDone":
            self._step = event
        self._last = event
        match kind:
            case "Started":
                self.starts.append(event)
                self.warnings += event.get("warnings", [])
            case "Evaluated":
                self.evaluations.append(event)
                if event.get("warning"):
                    self.warnings.append(f"step {step:,}: {event['warning']}")
            case "Exported":
                self.exports[event["measured"]["number_format"]] = event["measured"]
            case "Skipped":
                self.warnings.append(
                    f"step {step:,} was skipped: its {event['what']} is not finite"
                )
            case "RolledBack":
                self.evaluations = [e for e in self.evaluations if e["step"] <= step]
                self.warnings.append(f"back from step {event['from_step']:,} to {step:,}")
            case "MicroBatchesHalved":
                tokens = event["tokens_per_micro_batch"]
                self.warnings.append(f"step {step:,}: memory for {tokens:,} tokens at a time only")

    def state(self) -> str:
        """Return how far the run is."""
        if self._last.get("event") == "Finished":
            step = self._last["step"]
            if self._last["reason"] == "stopped":
                return f"stopped at step {step:,}; the same command goes on"
            return f"finished at step {step:,}: {self._last['reason']}"
        if not self._step:
            return "no step yet"
        last = self._step.get("last_step")
        return f"at step {self._step['step']:,}" + (f" of {last:,}" if last else "")


def _task(config: "Config") -> str:
    languages = " → ".join(filter(None, (config.data.source_lang, config.data.target_lang)))
    return f"{config.task} {languages}".strip()


def _scores(manifest: "Manifest | None") -> str:
    """Return the scores of the best model so far, with what makes them comparable."""
    if manifest is None:
        return ""
    rows = [("best model", "score", "signature")]
    rows += [
        (f"{split} {name}", f"{value['score']:.2f}", value["signature"])
        for split, scores in manifest.scores.items()
        for name, value in scores.items()
    ]
    loss = manifest.training["dev_loss"]
    known = {
        "best at step": f"{manifest.training['step']:,}",
        "dev loss": f"{manifest.dev_loss}, perplexity {perplexity(loss):.3g}",
    }
    return facts(known) + (table(rows, kind="texts") if len(rows) > 1 else "")


def _evaluations(evaluations: list[Event]) -> str:
    if not evaluations:
        return ""
    names = list(dict.fromkeys(name for event in evaluations for name in event["scores"]))
    rows: list[tuple[str, ...]] = [("step", "loss", "perplexity", *names)]
    for event in evaluations:
        scores = [event["scores"].get(name) for name in names]
        best = ["best so far"] if event["is_best"] else []
        rows.append(
            (
                ", ".join([f"{event['step']:,}", *averaged(event), *best]),
                f"{event['dev_loss']:.3f}",
                f"{perplexity(event['dev_loss']):.3g}",
                *(f"{score['score']:.2f}" if score else "" for score in scores),
            )
        )
    return "<h3>Evaluations on dev</h3>\n" + table(rows) + explained(rows[0])


def _exports(history: _History) -> str:
    if not history.exports:
        return ""
    all_measured = history.exports.values()
    metric = "accuracy" if any(m["accuracy"] is not None for m in all_measured) else "bleu"
    rows: Rows = [
        ("number format", "MB", f"dev {metric}", "lines/s"),
        *(
            (
                name,
                f"{measured['megabytes']:.1f}",
                _number(measured[metric], ".2f"),
                _number(measured["lines_per_second"], ",.0f"),
            )
            for name, measured in history.exports.items()
        ),
    ]
    return "<h3>Number formats</h3>\n" + table(rows)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _samples(evaluations: list[Event], config: "Config") -> str:
    """Return what the model wrote; of averages only where they were best."""
    told = [e for e in evaluations if e["is_best"] or not averaged(e)]
    return followed(told, (config.data.source_lang, config.data.target_lang))


def _environment(starts: list[Event]) -> str:
    """Return what each session ran on; sessions on the same are one column."""
    known = {}
    if starts:
        known["parameters"] = f"{starts[-1]['parameters']:,}"
        known["precision"] = starts[-1]["precision"]
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for event in starts:
        items = tuple(event.get("environment", {}).items())
        found.setdefault(items, []).append(f"step {event['step']:,}")
    blocks = [
        f"<h3>From {html.escape(', '.join(steps))} on</h3>\n{facts(dict(items))}"
        for items, steps in found.items()
        if items
    ]
    return facts(known) + "".join(blocks)
