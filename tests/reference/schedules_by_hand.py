"""Learning rates, the loss and the optimizer as their papers print them, one number at a time.

These are the oracles for the product's vectorised, compiled versions. Steps count from 1: step 1
is the first update.
"""

import math
from collections.abc import Sequence

import numpy as np

# --- learning rates -----------------------------------------------------------------------------


def noam(step: int, d_model: int, warmup: int, factor: float) -> float:
    """Rise linearly, then fall with the inverse square root of the step.

    Args:
        step: From 1.
        d_model: Width of the model; wider models take smaller steps.
        warmup: Step of the highest rate, at least 1.
        factor: Multiplies the paper's rate; 1.0 there.

    Returns:
        The learning rate.

    Reference:
        Vaswani et al. 2017, arXiv 1706.03762, section 5.3, equation 3.
    """
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt(step: int, peak: float, warmup: int) -> float:
    """Have the shape of `noam`, but say the highest rate instead of the model's width.

    Args:
        step: From 1.
        peak: Rate at step `warmup`.
        warmup: Step of the highest rate, at least 1.

    Returns:
        The learning rate.

    Reference:
        Vaswani et al. 2017, arXiv 1706.03762, section 5.3, equation 3, divided by its own value
        at step = warmup and multiplied by `peak`.
    """
    if step < warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def cosine(step: int, peak: float, warmup: int, total: int, final: float = 0.0) -> float:
    """Rise linearly, then come down along half a cosine and stay there.

    Args:
        step: From 1.
        peak: Rate at step `warmup`.
        warmup: Steps of the rise; 0 is none.
        total: Step at which the rate has become `final`; more than `warmup`.
        final: Lowest rate.

    Returns:
        The learning rate.

    Reference:
        Loshchilov & Hutter 2017, "SGDR", arXiv 1608.03983, equation 5, without restarts.
    """
    if step < warmup:
        return peak * step / warmup
    if step >= total:
        return final
    progress = (step - warmup) / (total - warmup)
    return final + 0.5 * (peak - final) * (1 + math.cos(math.pi * progress))


def constant(step: int, peak: float, warmup: int = 0) -> float:
    """Rise linearly, then stay.

    Args:
        step: From 1.
        peak: Rate from step `warmup` on.
        warmup: Steps of the rise; 0 is none.

    Returns:
        The learning rate.

    Reference:
        Goyal et al. 2017, "Accurate, Large Minibatch SGD", arXiv 1706.02677, section 2.2:
        gradual warm-up.
    """
    if step < warmup:
        return peak * step / warmup
    return peak


# --- loss -----------------------------------------------------------------------------------------


def label_smoothed_cross_entropy(
    logits: np.ndarray, labels: np.ndarray, epsilon: float, support: Sequence[int] | None = None
) -> float:
    """Sum the cross-entropy between smoothed labels and predictions, in nats.

    Args:
        logits: [N, V].
        labels: The right tokens, [N].
        epsilon: Share of the target distribution that is spread evenly over tokens, the right one
            included.
        support: These tokens; None is all V.

    Returns:
        The sum over the N predictions; divide by the number of tokens elsewhere.

    Reference:
        Szegedy et al. 2016, "Rethinking the Inception Architecture", arXiv 1512.00567,
        section 7; Vaswani et al. 2017, section 5.4.
    """
    total = 0.0
    for row, label in zip(np.asarray(logits, np.float64), labels, strict=True):
        log_normalizer = np.max(row) + math.log(np.sum(np.exp(row - np.max(row))))
        smoothed = range(len(row)) if support is None else support
        for token, logit in enumerate(row):
            target = (1 - epsilon) * (token == label) + epsilon / len(smoothed) * (
                token in smoothed
            )
            total -= target * (logit - log_normalizer)
    return float(total)


# --- optimizer ------------------------------------------------------------------------------------


def adam_step(
    parameter: float,
    gradient: float,
    m: float,
    v: float,
    t: int,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> tuple[float, float, float]:
    """Update one parameter with Adam; works elementwise on arrays too.

    Args:
        parameter: theta at step t - 1.
        gradient: g at step t.
        m: First moment at step t - 1; 0 at the start.
        v: Second raw moment at step t - 1; 0 at the start.
        t: The step, from 1.
        rate: alpha.
        beta1: Decay of `m`.
        beta2: Decay of `v`.
        eps: The paper's epsilon-hat: added to the root of the *uncorrected* second moment.

    Returns:
        `parameter`, `m` and `v` at step t.

    Reference:
        Kingma & Ba 2015, arXiv 1412.6980, algorithm 1 in the order of computation that the end
        of section 2 gives.
    """
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    corrected_rate = rate * math.sqrt(1 - beta2**t) / (1 - beta1**t)
    return parameter - corrected_rate * m / (v**0.5 + eps), m, v
