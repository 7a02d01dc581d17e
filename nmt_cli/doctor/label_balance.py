"""What the labels of a classifier's text look like: how even they are, which are rare or odd."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from nmt_cli.config.schema import ClassificationConfig
from nmt_cli.doctor.findings import Finding
from nmt_cli.doctor.lines import Rows
from nmt_cli.doctor.result import CorpusRows
from nmt_cli.errors import number_of
from nmt_cli.text.labels import few_labels, split_labels, taken_for_one

MIN_ROWS = 10  # of a label in train: with fewer it is hardly learned
MOST_SHARE = 0.8  # of one label: accuracy then says little
_SHOWN = 10  # labels in one line

Counts = dict[str, Counter[str]]


def counted(
    chunks: Iterable[Rows], counts: Counts, found: list[CorpusRows], separator: str | None
) -> Iterator[Rows]:
    """Pass rows on, and add their labels to the counts of their split."""
    for rows in chunks:
        count = counts.setdefault(found[rows.corpus].split, Counter())
        names = (name for text in rows.targets for name in split_labels(text, separator))
        count.update(filter(None, names))
        yield rows


def label_findings(counts: Counts, rows: int, settings: ClassificationConfig) -> Iterator[Finding]:
    """Yield how the labels are spread, and which will be hard to learn or to judge.

    `counts` has the rows with each label, by split; `rows` is how many train has.
    """
    train = counts.get("train", Counter())
    if rows and len(train) < 2 and settings.labels is None:
        yield Finding("size", "error", few_labels(len(train)))
    if not train:
        return
    shares = [f"{name} {count / rows:.1%}" for name, count in train.most_common(_SHOWN)]
    rest = ["..."] if len(train) > _SHOWN else []
    yield Finding(
        "labels",
        "info",
        f"{number_of(len(train), 'label')} in train: {', '.join([*shares, *rest])}",
    )
    most, times = train.most_common(1)[0]
    if times / rows >= MOST_SHARE:
        yield Finding(
            "labels",
            "warning",
            f"{times / rows:.0%} of train has the label '{most}': a model that always gives it "
            "is right as often; judge by macro-F1",
        )
    if rare := [f"{name} ({n})" for name, n in reversed(train.most_common()) if n < MIN_ROWS]:
        message = f"labels with fewer than {MIN_ROWS} rows in train: {_listed(rare)}"
        yield Finding("labels", "warning", message)
    if warning := taken_for_one(train, settings):
        yield Finding("labels", "warning", warning)
    for names in _alike(train):
        message = f"labels that look like one: {_listed(map(repr, names))}"
        yield Finding("labels", "warning", message)
    for split in ("dev", "test"):
        if unknown := sorted(counts.get(split, Counter()).keys() - train.keys()):
            message = f"labels of {split} that are not in train: {_listed(unknown)}"
            yield Finding("labels", "error", message)


def _alike(train: Counter[str]) -> Iterator[list[str]]:
    """Yield labels that differ in nothing but case, spaces and the like."""
    groups = defaultdict(list)
    for name in sorted(train):
        groups["".join(name.casefold().split()).replace("_", "-")].append(name)
    yield from (names for names in groups.values() if len(names) > 1)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")
