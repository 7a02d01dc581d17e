"""What training does for each task in its own way; all the rest is the same for all of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.training.label_loss import LabelLoss, balanced_weights
from nmt_cli.training.label_validation import LabelValidator
from nmt_cli.training.loss import loss_sums
from nmt_cli.training.run import Prepared
from nmt_cli.training.step import LossFunction, Stepper
from nmt_cli.training.validation import OutputValidator, Validator


class Task(NamedTuple):
    """The ways of a task.

    Attributes:
        loss: What a model is trained by.
        build_validator: Makes what scores a model on dev and test, of a prepared run, the model,
            its stepper, and what tells whether to stop.
    """

    loss: LossFunction
    build_validator: Callable[[Prepared, Any, Stepper, Callable[[], bool]], Validator]


def task_of(prepared: Prepared) -> Task:
    """Return the ways of a run's task."""
    config = prepared.config
    if not config.facts.has_labels:
        return Task(loss_sums, OutputValidator)
    settings = config.classification
    num_labels, multi_label = len(settings.labels or ()), settings.multi_label
    weights = np.ones(num_labels, np.float32)
    if settings.class_weights == "balanced":
        weights = balanced_weights(prepared.train, num_labels, multi_label=multi_label)
    return Task(LabelLoss(multi_label=multi_label, weights=weights), LabelValidator)
