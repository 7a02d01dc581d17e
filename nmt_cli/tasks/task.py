"""What a task does in its own way; all the rest of nmt is the same for all of them.

A new task is an entry in `config/tasks.py`, a file here, and a line of `task_of`. Methods import
what they need when they are called: TensorFlow is not needed by all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.config import tasks

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.evaluation.evaluator import Evaluator
    from nmt_cli.evaluation.label_judging import LabelComparison
    from nmt_cli.evaluation.number_formats import Measured
    from nmt_cli.search.attended import Attended
    from nmt_cli.tasks.losses import LossFunction
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import EncodedCorpus


class Task(ABC):
    """The ways of a task."""

    @abstractmethod
    def build_model(self, config: "Config", vocabulary: Mapping[str, Any]) -> Any:
        """Return a new model, with first weights that follow from the seed.

        Args:
            config: The configuration; its labels are known if it has any.
            vocabulary: See `Vocabularies.describe`.
        """

    @abstractmethod
    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """Return what a model is trained by."""

    @property
    @abstractmethod
    def validator(self) -> "type[Validator]":
        """What scores a model in training."""

    @abstractmethod
    def measure(self, bundle: "Bundle", dev: "Sequence[Example]", form: str) -> "Measured":
        """Return the size, score and speed of a bundle in one number format."""

    @abstractmethod
    def evaluate(self, evaluator: "Evaluator") -> "Evaluation | LabelComparison":
        """Return the scores of a model on examples, beside those of others."""

    @abstractmethod
    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        """Return what a model looks at, for texts that a user gave."""


def task_of(facts: tasks.TaskFacts) -> Task:
    """Return the ways of a task."""
    from nmt_cli.tasks.classification import Classification
    from nmt_cli.tasks.writing import Writing

    ways: dict[tasks.TaskFacts, Task] = {
        tasks.TRANSLATION: Writing(),
        tasks.CHAT: Writing(),
        tasks.CLASSIFICATION: Classification(),
    }
    return ways[facts]
