"""The search options."""

import dataclasses
import math

import numpy as np
import pytest
from pydantic import ValidationError

from nmt_cli.config.limits import OPTIONS
from nmt_cli.config.schema import Config, DecodeConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search.options import ChatOptions, SearchOptions, read_settings


def asked(*settings: str, of: SearchOptions = SearchOptions()) -> SearchOptions:  # noqa: B008
    """Return the options that settings ask for."""
    return of.asked(read_settings(settings, SearchOptions))


def test_the_defaults_are_those_of_the_configuration():
    assert SearchOptions.from_mapping(DecodeConfig().model_dump()) == SearchOptions()


_OF_COMMANDS = {"n_best", "seed", "prefix", "suppressed", "to", "from_"}


def test_every_key_of_the_configuration_is_an_option():
    options = {field.name for field in dataclasses.fields(SearchOptions)}
    assert set(DecodeConfig.model_fields) == options - _OF_COMMANDS


@pytest.mark.parametrize(("section", "options"), [("decode", SearchOptions), ("chat", ChatOptions)])
def test_a_configuration_refuses_what_the_option_refuses(section, options):
    for name in set(OPTIONS) & set(Config.model_fields[section].annotation.model_fields):
        _, least, most, _ = OPTIONS[name]
        for value in (least - 1, most + 1):
            with pytest.raises(ConfigError, match=name):
                options().override(**{name: value})
            corpora = [{"file": "a.tsv", "columns": [1, 2]}]
            tree = {"name": "x", "data": {"train": corpora, "dev": corpora}}
            with pytest.raises(ValidationError, match=rf"{section}\.{name}"):
                Config.model_validate(tree | {section: {name: value}})


def test_what_is_no_option_is_left_out():
    """A bundle of a later nmt may hold more keys."""
    assert SearchOptions.from_mapping({"beam_size": 3, "speed": 9}).beam_size == 3


def test_what_a_user_says_is_not_taken_from_a_model():
    odd = {"n_best": "many", "seed": "x", "prefix": "abc", "suppressed": 5, "to": 5}
    assert SearchOptions.from_mapping({"beam_size": 3, **odd}) == SearchOptions(beam_size=3)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("beam_size", "5", "a whole number"),
        ("beam_size", 2.5, "a whole number"),
        ("beam_size", True, "a whole number"),
        ("n_best", "many", "a whole number"),
        ("length_penalty", "x", "a number"),
        ("sample", "no", "true or false"),
        ("to", 5, "text"),
        ("prefix", "Hello", "a tuple"),
    ],
)
def test_a_value_of_another_type_is_refused(name, value, wanted):
    told = rf"{name} must be {wanted} \(it is {value!r}\)"
    for changed in (SearchOptions().override, lambda **given: SearchOptions().asked(given)):
        with pytest.raises(ConfigError, match=told):
            changed(**{name: value})


def test_numbers_of_numpy_are_numbers():
    options = SearchOptions().override(beam_size=np.int64(3), length_penalty=np.float32(0.5))
    assert (options.beam_size, options.length_penalty) == (3, 0.5)


def test_override_keeps_what_is_not_given():
    options = SearchOptions(beam_size=7, top_k=3)
    changed = options.override(beam_size=None, length_penalty=0.5)
    assert changed == SearchOptions(beam_size=7, top_k=3, length_penalty=0.5)


def test_override_takes_zero_and_false_for_values():
    changed = SearchOptions(sample=True, min_length=3).override(sample=False, min_length=0)
    assert (changed.sample, changed.min_length) == (False, 0)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("beam_size", 0, "1 to 512"),
        ("n_best", 0, "1 to 512"),
        ("length_penalty", -0.1, "0 to 100"),
        ("length_penalty", math.nan, "0 to 100"),
        ("max_length", 0, "1 to 2147483647"),
        ("min_length", -1, "0 to 2147483647"),
        ("max_length_ratio", 0.0, "above 0, up to 100"),
        ("no_repeat_ngram_size", -1, "0 to 2147483647"),
        ("repetition_penalty", 0.0, "0.01 to 100"),
        ("temperature", 0.0, "0.01 to 100"),
        ("temperature", math.nan, "0.01 to 100"),
        ("top_k", -1, "0 to 2147483647"),
        ("top_p", 0.0, "1e-06 to 1"),
        ("top_p", 1.1, "1e-06 to 1"),
        ("beam_size", 513, "1 to 512"),
        ("length_penalty", math.inf, "0 to 100"),
        ("seed", 1 << 31, "0 to 2147483647"),
        ("seed", -1, "0 to 2147483647"),
    ],
)
def test_a_value_out_of_range_is_named(name, value, wanted):
    with pytest.raises(ConfigError, match=rf"^{name} must be {wanted} \(it is {value}\)$"):
        SearchOptions().override(**{name: value})


def test_n_best_needs_a_beam_that_wide():
    with pytest.raises(ConfigError, match="n_best 4 needs a beam of at least 4"):
        SearchOptions(beam_size=3).override(n_best=4)
    assert SearchOptions(beam_size=4).override(n_best=4).n_best == 4


def test_n_best_does_not_go_with_sampling():
    with pytest.raises(ConfigError, match="cannot be combined with sampling"):
        SearchOptions(beam_size=4, sample=True).override(n_best=2)


@pytest.mark.parametrize(
    ("max_length", "ratio", "source", "model", "limit"),
    [
        (256, None, 5, 100, 100),  # what the model can write
        (20, None, 5, 100, 20),
        (256, 2.0, 5, 100, 20),  # 2 * 5 + 10
        (256, 1.5, 5, 100, 17),  # 7.5 is cut to 7
        (15, 2.0, 5, 100, 15),
        (1, 0.01, 1, 100, 1),
    ],
)
def test_the_longest_output(max_length, ratio, source, model, limit):
    options = SearchOptions(max_length=max_length, max_length_ratio=ratio)
    assert options.output_limit(source, model) == limit


@pytest.mark.parametrize("setting", ["sample=true", "temperature=0.5", "top_k=3", "top_p=0.5"])
def test_a_beam_does_not_go_with_sampling(setting):
    """Neither of them may be without effect and nobody told."""
    for settings in ([setting, "beam_size=3"], ["beam_size=3", setting]):
        with pytest.raises(ConfigError, match="beam_size 3 cannot be combined with sampling"):
            asked(*settings)
    assert asked(setting, "beam_size=1").sample


def test_settings_are_read_by_the_type_of_their_option():
    settings = ["beam_size=7", "top_p 0.5", "sample = true", "max_length_ratio=2", "seed=3e0"]
    found = read_settings(settings, SearchOptions)
    assert found == {
        "beam_size": 7, "top_p": 0.5, "sample": True, "max_length_ratio": 2.0, "seed": 3
    }  # fmt: skip
    assert [type(value) for value in found.values()] == [int, float, bool, float, int]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("beam_sizes=3", "beam_sizes: unknown option. Did you mean 'beam_size'?"),
        ("fro=en", "fro: unknown option. Did you mean 'from'?"),
        ("beam_size", "beam_size: needs a value (beam_size=VALUE)"),
        ("=", "'=': a setting is KEY=VALUE"),
        ("prefix=3", "prefix: unknown option."),
        ("beam_size=x", "beam_size must be a whole number (it is 'x')"),
        ("beam_size=2.5", "beam_size must be a whole number (it is '2.5')"),
        ("top_p=much", "top_p must be a number (it is 'much')"),
        ("sample=maybe", "sample must be true or false (it is 'maybe')"),
        ("beam_size=0", "beam_size must be 1 to 512 (it is 0)"),
        ("top_p=nan", "top_p must be 1e-06 to 1 (it is nan)"),
        ("n_best=99999999999", "n_best must be 1 to 512 (it is 99999999999)"),
        ("coverage_penalty=-1", "coverage_penalty must be 0 to 100 (it is -1.0)"),
        ("min_length_ratio=-1", "min_length_ratio must be 0 to 100 (it is -1.0)"),
    ],
)
def test_a_wrong_setting_is_told(setting, message):
    with pytest.raises(ConfigError) as caught:
        asked(setting)
    assert str(caught.value).startswith(message)


def test_a_coverage_penalty_needs_a_beam():
    for changes in ({"beam_size": 1}, {"sample": True}):
        with pytest.raises(ConfigError, match="coverage_penalty needs a beam"):
            SearchOptions().override(coverage_penalty=0.2, **changes)
        assert SearchOptions(coverage_penalty=0.2).override(**changes).coverage_penalty == 0.0


@pytest.mark.parametrize("setting", ["top_k=3", "top_p=0.5", "temperature=0.5"])
def test_how_to_sample_without_sampling_is_told(setting):
    for settings in ([setting, "sample=false"], ["sample=false", setting]):
        with pytest.raises(ConfigError, match="no effect with sample=false"):
            asked(*settings)


@pytest.mark.parametrize("setting", ["temperature=0", "beam_size=1", "beam_size=4"])
def test_what_draws_nothing(setting):
    assert not asked(setting, of=SearchOptions(sample=True)).sample


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["temperature=0", "top_k=5"], "top_k: no effect with temperature=0"),
        (["temperature=0", "sample=true"], "sample=true: no effect with temperature=0"),
        (["seed=5"], "seed: no effect without sampling"),
        (["beam_size=1", "length_penalty=2"], "length_penalty: no effect without a beam"),
        (["sample=true", "length_penalty=2"], "length_penalty: no effect without a beam"),
    ],
)
def test_an_option_without_effect_is_told_in_any_order(settings, told):
    for some in (settings, settings[::-1]):
        with pytest.raises(ConfigError, match=told):
            asked(*some)


def test_what_is_ranked_needs_no_beam():
    given = {"beam_size": 1, "length_penalty": 2.0}
    assert SearchOptions().asked(given, is_ranked=True).length_penalty == 2
