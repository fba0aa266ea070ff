"""Where in a study's file a value stands, for errors that are found when the study is prepared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from bridge.studies.input.run_options import Value, checked_value
from traces.base.errors import leading

#: An option and its value → file, table and key; ``("file", NAME)`` is the log of a workload.
Origins: TypeAlias = Mapping[tuple[str, Value], str]

#: A text that is no part of a longer word.
_WORD = r"(?<![\w-]){}(?![\w-])"


def origins_of(given: Mapping[str, Any], path: str) -> Origins:
    """Of every value in the tables of a study's file, which have been checked."""
    found: dict[tuple[str, Value], str] = {}
    for where, table in _tables(given):
        for name, values in table.items():
            for value in values if isinstance(values, list) and "grid" in where else [values]:
                known = value if name in ("file", "name") else checked_value(name, value, where)
                found.setdefault((name, known), f"{path}: {where}{name}")
    return found


def _tables(given: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    # The more special ones first: what a cell says holds there.
    grids = given.get("grid", [])
    for k, cell in enumerate(given.get("cell", [])):
        yield f"[[cell]] {k + 1}: ", cell
    for k, grid in enumerate([grids] if isinstance(grids, dict) else grids):
        yield "[grid] " if isinstance(grids, dict) or len(grids) == 1 else f"[[grid]] {k + 1}: ", grid
    for k, workload in enumerate(given.get("workload", [])):
        yield f"[[workload]] {k + 1}: ", workload
    yield "[run] ", given.get("run", {})


#: Values that are ordinary words of errors, too.
_ORDINARY = ("all", "log", "none", "paper")


def with_origin(error: str, given: Mapping[str, Value], origins: Origins, before: str = "") -> str:
    """An error of a cell that is given some options, with the place of what it is about in front.

    That is the option that the error begins with, or else the one whose value it names. In any other case ``before`` is put
    in front of the error.
    """
    option, rest = leading(error)
    if option is not None and (place := origins.get((option.name, given.get(option.name)))):
        return f"{place}: {option.said or rest.removeprefix(':').lstrip()}{rest * bool(option.said)}"
    error = before + error
    for name, value in given.items():
        texts = [text for text in (value if isinstance(value, tuple) else (value,)) if isinstance(text, str)]
        telling = (text for text in texts if text and text not in _ORDINARY)
        if (name, value) in origins and any(re.search(_WORD.format(re.escape(text)), error) for text in telling):
            return f"{origins[name, value]}: {error}"
    return error
