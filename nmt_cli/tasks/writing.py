"""Tasks whose models write text: a Transformer, searched, compared as text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.evaluation.evaluator import Evaluator
    from nmt_cli.evaluation.number_formats import Measure
    from nmt_cli.search.attended import Attender
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus


class Writing:
    """See `task.Task`."""

    def build_model(
        self, config: "Config", vocabulary: Mapping[str, Any], dtype: str = "float32"
    ) -> Any:
        from nmt_cli.model.transformer import Transformer

        return Transformer(
            config.model,
            source_vocab_size=vocabulary["source"],
            target_vocab_size=vocabulary["target"],
            joint=vocabulary["joint"],
            seed=config.seed,
            compute_dtype=dtype,
        )

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        from nmt_cli.tasks.losses import loss_sums

        return loss_sums

    @property
    def measure(self) -> "Measure":
        from nmt_cli.evaluation.number_formats import measure_format

        return measure_format

    def evaluate(
        self,
        evaluator: "Evaluator",
        bundle: "Bundle",
        examples: "list[Example]",
        language: str,
        others: Sequence[str],
    ) -> "Evaluation":
        return evaluator.compare_texts(bundle, examples, language, others)

    @property
    def attended(self) -> "Attender":
        from nmt_cli.search.attended import attended_pair

        return attended_pair
