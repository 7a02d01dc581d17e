"""Tests of nmt_cli/tasks and config/tasks.py: tasks are told apart there and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import nmt_cli
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TASKS
from nmt_cli.tasks import task_of
from nmt_cli.tasks.task import Task

PACKAGE = Path(nmt_cli.__file__).parent
FACTS = {name.upper() for name in TASKS}  # CHAT and the others, as config/tasks.py names them
COMPARING = {"get", "startswith", "endswith", "index", "count", "__eq__", "__contains__"}


def named_in(node: ast.AST) -> set[str]:
    """Return the tasks that an expression names, by their facts or as strings."""
    parts = [*ast.walk(node)]
    strings = {part.value for part in parts if isinstance(part, ast.Constant)}
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return strings & {*TASKS} | names & FACTS


def comparisons(code: str) -> Iterator[int]:
    """Yield the lines where code asks which task it has: by ==, in, match or as a key."""
    for node in ast.walk(ast.parse(code)):
        named: set[str] = set()
        if isinstance(node, ast.Compare | ast.Set):
            named = named_in(node)
        elif isinstance(node, ast.match_case):
            named = named_in(node.pattern)
        elif isinstance(node, ast.Dict):  # a section of the configuration is called "chat", too
            keys = set().union(*(named_in(key) for key in node.keys if key))
            named = keys if len(keys) > 1 else keys & FACTS
        elif isinstance(node, ast.Subscript):
            named = named_in(node.slice) & FACTS
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_comparing = node.func.attr in COMPARING
            named = set().union(*map(named_in, [*node.args, node.func.value])) & FACTS
            named = named if is_comparing else set()
        elif isinstance(node, ast.alias):  # under another name it would not be seen
            named = {node.name} & FACTS if node.asname else set()
        if named:
            yield getattr(node, "lineno", 0) or node.pattern.lineno


@pytest.mark.parametrize(
    "code",
    [
        'if config.task == "chat": pass',
        'if "chat" != name: pass',
        "if facts is CHAT: pass",
        "if tasks.CHAT == facts: pass",
        "if facts in (TRANSLATION, CHAT): pass",
        "if facts in {CHAT}: pass",
        'kind = {"chat": 1, "translation": 2}[name]',
        "kind = {CHAT: 1}.get(facts)",
        "kinds.get(CHAT)",
        "kinds[CHAT]",
        "CHAT.__eq__(facts)",
        'match name:\n  case "chat": pass',
        "match facts:\n  case tasks.CHAT: pass",
        "from nmt_cli.config.tasks import CHAT as talking",
    ],
)
def test_a_comparison_is_found_however_it_is_written(code):
    assert [*comparisons(code)]


@pytest.mark.parametrize("code", ["find_bundle(model, CHAT)", 'config["chat"]', "task or CHAT"])
def test_to_name_a_task_is_not_to_compare_it(code):
    assert not [*comparisons(code)]


def test_no_room_but_these_compares_the_name_of_a_task():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("config", "tasks")
        for line in comparisons(path.read_text())
    ]
    assert found == []


def test_the_configuration_knows_the_same_tasks():
    assert get_args(Config.model_fields["task"].annotation) == tuple(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_its_ways(name):
    assert isinstance(task_of(TASKS[name]), Task)
