"""How long the lines of a corpus are -> histograms of both sides."""

import itertools
from collections import Counter
from collections.abc import Iterator

from nmt_cli.config.reading import LoadedConfig
from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError, DataError, ModelFileError, did_you_mean
from nmt_cli.report.charts import BarChart, Bars
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.languages import Languages
from nmt_cli.text.shards import build_encoder
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.training.run_folder import RunFolder

_SHARE = 0.99
_UNITS = ("pieces", "words", "characters")
_SPLITS = ("train", "dev", "test")
_PAIRS = 8192  # encoded at a time
_UNCUT = 1 << 30


def lengths_chart(
    title: str, unit: str, counts: dict[str, Counter[int]], limit: int | None
) -> BarChart:
    """Return the picture of a corpus's lengths: by side, length -> lines.

    `limit` is the model's longest sequence, or None when the unit is another.
    """
    bars = []
    for side, lengths in counts.items():
        facts = _facts(lengths, limit)
        is_near = limit is not None and limit <= 2 * max(lengths)
        bars.append(Bars(side, dict(sorted(lengths.items())), facts, limit if is_near else None))
    return BarChart(title=title, x_label=unit, bars=bars, limit_name="model.max_length")


def _facts(lengths: Counter[int], limit: int | None) -> str:
    mean = sum(length * count for length, count in lengths.items()) / lengths.total()
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
    ordered, wanted = sorted(lengths), share * lengths.total()
    seen = itertools.accumulate(lengths[length] for length in ordered)
    return next(n for n, count in zip(ordered, seen, strict=True) if count >= wanted)


def lengths_of(loaded: LoadedConfig, unit: str, split: str) -> BarChart:
    """Return how long the lines of a configuration's text are.

    Raises:
        ConfigError: There is no such unit or split, or no text in it.
        DataError: The text cannot be read.
        ModelFileError: Tokens are asked for, and the run has no vocabulary yet.
    """
    for option, value, choices in (("--unit", unit, _UNITS), ("--split", split, _SPLITS)):
        if value not in choices:
            hint = did_you_mean(value, choices)
            raise ConfigError(f"{option} must be {', '.join(choices)} (it is {value}).{hint}")
    examples = Corpora(loaded.config, loaded.data_dir).iter_split(split)
    has_labels = loaded.config.facts.has_labels  # these have no length
    sides = ("text",) if has_labels else ("source", "target")
    counts: dict[str, Counter[int]] = {side: Counter() for side in sides}
    for found in _lengths(examples, unit, loaded.config):
        for counter, length in zip(counts.values(), found, strict=False):
            counter[length] += 1
    if not any(counts.values()):
        raise DataError(f"{loaded.name}: {split} is empty")
    is_known = unit == "pieces" and "model.max_length" not in loaded.auto
    limit = loaded.config.model.max_length if is_known else None
    name = "tokens, </s> included" if unit == "pieces" else unit
    return lengths_chart(f"{loaded.config.name}: lengths in {split}", name, counts, limit)


def _lengths(examples: Iterator[Example], unit: str, config: Config) -> Iterator[tuple[int, int]]:
    """Yield the lengths of source and target of each example."""
    if unit != "pieces":
        measure = len if unit == "characters" else lambda text: len(text.split())
        for example in examples:
            yield sum(map(measure, example.source)), measure(example.target)
        return
    encoder = build_encoder(config, _vocabularies_of(config), max_length=_UNCUT)
    while window := list(itertools.islice(examples, _PAIRS)):
        sources, targets = encoder.encode_examples(window)
        yield from zip(map(len, sources), map(len, targets), strict=True)


def _vocabularies_of(config: Config) -> Vocabularies:
    folder = RunFolder.of(config).path
    try:
        return Vocabularies.load(folder, Languages.of(config))
    except ModelFileError as error:
        raise ModelFileError(
            f"{folder}: there is no vocabulary to count tokens with ({error})",
            hint="nmt tokenize CONFIG trains one; --unit words needs none",
        ) from error
