"""What a task has to do in its own way; all the rest of nmt is the same for all of them.

A new task is an entry in `config/tasks.py` and a file here. TensorFlow is imported by those methods
alone that need it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TRANSLATION, TaskFacts
from nmt_cli.tasks.chat import Chat
from nmt_cli.tasks.classification import Classification
from nmt_cli.tasks.translation import Translation

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.evaluation.evaluator import Evaluator
    from nmt_cli.evaluation.label_judging import LabelComparison
    from nmt_cli.evaluation.number_formats import Measured
    from nmt_cli.model.classifier import Classifier
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.search.attended import Attended
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus, Encoder
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


class Task(Protocol):
    """The ways of a task."""

    def build_model(
        self,
        config: "Config",
        *,
        source_vocab_size: int,
        target_vocab_size: int,
        joint: bool,
        compute_dtype: str = "float32",
    ) -> "Transformer | Classifier":
        """Return a new model, with first weights that follow from the seed.

        Args:
            config: The configuration; its labels are known if it has any.
            source_vocab_size: Tokens of the source vocabulary.
            target_vocab_size: Tokens of the target vocabulary.
            joint: Whether both sides share one vocabulary.
            compute_dtype: Number format of activations, "float32" or "bfloat16".
        """

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """Return what a model is trained by."""

    def validator(
        self,
        prepared: "Prepared",
        model: Any,
        stepper: "Stepper",
        should_stop: Callable[[], bool],
    ) -> "Validator":
        """Return what scores a model in training on dev and test."""

    def measure(
        self,
        bundle: "Bundle",
        encoder: "Encoder",
        config: "Config",
        dev: "Sequence[Example]",
        number_format: str,
    ) -> "Measured":
        """Return the size, score and speed of a bundle in one number format."""

    def evaluate(
        self,
        evaluator: "Evaluator",
        bundle: "Bundle",
        examples: "list[Example]",
        language: str,
        others: Sequence[str],
    ) -> "Evaluation | LabelComparison":
        """Return the scores of a model on examples, beside those of others."""

    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        """Return what a model looks at, for texts that a user gave."""


_TASKS: dict[TaskFacts, Task] = {
    TRANSLATION: Translation(),
    CHAT: Chat(),
    CLASSIFICATION: Classification(),
}


def task_of(facts: TaskFacts) -> Task:
    """Return the ways of a task."""
    return _TASKS[facts]
