"""The jobs of a batch simulation, as columns of its engine.

The simulator, the view of policies and the couplings read jobs here (:class:`RunView`); the couplings report releases,
requests and ends of running jobs. Progress displays read a few numbers at any time (:func:`counter`), or all columns at one
moment (:class:`Moment`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from bls.engine import loop as engine
from bls.engine import state as b
from bls.engine.features.commands.state import CommandLog
from bls.engine.features.order import features_of
from bls.engine.features.records import EVENTS
from bls.engine.features.report_results import ACCEPTED, FULL
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.ledger import STATES, PassRecords

if TYPE_CHECKING:
    from bls.allocators import Allocator
    from bls.constraints.job_constraints import JobConstraints
    from bls.engine.jobs import Jobs
    from bls.engine.settings import Settings
    from bls.machine.platform import Platform
    from bls.power.signals import Signals
    from bls.scheduler_options import Rules
    from bls.workloads.workload import Workload

_Shown = TypeVar("_Shown")


@dataclass(frozen=True)
class Dealings:
    """Features of a run that concern running jobs. Each says whether jobs …"""

    releases: bool = False  # … release cores before their end
    hints: bool = False  # … receive hints
    resizes: bool = False  # … are given cores, or must return some
    evolves: bool = False  # … the same because their applications request it
    scales: bool = False  # … have the speeds of their cores scaled
    directs: bool = False  # … are ended, or their speeds scaled, by a policy, a power limit or another program
    commanded: bool = False  # … receive any command
    molds: bool = False  # … may start with another number of cores than requested
    cuts: bool = False  # … may be cut before their end: at their walltime, by their user, by a host failure
    loses: bool = False  # … may lose all their cores
    awaits_outcomes: bool = False  # … need an outcome, not only a promise, from their start on
    promises: bool = False  # … promise their ends to the scheduler, which uses these


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as its views, couplings and results read it: the engine fills it, and nothing here advances or answers the engine.
    Jobs are named by row. :meth:`take_log` empties the log, and :meth:`host_states` brings the log of hosts to the present."""

    state: b.BatchState  # filled by the engine; all else is constant
    workload: Workload  # includes recorded run times, which no view shows
    platform: Platform  # the machine
    allocator: Allocator  # chooses cores if the policy does not
    rules: Rules  # options of the scheduler
    constraints: JobConstraints  # where and when jobs may run
    deadline_ns: Array  # int64 (n,): deadlines of the workload's jobs, instants
    core_mw: Array  # int64 (n,): the draw of a core of each job at full speed, mW, -1 unknown
    gpu_more_mw: Array  # int64 (n,): the draw above idle of the GPUs of each job at full speed, mW, 0 without GPUs
    signals: Signals | None  # cost and emissions of energy over time

    @cached_property
    def more_mw(self) -> Array:
        """The draw above idle of a core of each job, mW, -1 unknown: int64 (n,)."""
        from bls.power.table import idle_mw  # not needed by most runs

        return np.where(self.core_mw < 0, -1, np.maximum(0, self.core_mw - idle_mw(self.platform)))

    @cached_property
    def dealings(self) -> Dealings:
        """The features of this run that concern running jobs."""
        state = self.state
        of_run = features_of(state)
        found = dict.fromkeys((name for feature in of_run for name in feature.deals(state)), True)
        if self.settings.kills:
            found["cuts"] = True
        return Dealings(commanded=any(feature.commands for feature in of_run), **found)

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return self.state.now_ns

    @property
    def ended(self) -> int:
        """The number of jobs that have ended for good or were cancelled."""
        return int(self.state.n_ended)

    def so_far(self) -> tuple[int, ...]:
        """A fingerprint of progress, which changes whenever anything has happened; first the number of passes."""
        state = self.state
        happened = (state.passes, state.next_arrival, state.other_events.next_boundary, state.other_events.next_cancel)
        return (*happened, state.free_cores, state.n_waiting, state.n_ended, state.n_down)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or arrives any more."""
        state = self.state
        return state.running.n == state.other_events.arriving.n == 0 and state.next_arrival == state.arrivals.size

    @property
    def waiting_text(self) -> str:
        """The number of waiting jobs, as "3 jobs wait"."""
        n = self.state.n_waiting
        return f"{n} job{'s wait' if n != 1 else ' waits'}"

    @property
    def jobs(self) -> Jobs:
        """The columns of jobs; they change during the simulation."""
        return self.state.jobs

    @property
    def settings(self) -> Settings:
        """The settings of the engine, which stay the same."""
        return self.state.settings

    @property
    def n_decisions(self) -> int:
        """Number of decisions in the table of decisions."""
        return self.state.decisions.n_passes

    def take_log(self) -> tuple[list[int], int, int]:
        """The arrivals, starts and ends since the last call, four times the row plus the kind, in order; the simulated instant;
        and the number of free cores. Empties the log."""
        state = self.state
        entries: list[int] = state.log[: state.n_log].tolist()
        if entries:
            state.n_log = 0
        return entries, state.now_ns, state.free_cores

    def shown(self, by: Callable[[b.BatchState], _Shown]) -> _Shown:
        """A feature's own view of the run: an object of its folder, made from the state."""
        return by(self.state)

    @property
    def rows(self) -> int:
        """The number of rows: jobs, and later attempts of jobs that were cut."""
        return int(self.state.n_rows)

    def column(self, name: str) -> Array:
        """A column of ``bls.engine.jobs.Jobs``, all rows; it changes during the simulation."""
        return np.asarray(getattr(self.state.jobs, name))[: self.rows]

    def started(self) -> list[int]:
        """The rows that await an answer."""
        return [*self.state.started[self.state.n_answered : self.state.n_started].tolist()]

    def running(self) -> Array:
        """The rows of the running jobs."""
        return np.flatnonzero((self.column("start_ns") >= 0) & (self.column("state") < 0))

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a row's job started with."""
        first, count = (int(column[row]) for column in self._given_at_start())
        held = slice(first, first + count)
        return zip(self.state.pool.lo[held].tolist(), self.state.pool.hi[held].tolist(), strict=True)

    def gpus(self, row: int) -> Array:
        """The numbered GPUs that a row's job started with, ascending, a shared one once for each part: int64."""
        gpus = self.state.gpus
        first, count = (gpus.first.item(row), gpus.count.item(row)) if len(gpus.first) else (0, 0)
        return gpus.lists.gpu[first : first + count]

    @property
    def gpu_places(self) -> tuple[Array, Array]:
        """The host of each GPU of the machine, and the kind of the GPUs of each host: int64."""
        return self.state.gpus.host, self.state.gpus.kind

    def holding(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a running job holds; single cores in runs with releases."""
        jobs, state = self.state.jobs, self.state
        first = jobs.held_first.item(row)
        stop = first + jobs.held_count.item(row)
        held = zip(state.pool.lo[first:stop].tolist(), state.pool.hi[first:stop].tolist(), strict=True)
        if not len(state.releases.holder):
            return held
        cores = (core for lo, hi in held for core in range(lo, hi))
        return ((core, core + 1) for core in cores if state.releases.holder[core] == row)

    def held(self, rows: Array) -> tuple[Array, Array, Array]:
        """The same for several jobs: rows, and the intervals [lo, hi) that they hold, job by job."""
        state = self.state
        count = state.jobs.held_count[rows]
        at = intervals_of(state.jobs.held_first[rows], count)
        row, lo, hi = np.repeat(rows, count), state.pool.lo[at], state.pool.hi[at]
        if not len(state.releases.holder):
            return row, lo, hi
        row, core = np.repeat(row, hi - lo), intervals_of(lo, hi - lo)
        still = state.releases.holder[core] == row
        return row[still], core[still], core[still] + 1

    @property
    def has_outages(self) -> bool:
        """Whether hosts may be down at some time."""
        return bool(self.state.outages.events.ns.size)

    def is_free(self) -> Array:
        """A mask of the free cores on hosts that are up: bool (M,)."""
        words = self.state.free_words[: self.state.free_starts[1]].astype("<u4")
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return bits[: self.platform.n_cores].astype(bool)

    def up_again_ns(self) -> Array:
        """The known ends of outages: int64 (H,), ns; 0: the host is up, ``NEVER``: unknown."""
        return np.asarray(self.state.outages.down_until_ns.reshape(-1, self.platform.n_hosts).max(axis=0, initial=0))

    def width_range(self, row: int) -> tuple[int, int]:
        """The smallest and the largest width of a row's job; equal if it may not change."""
        widths, origin = self.state.widths, self.origin(row)
        return int(widths.least[origin]), int(widths.most[origin])

    def resized(self, row: int) -> tuple[list[int], list[int]]:
        """The cores that a running job was last given, and those that were last requested back, in order."""
        commands = self._latest_commands(row)
        core, change = commands.core, commands.what
        return core[change == b.GIVEN].tolist(), core[change == b.ASKED_FOR].tolist()

    def _latest_commands(self, row: int) -> CommandLog:
        # The latest commands to a running job.
        first, count = self.state.commands.latest[row], self.state.commands.count[row]
        return self.state.commands.log.take(np.arange(first, first + count))

    def holds(self, row: int, core_number: Array) -> Array:
        """A mask of these cores (numbers in the machine): True if the running job holds the core."""
        return np.asarray(self.state.releases.holder[core_number] == row)

    def scaled(self, row: int) -> list[tuple[int, int]]:
        """The latest scales of a running job: core (number in the machine, -1: all), and scale in parts per billion."""
        commands = self._latest_commands(row)
        commands = commands.take(commands.what == b.SCALED)
        return list(zip(commands.core.tolist(), commands.value.tolist(), strict=True))

    def hinted(self, row: int) -> bool:
        """Whether the latest commands to a running job were hints."""
        return bool((self._latest_commands(row).what == b.HINTED).any())

    def wanted(self, row: int, core_number: Array) -> Array:
        """A mask of these cores (numbers in the machine): True if the latest hint to the running job names the core."""
        hinted = self.state.hints.of_core[core_number] == row + 1
        return np.asarray(hinted & (self.state.releases.holder[core_number] == row))

    def origin(self, row: int) -> int:
        """The row of the workload for a row, which may be a later attempt."""
        return int(self.state.jobs.origin[row])

    def start_ns(self, row: int) -> int:
        """The start of a row's job; -1 if it has not started."""
        return int(self.state.jobs.start_ns[row])

    def job_number(self, row: int) -> int:
        """The workload's number of a row's job."""
        return int(self.state.jobs.number[row])

    def stop_ns(self, row: int) -> int | None:
        """The instant at which a job that has started is cut at the latest; None if it is not."""
        stop = int(self.state.jobs.stop_ns[row])
        return None if stop == b.NEVER else stop

    def released(self, row: int) -> int:
        """The number of requested cores that a row's job has released before its end."""
        released = self.state.releases.released
        return int(released[row]) if len(released) else 0

    def _losses(self) -> dict[int, str]:
        # The reasons of ends by lost cores or by a policy, by row.
        found = self.state.releases.last_lost[: self.rows]
        losses = {row: f"all its cores were lost, core {found[row] - 1} last" for row in np.flatnonzero(found).tolist()}
        losses |= dict.fromkeys(np.flatnonzero(found < 0).tolist(), "its cores came and went before any task ended")
        if self.dealings.directs:
            state, scaling = self.column("state"), self.state.directions.scaling.front(self.rows)
            ended = (scaling.cut_at > 0) & (self.column("end_ns") == scaling.cut_at) & (state == scaling.cut_state)
            losses |= dict.fromkeys(np.flatnonzero(ended).tolist(), "the batch policy ended it")
        return losses

    def records(self) -> dict[str, Any]:
        """Events of running jobs, reasons of ends and kept passes so far, under the names of ``traces.ledger.Ledger``."""
        kinds = {kind: kind.of_state(self.state) for kind in EVENTS}
        found = {"kinds": kinds, "moldable": self.dealings.molds, "cut_because": self._losses()}
        if self.rules.keep_decisions:
            passes = self.state.decisions.passes.front(self.n_decisions)
            found["passes"] = PassRecords(passes.at_ns, passes.waiting, passes.started)
        for feature in features_of(self.state):
            found |= feature.records(self.state)
        return found

    @property
    def predicted(self) -> int | None:
        """The number of arrivals with a predicted run time; None without predictions."""
        return int(self.state.prediction.runs[-1, 0]) if self.state.prediction.least.size else None

    def host_states(self) -> tuple[Array, Array, Array] | None:
        """State changes of hosts that power limits stop or that sleep; None if the run has no such hosts. Instants, hosts, and
        states of ``bls.engine.codes.HostState``."""
        if not len(self.state.host_log.at_ns):
            return None
        for feature in features_of(self.state):
            feature.up_to_now(self.state)
        log = self.state.host_log.front(self.state.n_host_log)
        log = log.take(log.at_ns <= self.now_ns)  # without future transitions
        return log.at_ns, log.host, log.state

    def predicted_power(self) -> Array | None:
        """The predicted draw above idle of each row relative to the platform's value, parts per billion, int64; or None."""
        predicted = self.state.power.predicted
        return predicted[: int(self.state.n_rows)].copy() if len(predicted) else None

    def feature_columns(self) -> dict[str, Array]:
        """Columns of the table of jobs that features of this run have filled."""
        return {
            name: column for feature in features_of(self.state) for name, column in feature.columns(self.state).items()
        }

    def allocations(self) -> tuple[Array, Array, Array]:
        """All allocations, by rows: ``JobRecords.allocation_first, allocation_lo, allocation_hi``."""
        at, count = self._given_at_start()
        source = intervals_of(at, count)
        return np.append(0, np.cumsum(count)), self.state.pool.lo[source], self.state.pool.hi[source]

    def _given_at_start(self) -> tuple[Array, Array]:
        # The place in the pool of the cores with which each row started.
        first, count = self.column("held_first"), self.column("held_count")
        if not self.dealings.resizes:
            return first, count
        given_first, given_count = (
            self.state.widths.given_first[: self.rows],
            self.state.widths.given_count[: self.rows],
        )
        changed = given_count > 0
        return np.where(changed, given_first, first), np.where(changed, given_count, count)


class RunningJobs(RunView):
    """The jobs of a batch simulation for those who simulate them and answer its engine."""

    @property
    def running_jobs(self) -> Self:
        """The object itself, for those that also know batch levels without commands to running jobs."""
        return self

    def release(self, row: int, core_number: Array, released_ns: Array, end_ns: int) -> bool:
        """Report the releases of a job that has started, before its outcome; False if they are not possible."""
        from bls.engine.features.releases.releases import report_job_releases

        return bool(report_job_releases(self.state, row, core_number, released_ns, end_ns) == ACCEPTED)

    def request_width(self, row: int, width_request_ns: Array, cores: Array, until_ns: int) -> bool:
        """Report the requests for cores of a job that has started, before its outcome; False if they are not possible."""
        from bls.engine.features.requests.requests import grow_width_requests, report_width_requests

        while (answer := report_width_requests(self.state, row, width_request_ns, cores, until_ns)) == FULL:
            grow_width_requests(self.state, len(width_request_ns))
        return bool(answer == ACCEPTED)

    def interrupted(self) -> list[int]:
        """The rows of the running jobs that receive commands after the latest pass; the list is cleared."""
        rows: list[int] = self.state.interrupted[: self.state.n_interrupted].tolist()
        self.state.n_interrupted = 0
        return rows

    def take_back(self, row: int) -> bool:
        """Reopen the end of a running job after a command: it needs an outcome or a promise again."""
        from bls.engine.features.commands.commands import take_back

        return bool(take_back(self.state, row))

    def put_off_stop(self, row: int, core_number: Array, released_ns: Array) -> bool:
        """Whether a job releases the failing hosts before they cut it: simulate it then up to the new :meth:`stop_ns`."""
        from bls.engine.features.releases.releases import stop_after

        return bool(stop_after(self.state, row, core_number, released_ns))

    def promise(self, row: int, not_before_ns: int) -> bool:
        """Promise that a running job ends at ``not_before_ns`` or later; False if it contradicts known facts."""
        return bool(engine.promise(self.state, row, not_before_ns))

    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool:
        """Report the end of a running job, and whether it was cut; False if that is not possible."""
        return bool(engine.outcome(self.state, row, end_ns, stopped))

    def loss(self, row: int, end_ns: int, core: int) -> bool:
        """Report the end of a running job that has lost its cores; False if that is not possible."""
        from bls.engine.features.retries.retries import report_loss

        return bool(report_loss(self.state, row, end_ns, core))


class Counts(NamedTuple):
    """A few numbers of a run."""

    now_ns: int  # the simulated instant
    ended: int  # number of jobs that have ended for good or were cancelled
    running: int  # number of running jobs
    waiting: int  # number of waiting jobs


def counter(state: b.BatchState) -> Callable[[], Counts]:
    """Return a function that reads them at any time and in any thread, given the first state, whose columns may be freed."""
    numbers, running = state.only_numbers(), state.running.only_numbers()
    return lambda: Counts(numbers.now_ns, numbers.n_ended, running.n, numbers.n_waiting)


@dataclass(frozen=True, eq=False)
class Moment:
    """A run between two steps of its engine."""

    now_ns: int
    waiting: int  # number of waiting jobs
    rows: Array  # int64 (r,): running jobs, ascending
    origin: Array  # int64 (r,): their rows of the workload
    job_id: Array  # int64 (r,): their numbers
    start_ns: Array  # int64 (r,)
    cores: Array  # int64 (r,): numbers of their cores
    lo: Array  # int64 (k,): first cores of disjoint intervals
    hi: Array  # int64 (k,): one past their last cores
    holder: Array  # int64 (k,): the rows that hold them
    down: Array  # int64 (d,): hosts that are down, ascending
    ends: tuple[int, ...]  # number of attempts in each of ``traces.ledger.STATES``


def moment_of(run: RunView) -> Moment:
    """The present moment, between two steps of the engine."""
    state, jobs = run.state, run.state.jobs
    # Including jobs that have just started.
    rows = np.sort(np.concatenate((state.running.key[: state.running.n], np.array(run.started(), np.int64))))
    holder, lo, hi = run.held(rows)
    ended = run.column("state")
    ends = tuple(np.bincount(ended[ended >= 0], minlength=len(STATES)).tolist())
    origin, job_id, start_ns, cores = (jobs.origin[rows], jobs.number[rows], jobs.start_ns[rows], jobs.held_cores[rows])
    down, counts = np.flatnonzero(run.up_again_ns()), (int(state.now_ns), int(state.n_waiting))
    return Moment(*counts, rows, origin, job_id, start_ns, cores, lo, hi, holder, down, ends)
