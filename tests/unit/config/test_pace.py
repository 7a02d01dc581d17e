"""Tests of nmt_cli/config/pace.py: what writing costs beside scoring what was written."""

import pytest

from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine, search_seconds
from nmt_cli.config.schema import Config

CONFIG = Config.model_validate(
    {"name": "x", "data": {"train": [{"file": "a"}], "dev": [{"file": "b"}]}}
)


def seconds(beam_size: int, machine: Machine = USUAL_MACHINE, source: float = 20.0) -> float:
    return search_seconds(CONFIG, Lengths(source, 15.0), machine, beam_size=beam_size)


def test_every_hypothesis_costs_as_much_and_the_source_is_read_once():
    assert seconds(5) - seconds(4) == pytest.approx(seconds(2) - seconds(1))
    assert seconds(5) < 5 * seconds(1)
    assert seconds(5, source=0.0) == pytest.approx(5 * seconds(1, source=0.0))
    fast = Machine(products=2 * USUAL_MACHINE.products, elements=USUAL_MACHINE.elements)
    assert seconds(5, fast) == pytest.approx(seconds(5) / 2)
