"""The jobs of a replay: a row for each attempt, its cores, and its number in Slurm.

Slurm decides how many cores a job has on which nodes; on each node it gets the lowest free ones.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from bls.engine.jobs import Jobs
from bls.workloads.workload import Workload
from bridge.replay.host_names import expanded
from bridge.replay.messages import SlurmLaunch
from traces.base.errors import PeerError
from traces.compiled import Array
from traces.intervals import joined_numbers
from traces.lifecycle import Ending, Reason
from traces.records.gpus import GpuRecords


class FreeCores:
    """The cores of a machine, and the free ones; host h has ``first_core[h]`` up to ``first_core[h + 1]``."""

    def __init__(self, first_core: Array) -> None:
        self._first = first_core
        self._free = np.ones(int(first_core[-1]), bool)

    def take(self, launch: SlurmLaunch, host: Mapping[str, int], called: str) -> list[tuple[int, int]]:
        """Take the cores of a job; return half-open intervals, ascending. Raises PeerError if they are not free."""
        names = expanded(launch.nodes)
        if len(names) != len(launch.cpus):
            raise PeerError(f"Slurm starts {called} on {len(names)} nodes with {len(launch.cpus)} numbers of CPUs")
        taken: list[int] = []
        for name, count in zip(names, launch.cpus, strict=True):
            if name not in host:
                raise PeerError(f"Slurm starts {called} on {name}, which is not a node of the machine")
            lo, hi = int(self._first[host[name]]), int(self._first[host[name] + 1])
            free = lo + np.flatnonzero(self._free[lo:hi])[:count]
            if len(free) < count:
                raise PeerError(f"Slurm starts {called} on {count} cores of {name}, which has {len(free)} free ones")
            self._free[free] = False
            taken += free.tolist()
        return joined_numbers(sorted(taken))

    def free(self, held: Iterable[tuple[int, int]]) -> None:
        """Free these intervals."""
        for lo, hi in held:
            self._free[lo:hi] = True


#: Messages of slurmctld when its backfilling, or its main scheduler, starts a job.
_STARTED = re.compile(r"(sched/backfill: _start_job: Started|sched: Allocate) JobId=(\d+)")


class ReplayedRows:
    """The rows of jobs: first those of the workload, then later attempts. ``host``: the host of each node name."""

    def __init__(self, workload: Workload, first_core: Array, host: Mapping[str, int]) -> None:
        n = len(workload)
        self._workload, self.host, self._first = workload, host, first_core
        self._cores = FreeCores(first_core)
        self.columns = Jobs.new(
            {"rows": n},
            origin=np.arange(n),
            eligible_ns=workload.submit_ns,
            cancel_ns=-1,
            estimate_ns=workload.estimate_ns,
            why=Reason.NEVER,
        )
        self.held: dict[int, list[tuple[int, int]]] = {}
        self.gpus: dict[int, list[tuple[int, int]]] = {}  # GPUs of a row: number in the machine, thousandths
        self.row_of: dict[int, int] = {}  # the row of the latest attempt of each job number in Slurm
        self.number: dict[int, int] = {}  # Slurm's number of a row's job
        self.latest = list(range(n))  # the row of the latest attempt of each job, by the workload's row
        self.running: set[int] = set()
        self.ended = self.waiting = 0

    def __len__(self) -> int:
        return len(self.columns.origin)

    def job(self, row: int) -> int:
        """The log's number of a row's job."""
        return int(self._workload.job_id[self.columns.origin[row]])

    def waits(self, row: int) -> bool:
        """Whether a row has neither started nor left."""
        return bool(self.columns.start_ns[row] < 0 and self.columns.state[row] < 0)

    def over_for_good(self, job: int) -> int:
        """The instant at which a job of the workload has finally ended or left; -1 if it may come back."""
        row = self.latest[job]
        columns = self.columns
        if columns.state[row] < 0:
            return -1
        return int(columns.end_ns[row] if columns.start_ns[row] >= 0 else columns.cancel_ns[row])

    def submit(self, row: int, number: int) -> None:
        """Note that Slurm has accepted a job."""
        self.row_of[number], self.number[row] = row, number
        self.waiting += 1

    def start(self, row: int, launch: SlurmLaunch, now_ns: int, *, preset: bool = False) -> None:
        """Note that Slurm has started a job. Raises PeerError if its cores are not free."""
        self.held[row] = self._cores.take(launch, self.host, f"job {self.job(row)}")
        self.columns.start_ns[row] = now_ns
        self.columns.held_cores[row] = sum(hi - lo for lo, hi in self.held[row])
        if preset:
            self.columns.why[row] = Reason.PRESET
        self.waiting -= 1
        self.running.add(row)

    def end(self, row: int, state: int, now_ns: int) -> None:
        """Note the end of a running job."""
        self.columns.end_ns[row] = now_ns
        self.columns.state[row] = state
        self._cores.free(self.held[row])
        self.running.discard(row)
        self.ended += state != Ending.REQUEUED

    def withdraw(self, row: int, now_ns: int, *, held: bool) -> None:
        """Note that a waiting job has left; ``held``: it could not have started, as it waited for another job."""
        columns = self.columns
        if held or row not in self.number or (columns.attempt[row] == 0 and columns.eligible_ns[row] >= now_ns):
            columns.eligible_ns[row] = -1  # it never became eligible
        columns.cancel_ns[row] = now_ns
        self.columns.state[row] = Ending.CANCELLED
        self.waiting -= row in self.number
        self.ended += 1

    def requeue(self, row: int, now_ns: int) -> int:
        """Queue a job that was cut again, under its number; return its new row."""
        fresh, columns = len(self), self.columns
        columns.grow(rows=fresh + 1)
        columns.origin[fresh], columns.attempt[fresh] = columns.origin[row], columns.attempt[row] + 1
        columns.estimate_ns[fresh], columns.eligible_ns[fresh] = columns.estimate_ns[row], now_ns
        columns.cancel_ns[fresh], columns.why[fresh] = -1, Reason.NEVER
        self.latest[int(self.columns.origin[row])] = fresh
        self.submit(fresh, self.number[row])
        return fresh

    def on_host(self, host: int) -> list[int]:
        """The rows of the jobs that run on a host."""
        lo, hi = int(self._first[host]), int(self._first[host + 1])
        return [row for row in sorted(self.running) if any(a < hi and lo < b for a, b in self.held[row])]

    def allocations(self) -> tuple[Array, Array, Array]:
        """The cores of all rows: ``allocation_first``, ``_lo`` and ``_hi`` of ``traces.ledger.JobRecords``."""
        held = [self.held.get(row, []) for row in range(len(self))]
        first = np.concatenate([[0], np.cumsum([len(one) for one in held])]).astype(np.int64)
        flat = np.array([pair for one in held for pair in one], np.int64).reshape(-1, 2)
        return first, flat[:, 0].copy(), flat[:, 1].copy()

    def gpu_records(self) -> GpuRecords:
        """The GPUs of all rows."""
        held = [(row, *one) for row, gpus in self.gpus.items() for one in gpus]
        return GpuRecords.of(len(self), *np.array(held, np.int64).reshape(-1, 3).T)

    def note_reasons(self, log: str) -> None:
        """Read from slurmctld's log whether its main scheduler or its backfilling has started each job; attempts in order."""
        how: dict[int, list[bool]] = {}
        for name, number in _STARTED.findall(log):
            how.setdefault(int(number), []).append("backfill" in name)
        for row in range(len(self)):
            if self.columns.start_ns[row] >= 0 and self.columns.why[row] != Reason.PRESET:
                said, attempt = how.get(self.number[row], []), int(self.columns.attempt[row])
                self.columns.why[row] = Reason.BACKFILL if attempt < len(said) and said[attempt] else Reason.HEAD
