"""The view that Python policies and observers have of a run: clock, waiting and running jobs, free cores. It is read-only.

Frequently used data is kept up to date; everything else is computed on demand, at most once per step of the engine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.allocators import Allocator
from bls.engine import state as b
from bls.engine.features.directions.given import put_commands
from bls.engine.features.hold.holds import Holds
from bls.engine.features.limits.seen import PowerRoom
from bls.engine.features.python.choice import put_choice
from bls.engine.features.releases.options import COORDINATION
from bls.engine.features.widths.options import MALLEABLE, RESIZE
from bls.engine.jobs import Jobs
from bls.machine.platform import Platform
from bls.options import KILL_AT_WALLTIME
from bls.running_jobs import RunView
from bls.scheduler_options import Rules
from bls.seen.answers import LONGEST_REASON, AnswerError, Cores, Directions, WakeUps, check_apart, placed, reason_text
from bls.seen.columns import RunningColumns, WaitingColumns
from bls.seen.corrections import Corrections
from bls.seen.data import DataOfNow
from bls.seen.jobs import JobFacts, JobWidth, SeenJob
from bls.seen.machine import Present, SeenHost, SeenPartition, SeenWindow, seen_hosts, seen_partitions, seen_windows
from bls.seen.news import AnyNews, News
from bls.seen.notes import DecisionNotes
from bls.workloads.header import Calendar
from traces.base.errors import InputError, PluginError, shown, whole
from traces.base.time import MAX_NS
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.power.signals import Signals
    from bls.seen.trial import Trial

_new = tuple.__new__  #: creates a named tuple from an iterable of its fields

_ESTIMATE = SeenJob._fields.index("estimate_ns")


class View:
    """The batch level at one instant, read-only.

    While a policy decides, the view shows the state before that pass: the policy itself must count the cores that it
    assigns. The methods "for a policy while it decides" raise PluginError if an observer calls them, or if the policy has
    not declared or the run does not have what they need; their own sections "Raises" name further reasons only.

    Parameters
    ----------
    run : RunView
        The simulation, which the view follows.
    data : mapping of str to callable
        Functions that compute additional data, by name.
    notes : mapping of str to type
        The columns that the policy may note for its decisions.
    follows : bool
        Whether the policy receives news, event by event.
    """

    def __init__(
        self, run: RunView, data: Mapping[str, Callable[[View], Any]], notes: Mapping[str, type], follows: bool
    ) -> None:
        self._facts = JobFacts(run)
        self._show(run)
        self._wake_ups = WakeUps()
        self._rejected: dict[int, str] = {}
        self._named: dict[int, Cores] = {}
        self._because: dict[int, str] = {}
        self._notes = DecisionNotes(notes, run.rules.keep_decisions)
        self._directions = Directions()
        self._data = DataOfNow({name: partial(value, self) for name, value in data.items()}, lambda: self._now_ns)
        self._waiting: OrderedDict[int, SeenJob] = OrderedDict()
        self._running: OrderedDict[int, SeenJob] = OrderedDict()
        # If expected ends of running jobs may change: these ends, with the keys of _running.
        self._expected: OrderedDict[int, int] = OrderedDict()
        self._corrections = Corrections() if run.rules.estimates_differ else None
        self._deciding = False
        self._decision = 0
        self._news = News(self._seen, self._facts.waits_for, run.workload.submit_ns) if follows else None
        self._n_cores = run.platform.n_cores
        self._now_ns, self._free_cores = 0, self._n_cores

    def _show(self, run: RunView) -> None:
        self._run, self._holds, self._power = run, run.shown(Holds), run.shown(PowerRoom)
        self._present: Present | None = None
        self._forget_columns()
        self._ends_change = run.dealings.scales or run.dealings.resizes or run.dealings.promises
        # Lists: reading single elements is faster than with arrays.
        columns = ("job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos")
        self._given: list[list[int]] = [getattr(run.workload, name).tolist() for name in columns]

    @property
    def now_ns(self) -> int:
        """The simulated clock."""
        return self._now_ns

    @property
    def date_ns(self) -> int:
        """The date at time 0, ns since 1970 in UTC; 1 January 2001 if the log has none."""
        return Calendar.of(self._run.workload).date_ns

    @property
    def n_cores(self) -> int:
        """Cores of the machine."""
        return self._n_cores

    @property
    def free_cores(self) -> int:
        """Cores that no job holds, on hosts that are up."""
        return self._free_cores

    @property
    def power_limit_w(self) -> float | None:
        """The known power limit of the machine, W; None without a limit, or if hosts are stopped instead."""
        return self._power.limit_w

    @property
    def power_left_w(self) -> float | None:
        """The power, above idle, that further jobs may draw under that limit, W; None without a known limit. Running jobs
        count in their planned power states; below 0 if they draw too much."""
        return self._power.left_w

    @property
    def signals(self) -> Signals | None:
        """Price and carbon intensity of energy over time (``bls.power.signals``), as given by ``signals``; or None."""
        return self._run.signals

    def power_of(self, job: SeenJob, cores: Iterable[int] | None = None) -> float | None:
        """The power, above idle, that a waiting job would draw in its planned power state.

        Parameters
        ----------
        job : SeenJob
            A waiting job.
        cores : iterable of int, optional
            Numbers in the machine; default: the requested number of cores with the least draw.

        Returns
        -------
        float or None
            W; None in runs without a power limit.
        """
        return self._power.more_w(job.row, job.cores, cores)

    @property
    def waiting(self) -> Iterable[SeenJob]:
        """The waiting jobs, in the order in which they joined the queue."""
        return self._waiting.values()

    @property
    def running(self) -> Iterable[SeenJob]:
        """The running jobs, in the order of their starts."""
        return self._running.values()

    @cached_property
    def waiting_columns(self) -> WaitingColumns:
        """The jobs of :attr:`waiting` as columns, in that order."""
        return WaitingColumns(self._run, self._facts, self._waiting)

    @cached_property
    def running_columns(self) -> RunningColumns:
        """The jobs of :attr:`running` as columns, in that order, with their cores on each host."""
        return RunningColumns(self._run, self._facts, self._running, self._now)

    @property
    def n_waiting(self) -> int:
        """The number of waiting jobs."""
        return len(self._waiting)

    @property
    def n_running(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    def allocation(self, job: SeenJob) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a running job holds; single cores in runs with releases."""
        return self._run.holding(self._facts.at(job.row))

    @property
    def platform(self) -> Platform:
        """The platform, with columns of all hosts: ``first_core``, ``host_resources``, ``topology`` …"""
        return self._facts.platform

    @cached_property
    def hosts(self) -> tuple[SeenHost, ...]:
        """The hosts by number: their resources, the free part of these, and whether they are down."""
        return seen_hosts(self.platform, self._now)

    @property
    def down(self) -> list[int]:
        """The numbers of the hosts that are down."""
        return [*np.flatnonzero(self._now().up_again_ns).tolist()]

    @property
    def free_by_host(self) -> Array:
        """The number of free cores on each host: int64 (hosts,), read-only; 0 if it is down."""
        return self._now().free_by_host

    @property
    def is_free(self) -> Array:
        """A mask of the free cores: bool (cores,), read-only."""
        return self._now().is_free

    @property
    def free_resources(self) -> Array:
        """The free resources of each host: int64 (hosts, ``platform.resource_names``), read-only; memory in KB."""
        return self._now().free_resources

    @property
    def free_gpus(self) -> Array:
        """The thousandths left of each GPU, also of hosts that are down: int64 (``platform.n_gpus``,), read-only. Host h has
        the GPUs ``platform.first_gpu[h]`` to ``platform.first_gpu[h + 1] - 1``."""
        return self._now().free_gpus

    @property
    def free_licences(self) -> Mapping[str, int]:
        """The number of free licences, by name."""
        left = self._now().free_licences.tolist()
        return MappingProxyType(dict(zip(self.platform.licence_names, left, strict=True)))

    @cached_property
    def partitions(self) -> tuple[SeenPartition, ...]:
        """The partitions of the platform, with their limits and running jobs; ``all`` if it has none."""
        return seen_partitions(self.platform, self._now)

    def partition_of(self, job: SeenJob) -> SeenPartition:
        """The partition that a job belongs to."""
        return self.partitions[self._facts.partition(job.origin)]

    @cached_property
    def windows(self) -> tuple[SeenWindow, ...]:
        """Past, present and future advance reservations and maintenance, by begin."""
        return seen_windows(self._run.constraints.windows)

    @property
    def held(self) -> list[SeenJob]:
        """Submitted jobs that wait for another job or for their earliest start and are not in the queue yet; by submit."""
        jobs, rows = self._run.jobs, self._facts.waits_for
        outside = (jobs.eligible_ns[rows] < 0) & (jobs.state[rows] < 0) & (jobs.submit_ns[rows] <= self._now_ns)
        return [self._seen(row) for row in rows[outside].tolist()]

    @property
    def data(self) -> DataOfNow:
        """Additional data by name, computed by observers with ``value(view)`` at most once per instant."""
        return self._data

    @property
    def rules(self) -> Rules:
        """The other options of the batch level."""
        return self._run.rules

    @property
    def allocator(self) -> Allocator:
        """The allocator, which chooses cores if the policy does not."""
        return self._run.allocator

    @property
    def releases(self) -> bool:
        """Whether running jobs may give cores back."""
        return self._run.dealings.releases

    @property
    def has_outages(self) -> bool:
        """Whether hosts may be down at some time."""
        return self._run.has_outages

    @property
    def woken(self) -> bool:
        """Whether the policy has requested a pass at this instant."""
        pending = self._wake_ups.pending
        return bool(pending) and pending[0] <= self._now_ns

    def news(self) -> list[AnyNews]:
        """For a policy with a method ``finish``, while it decides: the events since its previous call, in order."""
        self._of_a_policy("news")
        if self._news is None:
            raise PluginError("news() is for a batch policy with a method finish(view)")
        return self._news.take(self._run, self._running)

    def _now(self) -> Present:
        if self._present is None:
            self._present = Present(self._run, self._facts, self._running)
        return self._present

    def _of_a_policy(self, what: str) -> None:
        if not self._deciding or self._data.computing:
            raise PluginError(f"{what}() is for a batch policy while it decides")

    def wake_at(self, instant_ns: int) -> None:
        """For a policy while it decides: also decide at this later instant (ns), even if nothing happens then.

        There may be any number of such instants. Each leads to a pass, or to one as soon as the scheduler is no longer busy.

        Raises
        ------
        PluginError
            If the instant is not after the present one, or beyond ``traces.base.time.MAX_NS``.
        """
        self._of_a_policy("wake_at")
        self._wake_ups.add(_whole("wake_at", instant_ns, self._now_ns + 1, MAX_NS))

    def wake_after(self, duration_ns: int) -> None:
        """For a policy while it decides: :meth:`wake_at` a number of ns (at least 1) after the present instant.

        Raises
        ------
        PluginError
            As :meth:`wake_at`.
        """
        self._of_a_policy("wake_after")
        self._wake_ups.add(self._now_ns + _whole("wake_after", duration_ns, 1, MAX_NS - self._now_ns))

    def kill_after(self, job: SeenJob, span_ns: int) -> None:
        """For a policy while it decides, in runs that kill jobs at their walltime: set when a waiting job is killed instead.

        Parameters
        ----------
        job : SeenJob
            A job of :attr:`waiting`.
        span_ns : int
            The run time after which it is killed, at least 1 ns.

        Raises
        ------
        PluginError
            If the job does not wait, or the span is out of range.
        """
        self._of_a_policy("kill_after")
        row = self._facts.find(job.row)
        if row not in self._waiting:
            raise PluginError(f"kill_after() is for jobs that wait, and job {job.job_id} does not")
        if not self.rules.kill_at_walltime:
            runs = f"runs in which jobs are killed at their walltime ({KILL_AT_WALLTIME})"
            raise PluginError(f"kill_after() is for {runs}")
        self._run.jobs.walltime_ns[row] = _whole("kill_after", span_ns, 1, MAX_NS - self._now_ns)

    def trial(self) -> Trial:
        """For a policy while it decides, in runs without a power limit: try placements on a copy of the free cores."""
        self._of_a_policy("trial")
        from bls.seen.trial import Trial  # few policies need it

        decision = self._decision
        if self._power.limits:
            raise PluginError("trial() is not for runs with a power limit; allowed: power_of() and power_left_w")

        def goes_on() -> bool:
            return self._deciding and self._decision == decision

        return Trial(self._run, self._waiting, self._facts.find, goes_on)

    def reject(self, job: SeenJob, reason: str) -> None:
        """For a policy while it decides: remove a waiting job from the queue in this pass; it never runs.

        Its ``state`` is ``rejected``. Jobs that depend on it become eligible. All rejections of a pass come before its starts.

        Parameters
        ----------
        job : SeenJob
            A job of :attr:`waiting`.
        reason : str
            1 to 200 characters, for the table of jobs (``rejected_because``).

        Raises
        ------
        PluginError
            If the job does not wait or was rejected already, or the reason is no such text.
        """
        self._of_a_policy("reject")
        row = self._waiting_row("reject", job)
        if row in self._rejected:
            raise PluginError(f"reject() was given job {job.job_id} twice")
        text = reason_text(reason)
        if text is None:
            allowed = f"a text of 1 to {LONGEST_REASON} characters"
            raise PluginError(f"reject() of job {job.job_id}: reason: {shown(reason)}; allowed: {allowed}")
        self._rejected[row] = text

    def hold(self, job: SeenJob) -> None:
        """For a policy while it decides: hold a waiting job, as Slurm's ``scontrol hold`` does.

        The job cannot start until :meth:`release_hold`, not even in a :meth:`trial`. It stays in :attr:`waiting`, at its
        place in the queue, and may be cancelled or rejected. The table of jobs has the time of the hold
        (``started_because``). If only held jobs are left, the run ends with an error.

        Raises
        ------
        PluginError
            If the job does not wait, or is held already.
        """
        self._set_hold("hold", job, True)

    def release_hold(self, job: SeenJob) -> None:
        """For a policy while it decides: release the hold of a waiting job (:attr:`on_hold`), which may start in this pass.

        Raises
        ------
        PluginError
            If the job does not wait, or is not held.
        """
        self._set_hold("release_hold", job, False)

    def _set_hold(self, what: str, job: SeenJob, on: bool) -> None:
        self._of_a_policy(what)
        row = self._waiting_row(what, job)
        if not self._holds.set(row, on):
            raise PluginError(f"{what}() was given job {job.job_id}, which is {'held already' if on else 'not held'}")

    def _waiting_row(self, what: str, job: object) -> int:
        row = self._facts.find(job.row) if isinstance(job, SeenJob) else -1
        if not isinstance(job, SeenJob) or self._waiting.get(row) is not job:
            raise PluginError(f"{what}() was given {_which(job, 'is not waiting')}; allowed: jobs of view.waiting")
        return row

    @property
    def on_hold(self) -> list[SeenJob]:
        """The waiting jobs that the policy holds (:meth:`hold`), in the order of :attr:`waiting`."""
        on_hold = self._holds.on
        return [job for row, job in self._waiting.items() if on_hold[row]] if self._holds.used else []

    def note(self, **values: Any) -> None:
        """For a policy while it decides: note values of this decision, by the names in its ``decision_columns``.

        They appear in the row of this pass in the table of decisions (``decisions``); missing values are None. A later
        value replaces an earlier one.

        Raises
        ------
        PluginError
            If a column was not declared, or a value has another type than declared.
        """
        self._of_a_policy("note")
        self._notes.note(self._run.n_decisions, values)

    def scale(self, job: SeenJob | Iterable[SeenJob], factor: float, cores: Iterable[int] | None = None) -> None:
        """For a policy while it decides, whose ``directs`` names ``"speeds"``: scale the speed of cores of a job.

        The scale takes effect after all events of this instant, also within tasks, until the next scale. It also multiplies
        varying speeds (``speeds``). The expected end of the job changes; its walltime does not.

        Parameters
        ----------
        job : SeenJob, or iterable of them
            A job that runs or is started in this pass; or several, such as :attr:`running`, for all their cores.
        factor : float
            0.001 to 2, rounded to nine places.
        cores : iterable of int, optional
            Some of its cores, by numbers in the machine; default: all, including those that it is given later. Replayed jobs
            and jobs started in this pass accept only all cores.

        Raises
        ------
        PluginError
            If a job neither runs nor waits, the factor or a core is not allowed, or a core is scaled twice in a pass.
        """
        if not isinstance(job, SeenJob | str) and isinstance(job, Iterable):
            if cores is not None:
                raise PluginError("scale() of several jobs: cores; allowed: none, all of their cores")
            self._directions.scale_all(self._directed("scale", "speeds", b.SCALES, *job), factor)
            return
        one = self._directed("scale", "speeds", b.SCALES, job)[0]
        if cores is not None and self._run.jobs.run_ns.item(one.row) >= 0:
            raise PluginError(f"scale() of job {one.job_id}: cores; allowed: all of its cores, since it is replayed")
        held = self._cores_of(one) if cores is not None and one.row in self._running else None
        self._directions.scale(one, factor, cores, held)

    def cancel(self, job: SeenJob) -> None:
        """For a policy while it decides, whose ``directs`` names ``"ends"``: end a job that runs or starts now, 1 ns later.

        Its work is lost; its ``state`` is ``cancelled``. Jobs that depend on it become eligible then.

        Raises
        ------
        PluginError
            If the job neither runs nor waits, or is ended twice in this pass.
        """
        self._directions.end(self._directed("cancel", "ends", b.CUTS, job)[0], b.CANCELLED)

    def requeue(self, job: SeenJob) -> None:
        """End a job like :meth:`cancel`, which raises the same errors, and put another attempt into the queue, at the same
        place. Its ``state`` is ``requeued``. It counts for ``max-attempts``."""
        self._directions.end(self._directed("requeue", "ends", b.CUTS, job)[0], b.REQUEUED)

    def width(self, job: SeenJob) -> JobWidth:
        """The present, smallest and largest width of a job, with changing widths (``malleable``)."""
        run, row = self._run, self._facts.find(job.row)
        least, most = run.width_range(job.row) if run.dealings.resizes else (job.cores, job.cores)
        held = run.jobs.held_cores.item(row) if row in self._running else 0
        return JobWidth(least, most, held, run.state.widths.asked_of.item(row) if held and run.dealings.resizes else 0)

    def resize(self, job: SeenJob, cores: int) -> None:
        """For a policy while it decides, whose ``directs`` names ``"widths"``, with ``resize decide``: set the width of a job.

        After the pass and its starts, the job must return surplus cores, at the ends of chunks. Or it is given free cores,
        in the order of starts, and the rest after later passes, until another width is set.

        Parameters
        ----------
        job : SeenJob
            A malleable job that runs or is started in this pass.
        cores : int
            Its width, within the range of :meth:`width`.

        Raises
        ------
        PluginError
            If the job neither runs nor waits or is not malleable, or the width is out of range.
        """
        self._of_a_policy("resize")
        if self._run.settings.resizing != b.AS_DECIDED:
            needs = f"whose directs has 'widths', with {MALLEABLE} and {RESIZE:decide}"
            raise PluginError(f"resize() is for a batch policy {needs}")
        one = self._directable("resize", job)
        where, (least, most) = f"resize() of job {one.job_id}", self._run.width_range(one.row)
        if least == most:
            raise PluginError(f"{where}, which is not malleable; allowed: jobs whose width may change")
        self._directions.resize(one, _whole(f"{where}: cores", cores, least, most))

    def hint(self, job: SeenJob, cores: Iterable[int] = (), waiting: SeenJob | None = None) -> None:
        """For a policy while it decides, whose ``directs`` names ``"hints"``, with ``coordination hint``: send a hint.

        Until the next hint, the job serves the named cores last, and releases them as soon as its other cores suffice for
        the remaining tasks (``docs/explanation/coordination.md``). Hints are sent after the pass if they have changed.

        Parameters
        ----------
        job : SeenJob
            A running job.
        cores : iterable of int, optional
            Cores on which it computes (on exclusive hosts, the first ones), by numbers in the machine; default: none.
        waiting : SeenJob, optional
            The job that waits for them and is not started in this pass; required with cores.

        Raises
        ------
        PluginError
            If an argument is not as described, or the job has already received a hint in this pass.
        """
        self._of_a_policy("hint")
        if self._run.settings.hints != b.BY_POLICY:
            raise PluginError(f"hint() is for a batch policy whose directs has 'hints', with {COORDINATION:hint}")
        if not isinstance(job, SeenJob) or job.row not in self._running:
            raise PluginError(f"hint() was given {_which(job, 'does not run')}; allowed: jobs of view.running")
        if waiting is not None and (not isinstance(waiting, SeenJob) or self._waiting.get(waiting.row) is not waiting):
            which = _which(waiting, "is not waiting")
            raise PluginError(f"hint() of job {job.job_id}: waiting: {which}; allowed: jobs of view.waiting")
        self._directions.hint(job, cores, waiting, self._cores_of(job) & self._working(job))

    def _working(self, job: SeenJob) -> set[int]:
        # The cores on which a running job computes or has computed: the first ones on exclusive hosts.
        if self._run.dealings.resizes:
            return self._cores_of(job)  # hosts are shared
        left, working = job.cores, set[int]()
        for lo, hi in self._run.allocation(job.row):
            working.update(range(lo, min(hi, lo + left)))
            left -= min(left, hi - lo)
        return working

    def _cores_of(self, job: SeenJob) -> set[int]:
        return {core for lo, hi in self.allocation(job) for core in range(lo, hi)}

    def _directed(self, what: str, name: str, part: int, *jobs: object) -> list[SeenJob]:
        self._of_a_policy(what)
        if not self._run.settings.directs & part:
            raise PluginError(f"{what}() is for a batch policy whose directs has {name!r}")
        return [self._directable(what, job) for job in jobs]

    def _directable(self, what: str, job: object) -> SeenJob:
        if not isinstance(job, SeenJob) or (job.row not in self._running and self._waiting.get(job.row) is not job):
            which = _which(job, "neither runs nor waits")
            allowed = "jobs of view.running, and jobs started in this pass"
            raise PluginError(f"{what}() was given {which}; allowed: {allowed}")
        return job

    def go_on(self, run: RunView, rows: Array, numbers: Array) -> None:
        """With ``stream``: show the next section, which begins with these ``rows`` of the present one; all have ``numbers``."""
        self._refresh()
        place = {row: k for k, row in enumerate(rows.tolist())}
        self._waiting = OrderedDict((place[row], job) for row, job in self._waiting.items())
        self._running = OrderedDict((place[row], job) for row, job in self._running.items())
        if self._corrections is not None:
            self._corrections.moved(place)
        self._facts.go_on(run, numbers.tolist())
        self._show(run)

    def _let_decide(self) -> None:
        self._refresh()
        self._deciding = True
        self._decision += 1

    def _refresh(self) -> None:
        # Bring the view to the present, from the engine's log of arrivals, starts and ends.
        run = self._run
        jobs, promises, corrections = run.jobs, self._ends_change, self._corrections
        entries, self._now_ns, self._free_cores = run.take_log()
        for entry in entries:
            row, kind = entry >> 2, entry & 3
            if kind == b.LOG_ARRIVED:
                self._waiting[row] = self._seen(row)
            elif kind == b.LOG_STARTED:
                start = jobs.start_ns.item(row)
                began = _new(SeenJob, (*self._waiting.pop(row)[:-1], start))
                if promises:
                    self._expected[row] = jobs.expected_end_ns.item(row)
                    began = began._replace(estimate_ns=self._expected[row] - start)
                self._running[row] = began
                if corrections is not None:
                    corrections.watch(run, row)
            elif row in self._running:
                left = self._running.pop(row)
                self._expected.pop(row, None)
                if corrections is not None:
                    corrections.forget(row)
            else:
                left = self._waiting.pop(row)
            if self._news is None:
                continue
            if kind == b.LOG_ARRIVED:
                self._news.arrived(self._waiting[row])
            elif kind == b.LOG_STARTED:
                gpus = tuple(run.gpus(row).tolist())
                self._news.started(self._running[row], tuple(run.allocation(row)), gpus, run.dealings.releases)
            else:
                self._news.left(left, jobs)
        if promises:
            self._look_at_promises(jobs)
        if corrections is not None:
            for row, end_ns in corrections.found(run):
                self._expect(row, end_ns)
        self._present = None
        self._forget_columns()

    def _forget_columns(self) -> None:
        self.__dict__.pop("waiting_columns", None)
        self.__dict__.pop("running_columns", None)

    def _look_at_promises(self, jobs: Jobs) -> None:
        # Compare the expected ends of all running jobs: there is no record of changes.
        promised = jobs.expected_end_ns[np.fromiter(self._expected, np.int64, len(self._expected))].tolist()
        if promised == list(self._expected.values()):
            return
        expected, corrections = self._expected, self._corrections
        for (row, before), end_ns in zip(list(expected.items()), promised, strict=True):
            if end_ns != before:
                expected[row] = end_ns
                self._expect(row, end_ns)
                if corrections is not None:
                    corrections.watch(self._run, row)

    def _expect(self, row: int, end_ns: int) -> None:
        job = self._running[row]
        # Three times as fast as job._replace(estimate_ns=…): scaled speeds change all running jobs.
        changed = _new(SeenJob, (*job[:_ESTIMATE], end_ns - job.start_ns, *job[_ESTIMATE + 1 :]))
        self._running[row] = changed
        if self._news is not None:
            self._news.expected(changed)

    def _seen(self, row: int) -> SeenJob:
        jobs, origin, attempt = self._run.jobs, row, 0
        job_id, submit, cores, user, group, queue, partition, qos = self._given
        if row >= len(job_id):
            origin, attempt = jobs.origin.item(row), jobs.attempt.item(row)
        request = job_id[origin], submit[origin], jobs.eligible_ns.item(row), jobs.estimate_ns.item(row), cores[origin]
        groups = user[origin], group[origin], queue[origin], partition[origin], qos[origin]
        facts = self._facts
        return _new(SeenJob, (*request, *groups, attempt, facts.number(row), facts.number(origin), facts, -1))

    def _chosen(self, answer: Iterable[Any]) -> list[int]:
        # The rows of the jobs that a policy starts; named cores are stored in _named, and its commands are passed on.
        if not hasattr(answer, "__iter__"):
            raise AnswerError(f"gave {shown(answer)}; allowed: a list of the jobs to start, perhaps empty")
        rows: list[int] = []
        waiting, find = self._waiting, self._facts.find
        for given in answer:
            job = given if isinstance(given, SeenJob) else self._placed(given, len(rows))
            row = find(job.row)
            if waiting.get(row) is not job:
                why = "is not waiting" if job.dependency_holds else _held_for(job)
                raise AnswerError(f"gave job {job.job_id}, which {why}")
            rows.append(row)
        if len(rows) > 1 and len(set(rows)) < len(rows):
            twice = next(row for row in rows if rows.count(row) > 1)
            raise AnswerError(f"gave job {waiting[twice].job_id} twice")
        if self._rejected and (both := [row for row in rows if row in self._rejected]):
            raise AnswerError(f"gave job {waiting[both[0]].job_id}, which it rejects")
        if self._holds.used:
            self._add_holds(rows)
        if self._named:
            check_apart(waiting, rows, self._named)
        if self._directions:
            put_commands(self._run.state, self._directions.take(self._running.keys(), rows, self._rejected.keys()))
        return rows

    def _put(self, rows: list[int]) -> int:
        # Pass the chosen jobs and those that are rejected to the engine; returns their number.
        return put_choice(self._run.state, rows, self._named, self._rejected.keys())

    def _add_holds(self, rows: list[int]) -> None:
        # Add the holds of starting jobs to the policy's own reasons.
        for row in rows:
            if self._holds.has(row):
                job_id = self._waiting[row].job_id
                raise AnswerError(f"gave job {job_id}, which it holds; allowed: release_hold() before")
            if text := self._holds.text(row):
                self._because[row] = "; ".join(filter(None, (text, self._because.get(row))))

    def _placed(self, given: object, place: int) -> SeenJob:
        # The job of an answer with cores or a reason.
        job, cores, because = placed(given, self._n_cores, self._run.allocator.whole_hosts)
        if cores is not None:
            self._named[place] = cores
        if because:
            self._because[self._facts.find(job.row)] = because
        return job


def _whole(what: str, value: object, least: int, most: int) -> int:
    try:
        return whole(what, value, least, most)
    except InputError as error:
        raise PluginError(error.text) from None


def _which(job: object, why: str) -> str:
    return f"job {job.job_id}, which {why}" if isinstance(job, SeenJob) else shown(job)


def _held_for(job: SeenJob) -> str:
    if job.depends_on is not None:
        return f"waits for job {job.depends_on}"
    return f"may not start before {job.begin_ns} ns"
