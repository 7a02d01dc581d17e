"""Tests of nmt_cli/tasks and config/tasks.py: a task is told apart in one place only."""

import re
from pathlib import Path
from typing import get_args

import pytest

import nmt_cli
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TASKS
from nmt_cli.tasks.task import Task, task_of

PACKAGE = Path(nmt_cli.__file__).parent
NAMED = "|".join(("TRANSLATION", "CHAT", "CLASSIFICATION", *map("[\"']{}[\"']".format, TASKS)))
COMPARED = re.compile(rf"(==|!=|\bis|\bcase) *({NAMED})|task in \([^\n]*({NAMED})")


def test_no_room_but_these_compares_the_name_of_a_task():
    rooms = [p for p in PACKAGE.rglob("*.py") if p.relative_to(PACKAGE).parts[0] != "config"]
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in rooms
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if COMPARED.search(line)
    ]
    assert found == []


def test_the_configuration_knows_the_same_tasks():
    assert get_args(Config.model_fields["task"].annotation) == tuple(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_its_ways(name):
    assert isinstance(task_of(TASKS[name]), Task)
