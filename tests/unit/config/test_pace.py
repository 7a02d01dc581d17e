"""Tests of nmt_cli/config/pace.py: how fast a machine is, and what a search costs."""

import pytest

from nmt_cli.config import pace
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


@pytest.mark.parametrize(
    ("flags", "expected"),
    [({"avx2"}, 20.0), ({"avx2", "avx512f"}, 12.0), ({"asimd"}, 12.0), (set(), 12.0)],
)
def test_small_products_of_numpy_are_slow_without_avx512(monkeypatch, flags, expected):
    monkeypatch.setattr(pace, "processor_flags", lambda: flags)
    monkeypatch.setattr(pace, "available_cores", lambda: 2)
    monkeypatch.setattr(pace, "rate", lambda *_: 6.0)
    assert pace.measure_machine() == Machine(products=pytest.approx(expected), elements=12.0)
