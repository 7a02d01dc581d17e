"""What the tasks are, as far as it can be said in facts: the one place that tells them apart.

What a task does in its own way, with code, stands in the room `tasks/`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """A task."""

    name: str  # as `task:` and `bundle.json` have it
    columns: tuple[str, str] = ("source", "target")  # of a JSON file that does not name its own
    has_turns: bool = False  # sources are conversations
    has_labels: bool = False  # targets are labels, not text
    is_parallel: bool = False  # targets say what sources say
    best_by: str  # what the best model is chosen by; of labels the configuration says it
    unit: str = "tokens"  # what training counts
    targets: str = "target tokens"  # what targets are made of
    command: str  # what a model is used with
    made_by: str  # what trains a first model
    does: str  # what a model does, for people; it may name the languages
    pipeline: str  # what the Hugging Face hub calls it

    @property
    def has_score(self) -> bool:
        """Whether an output has a score of its own: replies have no single reference."""
        return self.best_by != "loss"


TRANSLATION = TaskFacts(
    name="translation",
    is_parallel=True,
    best_by="bleu",
    command="translate",
    made_by="nmt train",
    does="translates {languages}",
    pipeline="translation",
)
CHAT = TaskFacts(
    name="chat",
    has_turns=True,
    best_by="loss",
    command="chat",
    made_by="nmt train chat",
    does="chats",
    pipeline="text-generation",
)
CLASSIFICATION = TaskFacts(
    name="classification",
    columns=("text", "label"),
    has_labels=True,
    best_by="accuracy",
    unit="examples",
    targets="labels",
    command="classify",
    made_by="nmt train sentiment",
    does="classifies texts",
    pipeline="text-classification",
)
TASKS = {facts.name: facts for facts in (TRANSLATION, CHAT, CLASSIFICATION)}
