"""The cores of a loop or a graph that is simulated alone: their speeds, their hosts, and how their speeds change."""

from __future__ import annotations

import numpy as np

from als.application import Application
from als.core_speeds import CoreSpeeds
from als.engine.master import message_ns
from als.options import CORES
from bridge.options.declared import CORE_SPEED
from traces.base.errors import InputError, shown
from traces.base.shared_options import CORE_GFLOPS
from traces.base.time import MAX_NS
from traces.compiled import Array, own

__all__ = ["advance_to_end", "check_speeds", "first_core", "given_speeds", "latencies_ns"]

#: So many instants of changing speeds are looked at together.
_INSTANTS = 10_000


def given_speeds(text: str, cores: int | None) -> tuple[float, ...]:
    """The speeds of all cores, GFLOP/s, from ``--core-speed`` and ``--cores``: one number is that of each.

    Raises
    ------
    InputError
        If they cannot be, or do not go together.
    """
    try:
        speeds = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--core-speed: {shown(text)}; allowed: a number, or one for each core, as 2,1,1,1") from None
    for speed in speeds:
        CORE_GFLOPS.check(speed, CORE_SPEED.name)
    if cores is None:
        if len(speeds) == 1:
            raise InputError(f"--cores: missing; allowed: {CORES.lowest} to {CORES.highest}")
        return speeds
    CORES.check(cores)
    if len(speeds) not in (1, cores):
        raise InputError(f"--core-speed: {len(speeds)} speeds; allowed: one, or one for each of the {cores} cores")
    return speeds * cores if len(speeds) == 1 else speeds


def check_speeds(speeds_gflops: tuple[float, ...]) -> None:
    """Refuse what cannot be the speeds of the cores.

    Raises
    ------
    InputError
        If there are too many or none, or one is out of range.
    """
    CORES.check(len(speeds_gflops))
    for speed in speeds_gflops:
        CORE_GFLOPS.check(speed, CORE_SPEED.name)


def first_core(n_cores: int, hosts: int) -> Array:
    """First core of each host, and P, int64 (hosts + 1,): blocks, the first ones larger by one core where they differ."""
    share, more = divmod(n_cores, hosts)
    return np.concatenate([[0], np.cumsum([share + (h < more) for h in range(hosts)])]).astype(np.int64)


def latencies_ns(n_cores: int, hosts: int, latency_ns: int) -> Array:
    """What a message between each core and the master takes; int64 (P,)."""
    host = np.repeat(np.arange(hosts), np.diff(first_core(n_cores, hosts)))
    return own(message_ns(host, 0, latency_ns), np.int64)


def advance_to_end(application: Application, speeds: CoreSpeeds, base_gflops: Array) -> list[tuple[int, int]]:
    """Simulate an application that starts at 0 to its end, changing the speeds of its cores on the way.

    Returns
    -------
    list of (core, ns)
        When cores came back, or arrived late.
    """
    returned: list[tuple[int, int]] = []
    cores, at = np.arange(len(base_gflops)), 0
    now = base_gflops * speeds.factors(cores, 0)
    while not speeds.steady and at < MAX_NS:
        found = speeds.changes(cores, base_gflops, at, MAX_NS, _INSTANTS)
        for at_ns, c, speed in found.changes:
            if application.advance(at_ns):
                return returned
            if now[c] == 0.0:
                returned.append((c, at_ns))
            now[c] = speed
            application.set_speed(speed, c)
        if application.advance(found.complete_ns):
            return returned
        if not (found.changes or now.any()):
            break  # all are lost, and though speeds are looked at for ever none comes back
        at = found.complete_ns
    application.advance()
    return returned
