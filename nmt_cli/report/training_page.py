"""The report of a run: its score, its data, how training went, and what its model writes.

It is made from the run's log and its model's manifest alone, so a resumed run shows all of it.
"""

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nmt_cli.config.reading import to_yaml
from nmt_cli.errors import number_of
from nmt_cli.report.curves import Event, curves_chart
from nmt_cli.report.page import (
    explained,
    facts,
    folded,
    page,
    paragraphs,
    sections,
    table,
    texts,
)
from nmt_cli.text.batches import num_too_long
from nmt_cli.text.languages import Languages

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest
    from nmt_cli.config.schema import Config, CorpusConfig
    from nmt_cli.training.run import Prepared


def training_page(
    config: "Config",
    card: str,
    events: Iterable[Event],
    manifest: "Manifest | None",
    previous: "Manifest | None" = None,
) -> str:
    """Return the report as a page: of the data's HTML, and of what `events.jsonl` has.

    The manifests are those of the best model so far, and of the last run of this name.
    """
    history = _History()
    chart = curves_chart(config.name, {config.name: history.noting(events)})
    written = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    task = f"{config.task} {_languages(config)}".strip()
    lines = [task, f"{history.state()} (written {written})"]
    parts = {
        "Curves": chart.body() if chart.panels else "",
        "Scores": _scores(manifest)
        + _evaluations(history.evaluations, has_labels=config.facts.has_labels)
        + _exports(history),
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
    """What happened in a run, without its steps."""

    def __init__(self) -> None:
        self.starts: list[Event] = []  # of each session
        self.evaluations: list[Event] = []  # those that no rollback undid
        self.exports: dict[str, dict[str, Any]] = {}  # number formats that were measured
        self.warnings: list[str] = []
        self._step: Event = {}
        self._last: Event = {}

    def noting(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on, and note what they say."""
        for event in events:
            self._note(event)
            yield event

    def _note(self, event: Event) -> None:
        step, self._last = event["step"], event
        match event["event"]:
            case "StepDone":
                self._step = event
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
                return f"stopped at step {step:,}; the same command resumes"
            return f"finished at step {step:,}: {self._last['reason']}"
        if not self._step:
            return "no step yet"
        last = self._step.get("last_step")
        return f"at step {self._step['step']:,}" + (f" of {last:,}" if last else "")


def _languages(config: "Config") -> str:
    return Languages.of(config).text.replace("->", "→")


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
        "dev loss": manifest.dev_loss
        if manifest.facts.has_labels
        else f"{manifest.dev_loss}, perplexity {perplexity(loss):.3g}",
    }
    return facts(known) + (table(rows, kind="texts") if len(rows) > 1 else "")


def _evaluations(evaluations: list[Event], *, has_labels: bool) -> str:
    if not evaluations:
        return ""
    of_tokens = [] if has_labels else ["perplexity"]
    names = list(dict.fromkeys(name for event in evaluations for name in event["scores"]))
    rows: list[tuple[str, ...]] = [("step", "loss", *of_tokens, *names)]
    for event in evaluations:
        scores = [event["scores"].get(name) for name in names]
        best = ["best so far"] if event["is_best"] else []
        when = ", ".join([f"{event['step']:,}", *averaged(event), *best])
        loss = event["dev_loss"]
        losses = [f"{loss:.3f}", *(f"{perplexity(loss):.3g}" for _ in of_tokens)]
        rows.append((when, *losses, *(f"{s['score']:.2f}" if s else "" for s in scores)))
    words = ["loss of labels" if has_labels else "loss", *of_tokens, *names]
    return "<h3>Evaluations on dev</h3>\n" + table(rows) + explained(words)


def _exports(history: _History) -> str:
    if not history.exports:
        return ""
    all_measured = history.exports.values()
    metric = "accuracy" if any(m["accuracy"] is not None for m in all_measured) else "bleu"
    rows = [("number format", "MB", f"dev {metric}", "lines/s")]
    for name, measured in history.exports.items():
        score = _number(measured[metric], ".2f")
        speed = _number(measured["lines_per_second"], ",.0f")
        rows.append((name, f"{measured['megabytes']:.1f}", score, speed))
    return "<h3>Number formats</h3>\n" + table(rows)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _samples(evaluations: list[Event], config: "Config") -> str:
    """Return what the model wrote; of averages only where they were best."""
    told = [e for e in evaluations if e["is_best"] or not averaged(e)]
    return followed(told, Languages.of(config).default)


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


_CHOSEN_BY = ("bleu", "accuracy")  # the score of a task that has one
_NAMES = {"bleu": "BLEU", "accuracy": "accuracy", "perplexity": "perplexity"}
_LARGEST_EXPONENT = 700.0  # beyond, exp is no number any more


def headline(manifest: "Manifest", previous: "Manifest | None") -> list[str]:
    """Return the best model's score, what it is, and how it compares with the last run's."""
    name, dev = _score(manifest)
    test = manifest.scores.get("test", {}).get(name, {}).get("score")
    also = "" if test is None else f", {test:.1f} on test"
    lines = [f"{_NAMES[name]} {dev:.1f} on dev{also}", _what(manifest)]
    return lines if previous is None else [*lines, _compared(name, dev, manifest, previous)]


def perplexity(loss: float) -> float:
    """Return e to the power of a loss in nats a token."""
    return math.exp(min(loss, _LARGEST_EXPONENT))


def _score(manifest: "Manifest") -> tuple[str, float]:
    """Return what the model is judged by, and how it did on dev."""
    dev = manifest.scores.get("dev", {})
    name = next((name for name in _CHOSEN_BY if name in dev), None)
    if name is None:
        return "perplexity", perplexity(manifest.training["dev_loss"])
    return name, dev[name]["score"]


def _what(manifest: "Manifest") -> str:
    languages = manifest.known_languages.text.replace("->", "to")
    does = manifest.facts.does.format(languages=languages).strip()
    return (
        f"A model that {does}: {manifest.parameters:,} weights, {manifest.layers} layers of width "
        f"{manifest.model['d_model']}, trained on {manifest.training['pairs']:,} "
        f"{manifest.examples}; it was best at step {manifest.training['step']:,}."
    )


def _compared(name: str, dev: float, manifest: "Manifest", previous: "Manifest") -> str:
    before_name, before = _score(previous)
    if before_name != name:
        return f"The last run of this name was scored by {_NAMES[before_name]}."
    how = "higher" if dev > before else "lower"
    good = " (better)" if name == "perplexity" and dev < before else ""
    others = " and ".join(_others(manifest.training, previous.training))
    but = f", with another {others}" if others else ""
    gain = f"{abs(round(dev, 1) - round(before, 1)):.1f}"
    if gain == "0.0":
        return f"Equal to the last run of this name{but}."
    subject = f"{_NAMES[name][0].upper()}{_NAMES[name][1:]}"
    return f"{subject} is {gain} {how}{good} than in the last run of this name ({before:.1f}{but})."


_ORIGIN = {
    "text": "text",
    "dev_text": "development text",
    "vocabulary": "vocabulary",
    "seed": "seed",
}


def _others(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return what was another one in the run before, beside the other keys of its configuration."""
    both = [key for key in _ORIGIN if key in now and key in before]
    if both:
        return [_ORIGIN[key] for key in both if now[key] != before[key]]
    same = now.get("fingerprint") == before.get("fingerprint")  # all that older models have
    return [] if same else ["text, vocabulary or seed"]


_NEWEST = 4  # outputs of a sentence that are shown at once
_Key = tuple[str, str]


def followed(evaluations: Sequence[Event], languages: tuple[str, str]) -> str:
    """Return each sentence with its reference and what the model made of it, the newest first.

    `languages` are the codes of source and target, "" where not known.
    """
    outputs: dict[_Key, list[tuple[str, str]]] = {}
    for event in evaluations:
        for sample in event["samples"]:
            told = outputs.setdefault((sample["source"], sample["reference"]), [])
            when = ", ".join([f"step {event['step']:,}", *averaged(event)])
            told.append((when, sample["output"]))
    now = {(s["source"], s["reference"]) for event in evaluations[-1:] for s in event["samples"]}
    blocks = {key: _sentence(key, _merged(told), languages) for key, told in outputs.items()}
    older = [block for key, block in blocks.items() if key not in now]
    shown = "".join(block for key, block in blocks.items() if key in now)
    body = f'<div class="samples">\n{shown}</div>\n' if shown else ""
    others = number_of(len(older), "other sentence")
    return body + (folded(others, "".join(older)) if older else "")


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


_KIB = 1024.0


def data_card(prepared: "Prepared") -> str:
    """Return the data of a run as HTML; it does not change while the run goes on."""
    rows: list[tuple[str, ...]] = [("split", "files", "size", "pairs", "weight")]
    encoded = {"train": prepared.train.sizes, "dev": prepared.dev.sizes}
    for split in ("train", "dev", "test"):
        corpora: list[CorpusConfig] = getattr(prepared.config.data, split)
        sizes = encoded.get(split, ())
        is_known = len(sizes) == len(corpora)
        for index, corpus in enumerate(corpora):
            files = prepared.corpora.files_of(corpus)
            size = _size(sum(file.stat().st_size for file in files if file.is_file()))
            pairs = f"{sizes[index]:,}" if is_known else ""
            rows.append((split, corpus.label, size if files else "", pairs, f"{corpus.weight:g}"))
    card = table(rows, kind="texts") + facts(_facts(prepared))
    prepared.train.release()
    return card


def _facts(prepared: "Prepared") -> dict[str, str]:
    config, train, words = prepared.config, prepared.train, prepared.vocabularies
    longest = config.model.max_length
    targets = config.facts.targets
    blank = sum(prepared.num_blank.values())
    tokens = f"{words.source.vocab_size:,}"
    if not words.joint:
        tokens = f"{tokens} source and {words.target.vocab_size:,} target"
    return {
        "languages": _languages(config) or "not given",
        "licence": config.data.licence or "not given",
        "folder": config.data.dir,
        "train": f"{number_of(len(train), 'pair')}, {int(train.source_offsets[-1]):,} source and "
        f"{int(train.target_offsets[-1]):,} {targets}",
        "dev": number_of(len(prepared.dev), "pair"),
        "left out of train": f"{number_of(blank, 'pair')} without text on a side; "
        f"{number_of(num_too_long(train, longest), 'pair')} longer than model.max_length "
        f"({longest:,} tokens)",
        "vocabulary": f"{tokens} tokens{', joint' if words.joint else ''}",
        "fingerprint": prepared.fingerprint,
    }


def _size(num_bytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if num_bytes < _KIB:
            return f"{num_bytes:.0f} {unit}"
        num_bytes /= _KIB
    return f"{num_bytes:.1f} GiB"
