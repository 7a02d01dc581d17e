"""Translation and chat: a Transformer writes text, which is compared as text."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.tasks.task import Task

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
    from nmt_cli.text.shards import EncodedCorpus


class Writing(Task):
    """Translation and chat; what `TaskFacts` say of them is all that differs."""

    def build_model(self, config: "Config", vocabulary: Mapping[str, Any]) -> "Transformer":
        from nmt_cli.model.transformer import Transformer

        return Transformer(
            config.model,
            source_vocab_size=vocabulary["source"],
            target_vocab_size=vocabulary["target"],
            joint=vocabulary["joint"],
            num_tags=vocabulary.get("tags", 0),
            seed=config.seed,
            compute_dtype=config.train.precision,
        )

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        from nmt_cli.tasks.losses import loss_sums
        from nmt_cli.tasks.output_layer import agreement_of

        return functools.partial(loss_sums, agreement=agreement_of(config.train))

    @property
    def validator(self) -> "type[Validator]":
        from nmt_cli.tasks.validation import OutputValidator

        return OutputValidator

    def measure(self, bundle: "Bundle", dev: "Sequence[Example]", form: str) -> "Measured":
        from nmt_cli.evaluation.number_formats import measure_format

        return measure_format(bundle, dev, form)

    def evaluate(self, evaluator: "Evaluator") -> "Evaluation":
        return evaluator.compare_texts()

    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        from nmt_cli.search.attended import attended_pair

        return attended_pair(bundle, source, target)
