"""Instants that a user gives: durations since time 0, which may be 0 itself."""

from __future__ import annotations

from traces.base.errors import InputError, shown
from traces.base.ranges import whole
from traces.base.time import MAX_NS, NS_PER_S, parse_instant_ns

_MAX_S = MAX_NS // NS_PER_S


def given_instant_ns(value: object, where: str) -> int:
    """Nanoseconds of an instant in a TOML file: a text such as ``"1.5h"``, or whole seconds from 0. Raises InputError
    if it is neither."""
    if isinstance(value, str):
        return parse_instant_ns(value, where)
    if isinstance(value, int) and not isinstance(value, bool):
        return whole(where, value, 0, _MAX_S) * NS_PER_S
    raise InputError(f"{where}: {shown(value)} is no time; allowed: as 3600 (seconds) or '24h'")


def given_duration_ns(value: object, where: str) -> int:
    """As :func:`given_instant_ns`, but above 0."""
    ns = given_instant_ns(value, where)
    if ns == 0:
        raise InputError(f"{where}: {shown(value)} is out of range; allowed: a time above 0, as '24h'")
    return ns
