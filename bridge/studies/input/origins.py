"""Where in a study's file a value stands, for errors that are found when the study is prepared."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from bridge.studies.input.run_options import (
    NAMED,
    GivenOption,
    Value,
    checked_value,
    entries,
    is_axis,
    parts,
    shared_entries,
)
from traces.base.errors import leading

#: An option and its value → file, table and key; ``("file", NAME)`` is the log of a workload.
Origins: TypeAlias = Mapping[tuple[str, Value], str]

#: A text that is no part of a longer word.
_WORD = r"(?<![\w-]){}(?![\w-])"


def origins_of(given: Mapping[str, Any], path: str) -> Origins:
    """Of every value in the tables of a study's file, which have been checked."""
    found: dict[tuple[str, Value], str] = {}
    for one, several in _entries(given):
        for value in one.value if several and isinstance(one.value, list) else [one.value]:
            known: Any = value if one.option in ("file", "name") else checked_value(one.option, value, one.where)
            found.setdefault((one.option, known), f"{path}: {one.where}")
    return found


def _entries(given: Mapping[str, Any]) -> Iterator[tuple[GivenOption, bool]]:
    # Each with whether it is a list of values; the more special ones first: what a cell says holds there.
    grids, workloads = given.get("grid", []), given.get("workload", [])
    for k, cell in enumerate(given.get("cell", [])):
        yield from ((one, False) for one in entries(cell, f"[[cell]] {k + 1}: "))
    for k, grid in enumerate([grids] if isinstance(grids, dict) else grids):
        where = "[grid] " if isinstance(grids, dict) or len(grids) == 1 else f"[[grid]] {k + 1}: "
        yield from ((one, True) for one in entries(grid, where))
    for k, workload in enumerate([workloads] if isinstance(workloads, dict) else workloads):
        where = "[workload] " if isinstance(workloads, dict) else f"[[workload]] {k + 1}: "
        named = {"file" if key == "source" else key: key for key in workload if key in NAMED}
        yield from ((GivenOption(name, workload[key], where + key), False) for name, key in named.items())
        if not isinstance(workloads, dict):
            others = {key: value for key, value in workload.items() if key not in NAMED}
            yield from ((one, False) for one in entries(others, where))
    for part in given:
        if part in parts():
            yield from ((one, is_axis(one)) for one in shared_entries(given, part))
    yield from ((one, False) for one in entries(given.get("run", {}), "[run] "))


#: Values that are ordinary words of errors, too.
_ORDINARY = ("all", "log", "none", "paper")


def with_origin(error: str, given: Mapping[str, Value], origins: Origins, before: str = "") -> str:
    """An error of a cell, after the place of the option that it begins with, or of the value that it names; if there is
    neither, ``before`` is put in front."""
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
