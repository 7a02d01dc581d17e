"""All tests of a row, run on chunks of rows; what goes back is small."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.config.schema import ClassificationConfig, Config
from nmt_cli.doctor import characters, mojibake, patterns
from nmt_cli.doctor.chunk import DIGIT, LETTER, Chunk, Ints
from nmt_cli.doctor.findings import BIT, CHECKS, Finding, Marks
from nmt_cli.doctor.languages import (
    SideModel,
    are_separable,
    build_model,
    usual_scripts,
    wrong_language,
)
from nmt_cli.doctor.lengths import LengthModel, build_length_model, odd_lengths
from nmt_cli.doctor.token_counts import TokenCounter, too_long
from nmt_cli.text.held_out import TELLING_LENGTH
from nmt_cli.text.labels import split_labels

KEPT = 1000  # rows of a chunk that are described for each test, the worst ones
EXCERPT = 160  # characters of a line that are kept to be shown
# What may be wrong with a label: it can be a mere sign, and in any script or language.
_OF_LABELS = ("encoding", "control-characters", "mojibake", "empty", "white-space")

# What is kept of each row: its line; keys of its sides, which are equal for texts with the same
# letters and digits and for the same labels, 0 for none; whether its target is long enough to give
# a sentence away; a bit of `CHECKS` for each test that found something.
ROW = np.dtype(
    [
        ("line", np.uint32),
        ("source", np.uint64),
        ("target", np.uint64),
        ("is_telling", np.bool_),
        ("found", np.uint32),
    ]
)


class Rows(NamedTuple):
    """Some rows of a corpus on their way to the tests: lists of the same length."""

    corpus: int  # number of the corpus
    files: tuple[Path, Path]  # the files that the sides are in
    lines: list[int]  # their numbers
    sources: list[str]
    targets: list[str]


class Tested(NamedTuple):
    """What the tests found in some rows."""

    corpus: int  # number of the corpus
    rows: npt.NDArray[np.void]  # [N] `ROW`
    visible: tuple[int, int]  # characters without spaces, by side
    # the worst rows of each test, each with the side that it is about
    worst: list[tuple[int, Finding]]


@dataclass(frozen=True)
class Profile:
    """What the tests of a row go by."""

    is_chat: bool  # sides are not translations of each other, so they are not compared
    labels: ClassificationConfig | None  # how targets name labels; None where they are text
    # by side: the number of its main script in `scripts.NAMES`, 0 where none is, and of all it uses
    scripts: Sequence[tuple[int, Ints]]
    models: Sequence[SideModel]  # the trigrams of each side
    separable: bool  # whether the models tell the sides apart
    lengths: LengthModel | None  # the usual ratio of lengths; None when unknown


def build_profile(chunk: Chunk, languages: tuple[str, str], config: Config) -> Profile:
    """Return the profile of a sample; the codes of its sides' languages are "" where unknown."""
    models = [*map(build_model, chunk.sides, languages)]
    is_chat = not config.facts.is_parallel
    return Profile(
        is_chat,
        config.classification if config.facts.has_labels else None,
        [*map(usual_scripts, chunk.sides, languages)],
        models,
        separable=not is_chat and are_separable(models, chunk),
        lengths=None if is_chat else build_length_model(chunk),
    )


def build_tests(
    profiles: Sequence[Profile], counter: TokenCounter | None
) -> Callable[[Rows], Tested]:
    """Return the function that tests rows (see `parallel.map_in_order`); a profile a corpus."""

    def test(rows: Rows) -> Tested:
        profile = profiles[rows.corpus]
        labels = profile.labels
        chunk = Chunk(rows.sources, rows.targets)
        source, target = chunk.sides
        kept = np.zeros(len(chunk), ROW)
        kept["line"] = rows.lines
        kept["source"] = source.keys()
        kept["target"] = _label_keys(target.lines, labels) if labels else target.keys()
        letters = target.count((target.kinds & (LETTER | DIGIT)) != 0)
        kept["is_telling"] = letters >= TELLING_LENGTH
        worst: list[tuple[int, Finding]] = []
        for marks in _all_marks(chunk, kept["source"] == kept["target"], profile, counter):
            if marks.side and labels and not _may_be_wrong(marks.check, labels):
                continue
            kept["found"][marks.rows] |= np.uint32(1 << BIT[marks.check])
            worst += _described(marks, rows)
        visible = (int(source.visible.sum()), int(target.visible.sum()))
        return Tested(rows.corpus, kept, visible, worst)

    return test


def _label_keys(texts: Sequence[str], labels: ClassificationConfig) -> npt.NDArray[np.uint64]:
    """Return [N] a hash of the labels of each text as they are, in any order.

    It is 0 where the one label is missing.
    """
    keys = {}
    for text in set(texts):
        names = sorted(set(split_labels(text, labels.label_separator)))
        told = "\n".join(names).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(told, digest_size=8).digest()
        keys[text] = 0 if names == [""] else int.from_bytes(digest, "big")
    return np.array([keys[text] for text in texts], np.uint64)


def _may_be_wrong(check: str, labels: ClassificationConfig) -> bool:
    """Return whether what a test finds is a fault of a label; a text may have none of several."""
    return check in _OF_LABELS and not (check == "empty" and labels.multi_label)


def _all_marks(
    chunk: Chunk, same: npt.NDArray[np.bool_], profile: Profile, counter: TokenCounter | None
) -> Iterator[Marks]:
    yield from characters.strange_characters(chunk)
    yield from characters.blank_sides(
        chunk, ("text", "label") if profile.labels else ("source", "target")
    )
    yield from characters.white_space(chunk)
    yield from characters.identical_sides(chunk, same)
    yield from characters.wrong_script(chunk, profile.scripts)
    yield from characters.repetition(chunk)
    yield from mojibake.garbled(chunk)
    yield from patterns.markup(chunk)
    yield from wrong_language(chunk, profile.models, separable=profile.separable)
    if not profile.is_chat:
        yield from patterns.links(chunk)
        yield from patterns.numbers(chunk)
    if profile.lengths is not None:
        yield from odd_lengths(chunk, profile.lengths)
    if counter is not None:
        yield from too_long(chunk, counter)


def _described(marks: Marks, rows: Rows) -> Iterator[tuple[int, Finding]]:
    ranks = np.ones(len(marks.rows)) if marks.ranks is None else marks.ranks
    texts = (rows.sources, rows.targets)[marks.side]
    check = CHECKS[BIT[marks.check]]
    for i in np.argsort(-ranks, kind="stable")[:KEPT]:
        row = int(marks.rows[i])
        place = (rows.files[marks.side], rows.lines[row])
        what = (check.name, check.severity, marks.describe(row))
        yield marks.side, Finding(*what, *place, texts[row][:EXCERPT], float(ranks[i]))
