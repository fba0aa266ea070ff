"""The batch level of a log that does not fit into memory: jobs are loaded when they arrive and dropped after they end.

A :class:`bls.simulator.BatchSimulator` simulates each section of time, with the jobs that wait or run at its begin and those
that arrive in it (:mod:`bls.engine.growing`). The result is the same as with all jobs in memory.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from bls import options as o
from bls.allocators import Allocator
from bls.conflicts import STREAM
from bls.constraints.gpu_requests import gpus_of_log
from bls.constraints.job_constraints import JobConstraints, partitions_of
from bls.constraints.outages import Outages
from bls.constraints.resource_requests import never_start, requests
from bls.engine import state as b
from bls.engine.growing import carry_over
from bls.engine.status import BatchStatus
from bls.inputs import Chosen
from bls.machine.platform import Platform
from bls.metrics.schedule import Allocations, Schedule
from bls.policies import AnyPolicy, ScorePolicy
from bls.policies.contract import FollowingPolicy, OtherProgram, no_account
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads.columns import COLUMNS, OPTIONAL, rejects_text
from bls.workloads.selection import fit
from bls.workloads.workload import REASONS, TOO_WIDE, Workload
from traces.base.errors import InputError, PluginError
from traces.base.options import check
from traces.compiled import Array

LATER = 1 << 40  #: the first place of later attempts, which come after all jobs
STRETCH_JOBS = 1 << 14  #: jobs that arrive in a section; or the number of jobs carried over, if it is larger


@dataclass(frozen=True)
class StreamedRun(Chosen):
    """A run with ``stream``, for the table of conflicts ``bls.conflicts.STREAM``."""

    constraints: JobConstraints
    allocator: Allocator

    @property
    def other_program(self) -> bool:
        """Whether another program decides."""
        return isinstance(self.policy, OtherProgram)

    @property
    def follows(self) -> bool:
        """Whether the policy receives all events, up to the end."""
        return isinstance(self.policy, FollowingPolicy)

    @property
    def accounts(self) -> bool:
        """Whether the policy keeps accounts of users."""
        return isinstance(self.policy, ScorePolicy) and self.policy.account is not no_account


def check_streamed(policy: AnyPolicy, rules: Rules, constraints: JobConstraints | None, allocator: Allocator) -> None:
    """Raise InputError if the policy, the rules or the allocator need all jobs at once; the message names the option."""
    check(STREAM, StreamedRun(rules, policy, constraints or JobConstraints(), allocator))


@dataclass
class ArrivingJobs:
    """The jobs of a log that fit a machine, by submit, and the counts of its lines so far."""

    blocks: Iterator[Workload]  # the log, from ``bls.workloads.readers.swf.swf_blocks`` or :func:`in_blocks`
    platform: Platform
    oversize: str = o.OVERSIZE.default  # treatment of jobs wider than the platform
    memory: str = o.MEMORY.default  # source of the memory request per core
    begins: bool | None = None  # whether jobs may join the queue after their submit; None: as in the header
    # the same as in ``Workload``
    source: str = ""
    n_lines: int = 0
    rejects: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    reordered: int = 0
    clamped: int = 0
    jobs: int = 0  # jobs taken
    held: int = 0  # fitting jobs that join the queue after their submit
    with_gpus: int = 0  # fitting jobs that request GPUs by the log
    limited: bool = False  # whether a job's time limit differs from its run time
    _ahead: list[Workload] = field(default_factory=list)

    def take(self, at_least: int) -> Workload | None:
        """The next jobs, at least ``at_least`` if possible, with all jobs of the last submit; None at the end."""
        while (block := next(self.blocks, None)) is not None:
            if (fitting := self._fitting(block)) is not None:
                self._ahead.append(fitting)
                # The next block may contain jobs with the same submit as the last ones.
                last_ns = fitting.submit_ns[-1]
                if sum(int(np.searchsorted(one.submit_ns, last_ns)) for one in self._ahead) >= at_least:
                    break
        if not self._ahead:
            if not self.jobs:
                raise InputError(f"{self.source}: none of its jobs fits the platform: {rejects_text(self.rejects)}")
            return None
        jobs = joined(self._ahead)
        n = len(jobs) if block is None else int(np.searchsorted(jobs.submit_ns, jobs.submit_ns[-1]))
        self._ahead = [] if block is None else [jobs.take(np.arange(n, len(jobs)))]
        self.jobs += n
        return jobs.take(np.arange(n))

    def first(self) -> Workload:
        """Some of the first jobs, without taking them."""
        jobs = self.take(1)
        assert jobs is not None
        self.jobs = 0
        self._ahead.insert(0, jobs)
        return jobs

    @property
    def next(self) -> Workload | None:
        """The next job that is not taken yet; None at the end."""
        return self._ahead[0].take(np.arange(1)) if self._ahead else None

    def _fitting(self, block: Workload) -> Workload | None:
        self.source = block.source
        self.n_lines += block.n_lines
        self.reordered += block.reordered
        self.limited = self.limited or bool(np.any(block.estimate_ns != block.run_ns))
        self._reject(block.rejects)
        wide = block.cores > self.platform.n_cores
        if self.oversize == "reject" and wide.all():
            self._reject({TOO_WIDE: len(block)})
            return None
        jobs = fit(replace(block, rejects={}), self.platform.n_cores, self.oversize)
        self._reject(jobs.rejects)
        self.clamped += jobs.clamped
        partition, reasons = partitions_of(jobs, self.platform)
        if self._asks(jobs):
            in_one = ~np.any([*reasons.values()], axis=0)
            asked = requests(jobs, self.platform, memory=self.memory)
            for reason, never in never_start(jobs, np.where(in_one, partition, 0), asked, self.platform).items():
                reasons[reason] = reasons.get(reason, False) | (in_one & never)
        self._reject({reason: int(np.count_nonzero(mask)) for reason, mask in reasons.items()})
        rejected = np.any([*reasons.values()], axis=0)
        self.held += int(np.count_nonzero(jobs.held & ~rejected))
        if (gpus := gpus_of_log(jobs)) is not None:
            self.with_gpus += int(np.count_nonzero((gpus > 0) & ~rejected))
        return None if rejected.all() else jobs.take(~rejected, rejects={}, clamped=0)

    def constraints(self, jobs: Workload, outages: Outages | None) -> JobConstraints:
        """The constraints of some of the jobs."""
        partition = partitions_of(jobs, self.platform)[0] if self.platform.partitions else None
        asks = self._asks(jobs)
        asked = requests(jobs, self.platform, memory=self.memory) if asks else None
        return JobConstraints(partition=partition, requests=asked, outages=outages, cores_differ=asks)

    def _asks(self, jobs: Workload) -> bool:
        # Whether jobs may request more than cores; all blocks of a log have the same columns.
        return self.memory != o.MEMORY.default or (self.platform.n_gpus > 0 and gpus_of_log(jobs) is not None)

    def _reject(self, counts: Mapping[str, int]) -> None:
        for reason, count in counts.items():
            if count or reason in self.rejects:
                self.rejects[reason] = self.rejects.get(reason, 0) + count


def in_blocks(workload: Workload, jobs: int = STRETCH_JOBS) -> Iterator[Workload]:
    """A workload in memory as blocks for :class:`ArrivingJobs`; the first block has the counts of its lines."""
    account: dict[str, Any] = {}
    for at in range(0, len(workload), jobs):
        yield workload.take(np.arange(at, min(at + jobs, len(workload))), **account)
        account = {"n_lines": 0, "rejects": {}, "reordered": 0, "clamped": 0}


def joined(workloads: Sequence[Workload]) -> Workload:
    """Concatenate the jobs of consecutive workloads; everything else is from the last one."""
    names = (*COLUMNS, *OPTIONAL)
    columns: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in workloads]) for name in names}
    extras = {name: np.concatenate([one.extras[name] for one in workloads]) for name in workloads[-1].extras}
    return replace(workloads[-1], **columns, extras=extras)


@dataclass(frozen=True, eq=False)
class Stretch:
    """The events in [begin, end)."""

    simulator: BatchSimulator  # its rows are those of ``number``
    begin_ns: int  # from the first submit on
    end_ns: int  # to the last end
    # int64 (n,): place of each row: jobs from 0, later attempts from :data:`LATER` on; the last job may come after the section
    number: Array
    job: Array  # int64 (n,): the place of its job
    ended: Array  # int64: rows that have ended in this section

    def column(self, name: str) -> Array:
        """A column of ``bls.engine.jobs.Jobs``, int64 (n,)."""
        return self.simulator.column(name)

    def schedule(self) -> tuple[Schedule, Allocations]:
        """The schedule of these jobs, clipped to the section."""
        begin, end = self.begin_ns, self.end_ns
        start, eligible = self.column("start_ns"), self.column("eligible_ns")
        schedule = Schedule(
            submit_ns=np.full(len(start), begin),
            start_ns=np.where(start < 0, -1, np.maximum(start, begin)),
            end_ns=np.where(start < 0, -1, np.clip(self.column("end_ns"), begin, end)),
            cores=self.column("cores"),
            n_cores=self.simulator.platform.n_cores,
            held_cores=self.column("held_cores"),
            eligible_ns=np.where(eligible < 0, -1, np.maximum(eligible, begin)),
            left_ns=np.where(start < 0, np.clip(self.column("cancel_ns"), begin, end), -1),
        )
        return schedule, Allocations(*self.simulator.allocations())

    def left(self) -> Array:
        """The rows that were submitted and have not ended, in the order of their jobs."""
        rows = np.flatnonzero((self.column("state") < 0) & (self.column("submit_ns") < self.end_ns))
        return np.asarray(rows[np.argsort(self.job[rows])])


def stretches(
    arrivals: ArrivingJobs, simulator: Callable[[Workload, JobConstraints], BatchSimulator], *,
    jobs: int = STRETCH_JOBS, outages: Outages | None = None,
    watch: Callable[[int, int], None] = lambda _ended, _now: None, pace: Callable[[], int] = lambda: 2**40,
) -> Iterator[Stretch]:  # fmt: skip
    """Simulate the jobs of a log in sections; the columns of a section are valid until the next one. ``simulator`` makes
    the simulator of some jobs; ``jobs``: the least number of arrivals in a section; ``watch``, ``pace``: a
    ``bridge.couplings.Watch``, and the most ends in one step. Raises InputError and PluginError as ``BatchSimulator``, or
    if the policy's or the estimator's values of a job depend on the other jobs in memory."""
    before: Stretch | None = None
    ended = first_new = last_end_ns = n_later = 0
    left = np.zeros(0, np.int64)
    while (coming := arrivals.take(max(jobs, len(left)))) is not None:
        origin = left if before is None else before.simulator.column("origin")[left]
        parts = [] if before is None or not len(left) else [before.simulator.workload.take(origin)]
        # With the next job, so that the engine knows that more events follow.
        parts += [coming] if arrivals.next is None else [coming, arrivals.next]
        workload = joined(parts)
        run = simulator(workload, arrivals.constraints(workload, outages))
        number = job = np.arange(first_new, first_new + len(workload) - len(left))
        first_new += len(coming)
        begin_ns = int(coming.submit_ns[0])
        if before is not None:
            _check_same(before.simulator, run, left)
            carry_over(before.simulator.state, run.state, left)
            number, job = np.concatenate([before.number[left], number]), np.concatenate([before.job[left], job])
            begin_ns = before.end_ns
            if run.is_seen:
                run.view = before.simulator.view
                run.view.go_on(run.run_view(), left, number)
                gc.collect()  # a simulator and its Python callbacks keep each other alive
        until_ns = None if arrivals.next is None else int(arrivals.next.submit_ns[0])
        run.state.observe_after_ns = b.NEVER if until_ns is None else until_ns - 1
        while (status := run.enter(pace())) not in (BatchStatus.DONE, BatchStatus.LOOK):
            run.settle(status)
            watch(ended + run.ended, run.now_ns)
        outages = run.outages
        number = _with_attempts(run, number, n_later)
        n_later += len(number) - len(workload)
        rows = np.flatnonzero(run.column("state") >= 0)
        ended += run.ended
        last_end_ns = max(last_end_ns, int(run.column("end_ns")[rows].max(initial=0)))
        end_ns = last_end_ns if until_ns is None else until_ns
        before = Stretch(run, begin_ns, end_ns, number, job[run.column("origin")], rows)
        left = before.left()
        yield before


def _with_attempts(run: BatchSimulator, number: Array, n_later: int) -> Array:
    # The places of all rows: attempts made at one instant are in the order of the rows that were cut.
    first, rows = len(number), run.rows
    found = np.concatenate([number, np.arange(first, rows)])
    origin, made_ns = run.column("origin"), run.column("eligible_ns")
    latest = number.copy()  # by job
    for _, group in groupby(range(first, rows), key=made_ns.__getitem__):
        for row in sorted(group, key=lambda row: int(latest[origin[row]])):
            found[row] = LATER + n_later
            n_later += 1
        made = np.flatnonzero(made_ns[first:] == made_ns[row]) + first
        latest[origin[made]] = found[made]
    return found


def _check_same(old: BatchSimulator, new: BatchSimulator, rows: Array) -> None:
    n = len(rows)
    before, after = old.state.scores, new.state.scores
    same = np.array_equal(np.argsort(old.state.jobs.rank[rows]), np.argsort(new.state.jobs.rank[:n]))
    if len(before.numbers) or len(after.numbers):
        same = same and np.array_equal(before.numbers[:, rows], after.numbers[:, :n])
    who = ""
    if not same or not np.array_equal(before.memory, after.memory):
        who = f"batch policy {new.policy.name}"
    elif not np.array_equal(old.planned_ns[old.column("origin")[rows]], new.planned_ns[:n]):
        who = "the estimator"
    if who:
        depends = "its values for a job depend on the other jobs that it is given"
        raise PluginError(f"{who}: {depends}, and with {o.STREAM} it never gets all")
