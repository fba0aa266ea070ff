"""Random batch-level cases: small clusters, jobs, failures, reservations, and what the slow reference makes of them.

Times are small multiples of a scale, cores few, so that ties, exact fits, overdue jobs and early ends are common. Features
are asked for by name; a case has each of them with some probability, and those of ``always`` for certain.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol, TypeVar

from hypothesis import strategies as st
from reference.cluster import NeverFinishes, run
from reference.machine import (
    LAST_TWO,
    MINUTE,
    PROFILE,
    Attempt,
    Host,
    Job,
    Machine,
    Partition,
    Predictor,
    Rules,
    Window,
)

ORDERS = ("fcfs", "sjf", "ljf", "edf", "saf", "wfp3", "unicef", "f1", "f2", "f3", "f4")
ALLOCATORS = ("first-fit", "best-fit", "worst-fit", "contiguous", "whole-host", "random", "topology")

#: What a case may have beside plain jobs on plain hosts.
FEATURES = (
    "orders",  # others than fcfs and sjf
    "allocators",  # others than first-fit
    "given",  # cores asked for by number
    "units",  # of several cores
    "resources",  # of hosts
    "licences",
    "switches",
    "kill",
    "cancel",
    "unknown",  # run times that are not known, with a cancel instant
    "dependencies",
    "partitions",
    "limits",
    "reservations",
    "maintenance",
    "outages",
    "presets",
    "cost",
    "estimates",  # others than the requests
    "promises",  # of running jobs, which are then planned with their ends
)

#: What is in no case that does not ask for it: what came later, so that the cases of before stay as they are.
LATER = (
    "drains",
    "gaps",  # hosts of one switch that are no neighbours
    "patience",  # few switches are waited for a time only
    "held cancel",  # jobs that depend on another are withdrawn at their submit, or soon after it
    "begins",
)

#: What a step of time is worth, ns: at 1 every rounding of an instant shows, at a second cases are like logs.
SCALES = (1, 1000, 10**9)

#: Who predicts: nobody, those there are, and others.
PREDICTORS = (
    None,
    LAST_TWO,
    PROFILE,
    Predictor((("user", "cores"), ("group",), ("user",)), 3, 2),
    Predictor((("application",), ()), 4, 1),
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class BatchCase:
    """Everything that determines a result, in plain values: ``jobs`` in workload order (ascending submit)."""

    jobs: tuple[Job, ...]
    machine: Machine = field(default_factory=lambda: Machine((Host(4),)))
    rules: Rules = field(default_factory=Rules)


@lru_cache(maxsize=16)
def expected(case: BatchCase) -> list[Attempt]:
    """What the slow reference says, by row and attempt; it is slow, and not asked twice in a row.

    Raises
    ------
    NeverFinishes
        If a job of the case waits for ever.
    """
    return run(case.jobs, case.machine, case.rules)


def finishes(case: BatchCase) -> bool:
    """Whether all jobs of a case leave at some time."""
    try:
        expected(case)
    except NeverFinishes:
        return False
    return True


def cases(
    features: Collection[str] = FEATURES, *, always: Collection[str] = (), max_jobs: int = 12
) -> st.SearchStrategy[BatchCase]:
    """Cases that finish, for hypothesis; smaller draws are simpler cases."""

    @st.composite
    def build(draw: st.DrawFn) -> BatchCase:
        return _case(_Drawn(draw), features, always, max_jobs)

    return build().filter(finishes)


def seeded_cases(
    seed: int, n: int, features: Collection[str] = FEATURES, *, always: Collection[str] = (), max_jobs: int = 12
) -> list[BatchCase]:
    """``n`` cases that finish from a generator of this seed: faster than hypothesis, and any number of them."""
    rng = random.Random(seed)
    found: list[BatchCase] = []
    while len(found) < n:
        case = _case(_Rolled(rng), features, always, max_jobs)
        if finishes(case):
            found.append(case)
    return found


class Choice(Protocol):
    """Where the choices come from."""

    def number(self, lo: int, hi: int) -> int:
        """A whole number, lo to hi."""
        ...

    def one(self, of: Sequence[_T]) -> _T:
        """One of these."""
        ...


class _Drawn:
    """By hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, lo: int, hi: int) -> int:
        return self._draw(st.integers(lo, hi))

    def one(self, of: Sequence[_T]) -> _T:
        return self._draw(st.sampled_from(of))


class _Rolled:
    """By a generator of one's own."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def number(self, lo: int, hi: int) -> int:
        return self._rng.randint(lo, hi)

    def one(self, of: Sequence[_T]) -> _T:
        return self._rng.choice(of)


def _case(choose: Choice, features: Collection[str], always: Collection[str], max_jobs: int) -> BatchCase:
    has: dict[str, bool] = {
        name: name in always or (name in features and choose.number(0, 2) == 2) for name in (*FEATURES, *LATER)
    }
    scale = choose.one((*SCALES, MINUTE) if has["estimates"] else SCALES)
    rules = _rules(choose, has, scale)
    machine = _machine(choose, has, scale)
    jobs = sorted(
        (_job(choose, has, scale, machine, rules) for _ in range(choose.number(1, max_jobs))),
        key=lambda job: job.submit,
    )
    # Job numbers are in no order; which row waits for which is known now.
    numbered = [replace(job, number=1 + row * 7919 % 10007) for row, job in enumerate(jobs)]
    if has["dependencies"]:
        backwards = choose.one((False, False, True))
        numbered = [_dependent(choose, row, job, len(jobs), backwards, scale) for row, job in enumerate(numbered)]
    if has["held cancel"]:
        numbered = [
            replace(job, cancel=job.submit + choose.number(0, 2) * scale) if job.after is not None else job
            for job in numbered
        ]
    if has["begins"]:
        numbered = [_begun(choose, job, scale) for job in numbered]
    if has["presets"]:
        able = [job.submit == 0 and job.window is None and job.after is None and job.begin <= 0 for job in numbered]
        chosen = [one and choose.one((False, True)) for one in able]
        numbered = [replace(job, preset=preset) for job, preset in zip(numbered, chosen, strict=True)]
    return BatchCase(tuple(numbered), machine, rules)


def _rules(choose: Choice, has: dict[str, bool], scale: int) -> Rules:
    depth = choose.one((0, 1, None, None, 2, 3))
    allocator = choose.one(ALLOCATORS) if has["allocators"] else "first-fit"
    if has["switches"]:
        allocator = "topology"
    elif has["given"]:
        allocator = "given"
    rules = Rules(
        order=choose.one(ORDERS if has["orders"] else ("fcfs", "sjf")),
        depth=depth,
        keep=depth is None and choose.one((False, True)),
        allocator=allocator,
        kill=has["kill"],
        requeue=choose.one((True, False)),
        cost=choose.number(1, 3) * choose.one((1, scale)) if has["cost"] else 0,
        slack=choose.one((0.0, 0.5, 1.0, 2.0)),
        seed=choose.number(0, 3),
    )
    if has["patience"]:
        rules = replace(rules, switch_wait=choose.number(0, 9) * scale)
    if has["estimates"]:
        rules = replace(rules, predictor=choose.one(PREDICTORS))
        if choose.one((False, True)):
            rules = replace(rules, corrections=(scale, 3 * scale, 2 * scale))
    elif has["promises"]:
        rules = replace(rules, promises=True)
    return rules


def _machine(choose: Choice, has: dict[str, bool], scale: int) -> Machine:
    sizes = choose.one(((4,), (2, 2), (3, 3), (1, 2, 3), (4, 4), (2, 2, 2, 2), (3, 4, 5)))
    hosts = tuple(
        Host(
            cores,
            (("memory", choose.number(0, 8)), ("gpu", choose.number(0, 2))) if has["resources"] else (),
            _outages(choose, scale) if has["outages"] and choose.one((False, True)) else (),
            _outages(choose, scale) if has["drains"] and choose.one((False, True)) else (),
        )
        for cores in sizes
    )
    switches: list[tuple[int, frozenset[int]]] = []
    if has["switches"]:
        split = choose.number(1, len(hosts))
        order = list(range(len(hosts)))
        if has["gaps"]:
            order = order[::2] + order[1::2]
        switches = [(0, frozenset(order[lo : lo + split])) for lo in range(0, len(order), split)]
        if choose.one((False, True)):
            switches.append((1, frozenset(order)))
    machine = Machine(
        hosts,
        (("solver", choose.number(1, 3)),) if has["licences"] else (),
        _partitions(choose, has, len(hosts)),
        (),
        tuple(switches),
    )
    return replace(machine, windows=_windows(choose, has, scale, machine))


def _outages(choose: Choice, scale: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    t = 0
    for _ in range(choose.number(1, 2)):
        down = t + choose.number(0 if not found else 1, 8)
        t = down + choose.number(1, 6)
        found.append((down * scale, t * scale))
    return tuple(found)


def _partitions(choose: Choice, has: dict[str, bool], n_hosts: int) -> tuple[Partition, ...]:
    def limit(lo: int, hi: int) -> int | None:
        return choose.number(lo, hi) if has["limits"] and choose.one((False, True)) else None

    return tuple(
        Partition(
            # A range of hosts; ranges may overlap.
            hosts=frozenset(range(choose.number(0, n_hosts - 1), n_hosts)) if has["partitions"] and part else None,
            tier=choose.number(0, 1) if has["partitions"] else 0,
            max_jobs=limit(1, 3),
            max_cores=limit(2, 8),
            max_user_jobs=limit(1, 2),
            max_user_cores=limit(2, 6),
        )
        for part in range(choose.number(1, 3) if has["partitions"] else 1)
    )


def _windows(choose: Choice, has: dict[str, bool], scale: int, machine: Machine) -> tuple[Window, ...]:
    kinds = [maintenance for name, maintenance in (("reservations", False), ("maintenance", True)) if has[name]]
    found: list[Window] = []
    for _ in range(choose.number(1, 3) if kinds else 0):
        begin = choose.number(0, 12)
        end = begin + choose.number(1, 8)
        maintenance = choose.one(kinds)
        host = choose.number(0, len(machine.hosts) - 1)
        cores = machine.cores_of(host)
        if not maintenance and choose.one((False, True)):
            cores = cores[: choose.number(1, len(cores))]
        window = Window(begin * scale, end * scale, maintenance, frozenset(cores))
        if not any(_meet(window, other) for other in found):
            found.append(window)
    return tuple(found)


def _meet(one: Window, other: Window) -> bool:
    return bool(one.cores & other.cores) and one.begin < other.end and other.begin < one.end


def _job(choose: Choice, has: dict[str, bool], scale: int, machine: Machine, rules: Rules) -> Job:
    def maybe(feature: str) -> bool:
        return has[feature] and choose.one((False, True))

    n_cores = sum(host.cores for host in machine.hosts)
    run = choose.number(0, 8)
    # Exact, too long or too short estimates.
    estimate = max(1, choose.one((run, run, choose.number(1, 8), 2 * run)))
    submit = choose.number(0, 12)
    unit = choose.number(1, 2) if has["units"] else 1
    cores = (
        unit * choose.number(1, max(1, n_cores // unit)) if choose.one((False, True)) else unit * choose.number(1, 2)
    )
    cores = min(cores, n_cores // unit * unit)
    wanted = None
    if rules.allocator == "given":
        first = choose.number(0, n_cores - cores)
        wanted = frozenset(range(first, first + cores))
    job = Job(0, submit * scale, run * scale, cores, estimate * scale, wanted, unit_cores=unit)
    job = replace(job, user=choose.number(0, 1), partition=choose.number(0, len(machine.partitions) - 1))
    if has["estimates"]:
        run = max(
            1, run
        )  # or one would be predicted to run for 1 ns, and a plan behind a job that is overdue be looked at each
        planned = choose.one((None, max(1, run), choose.number(1, 8))) if rules.predictor is None else None
        job = replace(
            job,
            run=run * scale,
            estimate=scale * max(1, choose.one((estimate, 2 * run, 4 * run, choose.number(1, 60)))),
            planned=None if planned is None else planned * scale,
            user=choose.number(-1, 1),
            group=choose.number(-1, 1),
            application=choose.number(-1, 1),
            queue=choose.number(-1, 0),
        )
    if maybe("unknown"):
        return replace(job, run=-1, cancel=(submit + choose.number(0, 12)) * scale)
    if maybe("cancel"):
        job = replace(job, cancel=max(0, submit + choose.number(-1, 8)) * scale)
    if maybe("resources"):
        job = replace(
            job, needs=choose.one(((("memory", choose.number(1, 4)),), (("gpu", 1),), (("gpu", 1), ("memory", 2))))
        )
    if maybe("licences"):
        job = replace(job, licences=(("solver", 1),))
    if maybe("switches"):
        job = replace(job, limit=choose.number(1, 2))
    reserved = [number for number, window in enumerate(machine.windows) if not window.maintenance]
    if len(reserved) > 0 and choose.one((False, True)):
        # What it asks for is for a reservation.
        job = replace(job, window=choose.one(reserved), estimate=estimate * scale)
    return job


def _begun(choose: Choice, job: Job, scale: int) -> Job:
    # Before its submit, at it, or after it.
    return replace(job, begin=choose.one((-1, max(-1, job.submit + choose.number(-2, 9) * scale))))


def _dependent(choose: Choice, row: int, job: Job, n_jobs: int, backwards: bool, scale: int) -> Job:
    # Always on an earlier row, or always on a later one, so that there are no circles.
    rows = range(row + 1, n_jobs) if backwards else range(row)
    if not rows or choose.number(0, 2) < 2:
        return job
    return replace(job, after=choose.one(rows), think=choose.number(0, 3) * scale)
