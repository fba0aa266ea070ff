"""Dataclasses that hold the values of options, perhaps nested, for the command line, studies, Python and records.

A field says with :func:`holds` whose value it has, and with :func:`part` that it is such a dataclass itself. No other place
lists the options: commands take the fields as parameters, flat keywords are put where they belong, and a record of a run has
all values under the names that the options have in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, fields, replace
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

from traces.base.errors import one_of
from traces.base.option import Option

T = TypeVar("T")

_OPTION, _PART = "option", "part"


def holds(option: Option[Any], *default: Any) -> Any:
    """A field that holds the value of an option; ``default``: what stands there if it is not given, if not the option's."""
    return field(default=default[0] if default else option.default, metadata={_OPTION: option})


def part(kind: type) -> Any:
    """A field that holds a dataclass whose fields hold options; by default one of their defaults."""
    return field(default_factory=kind, metadata={_PART: kind})


def knows_its_keywords(kind: type[T]) -> type[T]:
    """Let a dataclass refuse unknown keywords with an InputError that names the nearest known one."""
    declared: Any = kind
    made, known = declared.__init__, [one.name for one in fields(declared) if one.init]

    @wraps(made)
    def checked(self: T, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                raise one_of("keyword", name, known, kind.__name__)
        made(self, *args, **given)

    declared.__init__ = checked
    return kind


class OptionPlace(NamedTuple):
    """Where an option's value is."""

    option: Option[Any]
    path: tuple[str, ...]  # the names of fields, from the outermost dataclass to the value
    default: Any  # what is there if nothing is given


@cache
def places(kind: type) -> tuple[OptionPlace, ...]:
    """The options of a dataclass and of its parts, in their order; a class's own precede inherited ones."""
    return tuple(_places(kind))


def _places(kind: Any) -> Iterator[OptionPlace]:
    declaring = {
        name: at for at, one in reversed([*enumerate(kind.__mro__)]) for name in vars(one).get("__annotations__", ())
    }
    for one in sorted(fields(kind), key=lambda one: declaring[one.name]):
        if option := one.metadata.get(_OPTION):
            yield OptionPlace(option, (one.name,), None if one.default is MISSING else one.default)
        elif inner := one.metadata.get(_PART):
            yield from (place._replace(path=(one.name, *place.path)) for place in places(inner))


@cache
def by_keyword(kind: type) -> Mapping[str, OptionPlace]:
    """The same by the options' keywords in Python, as ``overhead_ns``."""
    return {place.option.keyword.lower(): place for place in places(kind)}


@cache
def by_key(kind: type) -> Mapping[str, OptionPlace]:
    """The same by the options' names on the command line, with underscores, as ``overhead``."""
    return {place.option.key: place for place in places(kind)}


def built(kind: type[T], values: Mapping[tuple[str, ...], Any]) -> T:
    """A dataclass with these values at their paths (:class:`OptionPlace`), and defaults elsewhere."""
    given: dict[str, Any] = {}
    for name, (value, inner) in _by_name(values).items():
        given[name] = built(_part_of(kind, name), inner) if inner else value
    return kind(**given)


def _part_of(kind: Any, name: str) -> type:
    found: type = next(one.metadata[_PART] for one in fields(kind) if one.name == name)
    return found


def with_values(whole: T, values: Mapping[tuple[str, ...], Any]) -> T:
    """A dataclass with other values at some paths (:class:`OptionPlace`)."""
    changed: dict[str, Any] = {}
    for name, (value, inner) in _by_name(values).items():
        changed[name] = with_values(getattr(whole, name), inner) if inner else value
    return replace(whole, **changed) if changed else whole  # type: ignore[type-var]


def _by_name(values: Mapping[tuple[str, ...], Any]) -> dict[str, tuple[Any, dict[tuple[str, ...], Any]]]:
    # Of each field its value, or, of a part, the values within.
    found: dict[str, tuple[Any, dict[tuple[str, ...], Any]]] = {}
    for (name, *rest), value in values.items():
        if rest:
            found.setdefault(name, (None, {}))[1][tuple(rest)] = value
        else:
            found[name] = value, {}
    return found


def values(whole: Any) -> dict[str, Any]:
    """All values by the options' keys (:attr:`Option.key`)."""
    found = {}
    for place in places(whole.__class__):
        value = whole
        for name in place.path:
            value = getattr(value, name)
        found[place.option.key] = value
    return found


def recorded(whole: Any) -> dict[str, Any]:
    """All values as plain ones, for a record of a run, under the options' names in Python; a field without an option under its
    own."""
    found: dict[str, Any] = {}
    for one in fields(whole):
        value = getattr(whole, one.name)
        if _PART in one.metadata:
            found |= recorded(value)
        else:
            option = one.metadata.get(_OPTION)
            found[one.name if option is None else option.keyword.lower()] = plain(value)
    return found


def plain(value: Any) -> Any:
    """A value as JSON has it: of a path its text, of a sequence a list, of an object its name, or where it comes from."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | int | float | Mapping):
        return value
    return value.source if hasattr(value, "source") else value.name
