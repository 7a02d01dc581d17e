"""What is usual in a corpus, by a sample of its training pairs: the ground of all tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt_cli.doctor.chunk import Chunk, Ints, Side
from nmt_cli.doctor.languages import SideModel, are_separable, build_model, script_of
from nmt_cli.doctor.lengths import LengthModel, build_length_model
from nmt_cli.text.scripts import NAMES

MAIN_SCRIPT = 0.5  # share of the letters that makes a script a side's main one
USUAL_SCRIPT = 0.02  # share of the letters that makes a script a usual one


@dataclass(frozen=True)
class Profile:
    """What the tests of a row go by.

    Attributes:
        is_chat: Sides are not translations of each other, so they are not compared.
        main_script: Number of each side's main script in `scripts.NAMES`; 0 where none is.
        usual_scripts: Numbers of the scripts that each side uses.
        models: The trigrams of each side.
        separable: Whether the models tell the sides apart.
        lengths: The usual ratio of lengths; None when unknown.
    """

    is_chat: bool
    main_script: tuple[int, int]
    usual_scripts: tuple[Ints, Ints]
    models: tuple[SideModel, SideModel]
    separable: bool
    lengths: LengthModel | None


def build_profile(
    source: Sequence[str], target: Sequence[str], *, languages: tuple[str, str], is_chat: bool
) -> Profile:
    """Return the profile of some pairs.

    Args:
        source: Their source texts.
        target: Their target texts.
        languages: Codes of the sides' languages, "" where unknown.
        is_chat: See `Profile`.
    """
    chunk = Chunk(source, target)
    (main, usual), (target_main, target_usual) = map(_scripts, chunk.sides, languages)
    models = (
        build_model(chunk.sides[0], languages[0]),
        build_model(chunk.sides[1], languages[1]),
    )
    return Profile(
        is_chat,
        (main, target_main),
        (usual, target_usual),
        models,
        separable=not is_chat and are_separable(models, chunk),
        lengths=None if is_chat else build_length_model(chunk),
    )


def _scripts(side: Side, language: str) -> tuple[int, Ints]:
    """Return the number of a side's main script, and of all that it uses."""
    counts = np.bincount(side.scripts, minlength=len(NAMES)).astype(float)
    counts[0] = 0.0
    shares = counts / max(1.0, counts.sum())
    main = int(shares.argmax()) if shares.max() >= MAIN_SCRIPT else 0
    expected = script_of(language)
    if expected is not None:
        main = NAMES.index(expected)
    # Names and abbreviations in Latin letters belong to any text.
    return main, np.union1d(np.flatnonzero(shares >= USUAL_SCRIPT), [main, NAMES.index("Latin")])
