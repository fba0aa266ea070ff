"""What Python policies and observers see of a run: the clock, who waits, who runs, how much is free. They only look."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from bls.engine import state as b
from traces.base.errors import InputError, PluginError, shown
from traces.base.ranges import whole
from traces.base.time import MAX_NS
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.simulator import BatchSimulator

__all__ = ["Observer", "SeenJob", "View"]

#: Makes a tuple of a class without asking for each of its fields.
_new = tuple.__new__


class SeenJob(NamedTuple):
    """A job as a scheduler knows it at one instant; nothing in it can be changed.

    Attributes
    ----------
    job_id : int
        Number in the workload.
    submit_ns, eligible_ns : int
        When it was submitted, and when it joined the queue.
    estimate_ns : int
        Run time that is planned with; the requested one, unless ``Rules.estimates`` says another.
    cores : int
        Requested cores.
    user, group, queue, partition, qos : int
        As the workload says, -1 unknown.
    attempt : int
        0, or how many attempts were cut before this one.
    row : int
        Of this attempt, as ``bls.simulator`` counts them.
    start_ns : int
        -1 while it waits.
    """

    job_id: int
    submit_ns: int
    eligible_ns: int
    estimate_ns: int
    cores: int
    user: int
    group: int
    queue: int
    partition: int
    qos: int
    attempt: int
    row: int
    start_ns: int

    @property
    def expected_end_ns(self) -> int:
        """When a running job will have run for its estimate."""
        return self.start_ns + self.estimate_ns

    def __repr__(self) -> str:
        return f"<job {self.job_id}: {self.cores} cores, estimate {self.estimate_ns} ns>"


class View:
    """The batch level at one instant. It only shows: nothing that is done to it changes the run."""

    def __init__(self, simulator: BatchSimulator) -> None:
        workload = simulator.workload
        self._simulator = simulator
        self._waiting: OrderedDict[int, SeenJob] = OrderedDict()
        self._running: OrderedDict[int, SeenJob] = OrderedDict()
        self._wake_ns: int | None = None
        self._deciding = False
        self._n_cores = simulator.platform.n_cores
        self._now_ns, self._free_cores = 0, self._n_cores
        # Read one element at a time, and lists are quicker at that than arrays are.
        self._given: list[list[int]] = []
        if simulator.is_seen:
            columns = ("job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos")
            self._given = [getattr(workload, name).tolist() for name in columns]

    @property
    def now_ns(self) -> int:
        """The simulated clock."""
        return self._now_ns

    @property
    def n_cores(self) -> int:
        """Cores of the machine."""
        return self._n_cores

    @property
    def free_cores(self) -> int:
        """Cores that no job holds, on hosts that are up."""
        return self._free_cores

    @property
    def waiting(self) -> Iterable[SeenJob]:
        """The jobs that wait, in the order in which they joined the queue."""
        return self._waiting.values()

    @property
    def running(self) -> Iterable[SeenJob]:
        """The jobs that run, in the order in which they started."""
        return self._running.values()

    @property
    def n_waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    @property
    def n_running(self) -> int:
        """How many jobs run."""
        return len(self._running)

    def allocation(self, job: SeenJob) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a running job holds."""
        return self._simulator.allocation(job.row)

    def wake_at(self, instant_ns: int) -> None:
        """For a policy while it decides: decide again at this later instant, even if nothing happens then.

        It stands until then, or until another instant is asked for.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or is no later instant.
        """
        if not self._deciding:
            raise PluginError("wake_at() is for a batch policy while it decides")
        try:
            self._wake_ns = whole("wake_at", instant_ns, self._now_ns + 1, MAX_NS)
        except InputError as error:
            raise PluginError(str(error)) from None

    def _let_decide(self) -> None:
        self._wake_ns, self._deciding = None, True

    def _refresh(self) -> None:
        # Bring the view to the present: the engine has logged who came, started and left.
        state = self._simulator.state
        clock, sizes, jobs = state.clock, state.sizes, state.jobs
        n = int(sizes[b.N_LOG])
        for entry in state.log[:n].tolist():
            row, kind = entry >> 2, entry & 3
            if kind == b.LOG_ARRIVED:
                self._waiting[row] = self._seen(row, jobs)
            elif kind == b.LOG_STARTED:
                self._running[row] = _new(SeenJob, (*self._waiting.pop(row)[:-1], int(jobs[b.START, row])))
            elif row in self._running:
                del self._running[row]
            else:
                self._waiting.pop(row, None)
        sizes[b.N_LOG] = 0
        self._now_ns = int(clock[b.NOW])
        self._free_cores = int(sizes[b.FREE_CORES])

    def _seen(self, row: int, jobs: Array) -> SeenJob:
        origin, attempt = row, 0
        job_id, submit, cores, user, group, queue, partition, qos = self._given
        if row >= len(job_id):
            origin, attempt = int(jobs[b.ORIGIN, row]), int(jobs[b.ATTEMPT, row])
        eligible = int(jobs[b.ELIGIBLE, row])
        return _new(
            SeenJob,
            (
                job_id[origin],
                submit[origin],
                eligible,
                int(jobs[b.ESTIMATE, row]),
                cores[origin],
                user[origin],
                group[origin],
                queue[origin],
                partition[origin],
                qos[origin],
                attempt,
                row,
                -1,
            ),
        )

    def _chosen(self, answer: Iterable[Any]) -> list[int]:
        # The rows of the jobs that a policy has named.
        rows: list[int] = []
        for job in answer:
            if not isinstance(job, SeenJob):
                raise PluginError(f"decide() gave {shown(job)}; allowed: jobs of view.waiting")
            if self._waiting.get(job.row) is not job:
                raise PluginError(f"decide() gave job {job.job_id}, which is not waiting")
            rows.append(job.row)
        if len(rows) > 1 and len(set(rows)) < len(rows):
            twice = next(row for row in rows if rows.count(row) > 1)
            raise PluginError(f"decide() gave job {self._waiting[twice].job_id} twice")
        return rows


@runtime_checkable
class Observer(Protocol):
    """Looks at a run now and then, and may note what it sees."""

    @property
    def name(self) -> str:
        """Stands in the table beside what it noted."""
        ...

    @property
    def every_ns(self) -> int | None:
        """How often it looks.

        None: after every instant at which something happened; else at every multiple of it, from 0 to the last end.
        """
        ...

    def look(self, view: View) -> Mapping[str, float | int | str] | None:
        """Called with the state after everything that happened up to ``view.now_ns``.

        What it returns becomes a row of the run's table of observations, with the instant; None is no row. A name
        stands for numbers or for words throughout. It must not change anything, and cannot: ``view`` only shows.
        """
        ...
