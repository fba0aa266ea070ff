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
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import read_given

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
    source = os.fspath(path)
    data = read_given(path, "priority file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not valid TOML: byte {error.start} is not UTF-8") from None
    return parse_priority_file(text, source, settings, tables)


def parse_priority_file(
    text: str, source: str, settings: Collection[str], tables: Mapping[str, Collection[str]]
) -> PriorityFile:
    """Read a TOML text; ``source`` is its name for messages. The rest as :func:`load_priority_file`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError) as error:  # nested too deeply; a number too long to convert
        raise InputError(f"{source}: not usable TOML: {' '.join(str(error).split())}") from None
    _check_keys(content, [*settings, *tables], f"{source}: ")
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for name, known in tables.items():
        rows = content.pop(name, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{source}: {name}: {shown(rows)} is no list of tables; allowed: [[{name}]] tables")
        for place, row in enumerate(rows):
            _check_keys(row, known, f"{source}: {name}[{place}].")
        found[name] = tuple(rows)
    return PriorityFile(source, content, found)


def _check_keys(values: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in values:
        if key not in known:
            shown_key = key if key.isprintable() and len(key) <= 60 else shown(key)
            raise one_of("key", key, known, f"{where}{shown_key}")
