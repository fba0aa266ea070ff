"""The next events of a replay: an agenda, jobs that wait for others, states of nodes, and jobs whose ends are not known yet.

At one instant the order is: ends of jobs, changes of nodes, submissions, withdrawals.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.constraints.dependencies import Dependencies
from bls.constraints.job_constraints import JobConstraints, planned_outages
from bls.constraints.outages import NEVER, Outages
from bls.machine.platform import Platform
from bls.metrics.schedule import Downtime
from bls.workloads.workload import Workload
from bridge.replay.book import ReplayedRows
from bridge.scenarios.conflicts import REPLAYED_JOBS
from traces.base.options import check
from traces.compiled import Array

#: Kinds of events: a row ends; a host goes down or comes back; a host is drained, or no longer; a job of the workload is
#: submitted, or withdrawn; Slurm may have something to do.
END, NODE, DRAIN, SUBMIT, WITHDRAWN, LOOK = range(6)


class Agenda:
    """Future events: (instant, kind, index). ``window``: int64 (n,), that of each job, or -1; at its end a job is withdrawn."""

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
        """Add an event."""
        heapq.heappush(self._heap, (instant_ns, what, which))

    def first(self) -> tuple[int, int, int] | None:
        """Return the next event."""
        return self._heap[0] if self._heap else None

    def pop(self) -> tuple[int, int, int]:
        """Remove and return the next event."""
        return heapq.heappop(self._heap)

    def leaves_again(self, job: int, now_ns: int) -> None:
        """Let a job that was cut, and waits again, be withdrawn as before."""
        for instant in self._leaves.get(job, ()):
            if instant >= now_ns:
                self.push(instant, WITHDRAWN, job)

    def forget_past(self, book: ReplayedRows) -> None:
        """Drop next events of finished jobs, and withdrawals of running ones."""
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
        """Whether further events of jobs can only come from Slurm or from nodes."""
        return all(what in (NODE, DRAIN, LOOK) for _, what, _ in self._heap)


class Dependents:
    """Which job waits for which other one, by row of the workload. Raises InputError if a job waits for several."""

    def __init__(self, found: Dependencies | None) -> None:
        check(REPLAYED_JOBS, found)
        self._found = found
        #: Jobs that are not submitted before the job that they wait for, by that job.
        self.held_back: dict[int, list[int]] = {}

    def parent(self, job: int) -> int:
        """The job that a job waits for; -1 for none."""
        return -1 if self._found is None else int(self._found.depends_on[job])

    def think_ns(self, job: int) -> int:
        """The delay of its start after that job's end."""
        return 0 if self._found is None else int(self._found.think_ns[job])

    def children(self, job: int) -> list[int]:
        """The jobs that wait for a job."""
        if self._found is None:
            return []
        first, stop = self._found.child_first[job : job + 2]
        return list(self._found.child_row[first:stop].tolist())


class Answers:
    """Rows of jobs whose ends are to be determined; ``recorded``: none, as jobs last their recorded run times."""

    def __init__(self, recorded: bool) -> None:
        self.recorded = recorded
        self.started: list[int] = []  # started since the last query
        self.unknown: dict[int, None] = {}  # running jobs whose end is unknown
        self.cut: list[int] = []  # cut since the last query
        self.stop_ns: dict[int, int] = {}

    def ask(self, row: int) -> None:
        """Note the start of a job."""
        self.started.append(row)
        self.unknown[row] = None

    def note_cut(self, row: int, now_ns: int) -> None:
        """Note that Slurm has cut a job."""
        if not self.recorded:
            self.stop_ns[row] = now_ns
            self.cut.append(row)
            self.unknown[row] = None


class NodeStates:
    """Hosts that are down or drained, and their next changes."""

    def __init__(self, found: Outages | None) -> None:
        self._found = found
        n_hosts = 0 if found is None else found.n_hosts
        self._coming = [self._outages(host) for host in range(n_hosts)]
        self._up_ns: dict[int, int] = {}  # return of each host that is down
        self._been: list[tuple[int, int, int]] = []

    def _outages(self, host: int) -> Iterator[tuple[int, int]]:
        at = 0
        while self._found is not None:
            row = int(self._found.first[host]) + at
            if row < self._found.first[host + 1]:
                if self._found.down_ns[row] >= NEVER:
                    return
                yield int(self._found.down_ns[row]), int(self._found.up_ns[row])
                at += 1
                continue
            more = self._found.extend()
            if more is self._found:
                return
            self._found = more

    @property
    def any_down(self) -> bool:
        """Whether any host is down that will come back."""
        return any(up < NEVER for up in self._up_ns.values())

    def down(self, host: int) -> bool:
        """Whether a host is down."""
        return host in self._up_ns

    def first(self) -> list[tuple[int, int]]:
        """The first outage of each host: (instant, host)."""
        return [(begin, host) for host in range(len(self._coming)) if (begin := self._next(host)) is not None]

    def _next(self, host: int) -> int | None:
        outage = next(self._coming[host], None)
        if outage is None:
            return None
        self._been.append((host, *outage))
        return outage[0]

    def change(self, host: int) -> int | None:
        """Change the state of a host; return the instant of its next change."""
        if host in self._up_ns:
            del self._up_ns[host]
            return self._next(host)
        self._up_ns[host] = next(up for which, _, up in reversed(self._been) if which == host)
        return self._up_ns[host] if self._up_ns[host] < NEVER else None

    def downtime(self, platform: Platform, constraints: JobConstraints, now_ns: int) -> Downtime:
        """Times at which hosts were down, or in maintenance, up to an instant."""
        spans = list(self._been)
        for host, pairs in enumerate(planned_outages(constraints.windows, platform.n_hosts)):
            spans += [(host, begin, end) for begin, end in pairs]
        begun = [(host, down, min(up, now_ns)) for host, down, up in spans if down < now_ns]
        hosts, down_ns, up_ns = np.array(begun, np.int64).reshape(-1, 3).T.copy()
        return Downtime(hosts, np.diff(platform.first_core)[hosts], down_ns, up_ns)
