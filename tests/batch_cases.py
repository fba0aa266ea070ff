"""Random batch-level cases: small clusters, jobs, failures, reservations, and what the slow reference makes of them.

Times are small multiples of a scale, cores few, so that ties, exact fits, overdue jobs and early ends are common. Features
are asked for by name; a case has each of them with some probability, and those of ``always`` for certain.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations

from hypothesis import strategies as st
from reference.cluster import NeverFinishes, run
from reference.machine import (
    LAST_TWO,
    MINUTE,
    PROFILE,
    Attempt,
    Gpus,
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

#: Features of a case besides plain jobs on plain hosts. Orders are others than fcfs and sjf, allocators others than first-fit;
#: jobs may request given cores, units of several cores, and resources of hosts; ``unknown`` run times have a cancel instant;
#: estimates are others than the requests; with promises running jobs are planned with their ends.
FEATURES = (
    *("orders", "allocators", "given", "units", "resources", "licences", "switches", "kill", "cancel", "unknown"),
    *("dependencies", "partitions", "limits", "reservations", "maintenance", "outages", "presets", "cost", "estimates"),
    *("promises", "gpus"),
)

#: What only cases have that request it. With gaps, hosts of one switch are no neighbours; with patience, jobs wait for few
#: switches for a time only; with ``held cancel`` jobs that depend on another are withdrawn at their submit or soon after it.
LATER = ("drains", "gaps", "patience", "held cancel", "begins")

#: Kinds of GPUs, and allocators that look at GPUs.
KINDS = ("a100", "h100")
GPU_ALLOCATORS = ("pack-gpus", "spread", "tightest", "fgd", "fgd:scores=100")

#: Pairs of features that exclude each other: one allocator, one source of estimates.
APART = [("allocators", "given"), ("allocators", "switches"), ("given", "switches")]
APART += [("estimates", "promises"), ("drains", "licences")]

#: What a step of time is worth, ns: at 1 every rounding of an instant shows, at a second cases are like logs.
SCALES = (1, 1000, 10**9)

#: Estimators: none, the built-in ones, and others.
PREDICTORS = (
    None,
    LAST_TWO,
    PROFILE,
    Predictor((("user", "cores"), ("group",), ("user",)), 3, 2),
    Predictor((("application",), ()), 4, 1),
)


@dataclass(frozen=True)
class BatchCase:
    """Everything that determines a result, in plain values: ``jobs`` in workload order (ascending submit)."""

    jobs: tuple[Job, ...]
    machine: Machine = field(default_factory=lambda: Machine((Host(4),)))
    rules: Rules = field(default_factory=Rules)


@lru_cache(maxsize=16)
def expected(case: BatchCase) -> list[Attempt]:
    """The slow reference's answer, by row and attempt; raises NeverFinishes if a job of the case waits for ever."""
    return run(case.jobs, case.machine, case.rules)


def finishes(case: BatchCase) -> bool:
    """Whether all jobs of a case leave at some time."""
    try:
        expected(case)
    except NeverFinishes:
        return False
    return True


def covering(features: Sequence[str], apart: Iterable[tuple[str, str]], size: int) -> list[tuple[str, ...]]:
    """Return sets of up to ``size`` features: each by itself, then such that every pair but those ``apart`` is in one."""
    never = set(map(frozenset, apart))
    left = [pair for pair in map(frozenset, combinations(features, 2)) if pair not in never]
    found: list[tuple[str, ...]] = [(name,) for name in features]
    while left:
        chosen = sorted(left[0], key=features.index)
        while len(chosen) < size:
            able = [name for name in features if name not in chosen and not any({name, one} in never for one in chosen)]
            gains = {name: sum(frozenset({name, one}) in left for one in chosen) for name in able}
            best = max(able, key=gains.__getitem__, default=None)
            if best is None or not gains[best]:
                break
            chosen.append(best)
        left = [pair for pair in left if not pair <= set(chosen)]
        found.append(tuple(chosen))
    return found


def cases(
    features: Collection[str] = FEATURES, *, always: Collection[str] = (), max_jobs: int = 12
) -> st.SearchStrategy[BatchCase]:
    """Cases that finish, for hypothesis; smaller draws are simpler cases."""

    generators = st.randoms(use_true_random=False, note_method_calls=False)
    return generators.map(lambda rng: _case(rng, features, always, max_jobs)).filter(finishes)


def seeded_cases(
    seed: int, n: int, features: Collection[str] = FEATURES, *, always: Collection[str] = (), max_jobs: int = 12
) -> list[BatchCase]:
    """``n`` cases that finish from a generator of this seed: faster than hypothesis, and any number of them."""
    rng = random.Random(seed)
    found: list[BatchCase] = []
    while len(found) < n:
        case = _case(rng, features, always, max_jobs)
        if finishes(case):
            found.append(case)
    return found


def _case(rng: random.Random, features: Collection[str], always: Collection[str], max_jobs: int) -> BatchCase:
    has: dict[str, bool] = {
        name: name in always or (name in features and rng.randint(0, 2) == 2) for name in (*FEATURES, *LATER)
    }
    scale = rng.choice((*SCALES, MINUTE) if has["estimates"] else SCALES)
    rules = _rules(rng, has, scale)
    machine = _machine(rng, has, scale)
    jobs = sorted(
        (_job(rng, has, scale, machine, rules) for _ in range(rng.randint(1, max_jobs))), key=lambda job: job.submit
    )
    # Job numbers are in no order; which row waits for which is known now.
    numbered = [replace(job, number=1 + row * 7919 % 10007) for row, job in enumerate(jobs)]
    if has["dependencies"]:
        backwards = rng.choice((False, False, True))
        numbered = [_dependent(rng, row, job, len(jobs), backwards, scale) for row, job in enumerate(numbered)]
    if has["held cancel"]:
        numbered = [
            replace(job, cancel=job.submit + rng.randint(0, 2) * scale) if job.after is not None else job
            for job in numbered
        ]
    if has["begins"]:
        numbered = [_begun(rng, job, scale) for job in numbered]
    if has["presets"]:
        able = [job.submit == 0 and job.window is None and job.after is None and job.begin <= 0 for job in numbered]
        chosen = [one and rng.choice((False, True)) for one in able]
        numbered = [replace(job, preset=preset) for job, preset in zip(numbered, chosen, strict=True)]
    return BatchCase(tuple(numbered), machine, rules)


def _rules(rng: random.Random, has: dict[str, bool], scale: int) -> Rules:
    depth = rng.choice((0, 1, None, None, 2, 3))
    allocators = ALLOCATORS + GPU_ALLOCATORS * has["gpus"]
    allocator = rng.choice(allocators) if has["allocators"] else "first-fit"
    if has["switches"]:
        allocator = "topology"
    elif has["given"]:
        allocator = "given"
    rules = Rules(
        order=rng.choice(ORDERS if has["orders"] else ("fcfs", "sjf")),
        depth=depth,
        keep=depth is None and rng.choice((False, True)),
        allocator=allocator,
        kill=has["kill"],
        requeue=rng.choice((True, False)),
        cost=rng.randint(1, 3) * rng.choice((1, scale)) if has["cost"] else 0,
        slack=rng.choice((0.0, 0.5, 1.0, 2.0)),
        seed=rng.randint(0, 3),
    )
    if has["patience"]:
        rules = replace(rules, switch_wait=rng.randint(0, 9) * scale)
    if has["estimates"]:
        rules = replace(rules, predictor=rng.choice(PREDICTORS))
        if rng.choice((False, True)):
            rules = replace(rules, corrections=(scale, 3 * scale, 2 * scale))
    elif has["promises"]:
        rules = replace(rules, promises=True)
    return rules


def _machine(rng: random.Random, has: dict[str, bool], scale: int) -> Machine:
    sizes = rng.choice(((4,), (2, 2), (3, 3), (1, 2, 3), (4, 4), (2, 2, 2, 2), (3, 4, 5)))
    hosts = tuple(
        Host(
            cores,
            (("memory", rng.randint(0, 8)), ("card", rng.randint(0, 2))) if has["resources"] else (),
            _outages(rng, scale) if has["outages"] and rng.choice((False, True)) else (),
            _outages(rng, scale) if has["drains"] and rng.choice((False, True)) else (),
        )
        for cores in sizes
    )
    if has["gpus"]:
        hosts = tuple(replace(host, gpus=rng.randint(0, 3), kind=rng.choice(KINDS)) for host in hosts)
    switches: list[tuple[int, frozenset[int]]] = []
    if has["switches"]:
        split = rng.randint(1, len(hosts))
        order = list(range(len(hosts)))
        if has["gaps"]:
            order = order[::2] + order[1::2]
        switches = [(0, frozenset(order[lo : lo + split])) for lo in range(0, len(order), split)]
        if rng.choice((False, True)):
            switches.append((1, frozenset(order)))
    machine = Machine(
        hosts,
        (("solver", rng.randint(1, 3)),) if has["licences"] else (),
        _partitions(rng, has, hosts),
        (),
        tuple(switches),
    )
    return replace(machine, windows=_windows(rng, has, scale, machine))


def _outages(rng: random.Random, scale: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    t = 0
    for _ in range(rng.randint(1, 2)):
        down = t + rng.randint(0 if not found else 1, 8)
        t = down + rng.randint(1, 6)
        found.append((down * scale, t * scale))
    return tuple(found)


def _partitions(rng: random.Random, has: dict[str, bool], hosts: tuple[Host, ...]) -> tuple[Partition, ...]:
    def limit(lo: int, hi: int) -> int | None:
        return rng.randint(lo, hi) if has["limits"] and rng.choice((False, True)) else None

    n_hosts, with_gpus = len(hosts), any(host.gpus for host in hosts)
    return tuple(
        Partition(
            # A range of hosts; ranges may overlap.
            hosts=frozenset(range(rng.randint(0, n_hosts - 1), n_hosts)) if has["partitions"] and part else None,
            tier=rng.randint(0, 1) if has["partitions"] else 0,
            max_jobs=limit(1, 3),
            max_cores=limit(2, 8),
            max_user_jobs=limit(1, 2),
            max_user_cores=limit(2, 6),
            max_milli=limit(500, 2500) if with_gpus else None,
            max_user_milli=limit(500, 1500) if with_gpus else None,
        )
        for part in range(rng.randint(1, 3) if has["partitions"] else 1)
    )


def _windows(rng: random.Random, has: dict[str, bool], scale: int, machine: Machine) -> tuple[Window, ...]:
    kinds = [maintenance for name, maintenance in (("reservations", False), ("maintenance", True)) if has[name]]
    found: list[Window] = []
    for _ in range(rng.randint(1, 3) if kinds else 0):
        begin = rng.randint(0, 12)
        end = begin + rng.randint(1, 8)
        maintenance = rng.choice(kinds)
        host = rng.randint(0, len(machine.hosts) - 1)
        cores = machine.cores_of(host)
        if not maintenance and rng.choice((False, True)):
            cores = cores[: rng.randint(1, len(cores))]
        window = Window(begin * scale, end * scale, maintenance, frozenset(cores))
        together = (one for one in found if one.begin < window.end and window.begin < one.end)
        if not any(one.cores & window.cores for one in together):
            found.append(window)
    return tuple(found)


def _job(rng: random.Random, has: dict[str, bool], scale: int, machine: Machine, rules: Rules) -> Job:
    def maybe(feature: str) -> bool:
        return has[feature] and rng.choice((False, True))

    n_cores = sum(host.cores for host in machine.hosts)
    run = rng.randint(0, 8)
    # Exact, too long or too short estimates.
    estimate = max(1, rng.choice((run, run, rng.randint(1, 8), 2 * run)))
    submit = rng.randint(0, 12)
    unit = rng.randint(1, 2) if has["units"] else 1
    cores = unit * rng.randint(1, max(1, n_cores // unit)) if rng.choice((False, True)) else unit * rng.randint(1, 2)
    cores = min(cores, n_cores // unit * unit)
    wanted = None
    if rules.allocator == "given":
        first = rng.randint(0, n_cores - cores)
        wanted = frozenset(range(first, first + cores))
    job = Job(0, submit * scale, run * scale, cores, estimate * scale, wanted, unit_cores=unit)
    job = replace(job, user=rng.randint(0, 1), partition=rng.randint(0, len(machine.partitions) - 1))
    if has["estimates"]:
        run = max(1, run)  # or it would be predicted to run for 1 ns, and be overdue in every plan
        planned = rng.choice((None, max(1, run), rng.randint(1, 8))) if rules.predictor is None else None
        job = replace(
            job,
            run=run * scale,
            estimate=scale * max(1, rng.choice((estimate, 2 * run, 4 * run, rng.randint(1, 60)))),
            planned=None if planned is None else planned * scale,
            user=rng.randint(-1, 1),
            group=rng.randint(-1, 1),
            application=rng.randint(-1, 1),
            queue=rng.randint(-1, 0),
        )
    if maybe("unknown"):
        return replace(job, run=-1, cancel=(submit + rng.randint(0, 12)) * scale)
    if maybe("cancel"):
        job = replace(job, cancel=max(0, submit + rng.randint(-1, 8)) * scale)
    if maybe("resources"):
        job = replace(
            job, needs=rng.choice(((("memory", rng.randint(1, 4)),), (("card", 1),), (("card", 1), ("memory", 2))))
        )
    if maybe("gpus"):
        job = replace(job, gpus=_gpus(rng))
    if maybe("licences"):
        job = replace(job, licences=(("solver", 1),))
    if maybe("switches"):
        job = replace(job, limit=rng.randint(1, 2))
    reserved = [number for number, window in enumerate(machine.windows) if not window.maintenance]
    if len(reserved) > 0 and rng.choice((False, True)):
        # What it requests is for a reservation.
        job = replace(job, window=rng.choice(reserved), estimate=estimate * scale)
    return job


def _gpus(rng: random.Random) -> Gpus:
    kinds = rng.choice((frozenset[str](), frozenset(KINDS), frozenset({rng.choice(KINDS)})))
    if rng.choice((False, True)):
        return Gpus(1, "unit", rng.choice((200, 500, 501, 999)), kinds)
    return Gpus(rng.randint(1, 2), rng.choice(("unit", "host", "job")), kinds=kinds)


def _begun(rng: random.Random, job: Job, scale: int) -> Job:
    # Before its submit, at it, or after it.
    return replace(job, begin=rng.choice((-1, max(-1, job.submit + rng.randint(-2, 9) * scale))))


def _dependent(rng: random.Random, row: int, job: Job, n_jobs: int, backwards: bool, scale: int) -> Job:
    # Always on an earlier row, or always on a later one, so that there are no circles.
    rows = range(row + 1, n_jobs) if backwards else range(row)
    if not rows or rng.randint(0, 2) < 2:
        return job
    return replace(job, after=rng.choice(rows), think=rng.randint(0, 3) * scale)
