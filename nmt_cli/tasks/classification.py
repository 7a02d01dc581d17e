"""Classification: an encoder with an output layer, chosen by the score the configuration names."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.tasks.task import Task

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.evaluator import Evaluator
    from nmt_cli.evaluation.label_judging import LabelComparison
    from nmt_cli.evaluation.number_formats import Measured
    from nmt_cli.model.classifier import Classifier
    from nmt_cli.search.attended import Attended
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus


class Classification(Task):
    """See `Task`."""

    def build_model(self, config: "Config", vocabulary: Mapping[str, Any]) -> "Classifier":
        from nmt_cli.model.classifier import Classifier

        return Classifier(
            config.model,
            vocab_size=vocabulary["source"],
            num_labels=len(config.classification.labels or ()),
            pooling=config.classification.pooling,
            head_dropout=config.classification.dropout,
            seed=config.seed,
            compute_dtype=config.train.precision,
        )

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        import numpy as np

        from nmt_cli.tasks.losses import balanced_weights, label_loss

        settings = config.classification
        num_labels, multi_label = len(settings.labels or ()), settings.multi_label
        weights = np.ones(num_labels, np.float32)
        if settings.class_weights == "balanced":
            weights = balanced_weights(train, num_labels, multi_label=multi_label)
        return functools.partial(label_loss, multi_label=multi_label, weights=weights)

    @property
    def validator(self) -> "type[Validator]":
        from nmt_cli.tasks.validation import LabelValidator

        return LabelValidator

    def measure(self, bundle: "Bundle", dev: "Sequence[Example]", form: str) -> "Measured":
        from nmt_cli.evaluation.number_formats import measure_label_format

        return measure_label_format(bundle, dev, form)

    def evaluate(self, evaluator: "Evaluator") -> "LabelComparison":
        return evaluator.compare_labels()

    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        from nmt_cli.search.attended import attended_label_texts

        return attended_label_texts(bundle, source, target)
