"""The interface of a task: everything that differs from task to task.

A new task needs an entry in `config/tasks.py`, a file here, and a line in `task_of`. Methods import
what they need when they are called, since not all of them need TensorFlow.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    """A task."""

    @abstractmethod
    def build_model(self, config: "Config", vocabulary: Mapping[str, Any]) -> Any:
        """Return a new model, whose initial weights depend only on the seed.

        Args:
            config: The configuration; its labels are known if it has any.
            vocabulary: See `Vocabularies.describe`.
        """

    @abstractmethod
    def loss(self, config: "Config", train: "EncodedCorpus") -> "LossFunction":
        """Return the loss function."""

    @property
    @abstractmethod
    def validator(self) -> "type[Validator]":
        """The class that scores a model during training."""

    @abstractmethod
    def measure(self, bundle: "Bundle", dev: "Sequence[Example]", form: str) -> "Measured":
        """Return the size, score and speed of a bundle in one number format."""

    @abstractmethod
    def evaluate(self, evaluator: "Evaluator") -> "Evaluation | LabelComparison":
        """Return the scores of a model on examples, and of those it is compared with."""

    @abstractmethod
    def attended(self, bundle: "Bundle", source: str, target: str | None) -> "Attended":
        """Return the attention of a model for the given texts."""
