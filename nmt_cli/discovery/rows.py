"""The rows of a configuration's training text, whatever is wrong with some of them."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError, number_of
from nmt_cli.text.corpus import Corpora, LineCountError
from nmt_cli.text.held_out import HeldOut
from nmt_cli.text.records import has_broken_bytes

_SAMPLE = 100_000
_MOST_HELD_OUT = 0.34  # of the rows, for dev or for test


class TrainRows(NamedTuple):
    """What was read of train."""

    number: int  # the rows that are not blank
    sample: list[tuple[str, str]]  # source and target of the first of them
    problems: list[str]  # what is wrong with lines that are no rows


def read_train(config: Config, data_dir: Path) -> TrainRows:
    """Read all of train; what is wrong with single lines ends nothing.

    DataError: a file cannot be read any further.
    """
    corpora, number = Corpora(config, data_dir), 0
    sample: list[tuple[str, str]] = []
    problems: list[str] = []
    for corpus in config.data.train:
        files = corpora.files_of(corpus)
        try:
            for row in corpora.iter_rows(corpus, lambda problem: problems.append(str(problem))):
                example = row.example
                source, target = example.source[-1], example.target
                bad = files[:1] if has_broken_bytes(source) else []
                bad += files[-1:] if has_broken_bytes(target) else []
                problems.extend(f"{file}:{row.line}: not valid UTF-8" for file in bad[:1])
                if example.is_whole(may_lack_target=corpora.may_lack_target):
                    number += 1
                    sample += [(source, target)] if number <= _SAMPLE else []
        except LineCountError as error:
            problems.append(str(error))
    return TrainRows(number, sample, problems)


def check_held_out(train: TrainRows, rows: dict[str, int], seed: int) -> None:
    """Check that rows for "dev" and "test" can be taken out of train: those of one source together.

    DataError: a split would get nothing, or far too much.
    """
    sample = train.sample
    wanted = {s: max(bool(n), n * len(sample) // train.number) for s, n in rows.items()}
    held_out = HeldOut(sample, wanted, seed, by_target=False)
    sizes = Counter(held_out.split_of(*pair) for pair in sample)
    most = _MOST_HELD_OUT * len(sample)
    bad = [split for split in rows if wanted[split] and not 0 < sizes[split] <= most]
    if bad:
        ((source, count),) = Counter(source for source, _ in sample).most_common(1)
        raise DataError(
            f"{bad[0]} would get {sizes[bad[0]]:,} of {number_of(len(sample), 'row')}, as rows "
            f"with one source stay together, and {count:,} have '{source[:40]}'",
            hint="if these are labels: nmt init --task classification; otherwise use --reverse, or "
            "name files with --dev and --test",
        )
