"""Classification: an encoder with an output layer, chosen by the score the configuration names."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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
    from nmt_cli.text.shards import EncodedCorpus, Encoder
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


class Classification:
    """See `task.Task`."""

    def build_model(
        self,
        config: "Config",
        *,
        source_vocab_size: int,
        target_vocab_size: int,
        joint: bool,
        compute_dtype: str = "float32",
    ) -> "Classifier":
        """See `task.Task`."""
        from nmt_cli.model.classifier import Classifier

        return Classifier(
            config.model,
            vocab_size=source_vocab_size,
            num_labels=len(config.classification.labels or ()),
            pooling=config.classification.pooling,
            head_dropout=config.classification.dropout,
            seed=config.seed,
            compute_dtype=compute_dtype,
        )

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """See `task.Task`."""
        import numpy as np

        from nmt_cli.tasks.losses import LabelLoss, balanced_weights

        settings = config.classification
        num_labels, multi_label = len(settings.labels or ()), settings.multi_label
        weights = np.ones(num_labels, np.float32)
        if settings.class_weights == "balanced":
            weights = balanced_weights(train, num_labels, multi_label=multi_label)
        return LabelLoss(multi_label=multi_label, weights=weights)

    def validator(
        self,
        prepared: "Prepared",
        model: Any,
        stepper: "Stepper",
        should_stop: Callable[[], bool],
    ) -> "Validator":
        """See `task.Task`."""
        from nmt_cli.tasks.validation import LabelValidator

        return LabelValidator(prepared, model, stepper, should_stop)

    def measure(
        self,
        bundle: "Bundle",
        encoder: "Encoder",
        config: "Config",
        dev: "Sequence[Example]",
        number_format: str,
    ) -> "Measured":
        """See `task.Task`."""
        from nmt_cli.evaluation.number_formats import measure_label_format

        return measure_label_format(bundle, dev, number_format)

    def evaluate(
        self,
        evaluator: "Evaluator",
        bundle: "Bundle",
        examples: "list[Example]",
        language: str,
        others: Sequence[str],
    ) -> "LabelComparison":
        """See `task.Task`."""
        return evaluator.compare_labels(bundle, examples, others)

    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        """See `task.Task`."""
        from nmt_cli.search.attended import attended_label_texts

        return attended_label_texts(bundle, source, target)
