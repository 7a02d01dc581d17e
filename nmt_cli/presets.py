"""Right by default: the size of the text and the device -> a value for each key that says `auto`.

Every choice comes with its reason. A choice sees the configuration with the keys that the user set
and the choices before it, so that one key that is fixed by hand moves those that follow from it.

Where the numbers come from: small text wants small vocabularies, small batches and much dropout
(Sennrich & Zhang 2019, arXiv 1905.11901; Araabi & Monz 2020, arXiv 2011.02266), and few layers
(van Biljon et al. 2020, arXiv 2004.04418); large text wants the base model of Vaswani et al. 2017.
The sizes from 20,000 pairs are those of `configs/multi30k-en-de.yaml`, tuned on its data; what that
trains longer, with more dropout, is worth 0.35 BLEU and nearly twice the time.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nmt_cli.config import Config
from nmt_cli.config_io import with_values

Device = Literal["cpu", "gpu"]


class Choice(NamedTuple):
    """A value for one key, and why it is this one, in a few words."""

    value: int | float | str
    reason: str


@dataclass(frozen=True)
class Side:
    """The training text of one side, or of both together.

    Attributes:
        words: Words between spaces; two characters of Hangul, Han or Kana make a word where that
            gives more.
        alphabet: Distinct characters, the rarest left out.
        scripts: Share of the commonest scripts among its letters, in words ("82 % Hangul").
    """

    words: int
    alphabet: int
    scripts: str


@dataclass(frozen=True)
class Text:
    """The training text as far as it matters for sizes.

    Attributes:
        pairs: Number of training pairs.
        source: Its source side.
        target: Its target side.
        both: Both sides together.
    """

    pairs: int
    source: Side
    target: Side
    both: Side


@dataclass(frozen=True)
class Pieces:
    """Lengths in subword pieces, each with its `</s>`.

    Attributes:
        longest: Pieces that the longer side of nearly every training pair stays within.
        counted_mean: Mean pieces of a training target; of a source where targets are labels.
        dev: Likewise, of all development examples together.
    """

    longest: int
    counted_mean: float
    dev: int


@dataclass(frozen=True)
class Situation:
    """What the choices after the vocabulary depend on."""

    text: Text
    pieces: Pieces
    device: Device


class _Size(NamedTuple):
    """A model and its regularisation for text from so many pairs on."""

    pairs: int
    d_model: int
    widening: int  # d_ff / d_model
    num_heads: int
    layers: int  # of the encoder, and of the decoder
    dropout: float
    inner_dropout: float  # on attention weights and inside the feed-forward layers
    tokens_per_batch: int


_SMALL_SIZES = (
    _Size(0, 128, 2, 4, 3, 0.3, 0.1, 1024),
    _Size(20_000, 128, 2, 4, 4, 0.2, 0.1, 2048),
)
_SIZES: dict[Device, tuple[_Size, ...]] = {
    "cpu": (
        *_SMALL_SIZES,
        _Size(150_000, 256, 4, 4, 4, 0.1, 0.1, 4096),
    ),
    "gpu": (
        *_SMALL_SIZES,
        _Size(100_000, 512, 2, 8, 6, 0.2, 0.1, 8192),
        _Size(1_000_000, 512, 4, 8, 6, 0.1, 0.0, 8192),
    ),
}

_CONTROL_AND_BYTE_PIECES = 262
_LARGEST_VOCABULARY = 32_000
_PEAK_RATE, _PEAK_RATE_WIDTH = 2.5e-3, 128  # configs/multi30k-en-de.yaml
_EPOCHS, _EPOCHS_PAIRS = 30, 30_000  # likewise
_STEPS_AN_EPOCH = 60
_WARMUP_A_COLUMN = 3
_MOST_FOR_MUON = 0.35  # half the steps, measured where it was 0.31
_FEWEST_STEPS, _MOST_CPU_STEPS = 2_000, 30_000
_EVALUATION_TOKENS = 15_000  # what could be trained on while a bundle is written and converted
_EVALUATION_SHARE = 0.05  # of the time


def vocab_size(text: Text, *, joint: bool) -> Choice:
    """Return the size of the vocabulary: 25 words^0.4 merges over bytes and alphabet.

    The curve goes through what is known to work: about 2,000 pieces for 100,000 words (Sennrich &
    Zhang 2019), 6,000 for Multi30k's 700,000, 32,000 for the hundreds of millions of WMT.
    """
    sides = [text.both] if joint else [text.source, text.target]
    side = max(sides, key=lambda side: side.words)
    merges = _round_up(25 * side.words**0.4)
    size = min(_LARGEST_VOCABULARY, _CONTROL_AND_BYTE_PIECES + side.alphabet + merges)
    return Choice(
        size, f"{side.words:,} words, {side.alphabet:,} different characters ({side.scripts})"
    )


def choose(
    config: Config, keys: Collection[str], situation: Situation
) -> tuple[Config, dict[str, Choice]]:
    """Return the configuration with a value for each of `keys`, and the choices by key."""
    choices: dict[str, Choice] = {}
    for name, preset in PRESETS.items():
        if name in keys:
            choices[name] = preset(config, situation)
            config = with_values(config, {name: choices[name].value}, name)
    return config, choices


def _size(situation: Situation) -> _Size:
    """Return the largest size that the text is enough for."""
    sizes = _SIZES[situation.device]
    return next(size for size in reversed(sizes) if situation.text.pairs >= size.pairs)


def _by_size(situation: Situation) -> str:
    return f"{situation.text.pairs:,} pairs on a {situation.device.upper()}"


def _d_model(config: Config, situation: Situation) -> Choice:
    step = math.lcm(2, config.model.num_heads)  # sinusoids need pairs, heads equal shares
    return Choice(-(-_size(situation).d_model // step) * step, _by_size(situation))


def _d_ff(config: Config, situation: Situation) -> Choice:
    widening = _size(situation).widening
    return Choice(widening * config.model.d_model, f"{widening} times d_model")


def _num_heads(config: Config, situation: Situation) -> Choice:
    d_model, most = config.model.d_model, _size(situation).num_heads
    heads = next(heads for heads in range(most, 0, -1) if d_model % heads == 0)
    return Choice(heads, f"{d_model // heads} columns a head")


def _layers(config: Config, situation: Situation) -> Choice:
    return Choice(_size(situation).layers, _by_size(situation))


def _dropout(config: Config, situation: Situation) -> Choice:
    return Choice(_size(situation).dropout, f"{_by_size(situation)}: less text wants more")


def _inner_dropout(config: Config, situation: Situation) -> Choice:
    return Choice(_size(situation).inner_dropout, _by_size(situation))


def _max_length(config: Config, situation: Situation) -> Choice:
    longest = situation.pieces.longest
    length = min(512, max(64, 32 * math.ceil(1.1 * longest / 32)))
    return Choice(length, f"99.9 % of the pairs have at most {longest:,} pieces a side")


def _turn_embeddings(config: Config, situation: Situation) -> Choice:
    if config.task == "chat" and config.chat.history_turns > 0:
        return Choice(True, "a chat with history")
    return Choice(False, "no chat with history")


def _tokens_per_batch(config: Config, situation: Situation) -> Choice:
    """Return the batch: a power of two, small enough that an epoch has a good many steps."""
    most, epoch = _size(situation).tokens_per_batch, _epoch_tokens(situation)
    tokens = min(most, max(256, 2 ** int(math.log2(epoch / _STEPS_AN_EPOCH))))
    return Choice(tokens, f"{_by_size(situation)}, {epoch:,} target pieces an epoch")


def _max_steps(config: Config, situation: Situation) -> Choice:
    epochs = _EPOCHS * (_EPOCHS_PAIRS / situation.text.pairs) ** 0.3
    steps_an_epoch = _epoch_tokens(situation) / config.train.tokens_per_batch
    steps = max(_FEWEST_STEPS, _round_up(epochs * steps_an_epoch))
    if situation.device == "cpu":
        steps = min(steps, _MOST_CPU_STEPS)
    reason = f"{steps / steps_an_epoch:,.1f} epochs; patience may end it before"
    return Choice(steps, reason)


def _optimizer(config: Config, situation: Situation) -> Choice:
    """Return Muon where its products are few beside those of a step.

    A step costs about 6 P T operations for P weights and T pieces; Muon 30 P d_model more.
    """
    share = 5 * config.model.d_model / config.train.tokens_per_batch
    reason = f"a step of Muon costs {share:.0%} more here"
    if share <= _MOST_FOR_MUON:
        return Choice("muon", f"{reason}, and half the steps are enough")
    return Choice("adam", reason)


def _schedule(config: Config, situation: Situation) -> Choice:
    return Choice("cosine", "the number of steps is known")


def _warmup_steps(config: Config, situation: Situation) -> Choice:
    """Return the warm-up: a share of the steps, but no longer than a model of this width needs."""
    steps, most = config.train.max_steps, _WARMUP_A_COLUMN * config.model.d_model
    reason = f"a sixteenth of {steps:,} steps, at most {_WARMUP_A_COLUMN} times d_model"
    return Choice(min(_round_up(steps / 16), most), reason)


def _learning_rate(config: Config, situation: Situation) -> Choice:
    """Return the peak rate: it falls with the root of the width, as in Vaswani et al. 2017."""
    d_model, train = config.model.d_model, config.train
    peak = _PEAK_RATE * math.sqrt(_PEAK_RATE_WIDTH / d_model)
    reason = f"a model of width {d_model}"
    if config.model.norm == "post":  # diverges at rates that pre-norm learns fast with
        peak, reason = peak / 4, f"{reason} with norm: post"
    if train.schedule == "noam":
        peak *= math.sqrt(d_model * train.warmup_steps)
        reason += ", as noam's factor"
    return Choice(float(f"{peak:.2g}"), reason)


def _eval_steps(config: Config, situation: Situation) -> Choice:
    """Return the interval of evaluations.

    Translating a piece costs about what training on a piece does.
    """
    train = config.train
    cost = (situation.pieces.dev + _EVALUATION_TOKENS) / train.tokens_per_batch
    steps = _round_up(max(cost / _EVALUATION_SHARE, train.max_steps / 40))
    return Choice(
        min(steps, train.max_steps),
        f"{situation.pieces.dev:,} pieces of dev take about the time of {cost:,.0f} steps",
    )


def _checkpoint_steps(config: Config, situation: Situation) -> Choice:
    steps = _round_up(config.train.max_steps / 150)
    return Choice(max(1, steps), f"1/150 of {config.train.max_steps:,} steps")


def _patience(config: Config, situation: Situation) -> Choice:
    train = config.train
    evaluations = max(5, math.ceil(train.max_steps / 3 / train.eval_steps))
    return Choice(evaluations, f"a third of {train.max_steps:,} steps")


PRESETS: dict[str, Callable[[Config, Situation], Choice]] = {
    "model.d_model": _d_model,
    "model.d_ff": _d_ff,
    "model.num_heads": _num_heads,
    "model.encoder_layers": _layers,
    "model.decoder_layers": _layers,
    "model.dropout": _dropout,
    "model.attention_dropout": _inner_dropout,
    "model.activation_dropout": _inner_dropout,
    "model.turn_embeddings": _turn_embeddings,
    "model.max_length": _max_length,
    "train.tokens_per_batch": _tokens_per_batch,
    "train.max_steps": _max_steps,
    "train.optimizer": _optimizer,
    "train.schedule": _schedule,
    "train.warmup_steps": _warmup_steps,
    "train.learning_rate": _learning_rate,
    "train.eval_steps": _eval_steps,
    "train.checkpoint_steps": _checkpoint_steps,
    "train.patience": _patience,
}


def _epoch_tokens(situation: Situation) -> int:
    return max(1, round(situation.text.pairs * situation.pieces.counted_mean))


def _round_up(number: float) -> int:
    """Return the next whole number of two digits and zeros."""
    step = int(10 ** max(0, math.floor(math.log10(max(1.0, number))) - 1))
    return math.ceil(number / step) * step
