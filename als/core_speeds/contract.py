"""What makes the speed of cores change: components, each a factor over time for some cores.

A kind of component is a frozen dataclass with a ``name`` and a method ``component``. Its fields are what may be written
behind the name, as in ``square:period=60s,low=0.5``; a field ``x_ns`` is written as the duration ``x``. It becomes a
:class:`Component`, plain numbers that kernels read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from traces.base.errors import InputError
from traces.base.time import MAX_NS, parse_instant_ns
from traces.compiled import Array
from traces.intervals import parse_intervals

# How a component's factor is computed.
SQUARE = 0  # by a period, and how long of it the factor is 1
NOISE = 1  # by a random number a period
PIECES = 2  # by a list of instants and the factors from them on

#: No factor that a user gives may exceed this.
MAX_FACTOR = 1000.0

#: Longest period (73 years), so that an instant and a period never overflow int64.
MAX_PERIOD_NS = MAX_NS // 2


#: Products of factors that are not below this are not 0, unless there are dozens of them.
_SMALL = 1e-9


def _nothing() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Component:
    """A factor over time, for some cores."""

    kind: int  # ``SQUARE``, ``NOISE`` or ``PIECES``
    cores: Array  # int64 (k,): the global numbers of the cores concerned, ascending
    highest: float  # no factor is above this; at least 1
    # of what repeats; 0: it does not
    period_ns: int = 0
    offset_ns: int = 0
    high_ns: int = 0  # how long of each period the factor is 1 (``SQUARE``)
    level: float = 0.0  # the other factor (``SQUARE``), or the standard deviation of the factor's logarithm (``NOISE``)
    # int64 (k,): which pieces each of the cores has (``PIECES``)
    piece_begin: Array = field(default_factory=_nothing)
    piece_stop: Array = field(default_factory=_nothing)
    # int64: when each piece begins; ascending for each core. Before its first piece a core's factor is 1.
    piece_ns: Array = field(default_factory=_nothing)
    piece_factor: Array = field(default_factory=lambda: np.zeros(0))  # float64: the factor from then on

    @property
    def may_be_zero(self) -> bool:
        """Whether the factor may be 0, or so small that a product is."""
        if self.kind == PIECES:
            return bool((self.piece_factor < _SMALL).any())
        return self.kind == SQUARE and self.level < _SMALL


class SpeedKind(Protocol):
    """The parameters of one kind of component: a frozen dataclass."""

    #: As it is written on the command line.
    name: ClassVar[str]

    def component(self, n_cores: int, where: str) -> Component | None:
        """The component with these parameters, for a machine of ``n_cores`` cores; None if it changes no speed.

        Raises
        ------
        InputError
            If a parameter is missing or out of range; the message begins with ``where``.
        """
        ...


def of_pieces(cores: Array, pieces: list[tuple[int, float]]) -> Component:
    """The component that gives all of ``cores`` the same pieces, (instant in ns, factor)."""
    return Component(
        PIECES,
        cores,
        max(1.0, *(factor for _, factor in pieces)),
        piece_begin=np.zeros(len(cores), np.int64),
        piece_stop=np.full(len(cores), len(pieces), np.int64),
        piece_ns=np.array([at for at, _ in pieces], np.int64),
        piece_factor=np.array([factor for _, factor in pieces], np.float64),
    )


def chosen_cores(text: str, n_cores: int, where: str) -> Array:
    """The cores of a text such as ``0-3 8``, ascending; all of the machine's if it is empty. Raises InputError if it is
    no list of numbers, or names a core that the machine does not have."""
    if not text.strip():
        return np.arange(n_cores, dtype=np.int64)
    found = parse_intervals(text, where, n_cores)
    for lo, hi in found:
        if hi > n_cores:
            raise InputError(f"{where}: core {max(lo, n_cores)}; allowed: 0 to {n_cores - 1}")
    return np.concatenate([np.arange(lo, hi, dtype=np.int64) for lo, hi in found] or [_nothing()])


def instant_ns(text: str, where: str) -> int:
    """Nanoseconds since time 0 of an instant that is written as a duration; unlike a duration it may be 0."""
    if not text.strip():
        raise InputError(f"{where}: is missing; allowed: an instant since time 0, as 100s")
    return parse_instant_ns(text, where)


def period(ns: int, where: str) -> int:
    """``ns`` as a period: given, and not too long."""
    if ns == 0:
        raise InputError(f"{where}: is missing; allowed: a duration, as 60s")
    if not 2 <= ns <= MAX_PERIOD_NS:
        raise InputError(f"{where}: {ns} ns; allowed: 2 to {MAX_PERIOD_NS} ns")
    return ns
