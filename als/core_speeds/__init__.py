"""Speeds of cores that change with time: what may be said of them, one kind a file, and the speeds of a whole machine.

A core's speed at an instant is its speed in the platform times a factor; the factor is the product of what every given
component says of this core at this instant of the one simulated clock. A factor of 0 tells that the core is not there.

To add a kind: a file here, a line in :data:`SPEED_KINDS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from als.core_speeds.contract import Component, SpeedKind
from als.core_speeds.late import Late
from als.core_speeds.lost import Lost
from als.core_speeds.noise import Noise
from als.core_speeds.square import Square
from als.core_speeds.state import NEVER, SpeedState, fill_comes_ns, fill_factors, fill_next_ns, list_changes, new_state
from als.core_speeds.trace import Trace
from als.options import SPEEDS
from traces.base.errors import InputError, at, one_of, whole
from traces.base.options import SEED
from traces.base.plugins import with_parameters
from traces.base.time import MAX_NS
from traces.compiled import Array, own

__all__ = ["SPEED_KINDS", "CoreSpeeds", "SpeedChanges", "SpeedKind", "core_speeds"]

SPEED_KINDS: dict[str, SpeedKind] = {
    "square": Square(),
    "noise": Noise(),
    "trace": Trace(),
    "late": Late(),
    "lost": Lost(),
}

_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")

# Changes are collected in portions of this many, or of one for each core.
_ROOM = 4096


class SpeedChanges(NamedTuple):
    """Changes of speed of some cores."""

    # list of (at_ns, c, speed_gflops): ascending in (at_ns, c), c being the place in the cores that were asked for
    changes: list[tuple[int, int, float]]
    complete_ns: int  # every change up to and with this instant is in the list


class CoreSpeeds:
    """How the speeds of a machine's cores change with time.

    - ``specs``: what it was made of, as it was written
    - ``components``: their factors are multiplied in this order
    - ``n_cores``: cores of the machine, >= 1
    - ``seed``: 0 to 2**64 - 1, for what is random
    - ``state``: for kernels. It has work space in it: one thread at a time.
    - ``steady``: whether every core's factor is 1 for good
    - ``highest_factor``: no core's factor ever exceeds it; at least 1
    - ``loses``: whether a core may have the factor 0, so that it is not there
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
        """The factor of each of these cores (global numbers) at an instant, float64 (P,). Raises InputError if there is
        no such core, or no such instant."""
        cores = own(core_numbers, np.int64)
        if len(cores) and not 0 <= cores.min() <= cores.max() < self.n_cores:
            raise InputError(f"core_numbers: {cores.min()} to {cores.max()}; allowed: 0 to {self.n_cores - 1}")
        whole("t_ns", t_ns, 0, MAX_NS)
        found = np.empty(len(cores), np.float64)
        fill_factors(self.state, cores, t_ns, found)
        return found

    def for_good(self, core_numbers: Array, at_ns: Array) -> Array:
        """Whether each of these cores (global numbers), from an instant of its own on, is never there: bool (P,).
        Raises InputError if there is no such core."""
        cores, instants = own(core_numbers, np.int64), own(at_ns, np.int64)
        if len(cores) and not 0 <= cores.min() <= cores.max() < self.n_cores:
            raise InputError(f"core_numbers: {cores.min()} to {cores.max()}; allowed: 0 to {self.n_cores - 1}")
        found = np.empty(len(cores), np.int64)
        fill_comes_ns(self.state, cores, instants, found)
        gone: Array = found == NEVER
        return gone

    def changes(self, core_numbers: Array, base_gflops: Array, from_ns: int, until_ns: int, most: int) -> SpeedChanges:
        """When these cores' speeds change after ``from_ns``, up to and with ``until_ns``, and to what.

        Only real changes are listed, beginning with the factors at ``from_ns``. To go on, ask from ``complete_ns``: every
        change comes exactly once.

        - ``core_numbers``, int64 (P,): global numbers
        - ``base_gflops``, float64 (P,): their speeds in the platform; times the factor they are the speeds given
        - ``from_ns``, ``until_ns``: instants, 0 to ``MAX_NS``
        - ``most``: how many instants to look at, >= 1, whether or not anything changes there; a bound for speeds that
          change for ever

        Raises InputError if an argument is out of range.
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


def core_speeds(specs: Sequence[str], n_cores: int, seed: int, where: str = "") -> CoreSpeeds:
    """The speeds of a machine's cores.

    Parameters
    ----------
    specs : sequence of str
        Such as ``square:period=60s,low=0.5``, ``noise:period=10s,sigma=0.1``, ``trace:FILE.csv``,
        ``late:cores=5-7,at=100s``, ``lost:cores=5,at=100s``; several multiply. None: steady.
    n_cores : int
        Cores of the machine, >= 1; core numbers are 0 … n_cores - 1.
    seed : int
        0 to 2**64 - 1.
    where : str
        The option they were given in, for errors.

    Raises
    ------
    InputError
        If one cannot be used; the message begins with ``where``.

    Examples
    --------
    >>> core_speeds(["lost:cores=1,at=100s"], 2, 0).factors([0, 1], 100 * 10**9).tolist()
    [1.0, 0.0]
    """
    where = where or str(SPEEDS)
    whole("cores", n_cores, 1, 2**40)
    SEED.check(seed)
    found = [_component(spec, n_cores, where) for spec in specs]
    return CoreSpeeds(specs, [one for one in found if one is not None], n_cores, seed)


def _component(spec: str, n_cores: int, where: str) -> Component | None:
    where = at(where, spec)
    name, _, text = (word.strip() for word in spec.partition(":"))
    if name not in SPEED_KINDS:
        raise one_of("kind of core speeds", name, SPEED_KINDS, where)
    kind = SPEED_KINDS[name]
    if isinstance(kind, Trace):
        # The file is what comes before the first parameter, and may have commas in its name.
        parts = text.split(",")
        n_words = next((i for i, part in enumerate(parts) if _PARAMETER.match(part)), len(parts))
        kind = replace(kind, file=",".join(parts[:n_words]).strip())
        text = ",".join(parts[n_words:])
    if text:
        kind = with_parameters(kind, text, where, "core speeds")
    return kind.component(n_cores, f"{where}: {name}")
