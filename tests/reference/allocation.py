"""Which of the offered cores a job gets, one rule a function; None where it cannot be placed on them.

``free`` are the cores that the job may have, ``offered`` those of them that the other resources of their hosts allow.
Every host gives a multiple of the job's ``unit_cores``.
"""

from collections.abc import Callable, Sequence

from reference.machine import Job, Machine

#: Allocators for which any n offered cores do, if a unit is one core and no switches are asked for.
COUNTABLE = ("first-fit", "best-fit", "worst-fit", "random", "topology")


def _on(host: int, cores: set[int], machine: Machine) -> list[int]:
    return [core for core in machine.cores_of(host) if core in cores]


def _usable(host: int, job: Job, offered: set[int], machine: Machine) -> int:
    return len(_on(host, offered, machine)) // job.unit_cores * job.unit_cores


def _in_this_order(hosts: Sequence[int], n: int, job: Job, offered: set[int], machine: Machine) -> set[int] | None:
    # Host after host gives the lowest of its offered cores, whole units, as many as are still missing.
    taken: set[int] = set()
    for host in hosts:
        taken |= set(_on(host, offered, machine)[: min(_usable(host, job, offered, machine), n - len(taken))])
    return taken if len(taken) == n else None


def first_fit(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    return _in_this_order(range(len(machine.hosts)), job.cores, job, offered, machine)


def best_fit(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    hosts = sorted(range(len(machine.hosts)), key=lambda host: (_usable(host, job, offered, machine), host))
    return _in_this_order(hosts, job.cores, job, offered, machine)


def worst_fit(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    hosts = sorted(range(len(machine.hosts)), key=lambda host: (-_usable(host, job, offered, machine), host))
    return _in_this_order(hosts, job.cores, job, offered, machine)


def contiguous(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    """The lowest run of consecutive cores in which every host gives whole units."""
    for first in sorted(offered):
        run = set(range(first, first + job.cores))
        if run <= offered and _whole_units(run, job, machine):
            return run
    return None


def _whole_units(cores: set[int], job: Job, machine: Machine) -> bool:
    return all(len(_on(host, cores, machine)) % job.unit_cores == 0 for host in range(len(machine.hosts)))


def whole_host(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    """All cores of the lowest hosts that are free whole, each counted for what is offered, until that is enough."""
    taken: set[int] = set()
    missing = job.cores
    for host in range(len(machine.hosts)):
        usable = _usable(host, job, offered, machine)
        if missing > 0 and usable > 0 and set(machine.cores_of(host)) <= free:
            taken |= set(machine.cores_of(host))
            missing -= usable
    return taken if missing <= 0 else None


def given(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    if job.wanted is None or not job.wanted <= offered or not _whole_units(set(job.wanted), job, machine):
        return None
    return set(job.wanted)


def topology(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    """The lowest level of switches that holds it, there the fullest one; below it leaf switches by best fit."""
    everything = frozenset(range(len(machine.hosts)))
    leaves = [hosts for level, hosts in machine.switches if level == 0] or [everything]

    def usable(switch: frozenset[int]) -> int:
        return sum(_usable(host, job, offered, machine) for host in switch)

    def below(switch: frozenset[int]) -> list[frozenset[int]]:
        return [leaf for leaf in leaves if leaf <= switch]

    def holds(switch: frozenset[int]) -> bool:
        most = sorted((usable(leaf) for leaf in below(switch)), reverse=True)
        return usable(switch) >= job.cores and (job.limit == 0 or sum(most[: job.limit]) >= job.cores)

    levels = [
        [hosts for at, hosts in machine.switches if at == level] for level in sorted({at for at, _ in machine.switches})
    ]
    for switches in [*levels, [everything]]:
        holding = [switch for switch in switches if holds(switch)]
        if holding:
            break
    else:
        return None
    left = below(min(holding, key=lambda switch: (usable(switch), min(switch))))
    taken: set[int] = set()
    while len(taken) < job.cores:
        missing = job.cores - len(taken)
        enough = [leaf for leaf in left if usable(leaf) >= missing]
        if enough:
            leaf = min(enough, key=lambda leaf: (usable(leaf), min(leaf)))
        else:
            leaf = min(left, key=lambda leaf: (-usable(leaf), min(leaf)))
        left.remove(leaf)
        part = _in_this_order(sorted(leaf), min(missing, usable(leaf)), job, offered, machine)
        assert part is not None
        taken |= part
    return taken


def random(job: Job, free: set[int], offered: set[int], machine: Machine, seed: int) -> set[int] | None:
    """Units drawn by Floyd's algorithm, with splitmix64 from the seed and the job's number."""
    units = []
    for host in range(len(machine.hosts)) if job.unit_cores > 1 else ():
        cores = _on(host, offered, machine)[: _usable(host, job, offered, machine)]
        units += [cores[k : k + job.unit_cores] for k in range(0, len(cores), job.unit_cores)]
    if job.unit_cores == 1:
        units = [[core] for core in sorted(offered)]
    n = job.cores // job.unit_cores
    if len(units) < n:
        return None
    state = _mix(_mix(seed % 2**63) ^ job.number)
    drawn: set[int] = set()
    for k, last in enumerate(range(len(units) - n, len(units)), 1):
        number = (_mix((state + k * 0x9E3779B97F4A7C15) % 2**64) >> 1) % (last + 1)
        drawn.add(last if number in drawn else number)
    return {core for unit in drawn for core in units[unit]}


def _mix(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


ALLOCATORS: dict[str, Callable[[Job, set[int], set[int], Machine, int], set[int] | None]] = {
    "first-fit": first_fit,
    "best-fit": best_fit,
    "worst-fit": worst_fit,
    "contiguous": contiguous,
    "whole-host": whole_host,
    "random": random,
    "topology": topology,
    "given": given,
}
