"""The events of training runs, or a schedule -> curves of loss, scores, learning rate and speed."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError, ModelFileError, did_you_mean
from nmt_cli.report.charts import LineChart, Panel, Series
from nmt_cli.resources import RUNS_DIR
from nmt_cli.training.run_folder import RunFolder, read_events
from nmt_cli.training.schedule import learning_rate

_POINTS = 125  # of a line; more are averaged, which takes most of the noise out, too
_SCHEDULE_POINTS = 400
_DEV = "dev"

Points = list[tuple[float, float]]
Event = dict[str, Any]


def curves_chart(title: str, runs: Mapping[str, Iterable[Event]]) -> LineChart:
    """Return the picture of runs: their names and their events, as `events.jsonl` has them."""
    panels: dict[str, list[Series]] = {}
    for name, events in runs.items():
        for measure, points in _measures(events).items():
            line = _averaged(points)
            xs, ys = [x for x, _ in line], [y for _, y in line]
            panels.setdefault(measure, []).append(Series(name, xs, ys))
    order = sorted(panels, key=_place)
    return LineChart(title=title, panels=[Panel(name, "steps", panels[name]) for name in order])


def _measures(events: Iterable[Event]) -> dict[str, Points]:
    """Return each measure's finite points; what a rollback undid is left out."""
    found: dict[str, Points] = {}
    speed = "tokens/s"
    for event in events:
        step = event["step"]
        speed = f"{event['unit']}/s" if "unit" in event else speed
        if event["event"] == "RolledBack":
            for points in found.values():
                points[:] = [point for point in points if point[0] <= step]
        for measure, value in _values(event, speed).items():
            if math.isfinite(value):
                found.setdefault(measure, []).append((step, value))
    return {measure: points for measure, points in found.items() if points}


def _values(event: Event, speed: str) -> dict[str, float]:
    """Return what one event measured; `speed` is the unit of the speed."""
    if event["event"] == "StepDone":
        return {
            "training loss": event["loss"],
            "learning rate": event["learning_rate"],
            speed: event["num_tokens"] / max(event["seconds"], 1e-9),
        }
    if event["event"] == "Evaluated" and event.get("label", _DEV) == _DEV:
        scores = {f"{_DEV} {name}": score["score"] for name, score in event["scores"].items()}
        return {f"{_DEV} loss": event["dev_loss"]} | scores
    return {}


def _place(measure: str) -> tuple[int, str]:
    """Return where a panel stands: losses, scores, the rest."""
    first = ["training loss", f"{_DEV} loss", f"{_DEV} bleu", f"{_DEV} chrf"]
    order = [*first, "another score", "learning rate", "tokens/s", "examples/s"]
    return order.index(measure if measure in order else "another score"), measure


def _averaged(points: Points) -> Points:
    """Return at most `_POINTS` points, each the mean of as many neighbours."""
    size = -(-len(points) // _POINTS)
    chunks = (zip(*points[i : i + size], strict=True) for i in range(0, len(points), size))
    return [(sum(xs) / len(xs), sum(ys) / len(ys)) for xs, ys in chunks]


def curves_of(runs: list[str]) -> LineChart:
    """Return the curves of runs; of the newest when none is named.

    Raises:
        ModelFileError: There is no such run, or none at all.
        DataError: They have not made a step yet.
    """
    folders = [_run_folder(name) for name in runs] or [_newest_run()]
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    events = [read_events(RunFolder(folder).events) for folder in folders]
    title = names[0] if len(names) == 1 else f"{len(names)} runs"
    chart = curves_chart(title, dict(zip(names, events, strict=True)))
    if not chart.panels:
        raise DataError(f"{', '.join(names)}: no steps are logged yet")
    return chart


def _run_folder(name: str) -> Path:
    """Return the run folder of a path, of a model inside it, or of a name below runs/."""
    for folder in (Path(name), Path(name).parent, RUNS_DIR / name):
        if RunFolder(folder).events.is_file():
            return folder
    known = [path.parent.name for path in RUNS_DIR.glob("*/events.jsonl")]
    raise ModelFileError(
        f"{name}: no run with an events.jsonl.{did_you_mean(name, known)}",
        hint="name a run folder such as runs/quickstart",
    )


def _newest_run() -> Path:
    logs = sorted(RUNS_DIR.glob("*/events.jsonl"), key=lambda path: path.stat().st_mtime)
    if not logs:
        raise ModelFileError(
            f"no run below {RUNS_DIR}/", hint="start one with: nmt train   (or name a run folder)"
        )
    return logs[-1].parent


def schedule_chart(config: Config) -> LineChart:
    """Return the picture of a configuration's schedule, from step 1 to the last."""
    train = config.train
    last = train.max_steps
    corners = {1, last, min(train.warmup_steps, last)}  # where it bends must be a point
    steps = sorted(
        corners | {max(1, round(last * i / _SCHEDULE_POINTS)) for i in range(_SCHEDULE_POINTS + 1)}
    )
    rates = [learning_rate(step, train, config.model.d_model) for step in steps]
    title = (
        f"{config.name}: {train.schedule}, warm-up {train.warmup_steps:,} of {last:,} steps, "
        f"peak {max(rates):.3g}"
    )
    series = Series("learning rate", [float(step) for step in steps], rates)
    return LineChart(title=title, panels=[Panel("learning rate", "steps", [series])])
