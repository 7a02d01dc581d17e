"""How long the lines of a corpus are -> histograms of both sides."""

from collections import Counter

from nmt_cli.report.charts import BarChart, Bars

_SHARE = 0.99


def lengths_chart(
    title: str, unit: str, counts: dict[str, Counter[int]], limit: int | None
) -> BarChart:
    """Return the picture of a corpus's lengths.

    Args:
        title: One line.
        unit: What lengths are counted in.
        counts: For each side, length -> lines.
        limit: The model's longest sequence, or None when the unit is another.
    """
    bars = []
    for side, lengths in counts.items():
        facts = _facts(lengths, limit)
        is_near = limit is not None and limit <= 2 * max(lengths)
        bars.append(Bars(side, dict(sorted(lengths.items())), facts, limit if is_near else None))
    return BarChart(title=title, x_label=unit, bars=bars, limit_name="model.max_length")


def _facts(lengths: Counter[int], limit: int | None) -> str:
    total = lengths.total()
    mean = sum(length * count for length, count in lengths.items()) / total
    facts = (
        f"mean {mean:.1f}, median {_quantile(lengths, 0.5)}, "
        f"{_SHARE:.0%} up to {_quantile(lengths, _SHARE)}, longest {max(lengths)}"
    )
    if limit is None:
        return facts
    beyond = sum(count for length, count in lengths.items() if length > limit)
    return f"{facts}; {beyond:,} beyond model.max_length {limit}"


def _quantile(lengths: Counter[int], share: float) -> int:
    """Return the smallest length that at least such a share of the lines keep to."""
    wanted, seen = share * lengths.total(), 0
    for length in sorted(lengths):
        seen += lengths[length]
        if seen >= wanted:
            return length
    return max(lengths)
