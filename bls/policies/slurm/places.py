"""On which nodes jobs run, now and at the earliest: ``select/linear`` and ``select/cons_tres`` by cores.

Nodes are numbers, sets of nodes the bits of a whole number. Instants are Slurm's, whole seconds of the date.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

_KILL_WAIT_S = 30  #: how long after its limit a job that is still there is expected to end (``KillWait``), s
_WINDOW_S = 30  #: the first span within which ends of running jobs are taken together, s; it doubles from try to try
_MOST_ENDS = 200  #: after so many ends there is no try without a look at the clock, which stands still


@dataclass(eq=False)
class SlurmJob:
    """A job as slurmctld knows it."""

    number: int  # its place among the submitted
    row: int  # that of the run
    cores: int
    limit_s: int
    priority: int = 1  # the highest is looked at first, and of equals who was submitted first
    start_s: int = 0  # when it has started, by the date
    end_s: int = 0  # when it ends at the latest
    kill_ns: int = -1  # when it is killed at the latest; -1 never
    nodes: int = 0  # those that it has or would have, as bits
    on: dict[int, int] = field(default_factory=dict)  # how many cores it has on each


def nodes_of(nodes: int) -> Iterator[int]:
    """The numbers of a set of nodes, ascending."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def _stretches(nodes: int) -> Iterator[tuple[int, int]]:
    # Sets of consecutive nodes: the first, and behind the last.
    at = 0
    while nodes:
        skip = (nodes & -nodes).bit_length() - 1
        nodes >>= skip
        length = (~nodes & (nodes + 1)).bit_length() - 1
        yield at + skip, at + skip + length
        at += skip + length
        nodes >>= length


def _best(sets: Sequence[list[int]], wanted: int) -> list[int] | None:
    # Of [cores, first, stop]: the tightest of those with enough, else the largest; the first of equals.
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
        """The nodes that clean up after a job."""
        return reduce(or_, self._completing.values(), 0)

    @abstractmethod
    def now(self, job: SlurmJob, nodes: int) -> dict[int, int] | None:
        """The cores that a job would have on each of these nodes if it started now; None if it cannot."""

    @abstractmethod
    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """When a job can start on these nodes at the earliest, as far as running jobs go, and where; None if it never can."""

    @abstractmethod
    def usable(self) -> int:
        """The nodes on which the main scheduler may start jobs now."""

    def take(self, job: SlurmJob, on: dict[int, int]) -> None:
        """It runs there."""
        job.on, job.nodes = on, sum(1 << node for node in on)
        self.running[job.number] = job

    def end(self, job: SlurmJob) -> None:
        """It runs no more; its nodes are completing until they say that they have cleaned up."""
        del self.running[job.number]
        self._completing[job.number] = job.nodes

    def clean(self, job: SlurmJob, last: bool) -> None:
        """Its nodes have cleaned up, or all but the last one."""
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
        found = _fitting(nodes & self.free, job.cores)
        return None if found is None else dict.fromkeys(nodes_of(found), 1)

    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """Running jobs end at their limits, one at a time."""
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
    # Which of these nodes, of one core each.
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
    """``select/cons_tres`` with ``CR_Core``."""

    def __init__(self, cores: Sequence[int]) -> None:
        super().__init__()
        self.free = list(cores)
        self._cores = list(cores)
        self._all = (1 << len(cores)) - 1

    def usable(self) -> int:
        """None that cleans up."""
        return self._all & ~self.completing

    def take(self, job: SlurmJob, on: dict[int, int]) -> None:
        super().take(job, on)
        for node, count in on.items():
            self.free[node] -= count

    def end(self, job: SlurmJob) -> None:
        super().end(job)
        for node, count in job.on.items():
            self.free[node] += count

    def now(self, job: SlurmJob, nodes: int) -> dict[int, int] | None:
        """Best fit by sets of consecutive nodes, and on one node where one suffices."""
        return _cores_on(self.free, nodes, job.cores)

    def earliest(self, job: SlurmJob, nodes: int, now_s: int) -> tuple[int, int] | None:
        """Running jobs end at their limits, several that end within some time of each other at once."""
        wanted = job.cores
        if sum(self._cores[node] for node in nodes_of(nodes)) < wanted:
            return None
        if (found := _cores_on(self.free, nodes, wanted)) is not None:
            return now_s, sum(1 << node for node in found)
        free, ends = list(self.free), self._by_end()
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
                for node, count in other.on.items():
                    free[node] += count
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
            if (found := _cores_on(free, nodes, wanted)) is not None:
                end_s = last.end_s if last.end_s > now_s else max(last.end_s + _KILL_WAIT_S, now_s + 1)
                return end_s, sum(1 << node for node in found)
        return None


def _cores_on(free: Sequence[int], nodes: int, wanted: int) -> dict[int, int] | None:
    left = {node: free[node] for node in nodes_of(nodes) if free[node] > 0}
    if sum(left.values()) < wanted:
        return None
    sets: list[list[int]] = []
    for node, count in left.items():
        if sets and sets[-1][2] == node:
            sets[-1][0] += count
            sets[-1][2] = node + 1
        else:
            sets.append([count, node, node + 1])
    found: dict[int, int] = {}
    while wanted > 0:
        best = _best(sets, wanted)
        assert best is not None
        within = range(best[1], best[2])
        single = min((node for node in within if left[node] >= wanted), key=lambda node: left[node], default=None)
        # Where the job has no node yet, or few are left to find, one that suffices is enough.
        for node in within if single is None else (single,):
            if wanted <= 0:
                break
            found[node] = min(left[node], wanted)
            wanted -= found[node]
        best[0] = 0
    return dict(sorted(found.items()))
