"""Speeds of cores that change with time: the kinds of components, and the speeds of a whole machine.

A core's speed at an instant is its speed in the platform times the product of the factors of all components at this instant.
With a factor of 0 the core is absent. To add a kind: a file here, and a line in :data:`SPEED_KINDS`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from als.core_speeds import kinds
from als.core_speeds.kinds import CORE_SPEEDS, NOISE, PIECES, SQUARE, Component
from als.options import SPEEDS
from als.streams import fill_round_keys, fill_words, normal_from_word
from traces.base.errors import InputError, at, one_of, whole
from traces.base.options import SEED
from traces.base.plugins import with_parameters
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Ints, Words
from traces.kernels.state import State


@compiled(inner=True)
def _pieces_begun(piece_ns: Array, first: int, stop: int, t_ns: int) -> int:
    """Return the index after the last piece that has begun at ``t_ns``."""
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if piece_ns[middle] <= t_ns:
            low = middle + 1
        else:
            high = middle
    return low


NEVER = 2**63 - 1  #: later than every instant

#: A core that is absent at this many consecutive instants at which a factor of 0 might end is lost for good.
MOST_LOOKS = 1_000_000


class SpeedState(State):
    """The components of each core, and work space: only one thread at a time may use it. Empty for a steady machine."""

    begin: Ints  # (cores + 1,): where the entries of each core begin
    component: Ints  # (entries,): ascending for each core
    piece_begin: Ints  # (entries,): the pieces of this core in this component
    piece_stop: Ints  # (entries,): the end of these pieces
    # One per component:
    kind: Ints  # PIECES, SQUARE or NOISE
    period_ns: Ints  # length of a period
    offset_ns: Ints  # an instant at which a period begins
    high_ns: Ints  # part of each period in which the factor is 1 (SQUARE)
    purpose: Ints  # purpose of its random stream
    level: Floats  # the other factor (SQUARE), or the standard deviation of the factor's logarithm (NOISE)
    piece_ns: Ints  # (pieces,): when each piece begins
    piece_factor: Floats  # (pieces,): the factor from then on
    seed: Words  # (1,): seed of the run
    keys: Words  # (20,): work space
    words: Words  # (4,): work space


def new_state(components: Sequence[Component], n_cores: int, seed: int) -> SpeedState:
    """The state of a machine of ``n_cores`` cores with these components."""
    cores = np.concatenate([np.zeros(0, np.int64), *(one.cores for one in components)])
    begin = np.concatenate([[0], np.bincount(cores, minlength=n_cores).cumsum()])
    component, piece_begin, piece_stop = np.zeros((3, len(cores)), np.int64)
    numbers, place = np.zeros((5, len(components)), np.int64), begin[:-1].copy()
    n_pieces = n_noises = 0
    for k, one in enumerate(components):
        entry = place[one.cores]
        place[one.cores] += 1
        component[entry] = k
        if len(one.piece_begin):
            piece_begin[entry] = one.piece_begin + n_pieces
            piece_stop[entry] = one.piece_stop + n_pieces
        numbers[:, k] = one.kind, one.period_ns, one.offset_ns, one.high_ns, CORE_SPEEDS + (n_noises << 32)
        n_pieces += len(one.piece_ns)
        n_noises += one.kind == NOISE
    level = np.array([one.level for one in components], np.float64)
    piece_ns = np.concatenate([np.zeros(0, np.int64), *(one.piece_ns for one in components)])
    piece_factor = np.concatenate([np.zeros(0), *(one.piece_factor for one in components)])
    random = np.array([seed], np.uint64), np.zeros(20, np.uint64), np.zeros(4, np.uint64)
    return SpeedState(begin, component, piece_begin, piece_stop, *numbers, level, piece_ns, piece_factor, *random)


@compiled(inner=True)
def factor(state: SpeedState, core: int, t_ns: int) -> float:
    """Return the product of a core's factors at an instant, in their order; 0: it is absent. Overwrites the work space."""
    product = 1.0
    for entry in range(state.begin[core], state.begin[core + 1]):
        product *= _factor_of(state, core, entry, t_ns)
    return product


@compiled(merged=True)
def _factor_of(state: SpeedState, core: int, entry: int, t_ns: int) -> float:
    k = state.component[entry]
    kind, period_ns = state.kind[k], state.period_ns[k]
    if kind == SQUARE:
        return 1.0 if (t_ns - state.offset_ns[k]) % period_ns < state.high_ns[k] else float(state.level[k])
    if kind == NOISE:
        n, spread = t_ns // period_ns, state.level[k]
        fill_round_keys(state.keys, state.seed[0], np.uint64(core))
        fill_words(state.words, state.keys, n // 4, state.purpose[k])
        return math.exp(spread * normal_from_word(state.words[n % 4]) - 0.5 * spread * spread)
    first = state.piece_begin[entry]
    within = t_ns % period_ns if period_ns else t_ns
    begun = _pieces_begun(state.piece_ns, first, state.piece_stop[entry], within)
    return float(state.piece_factor[begun - 1]) if begun > first else 1.0


@compiled(inner=True)
def next_change_ns(state: SpeedState, core: int, t_ns: int) -> int:
    """Return the first instant after ``t_ns`` at which a core's factor may change, or ``NEVER``; until then it is constant."""
    first = NEVER
    for entry in range(state.begin[core], state.begin[core + 1]):
        at_ns = _next_of(state, entry, t_ns)
        if (
            at_ns > MAX_NS
            and state.kind[state.component[entry]] == PIECES
            and _factor_of(state, core, entry, t_ns) == 0.0
        ):
            return NEVER  # lost for good, whatever the other components do
        if at_ns < first:
            first = at_ns
    return first if first <= MAX_NS else NEVER


@compiled(merged=True)
def _next_of(state: SpeedState, entry: int, t_ns: int) -> int:
    """The first instant after ``t_ns`` at which a component's factor may change; beyond ``MAX_NS`` if there is none."""
    k = state.component[entry]
    kind, period_ns = state.kind[k], state.period_ns[k]
    if kind == SQUARE:
        within = (t_ns - state.offset_ns[k]) % period_ns
        return int(t_ns + (state.high_ns[k] if within < state.high_ns[k] else period_ns) - within)
    if kind == PIECES:
        within = t_ns % period_ns if period_ns else t_ns
        begun = _pieces_begun(state.piece_ns, state.piece_begin[entry], state.piece_stop[entry], within)
        if begun < state.piece_stop[entry]:
            return int(t_ns + state.piece_ns[begun] - within)
        if period_ns == 0:
            return MAX_NS + 1
    return int(t_ns + period_ns - t_ns % period_ns)


@compiled(inner=True)
def comes_ns(state: SpeedState, core: int, t_ns: int) -> int:
    """Return the first instant from ``t_ns`` on at which a core is present; ``NEVER`` if it is lost for good. While one factor
    is 0, changes of the other factors are skipped."""
    now = t_ns
    for _ in range(MOST_LOOKS):
        until, product = now, 1.0
        for entry in range(state.begin[core], state.begin[core + 1]):
            one = _factor_of(state, core, entry, now)
            product *= one
            if one == 0.0:
                until = max(until, _next_of(state, entry, now))
        if product > 0.0:
            return now
        if until == now:  # of small factors: their product is 0
            until = next_change_ns(state, core, now)
        if until > MAX_NS:
            return NEVER
        now = until
    return NEVER


@compiled()
def fill_factors(state: SpeedState, cores: Ints, t_ns: int, factors: Floats) -> None:
    """Write the factor of each of ``cores`` at an instant to ``factors``, float64 (P,)."""
    for c in range(cores.size):
        factors[c] = factor(state, cores[c], t_ns)


@compiled()
def fill_next_ns(state: SpeedState, cores: Ints, t_ns: int, next_ns: Ints) -> None:
    """Write :func:`next_change_ns` of each of ``cores`` to ``next_ns``, int64 (P,)."""
    for c in range(cores.size):
        next_ns[c] = next_change_ns(state, cores[c], t_ns)


@compiled()
def fill_comes_ns(state: SpeedState, cores: Ints, from_ns: Ints, found_ns: Ints) -> None:
    """Write :func:`comes_ns` of each of ``cores``, each from its own instant on, to ``found_ns``, int64 (P,)."""
    for c in range(cores.size):
        found_ns[c] = comes_ns(state, cores[c], from_ns[c])


@compiled()
def list_changes(
    state: SpeedState, cores: Ints, until_ns: int, most: int, current: Floats, next_ns: Ints,
    at_ns: Ints, place: Ints, changed: Floats, progress: Ints,
) -> int:  # fmt: skip
    """List the changes after ``current`` and ``next_ns`` (each core's factor, and when it may change next; both are updated),
    up to and including ``until_ns``; return their number. Written are ``at_ns``, ``place`` (index in ``cores``) and ``changed``
    (the new factor), with room for at least P; and ``progress``: the number of instants inspected, at most ``most``, and the
    instant up to which the list is complete (0: none was inspected)."""
    written = 0
    progress[0] = progress[1] = 0
    while True:
        now_ns = NEVER
        for c in range(cores.size):
            if next_ns[c] < now_ns:
                now_ns = next_ns[c]
        if now_ns == NEVER or now_ns > until_ns:
            progress[1] = until_ns
            return written
        if progress[0] == most or written + cores.size > at_ns.size:
            return written
        progress[0] += 1
        progress[1] = now_ns
        for c in range(cores.size):
            if next_ns[c] == now_ns:
                new = factor(state, cores[c], now_ns)
                if new != current[c]:
                    current[c] = new
                    at_ns[written] = now_ns
                    place[written] = c
                    changed[written] = new
                    written += 1
                next_ns[c] = next_change_ns(state, cores[c], now_ns)


SPEED_KINDS: dict[str, kinds.SpeedKind] = {
    "square": kinds.Square(),
    "noise": kinds.Noise(),
    "trace": kinds.Trace(),
    "late": kinds.Late(),
    "lost": kinds.Lost(),
}

_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")

# Changes are collected in portions of this many, or of one for each core.
_ROOM = 4096


class SpeedChanges(NamedTuple):
    """Changes of speed of some cores."""

    # list of (at_ns, c, speed_gflops): ascending in (at_ns, c), where c is the index in the requested cores
    changes: list[tuple[int, int, float]]
    complete_ns: int  # the list holds every change up to and including this instant


class CoreSpeeds:
    """How the speeds of a machine's cores change with time.

    - ``specs``, ``components``: the components as text, and as numbers; their factors are multiplied in this order
    - ``n_cores``, ``seed``: cores of the machine, >= 1; seed of random components, 0 to 2**64 - 1
    - ``state``: for kernels. It contains work space, so only one thread at a time may use it.
    - ``steady``: whether every core's factor is always 1; ``loses``: whether a core may be absent (factor 0)
    - ``highest_factor``: upper bound on all factors; at least 1
    """

    def __init__(self, specs: Sequence[str], components: Sequence[Component], n_cores: int, seed: int) -> None:
        self.specs = tuple(specs)
        self.n_cores = n_cores
        self.state: SpeedState = new_state(components, n_cores, seed)
        self.steady = len(self.state.component) == 0
        highest = np.ones(n_cores)
        for one in components:
            highest[one.cores] *= one.highest
        self.highest_factor = float(highest.max())
        self.loses = any(one.may_be_zero for one in components)

    def factors(self, core_numbers: Array, t_ns: int) -> Array:
        """Return the factors of cores (global numbers) at an instant, float64 (P,). Raises InputError if one is
        out of range."""
        cores = self._checked(core_numbers)
        whole("t_ns", t_ns, 0, MAX_NS)
        found = np.empty(len(cores), np.float64)
        fill_factors(self.state, cores, t_ns, found)
        return found

    def for_good(self, core_numbers: Array, at_ns: Array) -> Array:
        """Return whether each of these cores is absent for good from its own instant on. Raises InputError for another core."""
        cores, instants = self._checked(core_numbers), own(at_ns, np.int64)
        found = np.empty(len(cores), np.int64)
        fill_comes_ns(self.state, cores, instants, found)
        gone: Array = found == NEVER
        return gone

    def _checked(self, core_numbers: Array) -> Array:
        cores = own(core_numbers, np.int64)
        if len(cores) and not 0 <= cores.min() <= cores.max() < self.n_cores:
            raise InputError(f"core_numbers: {cores.min()} to {cores.max()}; allowed: 0 to {self.n_cores - 1}")
        return cores

    def changes(self, core_numbers: Array, base_gflops: Array, from_ns: int, until_ns: int, most: int) -> SpeedChanges:
        """Return the changes of cores' speeds after ``from_ns``, up to and including ``until_ns``. Only real changes are
        listed, beginning with the factors at ``from_ns``. Continue from ``complete_ns``: every change then appears exactly
        once.

        ``core_numbers``, ``base_gflops``, int64 and float64 (P,): the cores' global numbers, and their speeds in the platform,
        GFLOP/s. ``most``: the largest number of instants to inspect, since speeds may change for ever. Raises InputError if an
        argument is out of range.
        """
        whole("from_ns", from_ns, 0, MAX_NS)
        whole("until_ns", until_ns, from_ns, MAX_NS)
        left = whole("most", most, 1, 2**62)
        cores, base = own(core_numbers, np.int64), own(base_gflops, np.float64)
        current, next_ns = self.factors(cores, from_ns), np.empty(len(cores), np.int64)
        fill_next_ns(self.state, cores, from_ns, next_ns)
        room = max(len(cores), _ROOM)
        at_ns, place, changed = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
        progress = np.zeros(2, np.int64)
        found: list[tuple[int, int, float]] = []
        complete_ns = from_ns
        while complete_ns < until_ns and left > 0:
            n = list_changes(self.state, cores, until_ns, left, current, next_ns, at_ns, place, changed, progress)
            speed = base[place[:n]] * changed[:n]
            found += zip(at_ns[:n].tolist(), place[:n].tolist(), speed.tolist(), strict=True)
            left -= int(progress[0])
            complete_ns = int(progress[1])
        return SpeedChanges(found, complete_ns)


def core_speeds(specs: Sequence[str], n_cores: int, seed: int) -> CoreSpeeds:
    """Return the speeds of a machine's cores: the product of several components.

    Parameters
    ----------
    specs : sequence of str
        The components, such as ``square:period=60s,low=0.5``; none: the speeds are steady.
    n_cores : int
        Cores of the machine, 1 to 2**40.
    seed : int
        Seed of random components, 0 to 2**64 - 1.

    Raises
    ------
    InputError
        If a component is invalid, or a number is out of range.

    Examples
    --------
    >>> core_speeds(["lost:cores=1,at=100s"], 2, 0).factors([0, 1], 100 * 10**9).tolist()
    [1.0, 0.0]
    """
    whole("cores", n_cores, 1, 2**40)
    SEED.check(seed)
    found = [_component(spec, n_cores) for spec in specs]
    return CoreSpeeds(specs, [one for one in found if one is not None], n_cores, seed)


def _component(spec: str, n_cores: int) -> Component | None:
    where = at(str(SPEEDS), spec)
    name, _, text = (word.strip() for word in spec.partition(":"))
    if name not in SPEED_KINDS:
        raise one_of("kind of core speeds", name, SPEED_KINDS, where)
    kind = SPEED_KINDS[name]
    if isinstance(kind, kinds.Trace):
        # The file name ends at the first parameter. It may contain commas.
        parts = text.split(",")
        n_words = next((i for i, part in enumerate(parts) if _PARAMETER.match(part)), len(parts))
        kind = replace(kind, file=",".join(parts[:n_words]).strip())
        text = ",".join(parts[n_words:])
    if text:
        kind = with_parameters(kind, text, where, "core speeds")
    return kind.component(n_cores, f"{where}: {name}")
