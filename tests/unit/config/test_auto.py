"""Tests of nmt_cli/config/auto.py: what is chosen for text and devices that are known."""

import itertools
import math
import re
from dataclasses import replace

import pytest

from nmt_cli.config.auto import PRESETS, Side, Situation, Text, TokenLengths, choose, vocab_size
from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine, step_seconds
from nmt_cli.config.reading import auto_keys, value_of, with_values
from nmt_cli.config.schema import Config

CONFIG = Config.model_validate(
    {"name": "x", "data": {"train": [{"file": "a"}], "dev": [{"file": "b"}]}}
)


def text(pairs: int, words: int = 1000, alphabet: int = 90) -> Text:
    side = Side(words, alphabet, "100% Latin")
    return Text(pairs, side, side, Side(2 * words, alphabet, "100% Latin"))


def situation(pairs: int, device: str = "cpu", seconds: float = math.inf) -> Situation:
    tokens = TokenLengths(longest=40, mean=Lengths(15.0, 15.0), dev=15_000)
    return Situation(text(pairs), tokens, device, seconds)


def chosen(pairs: int, device: str = "cpu", **changes) -> Config:
    keys = {key for key in PRESETS if key not in changes}
    config = Config.model_validate(
        {
            **CONFIG.model_dump(),
            "model": changes.get("model", {}),
            "train": changes.get("train", {}),
        }
    )
    fixed = {f"{s}.{k}" for s in changes for k in changes[s]}
    return choose(config, keys - fixed, situation(pairs, device))[0]


def test_the_keys_that_may_be_auto_are_those_it_knows():
    known = {f"{section}.{key}" for section, keys in auto_keys().items() for key in keys}
    assert known == {"tokenizer.vocab_size", *PRESETS}


def test_multi30k_gets_what_was_tuned_on_it():
    config = choose(CONFIG, set(PRESETS), situation(29_000))[0]
    model = config.model
    assert (model.d_model, model.d_ff, model.num_heads) == (128, 256, 4)
    assert (model.encoder_layers, model.decoder_layers) == (4, 4)
    assert (model.dropout, model.attention_dropout, model.activation_dropout) == (0.2, 0.1, 0.1)
    assert config.train.tokens_per_batch == 2048
    assert 5000 <= config.train.max_steps <= 8000
    assert config.train.schedule == "cosine"
    assert 5000 <= vocab_size(text(29_000, 360_000), joint=True).value <= 7000


def test_only_a_chat_with_history_tells_turns_apart():
    def tells(**changes) -> bool:
        config = Config.model_validate(CONFIG.model_dump() | changes)
        return choose(config, {"model.turn_embeddings"}, situation(3_000))[0].model.turn_embeddings

    assert tells(task="chat") is True
    assert tells(task="chat", chat={"history_turns": 0}) is False
    assert tells() is False


def test_a_gpu_is_given_a_larger_model_only_where_there_is_text_for_it():
    assert chosen(3_000, "gpu").model == chosen(3_000).model
    assert chosen(2_000_000, "gpu").model.d_model == 512
    assert chosen(2_000_000).model.d_model == 256


@pytest.mark.parametrize(
    ("words", "alphabet", "low", "high"),
    [(15_000, 100, 1000, 2000), (50_000, 90, 2000, 3500), (10**9, 200, 32_000, 32_000)],
)
def test_the_vocabulary_follows_the_text(words, alphabet, low, high):
    choice = vocab_size(text(1, words, alphabet), joint=True)
    assert low <= choice.value <= high
    assert f"{2 * words:,} words" in choice.reason


def test_separate_vocabularies_are_sized_by_the_larger_side():
    one = Text(1, Side(100, 50, ""), Side(90_000, 40, ""), Side(90_100, 90, ""))
    other = Text(1, one.target, one.source, one.both)
    assert vocab_size(one, joint=False) == vocab_size(other, joint=False)
    assert vocab_size(one, joint=False).value < vocab_size(one, joint=True).value


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_fixed_width_or_number_of_heads_moves_what_follows_from_it(device):
    narrow = chosen(29_000, device, model={"d_model": 64}).model
    assert (narrow.d_model, narrow.d_ff, narrow.num_heads) == (64, 128, 4)
    odd = chosen(29_000, device, model={"d_model": 15, "positions": "learned", "num_heads": 1})
    assert (odd.model.d_model, odd.model.num_heads) == (15, 1)
    assert chosen(29_000, device, model={"num_heads": 3, "d_model": 6}).model.num_heads == 3


def test_heads_divide_a_width_that_is_fixed():
    config = Config.model_validate(
        {**CONFIG.model_dump(), "model": {"d_model": 14, "num_heads": 1}}
    )
    assert choose(config, {"model.num_heads"}, situation(9))[0].model.num_heads == 2


def test_the_peak_rate_fits_schedule_width_and_norm():
    plain = chosen(29_000).train.learning_rate
    assert plain == 2.5e-3
    assert (
        chosen(29_000, model={"d_model": 512}).train.learning_rate == 1.3e-3
    )  # the half, in two digits
    assert chosen(29_000, model={"norm": "post"}).train.learning_rate < plain / 2
    noam = chosen(29_000, train={"schedule": "noam"}).train
    assert noam.learning_rate * (128 * noam.warmup_steps) ** -0.5 == pytest.approx(plain, rel=0.1)


def test_muon_is_for_batches_that_are_large_beside_the_width():
    assert chosen(29_000).train.optimizer == chosen(2_000_000).train.optimizer == "muon"
    assert chosen(29_000, model={"d_model": 512}).train.optimizer == "adam"


@pytest.mark.parametrize("seconds", [1, 100, 1000, 3600, math.inf])
def test_every_reason_is_one_short_line(seconds):
    choices = choose(CONFIG, set(PRESETS), situation(3_000, seconds=seconds))[1]
    choices["tokenizer.vocab_size"] = vocab_size(text(3_000), joint=True, seconds=seconds)
    for choice in choices.values():
        assert 5 < len(choice.reason) < 90
        assert "\n" not in choice.reason


def reasons(pairs: int, seconds: float, **changes) -> dict[str, str]:
    config = Config.model_validate(CONFIG.model_dump() | changes)
    choices = choose(config, set(PRESETS), situation(pairs, seconds=seconds))[1]
    return {key.split(".")[1]: choice.reason for key, choice in choices.items()}


def test_a_reason_of_a_limited_run_says_what_the_time_decides():
    short, long, free = (reasons(29_000, seconds) for seconds in (60, 3600, math.inf))
    assert short["d_model"] == "29,000 pairs on a CPU, 1m for steps"
    assert reasons(29_000, 1)["d_model"] == "29,000 pairs on a CPU, hardly any time for steps"
    assert short["dropout"].endswith(": a short run needs less")
    assert long["dropout"].endswith(": less text needs more")
    assert short["schedule"] == "the rate falls to zero by the end of the time or max_steps"
    assert free["schedule"] == "the rate falls to zero by max_steps"
    assert short["patience"] == "the time or max_steps ends the run"
    for told in (short, long):  # the number of steps is told once, by what knows it best
        assert told["max_steps"] == "the most that is of use"
        assert not re.search("[0-9],[0-9]{3} steps", " ".join(told.values()))


def test_a_reason_fits_the_value_that_was_chosen():
    config, choices = choose(CONFIG, set(PRESETS), situation(29_000))
    train = config.train
    steps = f"{train.patience * train.eval_steps:,} steps without a better score end the run"
    assert choices["train.patience"].reason == steps
    assert choices["train.warmup_steps"].reason == "3 times d_model"
    assert reasons(3_000, math.inf)["warmup_steps"] == "a sixteenth of max_steps"
    labels = reasons(3_000, math.inf, task="classification")
    assert labels["d_model"] == "3,000 texts on a CPU"
    assert labels["max_length"] == "99.9% of the texts have at most 40 tokens"
    assert "; 45,000 tokens an epoch" in labels["tokens_per_batch"]


def test_a_text_that_is_hardly_seen_is_not_seen_0_times():
    told = reasons(10_000_000, 60)["learning_rate"]
    assert told == "a model of width 64 that sees only part of the text, which needs a higher rate"


def test_only_the_keys_that_are_asked_for_change():
    config, choices = choose(CONFIG, {"model.d_ff"}, situation(10))
    assert set(choices) == {"model.d_ff"}
    assert value_of(config, "model.d_model") == 128
    assert config.train == CONFIG.train


def timed(pairs: int, minutes: float, machine: Machine = USUAL_MACHINE, **values) -> Config:
    """Return what is chosen for a time limit, with other values in the configuration."""
    config = with_values(CONFIG, values, "test")
    limited = replace(situation(pairs, seconds=60 * minutes), machine=machine)
    return choose(config, set(PRESETS) - set(values), limited)[0]


def test_more_time_gives_a_larger_model_that_is_guarded_against_learning_by_heart():
    quick, short, long = (timed(158_000, minutes) for minutes in (1, 120, 600))
    widths = [config.model.d_model for config in (quick, short, long)]
    assert widths == [64, 128, 256]
    assert quick.model.encoder_layers < short.model.encoder_layers
    assert (quick.model.dropout, long.model.dropout) == (0.0, 0.1)
    assert (
        quick.train.learning_rate > timed(158_000, 600, **{"model.d_model": 64}).train.learning_rate
    )
    assert timed(158_000, 10_000).model == chosen(158_000).model


def test_minutes_are_enough_to_learn_little_text_by_heart():
    """Dropout 0.2 was 3 BLEU better than 0.06 there, and 2 worse in half a minute.

    In the same time more text is seen less often: 0.12 was a BLEU better than 0.2.
    """
    hasty, quick, more = timed(3_000, 0.4), timed(3_000, 4), timed(5_000, 4)
    assert hasty.model.dropout < 0.1 < more.model.dropout < 0.2
    assert (quick.model.dropout, quick.model.attention_dropout) == (0.2, 0.1)


def test_twice_the_text_takes_longer_to_be_learned_by_heart():
    """Dropout 0.1 and a higher rate were 3 BLEU better for the Bible, which has 970,000 tokens."""
    slow = Machine(USUAL_MACHINE.products / 3, USUAL_MACHINE.elements / 3)
    small, large = timed(30_000, 60, slow), timed(60_000, 120, slow)  # both are seen as often
    assert small.model.dropout == 0.2 > large.model.dropout > 0.0
    assert small.train.learning_rate < large.train.learning_rate


def test_layers_wait_until_there_is_time_to_teach_them():
    layers = [timed(29_000, minutes).model.encoder_layers for minutes in (5, 30, 120)]
    assert layers == [2, 2, 4]


def test_a_slow_machine_gets_a_smaller_model():
    slow = Machine(USUAL_MACHINE.products / 10, USUAL_MACHINE.elements / 10)
    assert timed(158_000, 20, slow).model.d_model < timed(158_000, 20).model.d_model


def test_steps_are_quick_where_there_are_minutes():
    for pairs, minutes in itertools.product((3_000, 30_000, 158_000, 10**7), (2, 5, 15)):
        config = timed(pairs, minutes)
        assert step_seconds(config, Lengths(15.0, 15.0), USUAL_MACHINE) < 0.4


def test_the_time_and_not_a_number_of_evaluations_ends_a_limited_run():
    config = timed(29_000, 10)
    assert config.train.patience == 0
    steps = 600 / step_seconds(config, Lengths(15.0, 15.0), USUAL_MACHINE)
    assert config.train.max_steps > steps
    assert config.train.eval_steps < steps / 5


def test_what_is_fixed_counts_for_the_time():
    wide = timed(29_000, 120, **{"model.d_model": 1024})
    assert wide.model.encoder_layers < timed(29_000, 120).model.encoder_layers


def test_words_that_there_is_no_time_to_see_need_no_vocabulary():
    large = text(10**7, words=10**8)
    assert vocab_size(large, joint=True).value == 32_000
    limited = vocab_size(large, joint=True, seconds=120)
    assert limited.value < 12_000
    assert "; 32,000 if there were more time" in limited.reason
    small = text(10**3, words=10**4)
    assert vocab_size(small, joint=True, seconds=120) == vocab_size(small, joint=True)


class TestFineTuning:
    def test_training_is_gentler(self):
        new, tuned = (chosen(3_000, train=train) for train in ({}, {"from": "runs/general"}))
        assert tuned.train.optimizer == "adam"
        assert tuned.train.learning_rate < new.train.learning_rate / 3
        assert tuned.train.max_steps < new.train.max_steps / 4
        assert tuned.train.eval_steps == tuned.train.checkpoint_steps
        assert 9 <= tuned.train.max_steps / tuned.train.eval_steps <= 11
        assert tuned.train.freeze == []
        assert chosen(500_000, train={"from": "a"}).train.tokens_per_batch == 2048

    def test_the_usual_rate_of_the_usual_model(self):
        model = {"d_model": 512, "norm": "post"}
        assert chosen(3_000, model=model, train={"from": "a"}).train.learning_rate == 4.9e-5
        adapters = {"from": "a", "lora_rank": 8}
        assert chosen(3_000, model=model, train=adapters).train.learning_rate == 2.4e-4

    def test_very_little_text_leaves_the_embeddings(self):
        assert chosen(500, train={"from": "a"}).train.freeze == ["embeddings"]
        assert chosen(500, train={"from": "a", "lora_rank": 8}).train.freeze == []
        assert chosen(500).train.freeze == []

    def test_dropouts_are_those_of_the_start_model_or_more(self):
        config = Config.model_validate(
            {**CONFIG.model_dump(), "model": {"attention_dropout": 0.3, "dropout": 0.0}}
            | {"train": {"from": "a"}}
        )
        model = choose(config, set(PRESETS), situation(3_000))[0].model
        assert (model.dropout, model.attention_dropout, model.activation_dropout) == (0.1, 0.3, 0.0)
