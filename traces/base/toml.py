"""TOML that a user writes: its tables, or one clear line about what is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from typing import Any

from traces.base.errors import InputError, one_of, shown, shown_name
from traces.base.parsing import parsing


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The content of a TOML text; ``source`` is its name for messages, as of :func:`traces.base.parsing.parsing`.
    Raises InputError if it is none."""
    with parsing("TOML", source):
        return tomllib.loads(text)


def list_of_tables(table: Mapping[str, Any], key: str, source: str) -> list[tuple[str, dict[str, Any]]]:
    """The ``[[key]]`` tables within a table, each with what stands before the names of its keys in an error; perhaps
    none. Raises InputError if it is no list of tables."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{source}: {key}: {shown(found)} is no list of tables; allowed: [[{key}]] tables")
    return [(f"{source}: {key}[{row}].", one) for row, one in enumerate(found)]


def check_keys(values: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Check that all keys are known; ``where`` stands before a key's name in the error. Raises InputError if one is
    not; the message lists the known ones, nearest first."""
    for key in values:
        if key not in known:
            raise one_of("key", key, known, f"{where}{shown_name(key)}")
