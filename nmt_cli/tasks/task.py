"""What a task has to do in its own way; all the rest of nmt is the same for all of them.

A new task is an entry in `config/tasks.py` and a file here. What a task gives is a function or a
class that does the work; asking for it imports it, and TensorFlow only where it needs that.
"""

from collections.abc import Mapping, Sequence
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
    from nmt_cli.evaluation.number_formats import Measure
    from nmt_cli.search.attended import Attender
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus


class Task(Protocol):
    """The ways of a task."""

    def build_model(
        self, config: "Config", vocabulary: Mapping[str, Any], dtype: str = "float32"
    ) -> Any:
        """Return a new model, with first weights that follow from the seed.

        Args:
            config: The configuration; its labels are known if it has any.
            vocabulary: Sizes, as `Vocabularies.describe` gives them.
            dtype: Number format of activations, "float32" or "bfloat16".
        """

    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """Return what a model is trained by."""

    @property
    def validator(self) -> "type[Validator]":
        """What scores a model in training on dev and test."""

    @property
    def measure(self) -> "Measure":
        """What tells the size, score and speed of a bundle in one number format."""

    def evaluate(
        self,
        evaluator: "Evaluator",
        bundle: "Bundle",
        examples: "list[Example]",
        language: str,
        others: Sequence[str],
    ) -> "Evaluation | LabelComparison":
        """Return the scores of a model on examples, beside those of others."""

    @property
    def attended(self) -> "Attender":
        """What tells what a model attends to, for one or two texts that a user gave."""


_TASKS: dict[TaskFacts, Task] = {
    TRANSLATION: Translation(),
    CHAT: Chat(),
    CLASSIFICATION: Classification(),
}


def task_of(facts: TaskFacts) -> Task:
    """Return the ways of a task."""
    return _TASKS[facts]
