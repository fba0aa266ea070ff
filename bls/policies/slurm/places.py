"""Choice of nodes for jobs, now or at their earliest start: ``select/linear`` and ``select/cons_tres`` by cores.

Nodes are numbers; sets of nodes are the bits of an integer. Instants are dates in whole seconds, as in Slurm.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

_KILL_WAIT_S = 30  #: time after its limit at which a job that still runs is expected to end (``KillWait``), s
_WINDOW_S = 30  #: initial span within which ends of running jobs are handled together, s; it doubles with each try
_MOST_ENDS = 200  #: number of ends after which each try depends on the clock, which does not advance meanwhile


@dataclass(eq=False)
class SlurmJob:
    """A job in slurmctld."""

    number: int  # its place in the order of submission
    row: int  # its row in the run
    cores: int
    limit_s: int
    priority: int = 1  # the highest is considered first; ties by submission
    start_s: int = 0  # date of its start
    end_s: int = 0  # date of its latest end
    kill_ns: int = -1  # latest instant at which it is killed; -1 never
    nodes: int = 0  # its nodes, or planned nodes, as bits
    on: dict[int, int] = field(default_factory=dict)  # number of its cores on each node
    unit: int = 1  # cores of a unit, which is on one node
    per_unit: int = 0  # GPUs of each unit
    per_node: int = 0  # GPUs of each of its nodes
    able: int = -1  # nodes that have GPUs as it requests them, as bits; -1: all nodes

    def gpus_with(self, cores: int) -> int:
        """The GPUs that it has on a node where it has this number of cores."""
        return self.per_node + cores // self.unit * self.per_unit


def nodes_of(nodes: int) -> Iterator[int]:
    """The numbers of a set of nodes, ascending."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def _stretches(nodes: int) -> Iterator[tuple[int, int]]:
    # Sets of consecutive nodes: the first, and one past the last.
    at = 0
    while nodes:
        skip = (nodes & -nodes).bit_length() - 1
        nodes >>= skip
        length = (~nodes & (nodes + 1)).bit_length() - 1
        yield at + skip, at + skip + length
        at += skip + length
        nodes >>= length


def _best(sets: Sequence[list[int]], wanted: int) -> list[int] | None:
    # Of sets [cores, first, stop]: the smallest with enough cores, else the largest; the first of equals.
    best: list[int] | None = None
    enough = False
    for one in sets:
        if one[0] == 0:
            continue
        fits = one[0] >= wanted
        better = best is None or (fits and (not enough or one[0] < best[0])) or (not fits and one[0] > best[0])
        if better:
            best, enough = one, fits
    return best


class FreeNodes(ABC):
    """Free cores, running jobs and completing nodes; finds places for jobs."""

    def __init__(self) -> None:
        self.running: dict[int, SlurmJob] = {}
        self._completing: dict[int, int] = {}

    @property
    def completing(self) -> int:
        """The nodes that are cleaning up after a job."""
        return reduce(or_, self._completing.values(), 0)

    @abstractmethod
    def now(self, job: SlurmJob, nodes: int) -> dict[int, int] | None:
        """The cores that a job would have on each of these nodes if it started now; None if it cannot."""

    @abstractmethod
    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """The earliest start of a job on these nodes after running jobs, and its nodes; None if it can never start there."""

    @abstractmethod
    def usable(self) -> int:
        """The nodes on which the main scheduler may start jobs now."""

    def take(self, job: SlurmJob, on: dict[int, int]) -> None:
        """Start a job on these cores."""
        job.on, job.nodes = on, sum(1 << node for node in on)
        self.running[job.number] = job

    def end(self, job: SlurmJob) -> None:
        """End a job; its nodes are completing until they report that they have cleaned up."""
        del self.running[job.number]
        self._completing[job.number] = job.nodes

    def clean(self, job: SlurmJob, last: bool) -> None:
        """Free the nodes of a job, which have cleaned up; without ``last``, all except the last node."""
        if last:
            del self._completing[job.number]
        else:
            self._completing[job.number] = 1 << (job.nodes.bit_length() - 1)

    def _by_end(self) -> list[SlurmJob]:
        return sorted(self.running.values(), key=lambda job: (job.end_s, job.number))


class Linear(FreeNodes):
    """``select/linear`` on nodes of one core each."""

    def __init__(self, cores: Sequence[int]) -> None:
        super().__init__()
        self.free = (1 << len(cores)) - 1

    def usable(self) -> int:
        """Idle nodes."""
        return self.free & ~self.completing

    def take(self, job: SlurmJob, on: dict[int, int]) -> None:
        super().take(job, on)
        self.free &= ~job.nodes

    def end(self, job: SlurmJob) -> None:
        super().end(job)
        self.free |= job.nodes

    def now(self, job: SlurmJob, nodes: int) -> dict[int, int] | None:
        """Best fit by sets of consecutive nodes."""
        found = _fitting(nodes & job.able & self.free, job.cores)
        return None if found is None else dict.fromkeys(nodes_of(found), 1)

    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """Running jobs end at their limits, one at a time."""
        nodes &= job.able
        free = self.free & nodes
        if (found := _fitting(free, job.cores)) is not None:
            return now_s, found
        if nodes.bit_count() < job.cores:
            return None
        for other in self._by_end():
            free |= other.nodes & nodes
            if (found := _fitting(free, job.cores)) is not None:
                return max(other.end_s, now_s + 1), found
        return None


def _fitting(free: int, wanted: int) -> int | None:
    # The chosen nodes, of one core each.
    if free.bit_count() < wanted:
        return None
    sets = [[stop - first, first, stop] for first, stop in _stretches(free)]
    found = 0
    while wanted > 0:
        best = _best(sets, wanted)
        assert best is not None
        count = min(best[0], wanted)
        found |= ((1 << count) - 1) << best[1]
        wanted -= count
        best[0] = 0
    return found


class ConsTres(FreeNodes):
    """``select/cons_tres`` with ``CR_Core``, on nodes with numbers of ``cores`` and ``gpus``."""

    def __init__(self, cores: Sequence[int], gpus: Sequence[int] = ()) -> None:
        super().__init__()
        self._cores, self._gpus = list(cores), list(gpus) or [0] * len(cores)
        self.free, self.free_gpus = list(self._cores), list(self._gpus)
        self._all = (1 << len(cores)) - 1

    def usable(self) -> int:
        """All nodes except those that are cleaning up."""
        return self._all & ~self.completing

    def take(self, job: SlurmJob, on: dict[int, int]) -> None:
        super().take(job, on)
        _change(job, self.free, self.free_gpus, -1)

    def end(self, job: SlurmJob) -> None:
        super().end(job)
        _change(job, self.free, self.free_gpus, 1)

    def now(self, job: SlurmJob, nodes: int) -> dict[int, int] | None:
        """Best fit by sets of consecutive nodes; on one node if one suffices."""
        return _cores_on(_room(job, self.free, self.free_gpus, nodes), job.cores)

    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """Running jobs end at their limits; jobs that end within some time of each other are handled together."""
        wanted = job.cores
        if sum(cores for cores, _ in _room(job, self._cores, self._gpus, nodes).values()) < wanted:
            return None
        if (found := self.now(job, nodes)) is not None:
            return now_s, sum(1 << node for node in found)
        free, gpus, ends = list(self.free), list(self.free_gpus), self._by_end()
        window_s, until_s, at, goes_on = _WINDOW_S, 0, 0, bool(ends)
        while goes_on:
            last: SlurmJob | None = None
            follower: SlurmJob | None = None
            removed = 0
            while True:
                if at == len(ends):
                    goes_on, follower = False, None
                    break
                other = ends[at]
                at += 1
                if not other.nodes & nodes:
                    continue
                if not until_s:
                    until_s = other.end_s + _WINDOW_S - other.end_s % _WINDOW_S
                last = other
                _change(other, free, gpus, 1)
                follower = ends[at] if at < len(ends) else None
                if follower is None:
                    goes_on = False
                    break
                if follower.end_s > until_s + window_s:
                    break
                removed += 1
                if removed > _MOST_ENDS + 1:
                    break
            if last is None:
                return None
            if removed > _MOST_ENDS + 1:
                continue
            window_s *= 2
            while follower is not None and follower.end_s > until_s + window_s:
                window_s *= 2
            if (found := _cores_on(_room(job, free, gpus, nodes), wanted)) is not None:
                end_s = last.end_s if last.end_s > now_s else max(last.end_s + _KILL_WAIT_S, now_s + 1)
                return end_s, sum(1 << node for node in found)
        return None


def _change(job: SlurmJob, free: list[int], gpus: list[int], sign: int) -> None:
    # Free (sign 1) or take (-1) the cores and GPUs of a job.
    for node, count in job.on.items():
        free[node] += sign * count
        gpus[node] += sign * job.gpus_with(count)


def _room(job: SlurmJob, free: Sequence[int], gpus: Sequence[int], nodes: int) -> dict[int, tuple[int, int]]:
    # The free cores of each of these nodes that a job can use; and its free GPUs, up to the request, if units request some.
    # These ranks, and that nodes are equal for a single unit, were found by comparing runs with replays.
    room = {}
    for node in nodes_of(nodes & job.able):
        cores, rank = free[node], 0
        if job.able >= 0:
            units = cores // job.unit if gpus[node] >= job.per_node else 0
            if job.per_unit:
                units = min(units, gpus[node] // job.per_unit)
                rank = min(gpus[node], job.cores // job.unit * job.per_unit)
            # For a single unit all nodes that have room for it are equal.
            cores = job.unit * (min(units, 1) if job.cores == job.unit else units)
        if cores > 0:
            room[node] = cores, rank
    return room


def _cores_on(room: dict[int, tuple[int, int]], wanted: int) -> dict[int, int] | None:
    left = {node: count for node, (count, _) in room.items()}
    if sum(left.values()) < wanted:
        return None
    sets: list[list[int]] = []
    for node, (count, rank) in room.items():
        if sets and sets[-1][2:] == [node, rank]:
            sets[-1][0] += count
            sets[-1][2] = node + 1
        else:
            sets.append([count, node, node + 1, rank])
    found: dict[int, int] = {}
    while wanted > 0:
        # Nodes with the most GPUs that the units can use are first.
        rank = max(one[3] for one in sets if one[0])
        best = _best([one for one in sets if one[3] == rank], wanted)
        assert best is not None
        within = range(best[1], best[2])
        single = min((node for node in within if left[node] >= wanted), key=lambda node: left[node], default=None)
        # If the job has no node yet, or few cores are missing, one node that suffices is enough.
        for node in within if single is None else (single,):
            if wanted <= 0:
                break
            found[node] = min(left[node], wanted)
            wanted -= found[node]
        best[0] = 0
    return dict(sorted(found.items()))
