"""Plug-ins that are written as ``NAME:key=value,…`` or ``file:PATH,key=value,…``: found, and made with these parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from traces.base.errors import InputError
from traces.base.mentions import leading
from traces.base.naming import split_parameters, with_parameters
from traces.base.plugins import resolve

T = TypeVar("T")

# A file's name may hold a comma; what follows the last ones and is key=value belongs to how it is taken.
_FILE = re.compile(r"file:(.*?)((?:,\s*[A-Za-z_]\w*\s*=[^,]*)*)", re.DOTALL)


@contextmanager
def at_its_place(where: str) -> Iterator[None]:
    """Have errors begin with where a plug-in was written: with a line of a file; an option's plug-in says it all."""
    try:
        yield
    except InputError as error:
        if leading(where)[0] is not None or error.text.startswith(where):
            raise
        raise InputError(f"{where}: {error.text}") from None


def without_parameter(spec: str, key: str, where: str, noun: str) -> tuple[str, str | None]:
    """Split a parameter off a spec, ``NAME:key=value,…`` or ``file:PATH,key=value,…``.

    Returns:
    - ``rest``: the spec without this parameter.
    - ``value``: what it is given; None: it is not given.

    Raises InputError if it is given twice.
    """
    match = _FILE.fullmatch(spec)
    name, text = (f"file:{match[1]}", match[2][1:]) if match else split_parameters(spec)
    rest, values = [], []
    for part in text.split(","):
        word, _, value = part.partition("=")
        if word.strip() == key:
            values.append(value.strip())
        else:
            rest.append(part)
    if not values:
        return spec, None
    if len(values) > 1:
        raise InputError(f"{where}: parameter {key} of {noun} {name} is given twice")
    return f"{name}{',' if match else ':'}{','.join(rest)}" if rest else name, values[0]


def parameterised(
    kind: str,
    spec: str,
    builtin: Mapping[str, T],
    group: str,
    expected: type[T],
    where: str,
    *,
    from_file: Callable[[str], T],
    made: type[Any],
    noun: str,
    also: tuple[str, ...] = (),
    shared: tuple[str, ...] = (),
) -> tuple[T, bool]:
    """What is written as ``spec``, and whether it is one of ours.

    - ``kind``, ``builtin``, ``group``, ``expected``, ``where``, ``also``: as of :func:`traces.base.plugins.resolve`.
    - ``spec``: a name that is found there, or ``file:PATH``; each perhaps with parameters behind it.
    - ``from_file``: what makes the plug-in of a path.
    - ``made``: what a plug-in makes in the end; one that is that already has no parameters.
    - ``noun``: what it is, in errors about its parameters.
    - ``shared``: as of :func:`traces.base.naming.with_parameters`.

    Raises InputError if there is none, or a parameter cannot be. Raises PluginError if it cannot be loaded, or is not
    what it should be.
    """
    if match := _FILE.fullmatch(spec):
        named = from_file(match[1])
        return (with_parameters(named, match[2][1:], where, noun, shared) if match[2] else named), True
    plain, text = split_parameters(spec)
    found = resolve(kind, plain, builtin, group, expected, where, also=also)
    if text and isinstance(found, made):
        raise InputError(f"{where}: {spec}: {getattr(found, 'name', plain)} has no parameters")
    return (with_parameters(found, text, where, noun, shared) if text else found), plain in builtin
