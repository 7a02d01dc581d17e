"""Facts about each task. No other file compares tasks by name, except in the room `tasks/`.

That room has the code that differs from task to task.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """A task."""

    name: str  # as `task:` and `bundle.json` have it
    columns: tuple[str, str] = ("source", "target")  # of a JSON file that does not name its own
    has_turns: bool = False  # sources are conversations
    has_labels: bool = False  # targets are labels, not text
    is_parallel: bool = False  # targets are translations of sources
    best_by: str  # the score that chooses the best model; for labels a key of the configuration
    examples: str = "pairs"  # what it is trained on
    unit: str = "tokens"  # the unit in which training counts
    targets: str = "target tokens"  # what targets are made of
    command: str  # the command that uses a model
    made_by: str  # the command that trains a first model
    does: str  # description of a model; may contain {languages}
    pipeline: str  # name of the pipeline on the Hugging Face hub
    text: str  # description of its training text
    text_hint: str  # how to give such text to `nmt init`
    request: tuple[str, str]  # of `nmt serve`: a path, and JSON with {text}, {source}, {target}

    @property
    def has_score(self) -> bool:
        """Whether outputs can be scored: replies have no single reference."""
        return self.best_by != "loss"


TRANSLATION = TaskFacts(
    name="translation",
    is_parallel=True,
    best_by="bleu",
    command="translate",
    made_by="nmt train",
    does="translates {languages}",
    pipeline="translation",
    text="parallel text or table of two texts",
    text_hint="name the files: nmt init --train SOURCE TARGET (line N of one is the translation "
    "of line N of the other)",
    request=("/translate", '{"q": "{text}", "source": "{source}", "target": "{target}"}'),
)
CHAT = TaskFacts(
    name="chat",
    has_turns=True,
    best_by="loss",
    command="chat",
    made_by="nmt train chat",
    does="chats",
    pipeline="text-generation",
    text="dialogues or questions with answers",
    text_hint="a .txt has a turn a line and blank lines between dialogues; two files are named "
    "with nmt init --train QUESTIONS ANSWERS --task chat",
    request=("/v1/chat/completions", '{"messages": [{"role": "user", "content": "{text}"}]}'),
)
CLASSIFICATION = TaskFacts(
    name="classification",
    columns=("text", "label"),
    has_labels=True,
    best_by="accuracy",
    examples="texts",
    unit="examples",
    targets="labels",
    command="classify",
    made_by="nmt train sentiment",
    does="classifies texts",
    pipeline="text-classification",
    text="text with labels",
    text_hint="a table with the columns text and label, or nmt init --train TEXTS LABELS "
    "--task classification (line N of one is the label of line N of the other)",
    request=("/classify", '{"texts": ["{text}"]}'),
)
TASKS = {facts.name: facts for facts in (TRANSLATION, CHAT, CLASSIFICATION)}
