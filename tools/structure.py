"""How the code is cut into packages, modules and functions: ``python -m tools.structure [FOLDER …]``.

Prints measures, of each package and of all, and judges none: lines of code, sizes of modules and functions (median, 90th
percentile and largest), functions of more than 60 and of more than 100 lines, of more than 8 and of more than 12 parameters,
nested deeper than 5, kernels without a docstring, and modules at a package's root.

A module's lines are those of its file. A function's lines are those from ``def`` to its end, without decorators; functions
within functions count by themselves, too. Depth counts the blocks around a statement within its function: for, while, if, with,
try and match; ``elif`` is no deeper than its ``if``. A kernel is a function that ``compiled``, or a decorator that ends in
``_kernel``, compiles.
"""

from __future__ import annotations

import argparse
import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Function", "Module", "functions_of", "measures", "modules_below"]

PACKAGES = ("bls", "als", "bridge", "traces")

_LONG, _TOO_LONG = 60, 100
_MANY, _TOO_MANY = 8, 12
_DEEP = 5


@dataclass(frozen=True)
class Function:
    """A function, or a method.

    Attributes
    ----------
    where : str
        ``path:line name``.
    lines, parameters, depth : int
        See the module; parameters without ``self`` and ``cls``.
    is_kernel, has_docstring : bool
    """

    where: str
    lines: int
    parameters: int
    depth: int
    is_kernel: bool
    has_docstring: bool


@dataclass(frozen=True)
class Module:
    """A file."""

    path: Path
    lines: int
    functions: tuple[Function, ...]


_BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _depth(node: ast.AST, around: int = 0) -> int:
    deepest = around
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _SCOPES):
                continue
            is_elif = isinstance(node, ast.If) and name == "orelse" and isinstance(child, ast.If) and len(value) == 1
            inner = isinstance(child, _BLOCKS) and not is_elif
            deepest = max(deepest, _depth(child, around + inner))
    return deepest


def _is_kernel(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "compiled" or name.endswith("_kernel")


def functions_of(path: Path, text: str) -> Iterator[Function]:
    """The functions of a module's text."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        taken = node.args
        names = [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
        more = (taken.vararg is not None) + (taken.kwarg is not None)
        yield Function(
            f"{path}:{node.lineno} {node.name}",
            (node.end_lineno or node.lineno) - node.lineno + 1,
            len(names) - (names[:1] in (["self"], ["cls"])) + more,
            _depth(node),
            any(map(_is_kernel, node.decorator_list)),
            ast.get_docstring(node) is not None,
        )


def modules_below(folder: Path) -> list[Module]:
    """The modules below a folder, by their paths."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(path, len(text.splitlines()), tuple(functions_of(path, text))))
    return found


def _spread(values: Sequence[int]) -> str:
    # Median, 90th percentile and largest, each one of the values (nearest rank).
    ordered = sorted(values)
    if not ordered:
        return "-"
    return "/".join(str(ordered[math.ceil(share * len(ordered)) - 1]) for share in (0.5, 0.9, 1.0))


def measures(modules: Sequence[Module], root: Path | None) -> dict[str, str]:
    """The measures of some modules, by their names; ``root`` is the package that they are all of."""
    functions = [one for module in modules for one in module.functions]
    kernels = [one for one in functions if one.is_kernel]

    def over(count: int) -> str:
        return f"{count} ({count / max(1, len(functions)):.1%})"

    return {
        "lines": str(sum(module.lines for module in modules)),
        "modules": str(len(modules)),
        "modules at the root": "-" if root is None else str(sum(module.path.parent == root for module in modules)),
        "module median/p90/max lines": _spread([module.lines for module in modules]),
        "functions": str(len(functions)),
        "function median/p90/max lines": _spread([one.lines for one in functions]),
        f"functions over {_LONG} lines": over(sum(one.lines > _LONG for one in functions)),
        f"functions over {_TOO_LONG} lines": over(sum(one.lines > _TOO_LONG for one in functions)),
        f"more than {_MANY} parameters": over(sum(one.parameters > _MANY for one in functions)),
        f"more than {_TOO_MANY} parameters": over(sum(one.parameters > _TOO_MANY for one in functions)),
        "most parameters": str(max((one.parameters for one in functions), default=0)),
        f"deeper than {_DEEP}": over(sum(one.depth > _DEEP for one in functions)),
        "deepest": str(max((one.depth for one in functions), default=0)),
        "kernels without docstring": f"{sum(not one.has_docstring for one in kernels)} of {len(kernels)}",
    }


def _listed(modules: Sequence[Module]) -> Iterator[str]:
    # What is beyond a bound, a line each.
    for one in (one for module in modules for one in module.functions):
        checked = (
            (one.lines, _TOO_LONG, "lines"),
            (one.parameters, _TOO_MANY, "parameters"),
            (one.depth, _DEEP, "levels"),
        )
        if beyond := [f"{value} {what}" for value, bound, what in checked if value > bound]:
            yield f"{one.where}: {', '.join(beyond)}"


def main() -> None:
    """Print a table, a column for each package, and with ``--list`` the functions beyond a bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=PACKAGES, metavar="FOLDER", help="default: the packages")
    bounds = f"{_TOO_LONG} lines, {_TOO_MANY} parameters or {_DEEP} levels"
    parser.add_argument("--list", action="store_true", help=f"also name the functions of more than {bounds}")
    given = parser.parse_args()
    by_root = {}
    for root in map(Path, given.folders):
        if not root.is_dir():
            parser.error(f"{root}: no such folder")
        by_root[root] = modules_below(root)
    everything = [module for modules in by_root.values() for module in modules]
    columns = {str(root): measures(modules, root) for root, modules in by_root.items()}
    if len(by_root) > 1:
        columns["all"] = measures(everything, None)
    names = list(next(iter(columns.values())))
    widths = [max(len(head), *(len(column[name]) for name in names)) for head, column in columns.items()]
    for name, *cells in [("", *columns), *((name, *(column[name] for column in columns.values())) for name in names)]:
        print("  ".join([name.ljust(max(map(len, names))), *map(str.rjust, cells, widths)]))
    if given.list:
        print(*_listed(everything), sep="\n")


if __name__ == "__main__":
    main()
