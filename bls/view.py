"""What Python policies and observers see of a run: the clock, who waits, who runs, what is free. They only look.

What is looked at in every pass is kept up to date; all else is found when it is asked for, and once for each time that the
engine was run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.allocators import Allocator
from bls.engine import state as b
from bls.engine.features.hold.holds import held, hold_text, set_hold
from bls.engine.features.power.draws import planned_more_mw, power_left
from bls.engine.jobs import Jobs
from bls.machine.platform import Platform
from bls.observers import AdditionalData, DataOfNow
from bls.options import COORDINATION, KILL_AT_WALLTIME, MALLEABLE, RESIZE
from bls.running_jobs import RunningJobs
from bls.scheduler_options import Rules
from bls.seen.answers import LONGEST_REASON, AnswerError, Cores, Directions, WakeUps, check_apart, placed, reason_text
from bls.seen.columns import RunningColumns, WaitingColumns
from bls.seen.corrections import Corrections
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

#: Makes a tuple of a class without asking for each of its fields.
_new = tuple.__new__

_ESTIMATE = SeenJob._fields.index("estimate_ns")


class View:
    """The batch level at one instant. It only shows: nothing that is done to it changes the run.

    While a policy decides, it is as it was before that pass: what the policy gives away it keeps count of itself.

    - ``data``: what computes additional data, by name
    - ``notes``: the columns that the policy may note of its decisions
    - ``follows``: whether the policy receives news, event by event
    """

    def __init__(
        self, run: RunningJobs, data: Mapping[str, AdditionalData], notes: Mapping[str, type], follows: bool
    ) -> None:
        self._facts = JobFacts(run)
        self._show(run)
        self._wake_ups = WakeUps()
        self._rejected: dict[int, str] = {}
        self._named: dict[int, Cores] = {}
        self._because: dict[int, str] = {}
        self._notes = DecisionNotes(notes, run.rules.keep_decisions)
        self._directions = Directions()
        self._holds = False  # whether any job has ever been held
        self._data = DataOfNow({name: partial(one.value, self) for name, one in data.items()}, lambda: self._now_ns)
        self._waiting: OrderedDict[int, SeenJob] = OrderedDict()
        self._running: OrderedDict[int, SeenJob] = OrderedDict()
        dealings = run.dealings
        # Whether running jobs promise their ends, or are scaled or resized; then when these are expected, as of _running.
        self._promises = dealings.scales or dealings.resizes or run.state.settings.promises == 1
        self._expected: OrderedDict[int, int] = OrderedDict()
        self._corrections = Corrections() if run.rules.estimates_differ else None
        self._deciding = False
        self._decision = 0
        self._news = News(self._seen, self._facts.waits_for, run.workload.submit_ns) if follows else None
        self._n_cores = run.platform.n_cores
        self._now_ns, self._free_cores = 0, self._n_cores

    def _show(self, run: RunningJobs) -> None:
        self._run = run
        self._present: Present | None = None
        self._forget_columns()
        # Read one element at a time, and lists are quicker at that than arrays are.
        columns = ("job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos")
        self._given: list[list[int]] = [getattr(run.workload, name).tolist() for name in columns]

    @property
    def now_ns(self) -> int:
        """The simulated clock."""
        return self._now_ns

    @property
    def date_ns(self) -> int:
        """The date at time 0, ns since 1970 in UTC; 1 January 2001 where the log does not say."""
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
        """The limit to the power of the machine that is known now, W; None where there is none, or hosts are stopped for it."""
        limit = min(self._run.state.domains.limit_mw[:1].tolist(), default=b.NEVER)
        return None if limit == b.NEVER else limit / 1000

    @property
    def power_left_w(self) -> float | None:
        """What jobs that start may draw under that limit beyond idle cores, W, beside those that run in the states that they
        are planned with; below 0 where these draw too much, None where no limit is known."""
        left = power_left(self._run.state)
        return None if left == b.NEVER else left / 1000

    @property
    def signals(self) -> Signals | None:
        """What energy costs and emits over time (``bls.power.signals``), as ``signals`` says it; None without."""
        return self._run.signals

    def power_of(self, job: SeenJob, cores: Iterable[int] | None = None) -> float | None:
        """What a job that waits would draw beyond idle cores, W, in the state that it is planned with.

        Parameters
        ----------
        job : SeenJob
        cores : iterable of int, optional
            The cores that it would have, by their numbers in the machine; default: as many as it asks for of those that draw
            least.

        Returns
        -------
        float or None
            None where no limit to power is looked at.
        """
        state = self._run.state
        if state.settings.powered == b.UNPOWERED:
            return None
        first = state.power.first_core
        more = planned_more_mw(state, job.row)
        if cores is None:
            return job.cores * int(more.min()) / 1000
        return int(more[np.searchsorted(first[1:-1], list(cores), side="right")].sum()) / 1000

    @property
    def waiting(self) -> Iterable[SeenJob]:
        """The jobs that wait, in the order in which they joined the queue."""
        return self._waiting.values()

    @property
    def running(self) -> Iterable[SeenJob]:
        """The jobs that run, in the order in which they started."""
        return self._running.values()

    @cached_property
    def waiting_columns(self) -> WaitingColumns:
        """The jobs of :attr:`waiting` as columns, in that order."""
        return WaitingColumns(self._run.state, self._facts, self._waiting)

    @cached_property
    def running_columns(self) -> RunningColumns:
        """The jobs of :attr:`running` as columns, in that order, with what they hold of each host."""
        return RunningColumns(self._run.state, self._facts, self._running, self._now)

    @property
    def n_waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    @property
    def n_running(self) -> int:
        """How many jobs run."""
        return len(self._running)

    def allocation(self, job: SeenJob) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a running job holds; where cores are released, what is left, one by one."""
        return self._run.holding(self._facts.at(job.row))

    @property
    def platform(self) -> Platform:
        """The machine as it was given, with columns of all its hosts: ``first_core``, ``host_resources``, ``topology`` …"""
        return self._facts.platform

    @cached_property
    def hosts(self) -> tuple[SeenHost, ...]:
        """The hosts by number: what they have, what is free of it, and whether they are down."""
        return seen_hosts(self.platform, self._now)

    @property
    def down(self) -> list[int]:
        """The numbers of the hosts that are down."""
        found: list[int] = np.flatnonzero(self._now().up_again_ns).tolist()
        return found

    @property
    def free_by_host(self) -> Array:
        """How many cores are free on each host: int64 (hosts,), read-only; 0 of one that is down."""
        return self._now().free_by_host

    @property
    def is_free(self) -> Array:
        """Which cores are free: bool (cores,), read-only."""
        return self._now().is_free

    @property
    def free_resources(self) -> Array:
        """What no job holds of each host's resources: int64 (hosts, ``platform.resource_names``), read-only; memory in KB."""
        return self._now().free_resources

    @property
    def free_licences(self) -> Mapping[str, int]:
        """How many licences no job holds, by name."""
        left = self._now().free_licences.tolist()
        return MappingProxyType(dict(zip(self.platform.licence_names, left, strict=True)))

    @cached_property
    def partitions(self) -> tuple[SeenPartition, ...]:
        """The partitions of the platform, with their limits and what runs in them; where it names none, ``all``."""
        return seen_partitions(self.platform, self._now)

    def partition_of(self, job: SeenJob) -> SeenPartition:
        """The partition that a job belongs to."""
        return self.partitions[self._facts.partition(job.origin)]

    @cached_property
    def windows(self) -> tuple[SeenWindow, ...]:
        """Advance reservations and maintenance, by their begin: past, present and to come."""
        return seen_windows(self._run.constraints.windows)

    @property
    def held(self) -> list[SeenJob]:
        """Jobs that are submitted and have not joined the queue, as they wait for another job or for their begin; by submit."""
        jobs, rows = self._run.state.jobs, self._facts.waits_for
        outside = (jobs.eligible_ns[rows] < 0) & (jobs.state[rows] < 0) & (jobs.submit_ns[rows] <= self._now_ns)
        return [self._seen(row) for row in rows[outside].tolist()]

    @property
    def data(self) -> DataOfNow:
        """Additional data by name: what observers with ``value(view)`` compute, each at most once an instant."""
        return self._data

    @property
    def rules(self) -> Rules:
        """What else was chosen for the batch level."""
        return self._run.rules

    @property
    def allocator(self) -> Allocator:
        """Who chooses cores where the policy does not."""
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
        """Whether this instant is one of those at which the policy has asked to decide."""
        pending = self._wake_ups.pending
        return bool(pending) and pending[0] <= self._now_ns

    def news(self) -> list[AnyNews]:
        """For a policy with a method ``finish``, while it decides: what has happened since it was last asked, in that order.

        Raises
        ------
        PluginError
            If the policy has no ``finish``, or it is asked for by an observer.
        """
        self._of_a_policy("news")
        if self._news is None:
            raise PluginError("news() is for a batch policy with a method finish(view)")
        return self._news.take(self._run, self._running)

    def _now(self) -> Present:
        if self._present is None:
            self._present = Present(self._run, self._facts, self._running)
        return self._present

    def _of_a_policy(self, what: str) -> None:
        if not self._deciding or self._data.is_computing:
            raise PluginError(f"{what}() is for a batch policy while it decides")

    def wake_at(self, instant_ns: int) -> None:
        """For a policy while it decides: decide again at this later instant, too, even if nothing happens then.

        An instant is a number of ns. There may be any number of them; each leads to a pass, or, where deciding takes time
        and the scheduler is busy then, to one as soon as it is not.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or is no later instant.
        """
        self._of_a_policy("wake_at")
        self._wake_ups.add(_whole("wake_at", instant_ns, self._now_ns + 1, MAX_NS))

    def wake_after(self, duration_ns: int) -> None:
        """For a policy while it decides: :meth:`wake_at` so many ns after the present instant, 1 or more.

        Raises
        ------
        PluginError
            As :meth:`wake_at`.
        """
        self._of_a_policy("wake_after")
        self._wake_ups.add(self._now_ns + _whole("wake_after", duration_ns, 1, MAX_NS - self._now_ns))

    def kill_after(self, job: SeenJob, span_ns: int) -> None:
        """For a policy while it decides, where jobs are killed at their walltime: one that waits is killed when it has run for
        so long instead, 1 ns or more.

        Raises
        ------
        PluginError
            If it is asked for by an observer, nobody is killed, the job does not wait, or it is no such span.
        """
        self._of_a_policy("kill_after")
        row = self._facts.find(job.row)
        if row not in self._waiting:
            raise PluginError(f"kill_after() is for jobs that wait, and job {job.job_id} does not")
        if not self.rules.kill_at_walltime:
            raise PluginError(
                f"kill_after() is for runs in which jobs are killed at their walltime ({KILL_AT_WALLTIME})"
            )
        self._run.state.jobs.walltime_ns[row] = _whole("kill_after", span_ns, 1, MAX_NS - self._now_ns)

    def trial(self) -> Trial:
        """For a policy while it decides: a trial of placements, on a copy of what is free, for what it is about to answer.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or under a limit to power.
        """
        self._of_a_policy("trial")
        from bls.seen.trial import Trial  # which few policies need

        state, decision = self._run.state, self._decision
        if state.settings.powered != b.UNPOWERED:
            raise PluginError("trial() is not for runs under a limit to power; allowed: power_of() and power_left_w")

        def goes_on() -> bool:
            return self._deciding and self._decision == decision

        whole_hosts = self._run.allocator.whole_hosts
        return Trial(state, self._waiting, self._facts.find, self._n_cores, whole_hosts, goes_on)

    def reject(self, job: SeenJob, reason: str) -> None:
        """For a policy while it decides: a waiting job leaves the queue in this pass, and never runs.

        Its ``state`` is ``rejected``, and the reason stands beside it in the table of jobs (``rejected_because``). Jobs that
        depend on it become eligible. All rejections of a pass come before its starts.

        Parameters
        ----------
        job : SeenJob
            Of :attr:`waiting`.
        reason : str
            1 to 200 characters.

        Raises
        ------
        PluginError
            If it is asked for by an observer, the job does not wait, is rejected already, or the reason is none.
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

        From now on nothing starts the job until :meth:`release_hold`, also not :meth:`trial`. It stays in :attr:`waiting`, with
        its place in the queue, and it may be withdrawn or rejected. Of a job that was held the table of jobs says from when to
        when (``started_because``). If nothing but held jobs is left, the run ends with an error.

        Parameters
        ----------
        job : SeenJob
            Of :attr:`waiting`.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or the job does not wait, or is held already.
        """
        self._set_hold("hold", job, True)

    def release_hold(self, job: SeenJob) -> None:
        """For a policy while it decides: release the hold of a waiting job, which may start in this pass.

        Parameters
        ----------
        job : SeenJob
            Of :attr:`on_hold`.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or the job does not wait, or is not held.
        """
        self._set_hold("release_hold", job, False)

    def _set_hold(self, what: str, job: SeenJob, on: bool) -> None:
        self._of_a_policy(what)
        row = self._waiting_row(what, job)
        if not set_hold(self._run.state, row, on):
            raise PluginError(f"{what}() was given job {job.job_id}, which is {'held already' if on else 'not held'}")
        self._holds = True

    def _waiting_row(self, what: str, job: object) -> int:
        row = self._facts.find(job.row) if isinstance(job, SeenJob) else -1
        if not isinstance(job, SeenJob) or self._waiting.get(row) is not job:
            raise PluginError(f"{what}() was given {_which(job, 'is not waiting')}; allowed: jobs of view.waiting")
        return row

    @property
    def on_hold(self) -> list[SeenJob]:
        """The waiting jobs that the policy holds (:meth:`hold`), in the order of :attr:`waiting`."""
        on_hold = held(self._run.state)
        return [job for row, job in self._waiting.items() if on_hold[row]] if self._holds else []

    def note(self, **values: Any) -> None:
        """For a policy while it decides: values of this decision, by the names that its ``decision_columns`` declares.

        They stand in the row of this pass of the table of decisions (``decisions``); what is not noted lacks there, as
        what is None. What is noted twice has the later value.

        Raises
        ------
        PluginError
            If it is asked for by an observer, a name was not declared, or a value is not of its type.
        """
        self._of_a_policy("note")
        self._notes.note(self._run.state.n_decisions, values)

    def scale(self, job: SeenJob | Iterable[SeenJob], factor: float, cores: Iterable[int] | None = None) -> None:
        """For a policy while it decides, whose ``directs`` names ``"speeds"``: cores of a job run at so many times their speed.

        From this instant on, behind all that happens at it, in the middle of tasks too, until it is scaled again. What changes
        the speeds of cores by itself (``speeds``) is scaled with them. The end that is expected of the job moves; its
        walltime does not.

        Parameters
        ----------
        job : SeenJob, or iterable of them
            One that runs, or that is started in this pass; or several, as :attr:`running`, all of whose cores get this scale.
        factor : float
            0.001 to 2, rounded to nine places.
        cores : iterable of int, optional
            Of those that it holds, by their numbers in the machine; default: all, and those that it is given later. All of them
            where jobs are only replayed, or the job is started in this pass.

        Raises
        ------
        PluginError
            If it is asked for by an observer, or by a policy whose ``directs`` does not name it; or the job, the factor or a
            core cannot be.
        """
        if not isinstance(job, SeenJob | str) and isinstance(job, Iterable):
            if cores is not None:
                raise PluginError("scale() of several jobs: cores; allowed: none, all of their cores")
            self._may_direct("scale", "speeds", b.SCALES)
            self._directions.scale_all([self._directable("scale", one) for one in job], factor)
            return
        one = self._directed("scale", "speeds", b.SCALES, job)
        if cores is not None and self._run.state.jobs.run_ns.item(one.row) >= 0:
            raise PluginError(f"scale() of job {one.job_id}: cores; allowed: all of its cores, as it is only replayed")
        held: set[int] | None = None
        if cores is not None and one.row in self._running:
            held = self._cores_of(one)
        self._directions.scale(one, factor, cores, held)

    def cancel(self, job: SeenJob) -> None:
        """For a policy while it decides, whose ``directs`` names ``"ends"``: a running job is ended one nanosecond later.

        What it has done is lost; its ``state`` is ``cancelled``. Jobs that depend on it become eligible then.

        Parameters
        ----------
        job : SeenJob
            One that runs, or that is started in this pass.

        Raises
        ------
        PluginError
            As :meth:`scale`.
        """
        self._directions.end(self._directed("cancel", "ends", b.CUTS, job), b.CANCELLED)

    def requeue(self, job: SeenJob) -> None:
        """As :meth:`cancel`, and the job joins the queue again, with the place that it had: another attempt, from the start.

        Its ``state`` is ``requeued``. ``max-attempts`` counts it.
        """
        self._directions.end(self._directed("requeue", "ends", b.CUTS, job), b.REQUEUED)

    def width(self, job: SeenJob) -> JobWidth:
        """How many cores a job has, and may have, where widths of running jobs change (``malleable``)."""
        state = self._run.state
        least, most = (job.cores, job.cores)
        if state.settings.resizing != b.NO_RESIZE:
            least, most = self._run.width_range(job.row)
        row = self._facts.find(job.row)
        held = state.jobs.held_cores.item(row) if row in self._running else 0
        return JobWidth(least, most, held, state.jobs.asked.item(row) if held else 0)

    def resize(self, job: SeenJob, cores: int) -> None:
        """For a policy while it decides, whose ``directs`` names ``"widths"``: a malleable job is to have so many cores.

        With ``resize decide``. Behind the pass, when what it starts has started, a job that is to have fewer than it has is
        asked for the difference, which goes as its chunks end; one that is to have more is given cores that are free then, in
        the order of starts, and the rest after later passes, until another number is said.

        Parameters
        ----------
        job : SeenJob
            One that runs, or that is started in this pass.
        cores : int
            From its least to its most: :meth:`width`.

        Raises
        ------
        PluginError
            If it is asked for by an observer, by a policy whose ``directs`` does not name it, or without ``resize decide``;
            or the job or the number cannot be.
        """
        self._of_a_policy("resize")
        if self._run.state.settings.resizing != b.AS_DECIDED:
            raise PluginError(
                f"resize() is for a batch policy whose directs has 'widths', with {MALLEABLE} and {RESIZE:decide}"
            )
        one = self._directable("resize", job)
        least, most = self._run.width_range(one.row)
        if least == most:
            raise PluginError(
                f"resize() of job {one.job_id}, which is not malleable; allowed: jobs whose width may change"
            )
        self._directions.resize(one, _whole(f"resize() of job {one.job_id}: cores", cores, least, most))

    def hint(self, job: SeenJob, cores: Iterable[int] = (), waiting: SeenJob | None = None) -> None:
        """For a policy while it decides, whose ``directs`` names ``"hints"``: a running job hears who waits for its cores.

        With ``coordination hint``. The job serves these cores last, and releases them as soon as its other ones suffice for
        the tasks that are left (``docs/explanation/coordination.md``), until something else is said of it. It hears of it
        behind the pass, and only of what is news.

        Parameters
        ----------
        job : SeenJob
            One that runs.
        cores : iterable of int, optional
            Of those that it holds and computes on (of whole hosts, the first ones), by their numbers in the machine; default:
            nobody waits for any.
        waiting : SeenJob, optional
            Who waits for them, and is not started in this pass; needed where there are cores.

        Raises
        ------
        PluginError
            If it is asked for by an observer, by a policy whose ``directs`` does not name it, or without ``coordination
            hint``; or a job or a core cannot be.
        """
        self._of_a_policy("hint")
        if self._run.state.settings.hints != b.BY_POLICY:
            raise PluginError(f"hint() is for a batch policy whose directs has 'hints', with {COORDINATION:hint}")
        if not isinstance(job, SeenJob) or job.row not in self._running:
            raise PluginError(f"hint() was given {_which(job, 'does not run')}; allowed: jobs of view.running")
        if waiting is not None and (not isinstance(waiting, SeenJob) or self._waiting.get(waiting.row) is not waiting):
            which = _which(waiting, "is not waiting")
            raise PluginError(f"hint() of job {job.job_id}: waiting: {which}; allowed: jobs of view.waiting")
        self._directions.hint(job, cores, waiting, self._cores_of(job) & self._working(job))

    def _working(self, job: SeenJob) -> set[int]:
        # The cores that a running job computes on, or has computed on: of whole hosts the first ones.
        if self._run.dealings.resizes:
            return self._cores_of(job)  # then hosts are shared
        left, working = job.cores, set[int]()
        for lo, hi in self._run.allocation(job.row):
            working.update(range(lo, min(hi, lo + left)))
            left -= min(left, hi - lo)
        return working

    def _cores_of(self, job: SeenJob) -> set[int]:
        return {core for lo, hi in self.allocation(job) for core in range(lo, hi)}

    def _directed(self, what: str, name: str, part: int, job: object) -> SeenJob:
        self._may_direct(what, name, part)
        return self._directable(what, job)

    def _may_direct(self, what: str, name: str, part: int) -> None:
        self._of_a_policy(what)
        if not self._run.state.settings.directs & part:
            raise PluginError(f"{what}() is for a batch policy whose directs has {name!r}")

    def _directable(self, what: str, job: object) -> SeenJob:
        if not isinstance(job, SeenJob) or (job.row not in self._running and self._waiting.get(job.row) is not job):
            which = _which(job, "neither runs nor waits")
            raise PluginError(f"{what}() was given {which}; allowed: jobs of view.running, and those that it starts")
        return job

    def go_on(self, run: RunningJobs, rows: Array, numbers: Array) -> None:
        """With ``stream``: show the next stretch. Its first rows are these ``rows`` of this one; all have ``numbers``."""
        self._refresh()
        place = {row: k for k, row in enumerate(rows.tolist())}
        self._waiting = OrderedDict((place[row], job) for row, job in self._waiting.items())
        self._running = OrderedDict((place[row], job) for row, job in self._running.items())
        if self._corrections is not None:
            self._corrections.moved(place)
        self._facts.go_on(run, numbers.tolist())
        self._show(run)

    def _let_decide(self) -> None:
        self._deciding = True
        self._decision += 1

    def _refresh(self) -> None:
        # Bring the view to the present: the engine has logged who came, started and left.
        state = self._run.state
        jobs = state.jobs
        promises, corrections = self._promises, self._corrections
        for entry in state.log[: state.n_log].tolist():
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
                    corrections.watch(state, row)
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
                self._news.started(self._running[row], tuple(self._run.allocation(row)), self._run.dealings.releases)
            else:
                self._news.left(left, jobs)
        state.n_log = 0
        if promises:
            self._look_at_promises(jobs)
        if corrections is not None:
            for row, end_ns in corrections.found(state):
                self._expect(row, end_ns)
        self._now_ns = state.now_ns
        self._free_cores = state.free_cores
        self._present = None
        self._forget_columns()

    def _forget_columns(self) -> None:
        # Those of another instant.
        self.__dict__.pop("waiting_columns", None)
        self.__dict__.pop("running_columns", None)

    def _look_at_promises(self, jobs: Jobs) -> None:
        # Nothing says which of the running jobs are expected to end at another instant: all are looked at, in one go.
        promised = jobs.expected_end_ns[np.fromiter(self._expected, np.int64, len(self._expected))].tolist()
        if promised == list(self._expected.values()):
            return
        expected, corrections = self._expected, self._corrections
        for (row, before), end_ns in zip(list(expected.items()), promised, strict=True):
            if end_ns != before:
                expected[row] = end_ns
                self._expect(row, end_ns)
                if corrections is not None:
                    corrections.watch(self._run.state, row)

    def _expect(self, row: int, end_ns: int) -> None:
        # A running job is expected to end then.
        job = self._running[row]
        # As job._replace(estimate_ns=…), which takes thrice as long: where speeds are scaled it is for all that run.
        changed = _new(SeenJob, (*job[:_ESTIMATE], end_ns - job.start_ns, *job[_ESTIMATE + 1 :]))
        self._running[row] = changed
        if self._news is not None:
            self._news.expected(changed)

    def _seen(self, row: int) -> SeenJob:
        jobs, origin, attempt = self._run.state.jobs, row, 0
        job_id, submit, cores, user, group, queue, partition, qos = self._given
        if row >= len(job_id):
            origin, attempt = jobs.origin.item(row), jobs.attempt.item(row)
        eligible = jobs.eligible_ns.item(row)
        return _new(
            SeenJob,
            (
                job_id[origin],
                submit[origin],
                eligible,
                jobs.estimate_ns.item(row),
                cores[origin],
                user[origin],
                group[origin],
                queue[origin],
                partition[origin],
                qos[origin],
                attempt,
                self._facts.number(row),
                self._facts.number(origin),
                self._facts,
                -1,
            ),
        )

    def _chosen(self, answer: Iterable[Any]) -> list[int]:
        # The rows of the jobs that a policy starts; the cores that it names for some are then in _named.
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
        if self._holds:
            self._tell_holds(rows)
        if self._named:
            check_apart(waiting, rows, self._named)
        return rows

    def _tell_holds(self, rows: list[int]) -> None:
        # Why jobs start now that were held, beside what the policy says.
        state = self._run.state
        for row in rows:
            if held(state)[row]:
                raise AnswerError(
                    f"gave job {self._waiting[row].job_id}, which it holds; allowed: release_hold() before"
                )
            if text := hold_text(state, row):
                self._because[row] = "; ".join(filter(None, (text, self._because.get(row))))

    def _placed(self, given: object, place: int) -> SeenJob:
        # The job of a pair of one and its cores, or one for whose start there is a reason.
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
