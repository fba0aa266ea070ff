"""Components that change the speed of cores: each is a factor over time for some cores. Also their kinds.

A kind is a frozen dataclass with a ``name`` and a method ``component``. Its fields may be given after the name, as in
``square:period=60s,low=0.5``; a field ``x_ns`` is given as the duration ``x``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import ClassVar, Protocol

import numpy as np

from als.streams import normal_from_word
from traces.base.errors import InputError, parse_real, real, shown
from traces.base.given_file import read_csv
from traces.base.time import MAX_NS, NS_PER_S, parse_instant_ns
from traces.compiled import Array
from traces.intervals import parse_intervals

# How a component's factor is computed: from a period and the part of it in which the factor is 1; from one random number per
# period; or from a list of instants and the factors that hold from each instant.
SQUARE, NOISE, PIECES = range(3)

MAX_FACTOR = 1000.0  #: upper limit of given factors
MAX_PERIOD_NS = MAX_NS // 2  #: longest period (73 years), so that an instant and a period never overflow int64

Pieces = Sequence[tuple[int, float]]  #: steps of a factor: (instant in ns, factor)

_SMALL = 1e-9  #: products of factors of at least this size are not 0, unless there are dozens of factors


def _nothing() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Component:
    """A factor over time, for some cores."""

    kind: int  # ``SQUARE``, ``NOISE`` or ``PIECES``
    cores: Array  # int64 (k,): global numbers of the cores, ascending
    highest: float  # no factor is above this; at least 1
    # of a repeated component; 0: it is not repeated
    period_ns: int = 0
    offset_ns: int = 0
    high_ns: int = 0  # part of each period in which the factor is 1 (``SQUARE``)
    level: float = 0.0  # the other factor (``SQUARE``), or the standard deviation of the factor's logarithm (``NOISE``)
    # int64 (k,): the pieces of each core (``PIECES``)
    piece_begin: Array = field(default_factory=_nothing)
    piece_stop: Array = field(default_factory=_nothing)
    # int64: start of each piece; ascending for each core. Before its first piece a core's factor is 1.
    piece_ns: Array = field(default_factory=_nothing)
    piece_factor: Array = field(default_factory=lambda: np.zeros(0))  # float64: the factor from then on

    @property
    def may_be_zero(self) -> bool:
        """Whether the factor may be 0, or so small that a product becomes 0."""
        if self.kind == PIECES:
            return bool((self.piece_factor < _SMALL).any())
        return self.kind == SQUARE and self.level < _SMALL


class SpeedKind(Protocol):
    """The parameters of one kind of component: a frozen dataclass."""

    #: Name on the command line.
    name: ClassVar[str]

    def component(self, n_cores: int, where: str) -> Component | None:
        """Return the component with these parameters for a machine of ``n_cores`` cores; None if it changes no speed. Raises
        InputError, which begins with ``where``, if a parameter is missing or out of range."""


def of_pieces(cores: Array, begin: Array, stop: Array, pieces: Pieces, period_ns: int = 0) -> Component:
    """Return the component that gives core ``cores[i]`` the pieces ``begin[i]`` to ``stop[i]`` - 1. Several cores may have the
    same pieces; they are repeated after a period unless it is 0."""
    factors = np.array([factor for _, factor in pieces], np.float64)
    return Component(
        PIECES,
        cores,
        float(factors.max(initial=1.0)),
        period_ns,
        piece_begin=begin,
        piece_stop=stop,
        piece_ns=np.array([at for at, _ in pieces], np.int64),
        piece_factor=factors,
    )


def of_equal_cores(cores: Array, pieces: Pieces) -> Component:
    """Return the component that gives all of ``cores`` the same pieces."""
    return of_pieces(cores, np.zeros(len(cores), np.int64), np.full(len(cores), len(pieces), np.int64), pieces)


def chosen_cores(text: str, n_cores: int, where: str, *, all_if_empty: bool = True) -> Array:
    """Return the cores of a text such as ``0-3 8``, ascending. An empty text means all cores, unless it must not be empty.
    Raises InputError if it is not a list of core numbers of the machine."""
    if not text.strip() and not all_if_empty:
        raise InputError(f"{where}: is missing; allowed: core numbers, as 0-3 8")
    if not text.strip():
        return np.arange(n_cores, dtype=np.int64)
    found = parse_intervals(text, where, n_cores)
    for lo, hi in found:
        if hi > n_cores:
            raise InputError(f"{where}: core {max(lo, n_cores)}; allowed: 0 to {n_cores - 1}")
    return np.concatenate([np.arange(lo, hi, dtype=np.int64) for lo, hi in found] or [_nothing()])


def instant_ns(text: str, where: str) -> int:
    """Return the nanoseconds since time 0 of an instant given as a duration. Unlike a duration it may be 0."""
    if not text.strip():
        raise InputError(f"{where}: is missing; allowed: an instant since time 0, as 100s")
    return parse_instant_ns(text, where)


def period(ns: int, where: str) -> int:
    """Return ``ns`` if it is a valid period."""
    if ns == 0:
        raise InputError(f"{where}: is missing; allowed: a duration, as 60s")
    if not 2 <= ns <= MAX_PERIOD_NS:
        raise InputError(f"{where}: {ns} ns; allowed: 2 to {MAX_PERIOD_NS} ns")
    return ns


@dataclass(frozen=True)
class Square:
    """``square:period=60s,low=0.5,duty=0.5,offset=0s,cores=0-3``.

    With T the period and d = ``duty``·T, rounded to ns, the factor is 1 in [offset + kT, offset + kT + d) and ``low`` in
    [offset + kT + d, offset + (k+1)T), for every whole k, including periods before the offset.
    """

    name: ClassVar[str] = "square"
    period_ns: int = 0  # T, 2 ns to ``MAX_PERIOD_NS``
    # the other factor, 0 to ``MAX_FACTOR``. With 0 the core is absent in that part of every period.
    low: float = 0.5
    duty: float = 0.5  # share of the period at full speed, above 0 and below 1
    offset: str = "0s"  # an instant at which a period begins
    cores: str = ""  # the cores; empty: all

    def component(self, n_cores: int, where: str) -> Component | None:
        period_ns = period(self.period_ns, f"{where}:period")
        low = real(f"{where}:low", self.low, 0.0, MAX_FACTOR)
        high_ns = round(real(f"{where}:duty", self.duty, 0.0, 1.0) * period_ns)
        if not 0 < high_ns < period_ns:
            raise InputError(
                f"{where}:duty: {self.duty:g} of {period_ns} ns; allowed: above 0 and below 1, of whole ns"
            )
        offset_ns = instant_ns(self.offset, f"{where}:offset") % period_ns
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        if low == 1.0:
            return None
        return Component(SQUARE, cores, max(1.0, low), period_ns, offset_ns, high_ns, low)


CORE_SPEEDS = 4  #: the purpose of the streams; the n-th noise (n = 0, 1, …) adds n·2³² to it
MAX_SIGMA = 3.0  #: largest standard deviation of the factor


@dataclass(frozen=True)
class Noise:
    """``noise:period=10s,sigma=0.1,cores=0-3``.

    In [kT, (k+1)T), with the period T, a core's factor is exp(s·z − s²/2), with z standard normal and s = √ln(1 + σ²):
    lognormal with mean 1 and standard deviation σ, never 0. Cores and periods are independent.
    """

    name: ClassVar[str] = "noise"
    period_ns: int = 0  # T, 2 ns to ``MAX_PERIOD_NS``
    sigma: float = 0.1  # σ, 0 to ``MAX_SIGMA``
    cores: str = ""  # the cores; empty: all

    def component(self, n_cores: int, where: str) -> Component | None:
        period_ns = period(self.period_ns, f"{where}:period")
        sigma = real(f"{where}:sigma", self.sigma, 0.0, MAX_SIGMA)
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        if sigma == 0.0:
            return None
        spread = math.sqrt(math.log1p(sigma * sigma))
        greatest_z = float(normal_from_word(np.uint64(2**64 - 1)))
        return Component(NOISE, cores, math.exp(spread * greatest_z - 0.5 * spread * spread), period_ns, level=spread)


@dataclass(frozen=True)
class Late:
    """``late:cores=5-7,at=100s``: the cores are absent before this instant."""

    name: ClassVar[str] = "late"
    cores: str = ""  # the cores; required
    at: str = ""  # when they appear, since time 0

    def component(self, n_cores: int, where: str) -> Component | None:
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores", all_if_empty=False)
        at_ns = instant_ns(self.at, f"{where}:at")
        return of_equal_cores(cores, [(0, 0.0), (at_ns, 1.0)]) if at_ns else None


@dataclass(frozen=True)
class Lost:
    """``lost:cores=5,at=100s``: the cores are absent from this instant on."""

    name: ClassVar[str] = "lost"
    cores: str = ""  # the cores; required
    at: str = ""  # when they disappear, since time 0
    until: str = ""  # when they return, after ``at``; empty: never

    def component(self, n_cores: int, where: str) -> Component | None:
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores", all_if_empty=False)
        pieces = [(instant_ns(self.at, f"{where}:at"), 0.0)]
        if self.until.strip():
            until_ns = instant_ns(self.until, f"{where}:until")
            if until_ns <= pieces[0][0]:
                raise InputError(f"{where}:until: {shown(self.until)}; allowed: after at, {shown(self.at)}")
            pieces.append((until_ns, 1.0))
        return of_equal_cores(cores, pieces)


COLUMNS = ("time_s", "core", "factor")  #: the first line of a file


@dataclass(frozen=True)
class Trace:
    """``trace:FILE.csv,periodic=24h``. The file has the columns ``time_s`` (seconds since time 0, rounded to ns half to even),
    ``core`` (global number) and ``factor`` (0 to ``MAX_FACTOR``; 0: the core is absent). A factor holds until the time of the
    core's next line; before its first line it is 1. The times of each core must ascend."""

    name: ClassVar[str] = "trace"
    file: str = ""  # path
    # period after which the file is repeated; all times must be below it. 0: not repeated.
    periodic_ns: int = 0

    def component(self, n_cores: int, where: str) -> Component | None:
        if not self.file:
            raise InputError(f"{where}: the file is missing; allowed: trace:FILE.csv")
        period_ns = period(self.periodic_ns, f"{where}:periodic") if self.periodic_ns else 0
        found: dict[int, list[tuple[int, float]]] = {}
        for place, fields in _lines(self.file, where):
            core, at_ns, factor = _piece(fields, n_cores, place)
            if period_ns and at_ns >= period_ns:
                raise InputError(f"{place}: time_s: {shown(fields[0])}; allowed: below periodic, {period_ns} ns")
            pieces = found.setdefault(core, [])
            if pieces and at_ns <= pieces[-1][0]:
                raise InputError(f"{place}: time_s: {shown(fields[0])} is not after core {core}'s line before it")
            pieces.append((at_ns, factor))
        if not found:
            raise InputError(f"{where}: {self.file}: no lines below the header; allowed: at least one")
        cores = sorted(found)
        stop = np.cumsum([len(found[core]) for core in cores], dtype=np.int64)
        pieces = [piece for core in cores for piece in found[core]]
        return of_pieces(np.array(cores, np.int64), np.append(0, stop[:-1]), stop, pieces, period_ns)


def _lines(file: str, where: str) -> list[tuple[str, list[str]]]:
    """The lines after the header: the place of each, for errors, and its fields."""
    try:
        (first, header), *lines = read_csv(file, "file of core speeds")
    except InputError as error:
        raise InputError(f"{where}: {error.text}") from None
    if tuple(header) != COLUMNS:
        allowed = f"allowed as the header: {','.join(COLUMNS)}"
        raise InputError(f"{where}: {file}: line {first}: {shown(','.join(header))}; {allowed}")
    return [(f"{where}: {file}: line {line}", fields) for line, fields in lines]


def _piece(fields: list[str], n_cores: int, place: str) -> tuple[int, int, float]:
    """The core of a line, its time in ns, and its factor."""
    time, core, given = fields
    try:
        # Python accepts more spellings of numbers than other programs do.
        seconds = Decimal(time if time.isascii() and "_" not in time else "nan")
    except InvalidOperation:
        seconds = Decimal("nan")
    if not (seconds.is_finite() and 0 <= seconds <= MAX_NS // NS_PER_S):
        raise InputError(f"{place}: time_s: {shown(time)}; allowed: seconds, 0 to {MAX_NS // NS_PER_S}")
    if not (core.isascii() and core.isdigit() and len(core) <= 18 and int(core) < n_cores):
        raise InputError(f"{place}: core: {shown(core)}; allowed: 0 to {n_cores - 1}")
    try:
        factor = parse_real(given)
    except ValueError:
        factor = math.nan
    if not 0.0 <= factor <= MAX_FACTOR:
        raise InputError(f"{place}: factor: {shown(given)}; allowed: 0 to {MAX_FACTOR:g}")
    return int(core), round(seconds * NS_PER_S), factor + 0.0  # -0 is 0
