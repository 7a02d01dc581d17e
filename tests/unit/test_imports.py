"""Tests of the imports between files: none leads back to where it began."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import nmt_cli

PACKAGE = Path(nmt_cli.__file__).parent


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def imported(path: Path, modules: set[str]) -> Iterator[str]:
    """Yield the modules that a file imports: at its top, in a function or for its types."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules else str(node.module)


def test_no_files_import_each_other_in_a_circle():
    # The package's own face hands names on from above: whoever takes the version imports it.
    files = {module_of(p): p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py"}
    names = {name.removesuffix(".__init__"): name for name in files}
    graph = {
        name: {names[other] for other in imported(path, {*names}) if other in names} - {name}
        for name, path in files.items()
    }
    assert any(graph.values())
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
