"""The learning rate as a function of the step. Plain arithmetic; steps count from 1."""

import math

from nmt_cli.config import TrainConfig


def learning_rate(step: int, config: TrainConfig, d_model: int) -> float:
    """Return the rate of one optimizer step.

    - `noam`: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)
      (Vaswani et al. 2017, section 5.3, equation 3; `learning_rate` is the factor);
    - `inverse_sqrt`: linear to the peak over the warm-up, then peak * sqrt(warmup / step);
    - `cosine`: linear to the peak, then half a cosine down to 0 at `max_steps`
      (Loshchilov & Hutter 2017, section 3, arXiv 1608.03983);
    - `constant`: linear to the peak, then the peak.

    Args:
        step: Optimizer step, from 1.
        config: Schedule, peak rate (or factor), warm-up and total steps.
        d_model: The model's width, for `noam`.
    """
    warmup, peak = config.warmup_steps, config.learning_rate
    if config.schedule == "noam":
        return float(peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    if step < warmup:
        return peak * step / warmup
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if config.schedule == "cosine":
        progress = min(1.0, (step - warmup) / max(1, config.max_steps - warmup))
        return peak * 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak
