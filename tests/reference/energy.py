"""What a run has used, counted from its tables: core by core, span by span, in whole numbers of Python.

It shares no code with ``bls.power.accounting``: of the platform it takes the watts, of the run who held which cores when, what
was told about their speeds, and in which state hosts were.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import bridge
from bls.engine.state import BOOTING, OFF, OUT, SHUTTING, UP
from bls.machine.host_power import HostPower
from traces.intervals import parse_intervals

__all__ = ["used_pj"]


def _mw(watts: float) -> int:
    found = Fraction(str(watts)) * 1000
    assert found.denominator == 1
    return int(found)


def _state_mw(power: HostPower, factor: float, of_job: float, memory_bound: float) -> int:
    # The slowest state that is no slower, as this job works; told apart by a billionth, as what was told is.
    idle, memory, slowest = _mw(power.idle_w), Fraction(str(memory_bound)), 0
    scale = round(min(factor, 1.0) * 10**9)
    speed = 10**9 + 1
    for own, watts in power.states:
        exact = 1 / ((1 - memory) / Fraction(str(own)) + memory)
        speed = min(speed - 1, floor(exact * 10**9 + Fraction(1, 2)))
        if speed >= scale:
            slowest = idle + floor((_mw(watts) - idle) * Fraction(str(of_job)) + Fraction(1, 2))
    return slowest


def _away_mw(power: HostPower, cores: int, state: int) -> int:
    if state in (UP, OUT):
        return _mw(power.base_w) + cores * _mw(power.idle_w)
    passage = {SHUTTING: power.shutdown, BOOTING: power.boot, OFF: (0, power.off_w)}[state]
    return 0 if passage is None else _mw(passage[1])


def used_pj(result: bridge.Result) -> tuple[list[int], int]:
    """What each row of the table of jobs has used, and the machine from the first submit to the last end: mW · ns.

    Of runs in which jobs hold the same cores from start to end, and held cores are active.
    """
    hosts = [group for group in result.scenario.platform.hosts for _ in range(group.count)]
    powers = [group.power for group in hosts]
    of_core = [host for host, group in enumerate(hosts) for _ in range(group.cores)]
    begin = int(result.jobs.submit_ns.min())
    until = max(begin, int(result.jobs.end_ns.max()))
    total = sum(_away_mw(power, group.cores, UP) for power, group in zip(powers, hosts, strict=True)) * (until - begin)
    told: dict[int, list[tuple[int, int, float]]] = {}
    if result.ledger.scales is not None:
        for one in result.scales.itertuples():
            told.setdefault(one.row, []).append((one.told_ns, one.core, one.factor))
    jobs = []
    for row, job in enumerate(result.jobs.itertuples()):
        used = 0
        for low, high in parse_intervals(job.allocation, "allocation") if job.start_ns >= 0 else []:
            for core in range(low, high):
                power = powers[of_core[core]]
                now, factor = job.start_ns, 1.0
                steps = [(at, to) for at, of, to in told.get(row, []) if of in (-1, core)]
                for at, to in [*steps, (job.end_ns, 1.0)]:
                    own = getattr(job, "power", 1.0), getattr(job, "memory_bound", 0.0)
                    used += _state_mw(power, factor, *own) * (at - now)
                    now, factor = at, to
                total -= _mw(power.idle_w) * (job.end_ns - job.start_ns)
        jobs.append(used)
    down = result.notes.downtime.within(begin, until)
    away = [(*one, OFF) for one in zip(down.host.tolist(), down.down_ns.tolist(), down.up_ns.tolist(), strict=True)]
    since: dict[int, tuple[int, int]] = {}
    log = zip(*(column.tolist() for column in result.notes.host_states or ()), strict=True)
    for at, host, state in [*log, *((until, host, UP) for host in range(len(hosts)))]:
        if host in since:
            away.append((host, since[host][0], at, since[host][1]))
        since[host] = (at, state)
    for host, start, end, state in away:
        lasts = max(0, min(end, until) - max(start, begin))
        more = [_away_mw(powers[host], hosts[host].cores, which) for which in (state, UP)]
        total += (more[0] - more[1]) * lasts
    return jobs, total + sum(jobs)
