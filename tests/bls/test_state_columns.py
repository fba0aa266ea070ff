"""The columns of the batch state that are indexed by name: each only by the names of its own entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bls.engine import state as b

ROOT = Path(b.__file__).parent.parent.parent

#: The name that says how many entries a column has follows theirs.
SIZE_OF = {"jobs": "COLUMNS", "settings": "SETTINGS", "clock": "CLOCK", "sizes": "SIZES"}


def _numbers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
            (target,) = node.targets
            assert isinstance(target, ast.Name)
            yield target.id, node.value.value


def _groups() -> dict[str, list[str]]:
    # The names of the entries of each column, as bls/engine/state.py gives them.
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for name, number in _numbers(ast.parse(Path(b.__file__).read_text())):
        if column := next((column for column, size in SIZE_OF.items() if size == name), None):
            found[column], names = names, []
            assert number == len(found[column])
        else:
            names = [*names, name] if number == len(names) else [name]
            assert number in (len(names) - 1, getattr(b, name))
    return found


GROUPS = _groups()


def _indices(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    # Line, column and name of every entry that is asked for by name.
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript):
            continue
        column = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        column = column.lstrip("_")
        index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        if column in GROUPS:
            for one in index.elts if isinstance(index, ast.List) else [index]:
                name = one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "").lstrip("_")
                if name.isupper():
                    yield node.lineno, column, name


def test_the_names_of_all_columns_are_numbered_from_zero_and_no_name_is_of_two() -> None:
    assert {column: len(names) for column, names in GROUPS.items()} == {
        column: getattr(b, size) for column, size in SIZE_OF.items()
    }
    for names in GROUPS.values():
        assert [getattr(b, name) for name in names] == list(range(len(names)))
    every = [name for names in GROUPS.values() for name in names]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("package", ["bls", "bridge"])
def test_an_entry_is_asked_for_by_a_name_of_its_column(package: str) -> None:
    seen = 0
    for path in (ROOT / package).rglob("*.py"):
        source = path.read_text()
        if "bls.engine" not in source:
            continue
        for line, column, name in _indices(ast.parse(source)):
            seen += 1
            assert name in GROUPS[column], f"{path.relative_to(ROOT)}:{line}: {column} has no entry {name}"
    assert seen > 0


@pytest.mark.parametrize("path", sorted((ROOT / "bls" / "engine").rglob("*.py")), ids=lambda path: path.stem)
def test_the_engine_asks_for_entries_by_name_and_calls_a_column_by_its_name(path: Path) -> None:
    columns = {"settings", "clock", "sizes"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Subscript):
            column = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            assert column not in columns or not isinstance(node.slice, ast.Constant), f"line {node.lineno}"
        elif isinstance(node, ast.Assign):
            for target, value in _bound(node):
                if {target, value} & columns and value:
                    assert target == value, f"line {node.lineno}: {target} = state.{value}"


def _bound(node: ast.Assign) -> Iterator[tuple[str, str]]:
    # Each variable that is given an attribute, and which.
    (target,) = node.targets if len(node.targets) == 1 else (None,)
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    if len(targets) == len(values):
        for one, value in zip(targets, values, strict=True):
            if isinstance(one, ast.Name) and isinstance(value, ast.Attribute):
                yield one.id, value.attr
