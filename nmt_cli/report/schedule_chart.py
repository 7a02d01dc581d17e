"""The learning rate over a run's steps, from the function that training itself asks."""

from nmt_cli.config.schema import Config
from nmt_cli.report.charts import LineChart, Panel, Series
from nmt_cli.training.schedule import learning_rate

_POINTS = 400


def schedule_chart(config: Config) -> LineChart:
    """Return the picture of a configuration's schedule, from step 1 to the last."""
    train = config.train
    last = train.max_steps
    corners = {1, last, min(train.warmup_steps, last)}  # where it bends must be a point
    steps = sorted(corners | {max(1, round(last * i / _POINTS)) for i in range(_POINTS + 1)})
    rates = [learning_rate(step, train, config.model.d_model) for step in steps]
    title = (
        f"{config.name}: {train.schedule}, warm-up {train.warmup_steps:,} of {last:,} steps, "
        f"peak {max(rates):.3g}"
    )
    series = Series("learning rate", [float(step) for step in steps], rates)
    return LineChart(title=title, panels=[Panel("learning rate", "steps", [series])])
