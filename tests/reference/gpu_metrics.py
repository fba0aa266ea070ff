"""What became of the GPUs of a machine without failures, exactly: shares of time, from the results of all attempts."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from reference.gpus import WHOLE, Left, classes_of, fragmentation, in_units
from reference.machine import Attempt, Job, Machine


@dataclass(frozen=True)
class Gpu:
    """Of all milli over the span from the first submit to the last end: ``used``; ``without_cores``, left on hosts without a
    free core. Of all cores of hosts with GPUs: ``idle_cores``, free on those with nothing left of their GPUs. Of what is left:
    ``fragmented``. And the mean wait of jobs with GPUs from the instant at which they may start."""

    used: Fraction
    without_cores: Fraction
    idle_cores: Fraction
    fragmented: Fraction
    mean_wait: Fraction


def measure(jobs: Sequence[Job], machine: Machine, attempts: Sequence[Attempt]) -> Gpu:
    in_parts = {job.number: in_units(job) for job in jobs}
    asked = {job.number: job.gpus.milli if job.gpus is not None else 0 for job in jobs}
    ran = [one for one in attempts if one.start >= 0]
    begin, end = min(job.submit for job in jobs), max(one.end for one in ran)
    instants = sorted({begin, end, *(one.start for one in ran), *(one.end for one in ran)})
    classes = classes_of(in_parts.values())
    used = without = idle = left = broken = 0
    for now, later in pairwise(instants):
        running = [one for one in ran if one.start <= now < one.end]
        for host, own in enumerate(machine.hosts):
            cores = machine.cores_of(host)
            here = {one.number: [core for core in cores if core in one.cores] for one in running}
            milli = {
                gpu: sum(asked[one.number] * one.gpus.count(gpu) for one in running) for gpu in machine.gpus_of(host)
            }
            amounts = dict(own.amounts)
            for number, some in here.items():
                for name, amount in in_parts[number].needs:
                    amounts[name] -= len(some) // in_parts[number].unit_cores * amount
            rest = Left(
                tuple(core for core in cores if not any(core in some for some in here.values())),
                tuple(amounts.items()),
                tuple((gpu, WHOLE - milli[gpu]) for gpu in milli),
                own.kind,
            )
            long = later - now
            used += long * sum(milli.values())
            without += long * rest.milli * (not rest.cores)
            idle += long * len(rest.cores) * (own.gpus > 0 and not rest.milli)
            left += long * rest.milli
            broken += long * fragmentation(rest, classes)
    span = end - begin
    n_milli = span * WHOLE * sum(host.gpus for host in machine.hosts)
    n_cores = span * sum(host.cores for host in machine.hosts if host.gpus)
    waits = [one.start - one.eligible for one in ran if asked[one.number]]
    return Gpu(
        Fraction(used, n_milli),
        Fraction(without, n_milli),
        Fraction(idle, n_cores),
        Fraction(broken, left * classes.total()) if left else Fraction(0),
        Fraction(sum(waits), len(waits)),
    )
