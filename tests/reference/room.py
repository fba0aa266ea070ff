"""Where and when a waiting job fits, computed again from the holders of cores and their ends; no profile is kept."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from reference import gpus
from reference.allocation import ALLOCATORS, COUNTABLE
from reference.machine import Job, Machine, Rules


@dataclass(frozen=True)
class Hold:
    """A job has ``n`` cores during [begin, end): these, or any (None); and a share of a GPU each time that it is named."""

    job: Job
    begin: int
    end: int
    n: int
    cores: frozenset[int] | None
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """The cores and GPUs of a job."""

    cores: frozenset[int]
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Slot:
    """A job can run from ``begin``: at this place, or on any cores."""

    begin: int
    place: Place | None


def only_counts(jobs: Collection[Job], machine: Machine, rules: Rules) -> bool:
    """Whether all cores are alike for everything that is asked."""
    if rules.counts is not None:
        return rules.counts
    plain_machine = not machine.windows and len(machine.partitions) == 1 and machine.partitions[0].hosts is None
    plain_jobs = all(job.unit_cores == 1 and not job.needs and not job.licences and not job.limit for job in jobs)
    plain_jobs = plain_jobs and all(job.gpus is None for job in jobs)
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
    found = place(job, available(job, begin, end, holds, down, machine), begin, end, holds, machine, rules)
    return None if found is None else Slot(begin, found)


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
) -> Place | None:
    """The allocator's answer on these cores, unless other resources of the hosts forbid it."""
    for name, amount in job.licences:
        if amount > min(_left(dict(machine.licences)[name], name, at) for at in _held_at(begin, end, holds)):
            return None
    held = _held_at(begin, end, holds)
    left = {number: _least_left(number, cores, held, machine) for number in range(len(machine.hosts))}
    if rules.allocator in gpus.BY_UNITS:
        chosen = gpus.place_units(job, left, rules.allocator, machine, rules.workload)
        return None if chosen is None else Place(frozenset(chosen[0]), chosen[1])
    offered = set(cores)
    room: dict[int, int] = {}
    for number, here in left.items():
        on_host = [core for core in here.cores if core in (job.wanted or cores)]
        most = [max(0, dict(here.amounts).get(name, 0) // amount) for name, amount in job.needs]
        most += [units for units in [gpus.units_of_gpus(job, here)] if units is not None]
        room[number] = min([*most, len(on_host) // job.unit_cores])
        if room[number] < len(on_host) // job.unit_cores:  # else it is not the amount that keeps a core back
            offered -= set(on_host[room[number] * job.unit_cores :])
    found = ALLOCATORS[rules.allocator](job, cores, offered, machine, rules.seed)
    return None if found is None else Place(frozenset(found), gpus.lowest(job, _units(job, found, room, machine), left))


def _units(job: Job, cores: set[int], room: dict[int, int], machine: Machine) -> dict[int, int]:
    """How many units of a job are on each host; on whole hosts, as many as there is room for until it has all."""
    units, missing = {}, job.cores // job.unit_cores
    for host, most in room.items():
        here = len([core for core in machine.cores_of(host) if core in cores]) // job.unit_cores
        units[host] = min(here, most, missing)
        missing -= units[host]
    return units


def _least_left(host: int, cores: set[int], held: list[list[Hold]], machine: Machine) -> gpus.Left:
    """What is left on a host in all instants of a slot: of the offered cores, of each amount and of each GPU."""
    own = machine.hosts[host]
    return gpus.Left(
        tuple(core for core in machine.cores_of(host) if core in cores),
        tuple((name, min(_left_on(total, name, host, at, machine) for at in held)) for name, total in own.amounts),
        tuple((gpu, min(_milli_left(gpu, at) for at in held)) for gpu in machine.gpus_of(host)),
        own.kind,
    )


def _milli_left(gpu: int, holds: Sequence[Hold]) -> int:
    return gpus.WHOLE - sum(hold.gpus.count(gpu) * hold.job.gpus.milli for hold in holds if hold.job.gpus is not None)


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
