"""How fast a machine multiplies matrices, and what a training step must therefore cost.

A step is its products (Kaplan et al. 2020, arXiv 2001.08361, section 2.1: six operations a weight
and token) and its passes over arrays: normalisation, activation, softmax, dropout, and the
optimizer. The constants were fitted to steps of models 64 to 512 wide; `tests/benchmarks/pace.py`
prints what is foretold beside what is measured.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError
from nmt_cli.resources import available_cores, processor_flags

_TRAINING = 3  # forward, and twice as much backward
_LAYER_PASSES, _LOGIT_PASSES, _WEIGHT_PASSES = 300, 5, 18
_LAYER_ELEMENTS = 50_000_000  # whose time the dispatch of a layer's operations takes
_BETWEEN = 1.2  # times a step, with the batch before it and its share of checkpoints
_SEARCHING = 2.4  # times its products: 2.2 to 3.3, fewer hypotheses more; 1.5 to 2.1 for scores
_WITHOUT_AVX512 = 0.6  # of TensorFlow's rate: there OpenBLAS has no kernels for small matrices
_MUON_PRODUCTS = 7.5  # multiply-adds a weight and column
_MEASURED_S = 0.15
_MANY, _SIDE = 256, 64
_PART = re.compile(r"([0-9]+(?:[.][0-9]+)?)([smhd])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Machine:
    """What a machine computes in a second, on all its cores."""

    products: float  # multiply-adds of products of matrices
    elements: float  # elements of arrays that are read, scaled and written


USUAL_MACHINE = Machine(products=1e11, elements=1e10)


@dataclass(frozen=True)
class Lengths:
    """Mean tokens of an example, with each side's `</s>`."""

    source: float
    target: float  # 0 where targets are labels

    @property
    def counted(self) -> float:
        """Of the side that batches are counted by."""
        return self.target or self.source


def measure_machine() -> Machine:
    """Return what the processor computes in a second; takes a third of one.

    Each product is small enough for one core: several that wait for each other are slower by far
    than they train where another program runs.
    """
    import numpy as np

    many = np.full((_MANY, _SIDE, _SIDE), 1e-3, np.float32)
    one = np.eye(_SIDE, dtype=np.float32)
    cores, flags = available_cores(), processor_flags()
    slowed = _WITHOUT_AVX512 if "avx2" in flags and "avx512f" not in flags else 1
    return Machine(
        products=cores * rate(lambda: many @ one, many.size * _SIDE) / slowed,
        elements=cores * rate(lambda: np.multiply(many, 1.0, out=many), many.size),
    )


def rate(compute: Callable[[], object], amount: int) -> float:
    """Return how much is computed in a second, with the pauses that others force on it."""
    compute()
    times, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < _MEASURED_S:
        compute()
        times += 1
    return times * amount / taken


def step_seconds(config: Config, lengths: Lengths, machine: Machine) -> float:
    """Return about what a step of training takes, with a value for every key that it depends on."""
    model, tokens = config.model, config.train.tokens_per_batch
    encoder, decoder = _weights(config)
    tokens *= 1 if config.train.consistency == "none" else 2  # the batch is read twice
    sources, targets = (tokens * n / lengths.counted for n in (lengths.source, lengths.target))
    width, vocabulary = model.d_model, config.tokenizer.vocab_size
    decoder = decoder if lengths.target else 0
    products = _TRAINING * (encoder * sources + (decoder + width * vocabulary) * targets)
    layers = model.encoder_layers + (model.decoder_layers if lengths.target else 0)
    rows = model.encoder_layers * sources + model.decoder_layers * targets
    elements = _LAYER_PASSES * width * rows + _LAYER_ELEMENTS * layers
    elements += _LOGIT_PASSES * vocabulary * targets
    elements += _WEIGHT_PASSES * (encoder + decoder + width * vocabulary)
    if config.train.optimizer == "muon":
        products += _MUON_PRODUCTS * width * (encoder + decoder)
    return _BETWEEN * (products / machine.products + elements / machine.elements)


def search_seconds(config: Config, lengths: Lengths, machine: Machine, *, beam_size: int) -> float:
    """Return about what a beam search takes for a line; with 1, what its forced score takes."""
    encoder, decoder = _weights(config)
    decoder += config.model.d_model * config.tokenizer.vocab_size
    products = encoder * lengths.source + decoder * lengths.target * beam_size
    return _SEARCHING * products / machine.products


def _weights(config: Config) -> tuple[int, int]:
    """Return the weights of the matrices in the layers of the encoder and of the decoder."""
    model = config.model
    attention, forward = 4 * model.d_model**2, 2 * model.d_model * model.d_ff
    return (
        model.encoder_layers * (attention + forward),
        model.decoder_layers * (2 * attention + forward),
    )


def spoken(seconds: float) -> str:
    """Return a time as `--time` takes it, in two digits or so: 90s, 25m, 3h."""
    if seconds < 120 and (seconds % 60 or not seconds):
        return f"{seconds:.0f}s"
    if seconds < 120 * 60 and seconds % 3600:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.3g}h" if seconds < 9.95 * 3600 else f"{seconds / 3600:.0f}h"


def seconds_of(limit: str | None) -> float:
    """Return the seconds of a time such as 90s, 1h30m or 1.5h; infinity for None.

    Raises:
        ConfigError: It is no time.
    """
    if limit is None:
        return math.inf
    parts = _PART.findall(limit)
    is_time = "".join(map("".join, parts)) == limit
    seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) if is_time else 0
    if not 0.0 < seconds < math.inf:
        raise ConfigError(
            f"--time: '{limit}' is not a time", hint="write it like 90s, 30m or 1h30m"
        )
    return seconds
