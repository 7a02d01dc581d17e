"""The learning rate as a function of the step. Plain arithmetic; steps count from 1."""

import math

from nmt_cli.config.schema import TrainConfig

_COOLDOWN = 0.2  # share of the steps


def learning_rate(
    step: int, config: TrainConfig, d_model: int, last_step: float = math.inf
) -> float:
    """Return the rate of one optimizer step (from 1).

    - `noam`: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)
      (Vaswani et al. 2017, section 5.3, equation 3; `learning_rate` is the factor);
    - `inverse_sqrt`: linear to the peak over the warm-up, then peak * sqrt(warmup / step);
    - `cosine`: linear to the peak, then half a cosine down to 0 at `max_steps`
      (Loshchilov & Hutter 2017, section 3, arXiv 1608.03983);
    - `constant`: linear to the peak, then the peak.

    A time limit may end the run at `last_step`, before `max_steps`. Then `cosine` falls to 0 there,
    and the others fall linearly over the last fifth (Hägele et al. 2024, arXiv 2405.18392, section
    3); the warm-up is at most a tenth of the steps.
    """
    is_cut = last_step < config.max_steps
    if not is_cut:
        return _scheduled(step, config, d_model, config.warmup_steps, config.max_steps)
    warmup = max(1.0, min(config.warmup_steps, last_step / 10))
    rate = _scheduled(step, config, d_model, warmup, last_step)
    if config.schedule == "cosine":
        return rate
    return rate * max(0.0, min(1.0, (last_step - step) / (_COOLDOWN * last_step)))


def _scheduled(
    step: int, config: TrainConfig, d_model: int, warmup: float, last_step: float
) -> float:
    peak = config.learning_rate
    if config.schedule == "noam":
        return float(peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    if step < warmup:
        return peak * step / warmup
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if config.schedule == "cosine":
        progress = min(1.0, (step - warmup) / max(1, last_step - warmup))
        return peak * 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak
