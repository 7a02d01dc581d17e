"""Tasks whose models write text: a Transformer, searched, compared as text."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.evaluation.evaluator import Evaluator
    from nmt_cli.evaluation.number_formats import Measured
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.search.attended import Attended
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus, Encoder
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


class Writing:
    """See `task.Task`."""

    def build_model(
        self,
        config: "Config",
        *,
        source_vocab_size: int,
        target_vocab_size: int,
        joint: bool,
        compute_dtype: str = "float32",
    ) -> "Transformer":
        """See `task.Task`."""
        from nmt_cli.model.transformer import Transformer

        return Transformer(
            config.model,
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            joint=joint,
            seed=config.seed,
            compute_dtype=compute_dtype,
        )

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """See `task.Task`."""
        from nmt_cli.tasks.losses import loss_sums

        return loss_sums

    def validator(
        self,
        prepared: "Prepared",
        model: Any,
        stepper: "Stepper",
        should_stop: Callable[[], bool],
    ) -> "Validator":
        """See `task.Task`."""
        raise NotImplementedError

    def measure(
        self,
        bundle: "Bundle",
        encoder: "Encoder",
        config: "Config",
        dev: "Sequence[Example]",
        number_format: str,
    ) -> "Measured":
        """See `task.Task`."""
        from nmt_cli.evaluation.number_formats import measure_format

        return measure_format(bundle, encoder, config, dev, number_format)

    def evaluate(
        self,
        evaluator: "Evaluator",
        bundle: "Bundle",
        examples: "list[Example]",
        language: str,
        others: Sequence[str],
    ) -> "Evaluation":
        """See `task.Task`."""
        return evaluator.compare_texts(bundle, examples, language, others)

    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        """See `task.Task`."""
        from nmt_cli.search.attended import attended_pair

        return attended_pair(bundle, source, target)
