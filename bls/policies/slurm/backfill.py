"""One cycle of ``sched/backfill``: in order of priority, each job starts now or gets a plan, which later jobs respect.

Plans are for whole nodes, in a table of time intervals on a grid of ``bf_resolution``. The table does not contain running jobs
(``bls.policies.slurm.places``).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from bls.policies.slurm.parameters import SlurmCycle
from bls.policies.slurm.places import FreeNodes, SlurmJob

_MINUTE_S = 60


class NodeSpace:
    """The nodes without plans, over time: [begin, end, nodes as bits], ascending and without gaps."""

    def __init__(self, now_s: int, window_s: int, resolution_s: int, nodes: int) -> None:
        self._resolution_s = resolution_s
        self.begin_s = self.floor(now_s)
        self.stretches = [[self.begin_s, self.floor(now_s + window_s), nodes]]
        self.records = 1

    def floor(self, instant_s: int) -> int:
        """The latest instant of the grid."""
        return instant_s // self._resolution_s * self._resolution_s

    def plan(self, begin_s: int, end_s: int, nodes: int) -> None:
        """Plan these nodes for a job."""
        begin_s = max(begin_s, self.begin_s)
        end_s = max(end_s, begin_s + self._resolution_s)
        table, at, before = self.stretches, 0, 0
        while at < len(table):
            stretch = table[at]
            if stretch[1] > begin_s:
                table.insert(at + 1, [begin_s, stretch[1], stretch[2]])
                stretch[1] = begin_s
                self.records += 1
                break
            if stretch[1] == begin_s:
                break
            before = at
            at += 1
        else:
            return
        at += 1
        after = len(table)
        while at < len(table):
            stretch = table[at]
            if end_s < stretch[1]:
                table.insert(at + 1, [end_s, stretch[1], stretch[2]])
                stretch[1] = end_s
                self.records += 1
                after += 1
            stretch[2] &= ~nodes
            if end_s == stretch[1]:
                after = at + 1
                break
            at += 1
        for one in range(before, min(after, len(table) - 1)):
            if table[one][2] == table[one + 1][2]:  # equal neighbours are merged
                table[one][1] = table[one + 1][1]
                del table[one + 1]
                return

    def free(self, begin_s: int, end_s: int, nodes: int) -> tuple[int, int]:
        """The nodes among these without a plan in the interval, and the instant at which others become free, 0: never."""
        left, later_s, table = nodes, 0, self.stretches
        for at, (begin, end, mask) in enumerate(table):
            if end > begin_s and later_s == 0 and at + 1 < len(table) and nodes & table[at + 1][2] & ~(left & mask):
                later_s = end
            if end > begin_s:
                if begin > end_s:
                    break
                left &= mask
        return left, later_s

    def overlaps(self, begin_s: int, end_s: int, nodes: int) -> bool:
        """Whether any of these nodes has a plan in the interval."""
        return any(end > begin_s and begin < end_s and nodes & ~mask for begin, end, mask in self.stretches)


Start: TypeAlias = Callable[[SlurmJob, dict[int, int]], None]  #: starts a job on these cores of nodes, now


def backfill(
    how: SlurmCycle, places: FreeNodes, machine: int, start: Start, queue: Sequence[SlurmJob], now_s: int
) -> tuple[bool, int]:
    """Consider the waiting jobs in their order. ``machine``: all nodes, as bits. Returns whether jobs or nodes count as
    changed, which makes the next cycle necessary, and the nodes with plans."""
    window_s, tried, updated, planned = how.bf_window * _MINUTE_S, 0, False, 0
    space = NodeSpace(now_s, window_s, how.bf_resolution, machine)
    for job in queue:
        if tried >= how.bf_max_job_test:
            break
        counted, later_s = False, now_s
        while True:
            from_s = later_s
            free, later_s = space.free(from_s, from_s + job.limit_s, machine)
            if not free:
                if later_s:
                    continue
                break
            if not counted:
                tried, counted = tried + 1, True
            found = places.earliest(job, free, now_s)
            if found is None:
                if later_s:
                    continue
                break
            start_s, nodes = found
            if from_s > start_s:
                start_s, updated = from_s, True
            if start_s <= now_s and nodes & places.completing:
                start_s, later_s = now_s + 1, 0
            if start_s <= now_s:
                on = places.now(job, free & places.usable())
                if on is not None:
                    start(job, on)
                    updated = True
                    break
                later_s = 0
            if later_s and start_s > later_s:
                continue
            begin_s, end_s = space.floor(start_s), space.floor(start_s + job.limit_s)
            if start_s > now_s + window_s:
                break
            if start_s > now_s and space.overlaps(begin_s, end_s, nodes):
                later_s = start_s
                continue
            planned |= nodes
            if space.records >= how.bf_max_job_test:
                return updated, planned
            space.plan(begin_s, end_s, nodes)
            break
    return updated, planned
