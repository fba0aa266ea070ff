"""What is to happen: of one instant first what ends, then what becomes of nodes, then what comes, then what leaves; and which
jobs wait for others to end."""

from __future__ import annotations

import heapq

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.constraints.dependencies import Dependencies
from bls.options import DEPENDENCIES
from bls.workloads.workload import Workload
from bridge.replay.book import ReplayedRows
from traces.base.errors import InputError
from traces.compiled import Array

#: A row ends; a host goes down or comes back; one is drained, or no longer; a job of the workload comes, or leaves; Slurm may
#: find something by itself.
END, NODE, DRAIN, SUBMIT, WITHDRAWN, LOOK = range(6)


class Agenda:
    """What is to happen: (instant, what, which).

    - ``workload``: its jobs are submitted and withdrawn, but for those that run already.
    - ``windows``: they begin and end, and who is in one of them is withdrawn then.
    - ``window``: ndarray of int64, the window of each job, -1 for none.
    """

    def __init__(self, workload: Workload, windows: Windows | None, window: Array) -> None:
        submitted = np.flatnonzero(workload.preset == 0).tolist()
        self._heap = [(int(workload.submit_ns[row]), SUBMIT, row) for row in submitted]
        self._leaves: dict[int, list[int]] = {}
        for row in np.flatnonzero(workload.cancel_ns >= 0).tolist():
            self._leaves.setdefault(row, []).append(int(workload.cancel_ns[row]))
        if windows is not None:
            self._heap += [(instant, LOOK, -1) for instant in (*windows.begin_ns.tolist(), *windows.end_ns.tolist())]
            for row in np.flatnonzero(window >= 0).tolist():
                self._leaves.setdefault(row, []).append(int(windows.end_ns[window[row]]))
        self._heap += [(instant, WITHDRAWN, row) for row, instants in self._leaves.items() for instant in instants]
        heapq.heapify(self._heap)

    def push(self, instant_ns: int, what: int, which: int = -1) -> None:
        """Something more is to happen."""
        heapq.heappush(self._heap, (instant_ns, what, which))

    def first(self) -> tuple[int, int, int] | None:
        """What is next."""
        return self._heap[0] if self._heap else None

    def pop(self) -> tuple[int, int, int]:
        """What is next, and no longer to happen."""
        return heapq.heappop(self._heap)

    def leaves_again(self, job: int, now_ns: int) -> None:
        """A job that was cut waits again: it may leave as it could have before."""
        for instant in self._leaves.get(job, ()):
            if instant >= now_ns:
                self.push(instant, WITHDRAWN, job)

    def forget_past(self, book: ReplayedRows) -> None:
        """What is next is not of a job that is over, nor the withdrawal of one that runs."""
        state, start = book.columns.state, book.columns.start_ns
        while self._heap:
            _, what, which = self._heap[0]
            if what in (SUBMIT, NODE, DRAIN, LOOK):
                return
            row = book.latest[which] if what == WITHDRAWN else which
            if state[row] < 0 and not (what == WITHDRAWN and start[row] >= 0):
                return
            heapq.heappop(self._heap)

    def only_nodes(self) -> bool:
        """Whether nothing more will become of a job, but by Slurm or by nodes."""
        return all(what in (NODE, DRAIN, LOOK) for _, what, _ in self._heap)


class Dependents:
    """Which job waits for which, by row of the workload. ``found``: None: no job waits for another. Raises InputError
    if a job waits for several others."""

    def __init__(self, found: Dependencies | None) -> None:
        if found is not None and found.several:
            raise InputError(f"{DEPENDENCIES}: jobs that wait for several others are not replayed; allowed: one each")
        self._found = found
        self._held_back: dict[int, list[int]] = {}

    def parent(self, job: int) -> int:
        """The job that one waits for; -1 for none."""
        return -1 if self._found is None else int(self._found.depends_on[job])

    def think_ns(self, job: int) -> int:
        """How long after that one's end it may start."""
        return 0 if self._found is None else int(self._found.think_ns[job])

    def children(self, job: int) -> list[int]:
        """The jobs that wait for one."""
        if self._found is None:
            return []
        found: list[int] = self._found.child_row[
            self._found.child_first[job] : self._found.child_first[job + 1]
        ].tolist()
        return found

    def hold_back(self, job: int) -> None:
        """A job is to be submitted, and the one that it waits for has not been yet."""
        self._held_back.setdefault(self.parent(job), []).append(job)

    def let_go(self, job: int) -> list[int]:
        """A job is submitted, or has left before it was: who was held back for it."""
        return self._held_back.pop(job, [])
