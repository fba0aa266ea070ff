"""The TOML file of a priority policy, ``multifactor:config=FILE.toml``: settings at its top, then lists of tables.

What the keys mean is the policy's to say (:mod:`bls.policies.multifactor.settings`); here is only the form::

    fairshare = 2000            # settings, as in multifactor:KEY=VALUE
    max_age = "7d"

    [[accounts]]                # lists of tables
    name = "physics"
    shares = 40

    [[users]]
    number = 17
    account = "physics"
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from traces.base.given_file import read_text
from traces.base.toml import check_keys, list_of_tables, parse_toml

__all__ = ["PriorityFile", "load_priority_file", "parse_priority_file"]


@dataclass(frozen=True)
class PriorityFile:
    """The keys of a file, all of them known; their values are not checked.

    Attributes
    ----------
    source : str
        The file, for messages.
    settings : mapping of str to object
        The keys at the top of the file that were given.
    tables : mapping of str to tuple of mappings
        Every list of tables by its name; empty where the file has none.
    """

    source: str
    settings: Mapping[str, Any]
    tables: Mapping[str, tuple[Mapping[str, Any], ...]]


def load_priority_file(
    path: str | os.PathLike[str], settings: Collection[str], tables: Mapping[str, Collection[str]]
) -> PriorityFile:
    """Read a file.

    Parameters
    ----------
    path : path-like
        As the user gave it.
    settings : collection of str
        The known keys at the top.
    tables : mapping of str to collection of str
        The known lists of tables, each with the known keys of its tables.

    Raises
    ------
    InputError
        One line that names the file and the key: the file is missing or no TOML, a key is unknown, or what should be a
        list of tables is none.
    """
    return parse_priority_file(read_text(path, "priority file", "TOML"), os.fspath(path), settings, tables)


def parse_priority_file(
    text: str, source: str, settings: Collection[str], tables: Mapping[str, Collection[str]]
) -> PriorityFile:
    """Read a TOML text; ``source`` is its name for messages. The rest as :func:`load_priority_file`."""
    content = parse_toml(text, source)
    check_keys(content, [*settings, *tables], f"{source}: ")
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for name, known in tables.items():
        rows = list_of_tables(content, name, source)
        content.pop(name, None)
        for where, row in rows:
            check_keys(row, known, where)
        found[name] = tuple(row for _, row in rows)
    return PriorityFile(source, content, found)
