"""What each task does in its own way: one file for each task, chosen here."""

from typing import TYPE_CHECKING

from nmt_cli.config import tasks

if TYPE_CHECKING:
    from nmt_cli.tasks.task import Task


def task_of(facts: tasks.TaskFacts) -> "Task":
    """Return what a task does in its own way."""
    from nmt_cli.tasks.classification import Classification
    from nmt_cli.tasks.writing import Writing

    ways: dict[tasks.TaskFacts, Task] = {
        tasks.TRANSLATION: Writing(),
        tasks.CHAT: Writing(),
        tasks.CLASSIFICATION: Classification(),
    }
    return ways[facts]
