"""Options are declared once: defaults, limits and names stand nowhere else, and the pages say what is declared."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, section, table

import als.options
import bls.options
import bridge.options.declared
import traces.base.shared_options
from bridge.cli.run_commands import COMMANDS
from bridge.cli.trace_commands import trace_app
from bridge.cli.workload.commands import workload_app
from traces import InputError
from traces.base.option import Choice, Option, Real, Whole, number_text

PACKAGES = ("bls", "als", "bridge", "traces")
#: Where options are declared, and the one that lets none be written elsewhere.
DECLARING = [als.options, bls.options, bridge.options.declared, traces.base.shared_options]
DECLARED: list[tuple[str, Option[Any]]] = [
    (f"{module.__name__}.{name}", value)
    for module in DECLARING
    for name, value in vars(module).items()
    if isinstance(value, Option) and name in module.__all__
]

#: Units at the end of a name in Python, which an option's name on the command line has not.
UNITS = ("ns", "s", "gbps", "gflop", "gflops")


def python_names() -> set[str]:
    plain = {option.name.lstrip("-").replace("-", "_") for _, option in DECLARED}
    return plain | {f"{name}_{unit}" for name in plain for unit in UNITS}


def trees(*words: str) -> Iterator[tuple[Path, ast.Module]]:
    """Modules that contain one of some words."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in words):
                yield path.relative_to(ROOT), ast.parse(text)


def defaults(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The defaults that a function's arguments, or a class's fields, have."""
    if isinstance(node, ast.FunctionDef):
        given = node.args
        named = [*given.posonlyargs, *given.args]
        yield from zip([one.arg for one in named[len(named) - len(given.defaults) :]], given.defaults, strict=True)
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if default is not None:
                yield one.arg, default
    elif isinstance(node, ast.ClassDef):
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
                yield field.target.id, field.value


#: Names that are other things there: parameters of one technique, generator or file, and not the option.
OTHERS = {
    ("als/techniques/fixed/tss.py", "steps"),
    ("als/graphs/generators/stencil.py", "steps"),
    ("als/graphs/generators/chain.py", "tasks"),
    ("als/graphs/generators/layered.py", "tasks"),
    ("als/lengths/__init__.py", "variation"),
    ("als/lengths/file.py", "unit"),
    ("bls/policies/slurm/parameters.py", "select"),
}


def test_no_default_is_declared_twice() -> None:
    names, found = python_names(), set()
    for path, tree in trees("="):
        for node in ast.walk(tree):
            for name, value in defaults(node):
                # None, "", False and () are "not said"; anything else is a default of its own.
                if name in names and isinstance(value, ast.Constant) and value.value not in (None, "", False, True):
                    found.add((str(path), name))
    assert found <= OTHERS
    assert {"overhead_ns", "slack", "seed", "als_timeout_s", "bandwidth_gbps"} <= names


@pytest.mark.parametrize(("place", "option"), DECLARED, ids=[place for place, _ in DECLARED])
def test_a_declaration_is_whole(place: str, option: Option[Any]) -> None:
    assert option.help
    assert not option.help.endswith(".")
    assert option.name == option.name.strip()
    assert option.metavar or option.off or option.default is False
    if isinstance(option, Whole | Real):
        assert option.lowest < option.highest
        assert option.limits in option.text
        assert option.check(option.lowest) == option.lowest
        assert option.check(option.highest) == option.highest
        for outside in (option.lowest - 1, option.highest * 2):
            with pytest.raises(InputError, match=rf"^{option.name}: .* is out of range; allowed: "):
                option.check(outside)
        if option.default is not None:
            assert option.check(option.default) == option.default
    if option.is_time:
        assert f"; a bare number is {option.unit}; " in option.text
        assert option.check(option.read("1ms")) == option.read(f"{1e-3 if option.unit == 's' else 10**6}")
        with pytest.raises(
            InputError, match=rf"^{option.name}: 'soon' is no time; allowed: .* number of {option.unit}$"
        ):
            option.read("soon")
    if isinstance(option, Choice):
        assert option.check(option.default) == option.default
        assert set(option.choices) <= {word.strip(",:;") for word in option.help.split()}
        with pytest.raises(InputError, match=rf"^{option.name}: unknown {option.what} 'x'; known: "):
            option.check("x")


def test_numbers_of_limits_are_short_and_exact() -> None:
    said = {0: "0", 10.0: "10", 1e-9: "1e-9", 1e-3: "0.001", 1024: "1024", 10**12: "1e12", 3600 * 10**9: "3.6e12"}
    said |= {2**20: "2^20", 2**64 - 1: "2^64 - 1", 86_400.0: "86400", 1234567.5: "1234567.5", 12345678: "12345678"}
    assert {number: number_text(number) for number in said} == said


def command_options(command: str) -> dict[str, tuple[Option[Any], Any]]:
    """What a command has of declared options, by the name on the command line."""
    group, _, name = command.partition(" ")
    if name:
        commands = {"workload": workload_app, "trace": trace_app}[group].registered_commands
        function: Any = next(one.callback for one in commands if one.name == name)
    else:
        function = COMMANDS[command].function(command)
    found: dict[str, tuple[Option[Any], Any]] = getattr(function, "options", {})
    return {option.name: (option, default) for option, default in found.values()}


def shown_default(option: Option[Any], default: Any) -> str:
    """A default as a page shows it."""
    if option.rule:
        return option.rule
    if default is inspect.Parameter.empty or (option.name == "--out" and default is None):
        return "needed"
    value = option.default if default is None else default
    if value is None or value is False or value in ((), ""):
        return ""
    return f"`{value}`" if isinstance(value, str) else number_text(value)


TABLES = ("run", "grid", "study", "loop", "graph", "compare")
WORKLOAD_TABLES = ("info", "cut", "merge", "generate", "fetch")
TRACE_TABLES = ("cut", "convert")


@pytest.mark.parametrize(
    "command", [*TABLES, *(f"workload {name}" for name in WORKLOAD_TABLES), *(f"trace {name}" for name in TRACE_TABLES)]
)
def test_the_tables_of_options_say_what_is_declared(command: str) -> None:
    rows = table(section(ROOT / "docs" / "reference/cli.md", f"twolevel {command}"))
    options, seen = command_options(command), set()
    for head, default, *meaning in rows:
        name = next((one for one in options if f"`{one} " in f"{head} " or f"`{one}`" in head), None)
        if name is None or "`," in head.replace("`-", ""):
            continue
        option, own = options[name]
        seen.add(name)
        if option.metavar:
            assert f"{name} {option.metavar}`" in head, head
        if (command, name) not in DIFFERENT:
            assert default == shown_default(option, own), head
        if option.limits:
            assert option.limits in " ".join(meaning), head
        if isinstance(option, Choice):
            assert all(f"`{choice}`" in " ".join((default, *meaning)) for choice in option.choices), head
    assert seen, command


#: Where a page says more of a default than the help does.
DIFFERENT = {("compare", "--out")}
