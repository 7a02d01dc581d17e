"""Which form of a model becomes its own: the fastest of those that are good enough."""

import pytest

from nmt_cli.evaluation import number_formats
from nmt_cli.evaluation.number_formats import Measured, fastest


@pytest.fixture(autouse=True)
def any_processor(monkeypatch):
    monkeypatch.setattr(
        number_formats, "get_supported_compute_types", lambda _: {"float32", "int8", "int16"}
    )


@pytest.mark.parametrize(("loss", "chosen"), [(0.19, "int8"), (0.21, "float32")])
@pytest.mark.parametrize("metric", ["bleu", "accuracy"])
def test_a_fast_form_may_lose_two_tenths_and_no_more(metric, loss, chosen):
    """The figure that README and help name."""
    forms = [
        Measured("float32", 4.0, lines_per_second=100.0, **{metric: 30.0}),
        Measured("int8", 1.0, lines_per_second=200.0, **{metric: 30.0 - loss}),
    ]
    assert fastest(forms) == chosen


def test_of_the_good_ones_the_fastest_is_chosen():
    forms = [
        Measured("float32", 4.0, bleu=30.0, lines_per_second=100.0),
        Measured("int8", 1.0, bleu=30.1, lines_per_second=150.0),
        Measured("int16", 2.0, bleu=29.9, lines_per_second=180.0),
        Measured("float16", 2.0, bleu=30.0, lines_per_second=999.0),  # not of this processor
    ]
    assert fastest(forms) == "int16"
