"""Tests of nmt_cli/config/recipes.py: where text is added, and where that takes too long."""

from nmt_cli.config.recipes import copies
from nmt_cli.config.schema import Config

FILES = {"source": "a", "target": "b"}


def config(*train: dict) -> Config:
    data = {"train": [*train], "dev": [FILES]}
    return Config.model_validate({"name": "x", "data": data})


def test_models_add_to_small_text_of_one_direction():
    one = config(FILES)
    assert copies(one, 3_000) == copies(one, 300_000)
    number, why = copies(one, 3_000)
    assert (number, "Nguyen et al. 2020" in why) == (2, True)
    number, why = copies(one, 300_001)
    assert (number, "too long" in why) == (0, True)


def test_text_of_several_directions_stays_as_it_is():
    there = FILES | {"source_lang": "en", "target_lang": "de"}
    back = FILES | {"source_lang": "de", "target_lang": "en"}
    data = {"train": [there, back], "dev": [there, back]}
    several = Config.model_validate({"name": "x", "data": data})
    assert copies(several, 3_000)[0] == 0
