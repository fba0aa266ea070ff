"""GPUs as numbered devices of hosts, of 1000 milli each: what jobs request, where it fits, and the allocators that look at it.

A job is placed unit by unit. A unit lies on one host: its cores, its amounts, and ``n`` different GPUs with at least ``milli``
left of each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from reference.machine import Gpus, Job, Machine

WHOLE = 1000


def in_units(job: Job) -> Job:
    """The job with its GPUs requested per unit or per host: GPUs of the whole job go to equal parts, as many as possible."""
    if job.gpus is None or job.gpus.per != "job":
        return job
    units = job.cores // job.unit_cores
    parts = gcd(units, job.gpus.n)
    return replace(
        job,
        unit_cores=job.cores // parts,
        needs=tuple((name, amount * (units // parts)) for name, amount in job.needs),
        gpus=replace(job.gpus, n=job.gpus.n // parts, per="unit"),
    )


@dataclass(frozen=True)
class Left:
    """What is left on a host: cores, amounts, and milli by GPU; what fits on it is a question of these."""

    cores: tuple[int, ...]
    amounts: tuple[tuple[str, int], ...] = ()
    gpus: tuple[tuple[int, int], ...] = ()
    kind: str = ""

    @property
    def milli(self) -> int:
        return sum(left for _, left in self.gpus)

    def able(self, asked: Gpus) -> list[tuple[int, int]]:
        """The GPUs, with their milli, that can give one unit its share."""
        if asked.kinds and self.kind not in asked.kinds:
            return []
        return [(gpu, left) for gpu, left in self.gpus if left >= asked.milli]

    def without(self, job: Job, gpus: Iterable[int]) -> Left:
        """What is left after one more unit of a job, which takes these GPUs and the lowest cores."""
        milli = 0 if job.gpus is None else job.gpus.milli
        taken = set(gpus)
        needs = dict(job.needs)
        return Left(
            self.cores[job.unit_cores :],
            tuple((name, amount - needs.get(name, 0)) for name, amount in self.amounts),
            tuple((gpu, left - milli * (gpu in taken)) for gpu, left in self.gpus),
            self.kind,
        )

    def fits(self, job: Job) -> bool:
        """Whether one unit of a job fits."""
        amounts = dict(self.amounts)
        enough = len(self.cores) >= job.unit_cores
        enough = enough and all(amounts.get(name, 0) >= amount for name, amount in job.needs)
        return enough and (job.gpus is None or len(self.able(job.gpus)) >= job.gpus.n)


def units_of_gpus(job: Job, left: Left) -> int | None:
    """How many units of a job the GPUs of a host allow; None: any number."""
    if job.gpus is None:
        return None
    able = left.able(job.gpus)
    if job.gpus.per == "host":
        return None if len(able) >= job.gpus.n else 0
    if job.gpus.milli < WHOLE:
        assert job.gpus.n == 1, "a share is of one GPU"
        return sum(milli // job.gpus.milli for _, milli in able)
    return len(able) // job.gpus.n


def lowest(job: Job, units: dict[int, int], left: dict[int, Left]) -> tuple[int, ...]:
    """The GPUs of a job whose cores are chosen: on each host, unit by unit, the lowest that can."""
    taken: list[int] = []
    for host in sorted(units):
        for unit in range(units[host]):
            asked = gpus_of_next_unit(job, unit)
            gpus = [] if asked is None else [gpu for gpu, _ in left[host].able(asked)][: asked.n]
            left = left | {host: left[host].without(job, gpus)}
            taken += gpus
    return tuple(sorted(taken))


def gpus_of_next_unit(job: Job, before: int) -> Gpus | None:
    """What one more unit requests on a host that has some units of the job: GPUs per host only if it is the first there."""
    return None if job.gpus is not None and job.gpus.per == "host" and before else job.gpus


# ---- the measure of fragmentation ----


def classes_of(jobs: Iterable[Job]) -> Counter[Job]:
    """The workload as F sees it: how many jobs there are of each request of a unit."""
    blank = Job(0, 0, 0, 0, 0)
    return Counter(
        replace(blank, cores=job.unit_cores, unit_cores=job.unit_cores, needs=job.needs, gpus=job.gpus) for job in jobs
    )


def fragments(left: Left, job: Job) -> int:
    """F_n(m), milli: GPUs that are left on a host, and that one more unit of a job cannot use."""
    if job.gpus is None or not left.fits(job):
        return left.milli
    return sum(milli for _, milli in left.gpus if milli < job.gpus.milli)


def fragmentation(left: Left, classes: Counter[Job]) -> int:
    """F_n(M) times the number of jobs."""
    return sum(n * fragments(left, job) for job, n in classes.items())


def share_of_fragments(hosts: Iterable[Left], classes: Counter[Job]) -> Fraction:
    """The part of all milli that are left that is fragmented, 0 to 1; 0 if nothing is left."""
    hosts = list(hosts)
    total = sum(left.milli for left in hosts) * classes.total()
    return Fraction(sum(fragmentation(left, classes) for left in hosts), total) if total else Fraction(0)


# ---- allocators that place unit by unit: the smallest of (score, host, GPUs) is taken ----

#: What a unit would take, and from what: the job, the host's rest, and the GPUs.
Score = Callable[[Job, Left, tuple[int, ...], Machine, Counter[Job]], tuple[int, ...]]


def _pack(job: Job, left: Left, gpus: tuple[int, ...], machine: Machine, classes: Counter[Job]) -> tuple[int, ...]:
    """The host with the least left of its GPUs, then the fewest cores."""
    return left.milli, len(left.cores)


def _spread(job: Job, left: Left, gpus: tuple[int, ...], machine: Machine, classes: Counter[Job]) -> tuple[int, ...]:
    """The host with the most left of its GPUs, if the job requests some, then the most cores."""
    return -left.milli * (job.gpus is not None), -len(left.cores)


def _tightest(job: Job, left: Left, gpus: tuple[int, ...], machine: Machine, classes: Counter[Job]) -> tuple[int, ...]:
    """The host with the smallest sum, over cores, amounts and GPUs, of what would be left, as ppm of the largest host's."""
    after = left.without(job, gpus)
    most = Counter[str]()
    for host in machine.hosts:
        most |= Counter({"cores": host.cores, "gpus": host.gpus * WHOLE} | dict(host.amounts))
    rest = {"cores": len(after.cores), "gpus": after.milli} | dict(after.amounts)
    return (sum(max(amount, 0) * 10**6 // most[name] for name, amount in rest.items() if most[name]),)


def _descent(job: Job, left: Left, gpus: tuple[int, ...], machine: Machine, classes: Counter[Job]) -> tuple[int, ...]:
    """The host, and the GPU, on which fragmentation grows least."""
    return (fragmentation(left.without(job, gpus), classes) - fragmentation(left, classes),)


def _rounded_descent(
    job: Job, left: Left, gpus: tuple[int, ...], machine: Machine, classes: Counter[Job]
) -> tuple[int, ...]:
    """As :func:`_descent`, by the scores of the authors' simulator, 0 to 100."""
    change = _descent(job, left, gpus, machine, classes)[0] / max(1, classes.total())
    return (-int(100 / (1 + math.exp(change / 1000))),)


def _by_left(able: list[tuple[int, int]], n: int, sign: int) -> list[tuple[int, ...]]:
    ordered = sorted(able, key=lambda one: (sign * one[1], one[0]))
    return [tuple(sorted(gpu for gpu, _ in ordered[:n]))]


def _each(able: list[tuple[int, int]], n: int, _: int) -> list[tuple[int, ...]]:
    return [(gpu,) for gpu, _ in able] if n == 1 else _by_left(able, n, 1)


#: The score, and the choices of GPUs on a host: those with the least left (1) or the most (-1), or each one by itself.
BY_UNITS: dict[str, tuple[Score, Callable[[list[tuple[int, int]], int, int], list[tuple[int, ...]]], int]] = {
    "pack-gpus": (_pack, _by_left, 1),
    "spread": (_spread, _by_left, -1),
    "tightest": (_tightest, _by_left, 1),
    "fgd": (_descent, _each, 0),
    "fgd:scores=100": (_rounded_descent, _each, 0),
}


def place_units(
    job: Job, left: dict[int, Left], rule: str, machine: Machine, workload: Sequence[Job]
) -> tuple[set[int], tuple[int, ...]] | None:
    """The cores and GPUs of a job, unit by unit, each where its score is smallest; None if they do not all fit."""
    score, choices, sign = BY_UNITS[rule]
    classes = classes_of(workload) if rule.startswith("fgd") else Counter[Job]()
    cores: set[int] = set()
    taken: list[int] = []
    units = Counter[int]()
    for _ in range(job.cores // job.unit_cores):
        found = []
        for host, here in left.items():
            asked = gpus_of_next_unit(job, units[host])
            unit = replace(job, gpus=asked)
            if here.fits(unit):
                each = [()] if asked is None else choices(here.able(asked), asked.n, sign)
                found += [(score(unit, here, gpus, machine, classes), host, gpus) for gpus in each]
        if not found:
            return None
        _, host, gpus = min(found)
        cores |= set(left[host].cores[: job.unit_cores])
        taken += gpus
        left = left | {host: left[host].without(job, gpus)}
        units[host] += 1
    return cores, tuple(sorted(taken))
