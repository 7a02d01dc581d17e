"""Right by default: the size of the text and the device -> a value for each key that says `auto`.

Every choice comes with its reason. A choice sees the configuration with the keys that the user set
and the choices before it, so that one key that is fixed by hand moves those that follow from it.

Where the numbers come from: small text wants small vocabularies, small batches and much dropout
(Sennrich & Zhang 2019, arXiv 1905.11901; Araabi & Monz 2020, arXiv 2011.02266), and few layers
(van Biljon et al. 2020, arXiv 2004.04418); large text wants the base model of Vaswani et al. 2017.
The sizes from 20,000 pairs were tuned on Multi30k. The recipe of `configs/multi30k-en-de.yaml`
learns more from it, in far more time.

Under a time limit, what counts is how much of the text a model gets to see: the largest size is
taken that can see enough of it to overtake the next smaller one (`_Size.tokens`, measured on
Multi30k, Korean-English Bible verses and documentation), and text that is seen only a few times
needs little dropout and bears a higher rate.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine, spoken, step_seconds
from nmt_cli.config.reading import with_values
from nmt_cli.config.schema import Config

Device = Literal["cpu", "gpu"]


class Choice(NamedTuple):
    """A value for one key, and why it is this one, in a few words."""

    value: int | float | str | list[str]
    reason: str


@dataclass(frozen=True)
class Side:
    """The training text of one side, or of both together.

    Words stand between spaces; two characters of Hangul, Han or Kana make one if that gives more.
    """

    words: int
    alphabet: int  # distinct characters, the rarest left out
    scripts: str  # share of the commonest scripts among its letters, in words ("82 % Hangul")


@dataclass(frozen=True)
class Text:
    """The training text as far as it matters for sizes: its pairs, its sides, and both together."""

    pairs: int
    source: Side
    target: Side
    both: Side


@dataclass(frozen=True)
class TokenLengths:
    """Lengths in tokens, each with its `</s>`."""

    longest: int  # what the longer side of nearly every training pair stays within
    mean: Lengths  # of a training pair
    dev: int  # of all development examples together


@dataclass(frozen=True)
class Situation:
    """What the choices after the vocabulary depend on; `seconds` are those of all steps."""

    text: Text
    tokens: TokenLengths
    device: Device
    seconds: float = math.inf
    machine: Machine = USUAL_MACHINE

    @property
    def epoch_tokens(self) -> int:
        """Tokens of the training text, on the side that batches are counted by."""
        return max(1, round(self.text.pairs * self.tokens.mean.counted))

    def steps(self, config: Config) -> float:
        """Return how many steps there is time for."""
        return self.seconds / step_seconds(config, self.tokens.mean, self.machine)

    def epochs(self, config: Config) -> float:
        """Return how often a run could see the text."""
        return self.steps(config) * config.train.tokens_per_batch / self.epoch_tokens


class _Size(NamedTuple):
    """A model and its regularisation for so many pairs or more, if so many tokens can be seen."""

    pairs: int
    tokens: float
    d_model: int
    widening: int  # d_ff / d_model
    num_heads: int
    layers: int  # of the encoder, and of the decoder
    dropout: float
    inner_dropout: float  # on attention weights and inside the feed-forward layers
    tokens_per_batch: int


@dataclass(frozen=True, kw_only=True)
class _Plan(Situation):
    """The size that there is enough text and time for; it sees the text `seen` times."""

    size: _Size
    seen: float

    @property
    def freshness(self) -> float:
        """How new the text still is to the model at the end: from 1, hardly seen, to 0.

        More text takes more epochs to be learned by heart: twice as many from twice the tokens of
        Multi30k, measured on 2.5 times as many. How many larger text takes is not known.
        """
        epochs = _DROPOUT_EPOCHS * min(2.0, max(1.0, self.epoch_tokens / _DROPOUT_TEXT))
        return min(1.0, max(0.0, 1 - (self.seen - _FRESH_EPOCHS) / epochs))

    @property
    def is_limited(self) -> bool:
        """Whether there is a time limit."""
        return self.seconds < math.inf

    def told(self, config: Config) -> str:
        """Return what the size follows from, for people."""
        where = f"{self.text.pairs:,} {config.facts.examples} on a {self.device.upper()}"
        time = spoken(self.seconds) if self.seconds > 1 else "hardly any time"
        return f"{where}, {time} for steps" if self.is_limited else where


_SMALL_SIZES = (
    _Size(0, 0, 64, 2, 4, 2, 0.2, 0.1, 1024),
    _Size(0, 1.2e6, 128, 2, 4, 2, 0.2, 0.1, 2048),
    _Size(0, 5e6, 128, 2, 4, 3, 0.3, 0.1, 1024),
    _Size(20_000, 1.2e6, 128, 2, 4, 2, 0.2, 0.1, 2048),  # three layers are for little text
    _Size(20_000, 2.5e7, 128, 2, 4, 4, 0.2, 0.1, 2048),
)
_SIZES: dict[Device, tuple[_Size, ...]] = {
    "cpu": (*_SMALL_SIZES, _Size(150_000, 3e7, 256, 4, 4, 4, 0.1, 0.1, 4096)),
    "gpu": (
        *_SMALL_SIZES,
        _Size(100_000, 3e7, 512, 2, 8, 6, 0.2, 0.1, 8192),
        _Size(1_000_000, 1e8, 512, 4, 8, 6, 0.1, 0.0, 8192),
    ),
}
_FRESH_EPOCHS, _DROPOUT_EPOCHS = 5, 10  # no dropout up to the first; all of it so much later
_DROPOUT_TEXT = 400_000  # tokens of Multi30k, which both were tuned on
# A translator's run that needs all of it has seen so many tokens, or little text so often.
_DROPOUT_TOKENS, _DROPOUT_TIMES = 6e6, 40
_FRESH_RATE = 0.6  # how much higher the peak rate is where the text is seen few times
_MOST_EPOCHS = 3  # times those of a run without a limit: what more time would only memorise
_CONTROL_AND_BYTE_TOKENS = 262
_LARGEST_VOCABULARY = 32_000
# Multiply-adds that a word needs to be worth its place, and words that always have one.
_WORD_PRODUCTS, _FEWEST_WORDS = 2e8, 30_000
_PEAK_RATE, _PEAK_RATE_WIDTH = 2.5e-3, 128  # tuned on Multi30k
_EPOCHS, _EPOCHS_PAIRS = 30, 30_000  # likewise
_STEPS_AN_EPOCH, _QUICK_STEPS_AN_EPOCH = 60, 20
_WARMUP_A_COLUMN = 3
_MOST_FOR_MUON = 0.35  # half the steps, measured where it was 0.31
_FEWEST_STEPS, _MOST_CPU_STEPS = 2_000, 30_000
# Fine-tuning: a fifth of the epochs, ten evaluations.
_FINE_TUNING_SHARE, _FINE_TUNING_EVALUATIONS = 5, 10
_TUNING_RATE, _ADAPTERS_FASTER = 0.1, 5  # times the width
_TUNING_TOKENS = 2048  # with which 75 million weights learn in 5.5 GB
_LEAST_DROPOUT = 0.1
_FEW_PAIRS = 2_000
_EVALUATION_TOKENS = 15_000  # what could be trained on while a bundle is written and converted
_EVALUATION_SHARE, _MOST_EVALUATIONS = 0.05, 40  # of the time; in a run


def vocab_size(
    text: Text, *, joint: bool, seconds: float = math.inf, machine: Machine = USUAL_MACHINE
) -> Choice:
    """Return the size of the vocabulary: 25 words^0.4 merges over bytes and alphabet.

    The curve goes through what is known to work: about 2,000 tokens for 100,000 words (Sennrich &
    Zhang 2019), 6,000 for Multi30k's 700,000, 32,000 for the hundreds of millions of WMT. Under a
    time limit fewer words count: the output layer is most of a small model's work, and rare tokens
    are not learned in minutes.
    """
    sides = [text.both] if joint else [text.source, text.target]
    side = max(sides, key=lambda side: side.words)
    words = min(side.words, max(_FEWEST_WORDS, seconds * machine.products / _WORD_PRODUCTS))
    size, unlimited = (
        min(_LARGEST_VOCABULARY, _CONTROL_AND_BYTE_TOKENS + side.alphabet + _round_up(25 * n**0.4))
        for n in (words, side.words)
    )
    reason = f"{side.words:,} words, {side.alphabet:,} different characters ({side.scripts})"
    limited = f"; {unlimited:,} if there were more time" if size < unlimited else ""
    return Choice(size, reason + limited)


def choose(
    config: Config, keys: Collection[str], situation: Situation
) -> tuple[Config, dict[str, Choice]]:
    """Return the configuration with a value for each of `keys`, and the choices by key."""
    plan = _plan(config, keys, situation)
    choices: dict[str, Choice] = {}
    for name, preset in PRESETS.items():
        if name in keys:
            choices[name] = preset(config, plan)
            config = with_values(config, {name: choices[name].value}, name)
    return config, choices


def _plan(config: Config, keys: Collection[str], situation: Situation) -> _Plan:
    sizes = [size for size in _SIZES[situation.device] if situation.text.pairs >= size.pairs]
    plans = [_Plan(**vars(situation), size=size, seen=math.inf) for size in reversed(sizes)]
    if not plans[0].is_limited:
        return plans[0]
    for plan in plans:
        sized = config
        for name in filter(keys.__contains__, _PACED):
            sized = with_values(sized, {name: PRESETS[name](sized, plan).value}, name)
        plan = replace(plan, seen=situation.epochs(sized))
        if plan.seen * situation.epoch_tokens >= plan.size.tokens:
            break
    return plan


def _d_model(config: Config, plan: _Plan) -> Choice:
    step = math.lcm(2, config.model.num_heads)  # sinusoids need pairs, heads equal shares
    return Choice(-(-plan.size.d_model // step) * step, plan.told(config))


def _d_ff(config: Config, plan: _Plan) -> Choice:
    return Choice(plan.size.widening * config.model.d_model, f"{plan.size.widening} times d_model")


def _num_heads(config: Config, plan: _Plan) -> Choice:
    d_model = config.model.d_model
    heads = next(heads for heads in range(plan.size.num_heads, 0, -1) if d_model % heads == 0)
    return Choice(heads, f"{d_model // heads} columns a head")


def _inner_dropout(config: Config, plan: _Plan, of_start: float) -> Choice:
    if _is_fine_tuning(config):
        return Choice(of_start, "of the start model")
    return _needed(plan.size.inner_dropout, config, plan)


def _needed(dropout: float, config: Config, plan: _Plan) -> Choice:
    """Return how much of a dropout is needed: text that is new cannot be memorised.

    Where BLEU counts, a short run does better with little of it, though its loss on dev is higher.
    """
    share = 1 - plan.freshness
    if config.facts.best_by == "bleu":
        tokens = plan.seen * plan.epoch_tokens
        share = min(share, max(tokens / _DROPOUT_TOKENS, plan.seen / _DROPOUT_TIMES))
    needed = round(dropout * share, 2)
    why = "less text needs more" if needed == dropout else "a short run needs less"
    return Choice(needed, f"{plan.told(config)}: {why}")


def _dropout(config: Config, plan: _Plan) -> Choice:
    if _is_fine_tuning(config):
        return Choice(max(_LEAST_DROPOUT, config.model.dropout), "of the start model, or more")
    return _needed(plan.size.dropout, config, plan)


def _is_fine_tuning(config: Config) -> bool:
    return config.train.start is not None


def _max_length(config: Config, plan: _Plan) -> Choice:
    longest = plan.tokens.longest
    length = min(512, max(64, 32 * math.ceil(1.1 * longest / 32)))
    texts = "texts" if config.facts.has_labels else "texts on either side"
    return Choice(length, f"99.9% of the {texts} have at most {longest:,} tokens")


def _turn_embeddings(config: Config, plan: _Plan) -> Choice:
    if config.facts.has_turns and config.chat.history_turns > 0:
        return Choice(True, f"chat.history_turns is {config.chat.history_turns}")
    return Choice(False, "there are no earlier turns to distinguish")


def _tokens_per_batch(config: Config, plan: _Plan) -> Choice:
    """Return the batch: a power of two, small enough that an epoch has a good many steps.

    Under a time limit it may have fewer: small steps do not use what the machine can do. So it may
    in fine-tuning, which has few epochs but wants steady steps; a large model must fit, too.
    """
    most, epoch = plan.size.tokens_per_batch, plan.epoch_tokens
    if _is_fine_tuning(config) and plan.device == "cpu":
        most = min(most, _TUNING_TOKENS)
    is_short = plan.is_limited or _is_fine_tuning(config)
    steps = _QUICK_STEPS_AN_EPOCH if is_short else _STEPS_AN_EPOCH
    tokens = min(most, max(256, 2 ** int(math.log2(max(1, epoch / steps)))))
    counted = "tokens" if config.facts.has_labels else "target tokens"
    return Choice(tokens, f"{plan.told(config)}; {epoch:,} {counted} an epoch")


def _max_steps(config: Config, plan: _Plan) -> Choice:
    epochs = _EPOCHS * (_EPOCHS_PAIRS / plan.text.pairs) ** 0.3
    fewest = _FEWEST_STEPS
    if _is_fine_tuning(config) and not config.facts.has_labels:  # an output layer is new
        epochs, fewest = epochs / _FINE_TUNING_SHARE, fewest // _FINE_TUNING_SHARE
    steps_an_epoch = plan.epoch_tokens / config.train.tokens_per_batch
    steps = max(fewest, _round_up(epochs * steps_an_epoch))
    if plan.is_limited:
        return Choice(_MOST_EPOCHS * steps, "the most that is of use")
    if plan.device == "cpu":
        steps = min(steps, _MOST_CPU_STEPS)
    return Choice(steps, f"{steps / steps_an_epoch:,.1f} epochs; patience may end it earlier")


def _optimizer(config: Config, plan: _Plan) -> Choice:
    """Return Muon where its products are few beside those of a step, as it needs half the steps."""
    if _is_fine_tuning(config):
        return Choice("adam", "muon moves weights equally far even where the text says little")
    adam, muon = (
        step_seconds(
            with_values(config, {"train.optimizer": rule}, "auto"), plan.tokens.mean, plan.machine
        )
        for rule in ("adam", "muon")
    )
    share = muon / adam - 1
    reason = f"a step of Muon costs {share:.0%} more here"
    if share <= _MOST_FOR_MUON:
        return Choice("muon", f"{reason}, and half the steps are enough")
    return Choice("adam", reason)


def _schedule(_: Config, plan: _Plan) -> Choice:
    end = "the end of the time or " if plan.is_limited else ""
    return Choice("cosine", f"the rate falls to zero by {end}max_steps")


def _warmup_steps(config: Config, plan: _Plan) -> Choice:
    """Return the warm-up: a share of the steps, but no longer than a model of this width needs."""
    steps, most = config.train.max_steps, _WARMUP_A_COLUMN * config.model.d_model
    share = _round_up(steps / 16)
    reason = "a sixteenth of max_steps" if share < most else f"{_WARMUP_A_COLUMN} times d_model"
    limited = "; at most a tenth of the steps that the time allows" if plan.is_limited else ""
    return Choice(min(share, most), reason + limited)


def _learning_rate(config: Config, plan: _Plan) -> Choice:
    """Return the peak rate: it falls with the root of the width, as in Vaswani et al. 2017.

    In fine-tuning it is smaller and falls with the width: 5e-5 for a post-norm model of 512, which
    is usual. Adapters, which have fewer ways to go, take larger steps.
    """
    d_model, train = config.model.d_model, config.train
    peak = _PEAK_RATE * math.sqrt(_PEAK_RATE_WIDTH / d_model)
    reason = f"a model of width {d_model}"
    if _is_fine_tuning(config) and not config.classification.freeze_encoder:
        peak, reason = _TUNING_RATE / d_model, f"{reason} that has learned already"
        if train.lora_rank:
            peak, reason = _ADAPTERS_FASTER * peak, f"{reason}, by adapters"
    elif plan.freshness:
        peak *= 1 + _FRESH_RATE * plan.freshness
        seen = plan.seen
        amount = f"the text only {seen:.1f} times" if seen >= 1 else "only part of the text"
        reason = f"{reason} that sees {amount}, which needs a higher rate"
    if config.model.norm == "post":  # diverges at rates that pre-norm learns fast with
        peak, reason = peak / 4, f"{reason} with norm: post"
    if train.schedule == "noam":
        peak *= math.sqrt(d_model * train.warmup_steps)
        reason += ", as noam's factor"
    return Choice(float(f"{peak:.2g}"), reason)


def _eval_steps(config: Config, plan: _Plan) -> Choice:
    """Return the interval; translating a token costs about what training on a token does."""
    train = config.train
    if _is_fine_tuning(config):  # what makes it worse than it began shall show soon
        steps = _round_up(_planned_steps(config, plan) / _FINE_TUNING_EVALUATIONS)
        return Choice(min(steps, train.max_steps), f"{_FINE_TUNING_EVALUATIONS} times in the run")
    cost = (plan.tokens.dev + _EVALUATION_TOKENS) / train.tokens_per_batch
    seldom, often = cost / _EVALUATION_SHARE, _planned_steps(config, plan) / _MOST_EVALUATIONS
    reason = f"an evaluation takes about as long as {cost:,.0f} steps"
    enough = f"{_MOST_EVALUATIONS} in a run are enough"
    reason += f", and {enough}" if often > seldom else f": {_EVALUATION_SHARE:.0%} of the time"
    return Choice(min(_round_up(max(seldom, often)), train.max_steps), reason)


def _checkpoint_steps(config: Config, plan: _Plan) -> Choice:
    steps = _planned_steps(config, plan)
    if _is_fine_tuning(config):
        return Choice(config.train.eval_steps, "whenever the model is evaluated")
    every = max(1, _round_up(steps / 150))
    reason = f"about {steps / every:,.0f} in the run" if every > 1 else "a run of few steps"
    return Choice(every, reason)


def _freeze(config: Config, plan: _Plan) -> Choice:
    pairs, train = plan.text.pairs, config.train
    if _is_fine_tuning(config) and pairs < _FEW_PAIRS and not train.lora_rank:
        few = f"{pairs:,} {config.facts.examples} have few of the tokens"
        return Choice(["embeddings"], few)
    return Choice([], "all parts learn")


def _planned_steps(config: Config, plan: _Plan) -> float:
    """Return how many steps the run will have, as far as is known."""
    return min(config.train.max_steps, max(1.0, plan.steps(config)))


def _patience(config: Config, plan: _Plan) -> Choice:
    train = config.train
    if plan.is_limited:
        return Choice(0, "the time or max_steps ends the run")
    evaluations = max(5, math.ceil(train.max_steps / 3 / train.eval_steps))
    steps = evaluations * train.eval_steps
    return Choice(evaluations, f"{steps:,} steps without a better score end the run")


PRESETS: dict[str, Callable[[Config, _Plan], Choice]] = {  # in the order of the choices
    "model.d_model": _d_model,
    "model.d_ff": _d_ff,
    "model.num_heads": _num_heads,
    "model.encoder_layers": lambda c, plan: Choice(plan.size.layers, plan.told(c)),
    "model.decoder_layers": lambda c, plan: Choice(plan.size.layers, plan.told(c)),
    "model.dropout": _dropout,
    "model.attention_dropout": lambda c, plan: _inner_dropout(c, plan, c.model.attention_dropout),
    "model.activation_dropout": lambda c, plan: _inner_dropout(c, plan, c.model.activation_dropout),
    "model.turn_embeddings": _turn_embeddings,
    "model.max_length": _max_length,
    "train.freeze": _freeze,
    "train.tokens_per_batch": _tokens_per_batch,
    "train.optimizer": _optimizer,
    "train.max_steps": _max_steps,
    "train.schedule": _schedule,
    "train.warmup_steps": _warmup_steps,
    "train.learning_rate": _learning_rate,
    "train.eval_steps": _eval_steps,
    "train.checkpoint_steps": _checkpoint_steps,
    "train.patience": _patience,
}
_PACED = (  # what the pace of training depends on, in the order of the choices
    "model.d_model",
    "model.d_ff",
    "model.num_heads",
    "model.encoder_layers",
    "model.decoder_layers",
    "train.tokens_per_batch",
    "train.optimizer",
)


def _round_up(number: float) -> int:
    """Return the next whole number of two digits and zeros."""
    step = int(10 ** max(0, math.floor(math.log10(max(1.0, number))) - 1))
    return math.ceil(number / step) * step
