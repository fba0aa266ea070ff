"""The batch simulator: engine, policy and allocator for one workload."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bls.allocators import Allocator, placing, with_parameters
from bls.constraints.job_constraints import JobConstraints, outage_columns
from bls.engine import loop as engine
from bls.engine import state as b
from bls.engine.features.order import features_of
from bls.engine.features.outages.options import MAX_ATTEMPTS, ON_FAILURE
from bls.engine.growing import make_room
from bls.engine.hooks import ROLES
from bls.engine.initial_state import new_state
from bls.engine.signatures import ACCOUNT, DECIDE, SCORE, wall_clock
from bls.engine.status import FAULTS, FULL, BatchStatus
from bls.inputs import check_rules, deadlines_ns, given_for, gpu_mw, known_jobs, planned_with
from bls.machine.platform import Platform
from bls.metrics.schedule import NO_DOWNTIME, Downtime
from bls.observers import AnyObserver, Observers
from bls.options import SLACK
from bls.policies import AnyPolicy, DecidingPolicy, Scoring, ScoringPolicy, contract, scoring, unscored
from bls.policies.contract import no_account, no_decision, no_score
from bls.running_jobs import RunningJobs, RunView
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from traces.base import errors
from traces.base.options import SEED
from traces.base.process import INTERRUPTS, called_by_kernels
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array, CFunction, as_value, function_table

if TYPE_CHECKING:
    from bls.constraints.outages import Outages
    from bls.power.plan import PowerPlan
    from bls.view import View

_MAX_IDLE_WAKES = 100_000  #: most wake-ups in a row without a start after all other events

#: Most wake-ups in a row within _SOON_NS of each other without any event: the policy must be using another unit.
_MAX_SOON_WAKES, _SOON_NS = 100_000, 10_000


@dataclass(eq=False)
class _WakeUpsInARow:
    # The latest wake-ups that a policy requested, without a start.
    idle: int = 0  # number after all other events
    soon: int = 0  # number within _SOON_NS of each other, without any event
    so_far: tuple[int, ...] = ()  # the progress at the last one of these


class BatchSimulator(RunningJobs):
    """The batch level of one simulation.

    Jobs are named by their row: 0 to n - 1 as in the workload, and further rows for later attempts of jobs that were cut.
    Call :meth:`advance` until it returns ``DONE``. On ``STARTED``, answer for every row of :meth:`started` with
    :meth:`outcome` or :meth:`promise`; on ``DUE``, answer for :attr:`due`.

    Parameters
    ----------
    workload, platform : Workload, Platform
        The jobs, each at most as wide as the machine, and the machine.
    policy, allocator : AnyPolicy, Allocator
        The order of the queue, or all decisions; and the choice of cores.
    rules, constraints : Rules, JobConstraints, optional
        Default: the rules of the two-level paper, and no constraints.
    slack : float
        Deadlines are submit + slack × estimate.
    recorded : bool
        Whether jobs have their recorded run times, so that they need no answers.
    requested : mapping of int to str, optional
        Cores by job number, for the allocator ``given``.
    observers : sequence of AnyObserver
        Plug-ins that watch the run or compute additional data.
    seed : int
        For random allocators and estimates.
    loses : bool
        Whether running jobs may lose all their cores (:meth:`loss`).
    power : PowerPlan, optional
        Power limits of the machine, and their effects.

    Raises
    ------
    InputError, PluginError
        If the options, or the policy's keys, cannot be used.
    """

    #: Number of calls of the engine between two checks of its state (:meth:`validate`); 0: no checks.
    checks: int = 0

    #: Most ends of jobs in one call of the engine.
    most_ends: int = 2**62

    def __init__(
        self, workload: Workload, platform: Platform, policy: AnyPolicy, allocator: Allocator, *,
        rules: Rules | None = None, constraints: JobConstraints | None = None, slack: float = SLACK.default,
        recorded: bool = False, requested: Mapping[int, str] | None = None, observers: Sequence[AnyObserver] = (),
        seed: int = SEED.default, loses: bool = False, power: PowerPlan | None = None,
    ) -> None:  # fmt: skip
        self.policy = policy
        allocator = with_parameters(allocator, seed=seed % 2**63)
        rules, constraints = rules or Rules(), constraints or JobConstraints()
        check_rules(rules, policy)
        self._power = power
        deadline_ns = deadlines_ns(workload, slack)
        n_cores, widest = platform.n_cores, int(workload.cores.argmax())
        if (asked := workload.cores[widest]) > n_cores:
            raise errors.InputError(f"job {workload.job_id[widest]} requests {asked} cores; the platform has {n_cores}")
        deadline_ns.flags.writeable = False  # policies may read it
        self.planned_ns = planned_with(workload, rules, constraints, seed)
        self.planned_ns.flags.writeable = False
        known = known_jobs(workload, platform, self.planned_ns, deadline_ns, power, constraints)
        if rules.predicted:
            policy = contract.by_prediction(policy)
        self._scoring: Scoring | None = None
        #: The host failures drawn so far; None without failures.
        self.outages: Outages | None = constraints.outages
        self._looks = Observers(observers)
        #: The policy's reasons of rejections, by row; and of starts, if it has given any.
        self.rejections: dict[int, str] = {}
        self._because: dict[int, str] = {}
        self._decides = isinstance(policy, DecidingPolicy)
        self._may_wait = contract.may_not_fit(policy)  # a chosen job may wait if it does not fit
        self._in_a_row = _WakeUpsInARow()
        self._entered = 0
        if isinstance(policy, ScoringPolicy) and not isinstance(policy, DecidingPolicy):
            self._scoring = scoring(policy, known)
        parts = workload, platform, policy, allocator, rules, constraints, known, self._scoring
        given = given_for(*parts, recorded=recorded, requested=requested, power=power, loses=loses)
        given.settings["logs"] = int(self.is_seen)
        of_gpus = gpu_mw(platform, constraints.requests, known.gpus, power, above_idle=True)
        of_jobs, signals = (deadline_ns, known.core_mw, of_gpus), None if power is None else power.signals
        super().__init__(new_state(given), workload, platform, allocator, rules, constraints, *of_jobs, signals)
        self.state.outages.goes_on = int(self._may_go_on())
        self._pause_ns = b.NEVER
        self.state.observe_after_ns = self._looks.next_ns
        self._looks.so_far = self.so_far()
        self.place = placing(allocator)
        self.score = self._scoring.score if self._scoring else as_value(no_score, SCORE)
        self.account = self._scoring.account if self._scoring else as_value(no_account, ACCOUNT)
        self.clock = wall_clock()
        self._raised: BaseException | None = None
        self.decide: Any = as_value(no_decision, DECIDE)
        if isinstance(policy, DecidingPolicy):
            import bls.view  # noqa: F401  # loaded now, since decisions are timed

            self._policy_decides = policy.decide
            self.decide = CFunction(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._called), DECIDE)
        self.state.functions = function_table([self.place, self.score, self.account, self.clock, self.decide])

    def fork(self) -> Self:
        """Return an independent copy that continues from this instant.

        Both give the same results as a simulation that was never forked. They share constants; 350 bytes per job are copied.

        Raises
        ------
        InputError
            If the policy decides in Python, or the run has observers: they may have their own state.
        """
        if self.is_seen:
            who = f"batch policy {self.policy.name} decides in Python" if self._decides else "the run has observers"
            allowed = "policies of keys or scores, no observers"
            raise errors.InputError(f"fork: {who}, and may have its own state; allowed: {allowed}")
        other = self.at(self.state.fork())
        other.rejections, other._because = dict(self.rejections), dict(self._because)
        return other

    def at(self, state: b.BatchState) -> Self:
        """Return a copy of the simulator with another state; not for a policy that decides in Python: it reads this one."""
        other = copy(self)
        object.__setattr__(other, "state", state)
        vars(other).pop("view", None)  # it reads the original's state
        return other

    @cached_property
    def view(self) -> View:
        """The view of Python policies and observers, made at its first use."""
        from bls.view import View

        follows = isinstance(self.policy, contract.FollowingPolicy)
        return View(self.run_view(), self._looks.data, contract.columns_declared(self.policy), follows)

    def run_view(self) -> RunView:
        """The run as a view reads it."""
        return RunView(*(getattr(self, one.name) for one in fields(RunView)))

    @property
    def due(self) -> int:
        """The row of the job whose promise has come due."""
        return int(self.state.due_job)

    def advance(self, max_ends: int) -> BatchStatus:
        """Run the engine until it needs an answer, is done, or ``max_ends`` jobs have ended.

        Returns
        -------
        BatchStatus
            ``DONE``, ``STARTED``, ``DUE``, ``INTERRUPTED`` or ``PAUSED``; ``LOOK`` after :meth:`pause_after`.

        Raises
        ------
        RuntimeError
            If a job that has started has neither an outcome nor a promise.
        InputError, PluginError
            As :meth:`settle`.
        """
        if unanswered := self.started():
            raise RuntimeError(f"rows {unanswered} have started and await an outcome or a promise")
        while True:
            status = self.enter(max_ends)
            if self.settle(status):
                return status

    def enter(self, max_ends: int) -> BatchStatus:
        """Call :func:`bls.engine.loop.advance`; the caller must handle the status."""
        status = BatchStatus(engine.advance(self.state, min(max_ends, self.most_ends)))
        if self.checks:
            self.check(status)
        return status

    def check(self, status: int) -> None:
        """Call :meth:`validate` if it is due, after the engine or a coupling's loop has returned ``status``."""
        self._entered += 1
        if self.checks and (status == BatchStatus.DONE or (status not in FAULTS and self._entered % self.checks == 0)):
            self.validate()

    def validate(self) -> None:
        """Raise InvariantError, naming the job or core, if the state violates an invariant (``bls.engine.validation``)."""
        from bls.engine.validation import validate  # only for checked runs

        validate(self.state)

    def settle(self, status: int) -> bool:
        """Handle a status of :func:`bls.engine.loop.advance`; returns False if the engine should be called again.

        Raises
        ------
        InputError, PluginError, PeerError
            If the status is a fault of the input, of a plug-in or of another program; the message names the job.
        KeyboardInterrupt
            If one arrived in compiled code.
        """
        ROLES.check()
        INTERRUPTS.raise_noted()
        if status in _SUSPENSIONS:
            if status == BatchStatus.DONE and self._looks.observers:
                self._look(last=True)
            if status == BatchStatus.DONE and isinstance(self.policy, contract.FollowingPolicy):
                self._finish(self.policy)
            return True
        if status in FULL:
            make_room(self.state, status)
            return False
        if status == BatchStatus.DECIDE_FAILED:
            assert self._raised is not None
            raise self._raised
        if status == BatchStatus.LOOK:
            return self._look_or_pause()
        if status == BatchStatus.OUTAGES_SHORT:
            assert self.outages is not None
            self.outages = self.outages.extend()
            from bls.engine.features.outages.lists import continue_lists

            continue_lists(self.state, self._outage_lists(), goes_on=self._may_go_on())
            return False
        raise self._fault(status)

    @called_by_kernels
    def _called(self, now_ns: int) -> int:
        # Called by compiled code, which exceptions cannot pass.
        try:
            INTERRUPTS.raise_noted()
            self._decide()
        except BaseException as error:
            self._raised = error
            return 1
        return 0

    def _decide(self) -> None:
        view = self.view
        view._let_decide()
        began = time.perf_counter_ns()
        try:
            rows = view._chosen(self._policy_decides(view))
        except errors.PluginError as error:
            from bls.seen.answers import AnswerError

            if isinstance(error, AnswerError):
                raise view.data.failed or self._wrong(error.did) from error
            # Blame the source of additional data, not its reader.
            raise view.data.failed or errors.PluginError(f"{self._deciding()}: {error.text}") from error
        except errors.TwolevelError:
            raise
        except errors.RAISED_BY_PLUGINS as error:
            failed = errors.PluginError(f"{self._deciding()}: decide() failed: {errors.raised_text(error)}")
            raise view.data.failed or failed from error
        finally:
            view._deciding = False
        if view.data.failed is not None:
            raise view.data.failed  # the policy continued without it
        self.state.policy_ns = time.perf_counter_ns() - began
        if view._because or self._because:
            # A job that did not fit the last time may start for another reason, or without one.
            for row in rows:
                self._because.pop(row, None)
            self._because |= view._because
            view._because = {}
        chosen = view._put(rows)
        if view._named or view._rejected:
            self.rejections |= view._rejected
            view._named, view._rejected = {}, {}
        waits = self._may_wait  # perhaps no chosen job starts
        if chosen and not waits:
            self._in_a_row.idle = self._in_a_row.soon = 0
        if view._wake_ups.pending:
            wake = view._wake_ups.next_after(self.now_ns)
            self.state.wake_ns = b.NEVER if wake is None else wake
            if wake is not None and (waits or chosen == 0):
                self._still_awake()
                self._awake_soon(wake)

    def _finish(self, policy: contract.FollowingPolicy) -> None:
        view = self.view
        view._let_decide()
        try:
            with errors.blamed_on(f"batch policy {policy.name}: finish() failed"):
                policy.finish(view)
        finally:
            view._deciding = False

    def _deciding(self) -> str:
        return f"batch policy {self.policy.name}, at {self.now_ns} ns"

    def _wrong(self, did: str) -> errors.TwolevelError:
        # An error of a deciding policy: a plug-in, or another program.
        if isinstance(self.policy, contract.OtherProgram):
            return errors.PeerError(f"{self.policy.who}, at {self.now_ns} ns: it {did}")
        return errors.PluginError(f"{self._deciding()}: decide() {did}")

    def _still_awake(self) -> None:
        # Stop a policy that requests wake-ups forever without starting jobs.
        self._in_a_row.idle = self._in_a_row.idle + 1 if self.is_idle else 0
        if self._in_a_row.idle > _MAX_IDLE_WAKES:
            woken = f"was woken {_MAX_IDLE_WAKES} times in a row, and started nothing"
            raise self._wrong(f"{woken}; nothing runs or arrives any more, and {self.waiting_text}")

    def _awake_soon(self, wake_ns: int) -> None:
        # Also stop a policy that confuses seconds with nanoseconds: it would not finish in any useful time.
        if wake_ns - self.now_ns > _SOON_NS:
            self._in_a_row.soon = 0
            return
        so_far = self.so_far()[1:]  # all but the passes
        self._in_a_row.soon = self._in_a_row.soon + 1 if so_far == self._in_a_row.so_far else 0
        self._in_a_row.so_far = so_far
        if self._in_a_row.soon > _MAX_SOON_WAKES:
            woken = f"was woken {_MAX_SOON_WAKES} times in a row, and started nothing, and nothing else happened"
            asks = f"it asks to be woken again {wake_ns - self.now_ns} ns later"
            raise self._wrong(f"{woken}; {asks}: wake-ups are in ns, and a second is 10**9")

    def pause_after(self, instant_ns: int | None) -> None:
        """Let :meth:`advance` return ``LOOK`` before the first event after an instant; None: do not pause."""
        self._pause_ns = b.NEVER if instant_ns is None else instant_ns
        self.state.observe_after_ns = min(self._looks.next_ns, self._pause_ns)

    def _look_or_pause(self) -> bool:
        # Call the observers before the first event after ``observe_after_ns``; returns whether to pause there.
        event_ns = int(self.state.observe_after_ns)
        if self._looks.next_ns < event_ns:
            self._look()
        if self._pause_ns < event_ns:
            return True
        self.state.observe_after_ns = min(self._looks.next_ns, self._pause_ns)
        return False

    def _look(self, *, last: bool = False) -> None:
        # Call the observers before the first event after ``observe_after_ns`` (its instant), or after the last event.
        view = self.view
        until_ns = self.now_ns if last else int(self.state.observe_after_ns) - 1
        view._refresh()
        self._looks.look(view, happened_ns=self.now_ns, until_ns=until_ns, so_far=self.so_far())

    @property
    def observations(self) -> list[dict[str, float | int | str]]:
        """The notes of the observers, one row per note."""
        return self._looks.noted

    @property
    def is_seen(self) -> bool:
        """Whether a Python policy or an observer uses :attr:`view`."""
        return self._decides or bool(self._looks.observers)

    def _may_go_on(self) -> bool:
        # Whether an unbounded model generates the outages.
        return self.outages is not None and self.outages.known_until_ns < MAX_NS

    def _outage_lists(self) -> tuple[Array, Array, Array]:
        return outage_columns(self.outages, self.constraints.windows, self.platform.n_hosts)

    def drain(self, hosts: Array, from_ns: int, until_ns: int | None) -> None:
        """Drain hosts: their running jobs continue, and no other job starts there.

        Parameters
        ----------
        hosts : ndarray of int64
            Their outages must contain a drain at no instant (``bls.constraints.outages.drainable``).
        from_ns : int
            An instant after the last event.
        until_ns : int or None
            Their return; None: never.
        """
        from bls.engine.features.outages.lists import drain_hosts

        assert self.outages is not None
        drained = self.outages.drained
        assert drained is not None
        down, up = drained.down_ns.copy(), drained.up_ns.copy()
        down[hosts], up[hosts] = from_ns, MAX_NS if until_ns is None else until_ns
        self.outages = replace(self.outages, drained=replace(drained, down_ns=down, up_ns=up))
        drain_hosts(self.state, self._outage_lists(), hosts, from_ns)

    def _fault(self, status: int) -> Exception:
        row = self.due
        job = self.job_number(row) if row >= 0 else -1
        if status == BatchStatus.ALLOCATOR_FAULT:
            needs = f"{self.jobs.cores[row]} free cores, each once and in ascending intervals"
            needs += ", and GPUs of their hosts as it requests them" * self.allocator.by_units
            suggested = f"job {job} needs {needs}; it suggested something else"
            return errors.PluginError(f"allocator {self.allocator.name}: {suggested}")
        if status == BatchStatus.STUCK:
            if row >= 0 and isinstance(self.policy, contract.OtherProgram):
                never = f"does not start job {job}, and nothing runs or arrives any more"
                return self._wrong(f"{never}; {self.waiting_text}")
            # Blame a policy that could start the job.
            decides = row >= 0 and isinstance(self.policy, DecidingPolicy)
            return (errors.PluginError if decides else errors.InputError)(self._why_stuck(row))
        if status == BatchStatus.OVERFLOW:
            return errors.InputError(f"job {job} would end beyond the last simulated instant, {MAX_NS} ns")
        if status == BatchStatus.SCORE_FAULT:
            assert self._scoring is not None
            return unscored(self._scoring.policy, job, self.now_ns)
        if status == BatchStatus.CHOICE_FAULT:
            if self.state.choice.refused:
                names = [] if self._power is None else [one.name for one in self._power.domains]
                windows = self.constraints.windows
                from bls.seen.answers import refusal

                return self._wrong(refusal(self.state, row, self.platform, windows, names))
            asked, free = self.state.jobs.cores[row], self.state.free_cores
            reason = f"it requests {asked} cores, and {free} are free"
            if asked <= free:
                power = ", the power limit" if len(self.state.domains.limit_mw) else ""
                reason += f", but its partition, a window{power} or another requested resource does not allow it now"
            return self._wrong(f"gave job {job}, which does not fit: {reason}")
        if status == BatchStatus.ATTEMPTS:
            cut = f"job {job} was cut by failures of hosts {self.rules.max_attempts} times, and may never end"
            return errors.InputError(f"{cut}; allowed: fewer failures, {ON_FAILURE:lose}, or more {MAX_ATTEMPTS}")
        raise AssertionError(f"batch engine: {BatchStatus(status)!r}")

    def _why_stuck(self, row: int) -> str:
        at = format_ns(self.now_ns)
        if row < 0:
            return f"the simulation is stuck at {at}: nothing runs or arrives any more, and not all jobs have ended"
        job = self.job_number(row)
        stuck = next(filter(None, (feature.stuck(self.state) for feature in features_of(self.state))), "")
        from bls.engine.features.outages.lists import why_stuck

        down = why_stuck(self.state, drains=self.constraints.drains)
        if isinstance(self.policy, DecidingPolicy):
            reason = stuck or f"batch policy {self.policy.name} does not start it"
        elif down or stuck:
            reason = down or stuck
        elif self._power is not None and (limited := self._power.why_stuck(self.state.domains.limit_mw.tolist())):
            reason = limited
        else:
            reason = f"allocator {self.allocator.name} does not place it on the empty machine"
        stuck_at = f"the simulation is stuck at job {job}, at {at}"
        return f"{stuck_at}: nothing runs or arrives any more, and {reason}; {self.waiting_text}"

    def downtime(self, until_ns: int | None = None) -> Downtime:
        """The outages of hosts, by failure or maintenance, from 0 to the present or another instant before the next event."""
        if not self.has_outages:
            return NO_DOWNTIME
        from bls.engine.features.outages.lists import begun

        host, down_ns, up_ns = begun(self.state, self.now_ns if until_ns is None else until_ns)
        return Downtime(host, np.diff(self.platform.first_core)[host], down_ns, up_ns)

    def decisions(self) -> dict[str, Any]:
        """The cost of decisions so far: number of passes; mean, longest and total wall time (ns); and the totals of a Python
        policy (``bls.policies.contract``)."""
        passes, total = int(self.state.passes), int(self.state.decide_ns)
        mean, most = total / passes if passes else None, int(self.state.max_decide_ns)
        found = {"decisions": passes, "decision_total_ns": total, "decision_mean_ns": mean, "decision_max_ns": most}
        if self._may_wait:
            found["did_not_fit"] = int(self.state.choice.did_not_fit)
        return found | contract.policy_totals(self.policy)

    def decision_columns(self) -> dict[str, Any]:
        """One row per kept scheduling pass: instant, waiting jobs before it, started jobs, wall time (ns), chosen jobs that did
        not fit, and the policy's notes (``traces.tables.Values``)."""
        n = self.n_decisions
        names = contract.PASS_COLUMNS if self._may_wait else contract.PASS_COLUMNS[:-1]
        found: dict[str, Any] = dict(zip(names, self.state.decisions.passes.front(n), strict=False))
        return found | (self.view._notes.columns(n) if self._decides and self.rules.keep_decisions else {})

    @property
    def start_reasons(self) -> dict[int, str]:
        """The policy's reasons of starts, by row, if it has given any."""
        start = self.column("start_ns")
        return {row: because for row, because in self._because.items() if start[row] >= 0}


#: Statuses that are neither faults nor requests for room.
_SUSPENSIONS = (BatchStatus.DONE, BatchStatus.STARTED, BatchStatus.DUE, BatchStatus.PAUSED, BatchStatus.INTERRUPTED)
