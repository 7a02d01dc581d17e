"""Properties of the presets: any text gets valid choices, and more text never less of them."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.auto import PRESETS, Side, Situation, Text, TokenLengths, choose, vocab_size
from nmt_cli.config.pace import Lengths
from nmt_cli.config.schema import Config

CONFIG = Config.model_validate(
    {"name": "x", "data": {"train": [{"file": "a"}], "dev": [{"file": "b"}]}}
)
pair_counts = st.integers(1, 10**8)
devices = st.sampled_from(["cpu", "gpu"])
sides = st.builds(Side, st.integers(1, 10**10), st.integers(1, 30_000), st.just("Latin"))
texts = st.builds(Text, pair_counts, sides, sides, sides)
lengths = st.builds(Lengths, st.floats(1, 10**5), st.floats(1, 10**5) | st.just(0.0))
tokens = st.builds(TokenLengths, st.integers(1, 10**6), lengths, st.integers(0, 10**8))
times = st.floats(1, 10**6) | st.just(math.inf)
QUICK = settings(max_examples=50)


def config_for(pairs: int, device: str, seconds: float = math.inf) -> Config:
    side = Side(pairs, 90, "Latin")
    tokens = TokenLengths(40, Lengths(15.0, 15.0), 10_000)
    situation = Situation(Text(pairs, side, side, side), tokens, device, seconds)
    return choose(CONFIG, set(PRESETS), situation)[0]


@QUICK
@given(
    text=texts,
    tokens=tokens,
    device=devices,
    keys=st.sets(st.sampled_from(sorted(PRESETS))),
    seconds=times,
)
def test_any_choice_is_a_valid_configuration(text, tokens, device, keys, seconds):
    """`choose` checks the configuration again after each choice."""
    config, choices = choose(CONFIG, keys, Situation(text, tokens, device, seconds))
    assert set(choices) == keys
    train, fixed = config.train, set(PRESETS) - keys
    if not fixed:
        assert train.warmup_steps <= train.max_steps
        assert train.eval_steps <= train.max_steps
        assert 64 <= config.model.max_length <= 512


@QUICK
@given(pairs=st.tuples(pair_counts, pair_counts).map(sorted), device=devices)
def test_more_pairs_never_give_a_smaller_model_nor_more_dropout(pairs, device):
    small, large = (config_for(n, device) for n in pairs)
    for key in ("d_model", "d_ff", "num_heads", "encoder_layers", "decoder_layers"):
        assert getattr(small.model, key) <= getattr(large.model, key)
    for key in ("dropout", "attention_dropout", "activation_dropout"):
        assert getattr(small.model, key) >= getattr(large.model, key)
    assert small.train.tokens_per_batch <= large.train.tokens_per_batch


@QUICK
@given(pairs=pair_counts, device=devices, seconds=st.tuples(times, times).map(sorted))
def test_more_time_never_gives_a_smaller_model_(pairs, device, seconds):
    short, long = (config_for(pairs, device, limit).model for limit in seconds)
    for key in ("d_model", "d_ff", "encoder_layers", "decoder_layers"):
        assert getattr(short, key) <= getattr(long, key)


@QUICK
@given(pairs=pair_counts)
def test_a_gpu_never_gets_a_smaller_model(pairs):
    cpu, gpu = (config_for(pairs, device).model for device in ("cpu", "gpu"))
    assert (cpu.d_model, cpu.d_ff, cpu.encoder_layers) <= (
        gpu.d_model,
        gpu.d_ff,
        gpu.encoder_layers,
    )


@QUICK
@given(side=sides, more_words=st.integers(0, 10**9), more_characters=st.integers(0, 10**4))
def test_more_text_and_more_characters_never_give_a_smaller_vocabulary(
    side, more_words, more_characters
):
    larger = Side(side.words + more_words, side.alphabet + more_characters, "Han")
    small, large = (vocab_size(Text(1, s, s, s), joint=True).value for s in (side, larger))
    assert 264 <= small <= large <= 32_000


@QUICK
@given(tokens=tokens, text=texts)
def test_longer_text_never_gives_shorter_limits(tokens, text):
    longer = TokenLengths(tokens.longest * 2, tokens.mean, tokens.dev)
    limits = [
        choose(CONFIG, {"model.max_length"}, Situation(text, p, "cpu"))[0].model.max_length
        for p in (tokens, longer)
    ]
    assert limits[0] <= limits[1]


@QUICK
@given(tokens=tokens, text=texts)
def test_a_larger_development_set_is_decoded_less_often(tokens, text):
    more = TokenLengths(tokens.longest, tokens.mean, 2 * tokens.dev)
    intervals = [
        choose(CONFIG, {"train.eval_steps"}, Situation(text, p, "cpu"))[0].train.eval_steps
        for p in (tokens, more)
    ]
    assert intervals[0] <= intervals[1]
