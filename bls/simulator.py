"""The batch simulator: the engine, a policy and an allocator around one workload, for whoever drives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bls import engine
from bls.allocators import PLACE, Allocator
from bls.policies import KnownJobs, Policy, ranks
from bls.workload import Workload
from traces.compiled import Array, as_value
from traces.errors import InputError, PluginError, shown
from traces.intervals import parse_intervals
from traces.ranges import real
from traces.time import MAX_NS

__all__ = ["MAX_SLACK", "BatchSimulator", "deadlines_ns"]

#: Largest slack that is accepted.
MAX_SLACK = 1e6


def deadlines_ns(workload: Workload, slack: float) -> Array:
    """submit + slack × estimate of each job, at most ``traces.time.MAX_NS``.

    A whole slack gives exact deadlines; for another one the product is that of float64, rounded half to even to ns.

    Raises
    ------
    InputError
        If slack is not 0 to ``MAX_SLACK``.
    """
    slack = real("--slack", slack, 0.0, MAX_SLACK)
    if slack.is_integer() and int(workload.estimate_ns.max()) <= MAX_NS // max(1, int(slack)):
        slack_ns = workload.estimate_ns * int(slack)  # exact
    else:
        slack_ns = np.minimum(np.rint(workload.estimate_ns * slack), 2.0**62).astype(np.int64)
    return np.asarray(workload.submit_ns + np.minimum(slack_ns, MAX_NS - workload.submit_ns))


def _wanted(
    workload: Workload, n_cores: int, requested: Mapping[int, str] | None, allocator: Allocator
) -> tuple[Array, Array, Array]:
    # The columns of BatchState.wanted_*: each job's requested cores, or nothing.
    if requested is None:
        if allocator.name == "given":
            raise InputError(
                "--allocator given needs the cores that each job asks for: give requested={job number: cores}"
            )
        return np.zeros(len(workload) + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    first, lo, hi = [0], [], []
    for job_id, cores in zip(workload.job_id.tolist(), workload.cores.tolist(), strict=True):
        if job_id not in requested:
            raise InputError(f"requested[{job_id}]: missing; every job needs the cores that it asks for")
        where = f"requested[{job_id}]"
        intervals = parse_intervals(requested[job_id], where)
        if sum(b - a for a, b in intervals) != cores:
            raise InputError(f"{where}: {shown(requested[job_id])} is not {cores} different cores, as the job asks for")
        if intervals[-1][1] > n_cores:
            raise InputError(f"{where}: core {intervals[-1][1] - 1}; the platform has the cores 0 to {n_cores - 1}")
        lo += [a for a, _ in intervals]
        hi += [b for _, b in intervals]
        first.append(len(lo))
    return np.array(first), np.array(lo, np.int64), np.array(hi, np.int64)


class BatchSimulator:
    """The batch level of one simulation.

    Jobs are named by their row in the workload. Drive it so: :meth:`advance`; on ``STARTED`` answer for every row of
    :meth:`started` with :meth:`outcome` or :meth:`promise`; on ``DUE`` answer for :attr:`due`; until ``DONE``.

    Parameters
    ----------
    workload : Workload
        No job wider than ``n_cores``.
    n_cores : int
        Cores of the machine.
    policy : Policy
        Order of the queue.
    allocator : Allocator
        Choice of cores.
    slack : float
        Deadlines are submit + slack × estimate.
    recorded : bool
        Whether jobs last their recorded run times, so that nothing is asked when they start.
    requested : mapping of int to str, optional
        Cores by job number, for the allocator ``given``.

    Raises
    ------
    InputError, PluginError
        If the options or the policy's keys cannot be used.
    """

    def __init__(
        self,
        workload: Workload,
        n_cores: int,
        policy: Policy,
        allocator: Allocator,
        *,
        slack: float = 2.0,
        recorded: bool = False,
        requested: Mapping[int, str] | None = None,
    ) -> None:
        self.workload = workload
        self.policy = policy
        self.allocator = allocator
        self.deadline_ns = deadlines_ns(workload, slack)
        widest = int(workload.cores.argmax())
        if workload.cores[widest] > n_cores:
            raise InputError(
                f"job {workload.job_id[widest]} asks for {workload.cores[widest]} cores; the platform has {n_cores}"
            )
        self.deadline_ns.flags.writeable = False  # policies are given it to look at
        known = KnownJobs(workload.job_id, workload.submit_ns, workload.estimate_ns, self.deadline_ns, workload.cores)
        self.state = engine.new_state(
            workload.submit_ns,
            workload.cores,
            ranks(policy, known),
            n_cores,
            workload.run_ns if recorded else np.full(len(workload), -1, np.int64),
            *_wanted(workload, n_cores, requested, allocator),
        )
        try:
            self.place = as_value(allocator.place, PLACE)
        except TypeError as error:
            raise PluginError(f"allocator {allocator.name}: {error}; decorate it with allocator_kernel") from None

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return int(self.state.counters[engine.NOW])

    @property
    def ended(self) -> int:
        """How many jobs have ended."""
        return int(self.state.counters[engine.ENDED])

    @property
    def due(self) -> int:
        """The row of the job whose promise has come due."""
        return int(self.state.counters[engine.DUE_JOB])

    def started(self) -> list[int]:
        """The rows that await an answer."""
        counters = self.state.counters
        rows: list[int] = self.state.started[counters[engine.ANSWERED] : counters[engine.N_STARTED]].tolist()
        return rows

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a job holds or held."""
        first = int(self.state.held_first[row])
        for k in range(first, first + int(self.state.held_count[row])):
            yield int(self.state.pool_lo[k]), int(self.state.pool_hi[k])

    def advance(self, max_ends: int) -> int:
        """Run the engine; returns ``DONE``, ``STARTED``, ``DUE`` or ``PAUSED``, and raises on a fault.

        Raises
        ------
        RuntimeError
            If a job that has started has been told neither an outcome nor a promise: it would never end.
        PluginError, InputError
            As :meth:`settle`.
        """
        if unanswered := self.started():
            raise RuntimeError(f"rows {unanswered} have started and await an outcome or a promise")
        while True:
            status = engine.advance(self.state, self.place, max_ends)
            if self.settle(status):
                return status

    def settle(self, status: int) -> bool:
        """Deal with what :func:`bls.engine.advance` returned: False if it should just be called again.

        Raises
        ------
        PluginError, InputError
            If the status is a fault; the message names the job.
        """
        if status in (engine.DONE, engine.STARTED, engine.DUE, engine.PAUSED):
            return True
        if status == engine.POOL_FULL:
            pool = max(2 * len(self.state.pool_lo), 1024)
            room = pool - len(self.state.pool_lo)
            self.state = self.state._replace(
                pool_lo=np.concatenate([self.state.pool_lo, np.empty(room, np.int64)]),
                pool_hi=np.concatenate([self.state.pool_hi, np.empty(room, np.int64)]),
            )
            return False
        job = int(self.workload.job_id[self.due])
        if status == engine.ALLOCATOR_FAULT:
            raise PluginError(
                f"allocator {self.allocator.name}: job {job} needs {self.workload.cores[self.due]} free cores, "
                "each once and in ascending intervals; it suggested something else"
            )
        if status == engine.STUCK:
            raise InputError(
                f"the simulation is stuck at job {job}: nothing runs or arrives any more, and allocator "
                f"{self.allocator.name} does not place it on the empty machine"
            )
        if status == engine.OVERFLOW:
            raise InputError(f"job {job} would end beyond the last simulated instant, {MAX_NS} ns")
        raise AssertionError(f"batch engine status {status}")

    def promise(self, row: int, not_before_ns: int) -> bool:
        """Tell that a running job ends at ``not_before_ns`` or later; False if it takes back what is known."""
        return bool(engine.promise(self.state, row, not_before_ns))

    def outcome(self, row: int, end_ns: int) -> bool:
        """Tell when a running job ends; False if that is in the past or before its promise."""
        return bool(engine.outcome(self.state, row, end_ns))

    def allocations(self) -> tuple[Array, Array, Array]:
        """All allocations in workload order: ``JobRecords.allocation_first, allocation_lo, allocation_hi``."""
        count = self.state.held_count
        first = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=first[1:])
        source = np.repeat(self.state.held_first - first[:-1], count) + np.arange(first[-1])
        return first, self.state.pool_lo[source], self.state.pool_hi[source]
