"""Where and when a waiting job fits, computed again from the holders of cores and their ends; no profile is kept."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from reference.allocation import ALLOCATORS, COUNTABLE
from reference.machine import Job, Machine, Rules


@dataclass(frozen=True)
class Hold:
    """A job has ``n`` cores during [begin, end): these, or any (None)."""

    job: Job
    begin: int
    end: int
    n: int
    cores: frozenset[int] | None


@dataclass(frozen=True)
class Slot:
    """A job can run from ``begin``: on these cores, or on any."""

    begin: int
    cores: frozenset[int] | None


def only_counts(jobs: Collection[Job], machine: Machine, rules: Rules) -> bool:
    """Whether all cores are alike for everything that is asked."""
    if rules.counts is not None:
        return rules.counts
    plain_machine = not machine.windows and len(machine.partitions) == 1 and machine.partitions[0].hosts is None
    plain_jobs = all(job.unit_cores == 1 and not job.needs and not job.licences and not job.limit for job in jobs)
    return rules.allocator in COUNTABLE and plain_machine and plain_jobs


def earliest(
    job: Job, now: int, holds: Sequence[Hold], down: Collection[int], machine: Machine, rules: Rules, counts: bool
) -> Slot | None:
    """The first slot from ``now`` on: room comes where a hold ends, or a window begins or ends."""
    instants = {now, *(hold.end for hold in holds)}
    instants |= {window.begin for window in machine.windows} | {window.end for window in machine.windows}
    if job.any_from is not None:
        # Whatever changes first once it accepts any switches.
        changes = instants | {hold.begin for hold in holds}
        instants |= set(sorted(instant for instant in changes if instant >= max(now, job.any_from))[:1])
    for begin in sorted(instant for instant in instants if instant >= now):
        slot = slot_at(job, begin, holds, down, machine, rules, counts)
        if slot is not None:
            return slot
    return None


def slot_at(
    job: Job, begin: int, holds: Sequence[Hold], down: Collection[int], machine: Machine, rules: Rules, counts: bool
) -> Slot | None:
    """The slot that begins at this very instant, if the job fits during all of [begin, begin + estimate)."""
    end = begin + job.estimate
    if job.any_from is not None and begin >= job.any_from:
        job = replace(job, limit=0)
    if counts:
        up = sum(host.cores for number, host in enumerate(machine.hosts) if number not in down)
        fits = all(job.cores <= up - sum(hold.n for hold in at) for at in _held_at(begin, end, holds))
        return Slot(begin, None) if fits else None
    cores = place(job, available(job, begin, end, holds, down, machine), begin, end, holds, machine, rules)
    return None if cores is None else Slot(begin, frozenset(cores))


def available(
    job: Job, begin: int, end: int, holds: Iterable[Hold], down: Collection[int], machine: Machine
) -> set[int]:
    cores: set[int] = set()
    masked = machine.partitions[job.partition].hosts
    for host in range(len(machine.hosts)):
        if host not in down and (masked is None or host in masked):
            cores |= set(machine.cores_of(host))
    for hold in holds:
        if hold.begin < end and begin < hold.end:
            assert hold.cores is not None
            cores -= hold.cores
    for number, window in enumerate(machine.windows):
        if number == job.window:
            # Its own reservation: only inside it.
            cores = cores & window.cores if window.begin <= begin and end <= window.end else set()
        elif window.begin < end and begin < window.end:
            cores -= window.cores
    return cores


def place(
    job: Job, cores: set[int], begin: int, end: int, holds: Sequence[Hold], machine: Machine, rules: Rules
) -> set[int] | None:
    """The allocator's answer on these cores, unless other resources of the hosts forbid it."""
    for name, amount in job.licences:
        if amount > min(_left(dict(machine.licences)[name], name, at) for at in _held_at(begin, end, holds)):
            return None
    offered = set(cores)
    for number, host in enumerate(machine.hosts):
        on_host = [core for core in machine.cores_of(number) if core in cores and core in (job.wanted or cores)]
        for name, amount in job.needs:
            total = dict(host.amounts).get(name, 0)
            left = min(_left_on(total, name, number, at, machine) for at in _held_at(begin, end, holds))
            units = max(0, left // amount)
            if units < len(on_host) // job.unit_cores:  # else it is not the amount that keeps a core back
                offered -= set(on_host[units * job.unit_cores :])
    return ALLOCATORS[rules.allocator](job, cores, offered, machine, rules.seed)


def _held_at(begin: int, end: int, holds: Sequence[Hold]) -> list[list[Hold]]:
    # The holds at each instant of [begin, end) at which there may be more of them than before.
    instants = {begin} | {hold.begin for hold in holds if begin < hold.begin < end}
    return [[hold for hold in holds if hold.begin <= instant < hold.end] for instant in sorted(instants)]


def _left(total: int, name: str, holds: Sequence[Hold]) -> int:
    return total - sum(amount for hold in holds for licence, amount in hold.job.licences if licence == name)


def _left_on(total: int, name: str, host: int, holds: Sequence[Hold], machine: Machine) -> int:
    for hold in holds:
        on_host = [core for core in machine.cores_of(host) if core in (hold.cores or ())]
        total -= sum(len(on_host) // hold.job.unit_cores * amount for need, amount in hold.job.needs if need == name)
    return total
