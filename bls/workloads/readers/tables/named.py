"""The maps of the project: of published logs, and of the tables that ``twolevel`` writes. Each is recognised by columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from bls.workloads.readers.tables.column_map import ColumnMap, parse_map, read_map
from traces.base.errors import InputError, one_of

_FOLDER = "workloads/readers/tables/maps"
_ENDING = ".toml"
_SEPARATORS = ",\t;|"
_KEY = re.compile(r'"([^"\\]*)"\s*:')


@cache
def map_names() -> tuple[str, ...]:
    """The names of the maps, sorted."""
    every = (entry.name for entry in files("bls").joinpath(_FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in every if name.endswith(_ENDING)))


def map_text(name: str) -> str:
    """The TOML text of a map of the project."""
    return files("bls").joinpath(f"{_FOLDER}/{name}{_ENDING}").read_text(encoding="utf-8")


@cache
def named_map(name: str) -> ColumnMap:
    """A map of the project. Raises InputError if there is none of this name."""
    if name not in map_names():
        raise one_of("map of columns", name, map_names())
    return parse_map(map_text(name), f"map {name}")


def given_map(given: str) -> ColumnMap:
    """The map that a user names: one of the project's, or a TOML file. Raises InputError if it cannot be read or used."""
    return read_map(given) if given.lower().endswith(_ENDING) else named_map(given)


def recognised(columns: Iterable[str]) -> ColumnMap | None:
    """The map whose columns a table has: of several the one with most columns; None if there is none."""
    there = set(columns)
    fitting = [
        found for name in map_names() if (found := named_map(name)).recognised and there.issuperset(found.recognised)
    ]
    return max(fitting, key=lambda one: len(one.recognised), default=None)


def header_names(line: str, separator: str, source: str) -> tuple[str, ...]:
    """The names of columns in the first line of a CSV file. Raises InputError if it is none."""
    try:
        return tuple(name.strip() for name in next(csv.reader([line], delimiter=separator), []))
    except csv.Error as error:
        raise InputError(f"{source}: line 1: not CSV: {error}") from None


def separator_of(line: str) -> str:
    """The usual separator that is most frequent in a line, outside quotation marks; a comma if there is none."""
    outside = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)


def is_recognised(beginning: str, line: str) -> bool:
    """Whether a map of the project recognises a table, by the text at its beginning and its first line."""
    if line.lstrip().startswith(("{", "[")):
        return recognised(_KEY.findall(beginning)) is not None
    try:
        return recognised(header_names(line, separator_of(line), "")) is not None
    except InputError:
        return False
