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


@pytest.mark.parametrize(("lines", "scored"), [(3, 3), (1000, 1000), (1014, 1000), (2500, 1000)])
def test_a_thousand_lines_from_all_of_dev_are_scored(tmp_path, lines, scored):
    seen = []

    def score(outputs, some):
        seen.append(some)
        return {"bleu": 30.0}

    dev = list(range(lines))
    measured = number_formats._timed("int8", tmp_path, dev, lambda some: some, score)
    assert measured.bleu == 30.0
    assert len(set(seen[0])) == scored
    assert seen[0][0] == 0
    assert seen[0][-1] >= lines - 3
