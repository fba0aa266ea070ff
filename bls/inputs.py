"""What the batch engine is told about a run, made of what a user gives: workload, platform, policy, rules, circumstances."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bls.allocators import Allocator
from bls.constraints.job_constraints import JobConstraints, masks, outage_columns
from bls.engine import state as b
from bls.engine.initial_state import Given
from bls.estimates import CORRECTIONS_NS, HistoryEstimator, estimator, groups, planned_ns
from bls.machine.partitions import partition_table
from bls.machine.platform import Platform
from bls.options import SLACK
from bls.policies import AnyPolicy, DecidingPolicy, KnownJobs, Scoring, ranks
from bls.policies.fcfs import Fcfs
from bls.policies.reject import Reject
from bls.scheduler_options import Rules
from bls.workloads.distinct import distinct
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown
from traces.base.time import MAX_NS
from traces.compiled import Array
from traces.intervals import parse_intervals

__all__ = ["deadlines_ns", "estimates_come_later", "given_for", "planned_with"]


def deadlines_ns(workload: Workload, slack: float) -> Array:
    """submit + slack × estimate of each job, at most ``traces.base.time.MAX_NS``.

    A whole slack gives exact deadlines; for another one the product is that of float64, rounded half to even to ns.

    Raises
    ------
    InputError
        If slack is out of range.
    """
    slack = SLACK.check(slack)
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


def estimates_come_later(rules: Rules) -> bool:
    """Whether a job's estimate is known only when it arrives."""
    return isinstance(estimator(rules.estimates), HistoryEstimator)


def planned_with(workload: Workload, rules: Rules, around: JobConstraints, seed: int) -> Array:
    """The run times that are planned with, int64 (n,): requests where the estimates come later."""
    found = estimator(rules.estimates)
    if isinstance(found, HistoryEstimator):
        return workload.estimate_ns
    planned = planned_ns(found, workload, seed)
    if rules.kill_at_walltime:
        planned = np.minimum(planned, workload.estimate_ns)
    if around.windows is None or not len(around.windows):
        return planned
    # What runs in a window of its own is taken at its word: the window was checked to be long enough for that.
    return np.where(around.windows.of_jobs(workload) >= 0, workload.estimate_ns, planned)


def given_for(
    workload: Workload,
    platform: Platform,
    policy: AnyPolicy,
    allocator: Allocator,
    rules: Rules,
    around: JobConstraints,
    known: KnownJobs,
    *,
    scored: Scoring | None,
    recorded: bool,
    requested: Mapping[int, str] | None,
) -> Given:
    """The arrays of a run; ``scored`` is the policy made ready, where it scores. Arguments as of ``BatchSimulator``.

    The jobs are planned with the estimates of ``known``.

    Raises
    ------
    InputError, PluginError
        If the requested cores or the policy's keys cannot be used.
    """
    n, n_hosts = len(workload), platform.n_hosts
    table = partition_table(platform)
    partition = np.zeros(n, np.int64) if around.partition is None else around.partition
    limits = np.stack(
        [
            table.priority,
            table.max_running_jobs,
            table.max_running_cores,
            table.max_jobs_per_user,
            table.max_cores_per_user,
        ],
        axis=1,
    )
    users, user = distinct(workload.user)
    tier = table.priority[partition] if len(table) > 1 else None
    order = b.STATIC
    if isinstance(policy, DecidingPolicy):
        order = b.DECIDED
    elif scored is not None:
        order = b.SCORED
    elif isinstance(policy, Reject):
        order = b.REJECTED
    rank = ranks(policy if order in (b.STATIC, b.REJECTED) else Fcfs(), known, tier)  # type: ignore[arg-type]
    asked, windows = around.requests, around.windows
    countable = allocator.countable and around.interchangeable(platform)
    cancel = np.where(workload.cancel_ns < 0, b.NEVER, workload.cancel_ns)
    # A job of which no run time is known runs until it is withdrawn.
    columns = {b.PARTITION: partition, b.USER: user, b.PRESET: workload.preset, b.CANCEL: cancel}
    run_ns = np.where(workload.run_unknown, MAX_NS, workload.run_ns if recorded else -1)
    columns[b.WALLTIME] = workload.estimate_ns
    given = Given(
        workload.submit_ns,
        known.estimate_ns,
        workload.cores,
        rank,
        run_ns,
        platform.first_core,
        number=workload.job_id,
        columns=columns,
        n_users=len(users),
        limits=limits,
        parameters=allocator.parameters,
        keep_decisions=rules.keep_decisions,
    )
    shortest_ns = 1
    if estimates_come_later(rules):
        foretells = estimator(rules.estimates)
        assert isinstance(foretells, HistoryEstimator)
        given.history_group, n_groups = groups(foretells, workload)
        given.history_least = np.full(len(foretells.levels), foretells.least)
        shortest_ns = foretells.shortest_ns
        given.history = np.zeros((n_groups, 1 + foretells.mean_of), np.int64)
    given.corrections_ns = np.array(CORRECTIONS_NS)
    given.wanted_first, given.wanted_lo, given.wanted_hi = _wanted(workload, platform.n_cores, requested, allocator)
    given.switch_lo, given.switch_hi = platform.topology.lo, platform.topology.hi
    if scored is not None:
        given.numbers, given.memory = scored.numbers, scored.memory
    if around.dependencies is not None and bool((around.dependencies.depends_on >= 0).any()):
        columns[b.DEPENDS], columns[b.THINK] = around.dependencies.depends_on, around.dependencies.think_ns
        given.child_first, given.child_row = around.dependencies.child_first, around.dependencies.child_row
    switch_wait = b.NEVER
    if asked is not None:
        columns[b.UNIT], columns[b.LIMIT] = asked.unit_cores, asked.switches
        given.needs = np.ascontiguousarray(np.concatenate([asked.per_unit, asked.licences], axis=1).T)
        given.amounts = np.concatenate([platform.host_resources.ravel(), platform.licence_amounts])
        if rules.switch_wait_ns is not None and bool(asked.switches.any()):
            switch_wait = rules.switch_wait_ns
    if windows is not None and len(windows):
        # A job of a reservation is withdrawn, or cut, when that ends.
        columns[b.WINDOW] = windows.of_jobs(workload)
        ends = np.where(columns[b.WINDOW] < 0, b.NEVER, windows.end_ns[columns[b.WINDOW]])
        columns[b.CANCEL] = np.minimum(cancel, ends)
        given.windows = np.stack([windows.begin_ns, windows.end_ns])
    if not countable:
        given.masks = masks(table, windows, platform.n_cores)
    given.outage_first, given.outage_down, given.outage_up = outage_columns(around.outages, windows, n_hosts)
    given.settings = {
        b.DEPTH: rules.depth,
        b.KEEP: int(rules.keeps),
        b.BY_CORES: int(not countable),
        b.KILL: int(rules.kill_at_walltime),
        b.REQUEUE: int(rules.on_failure == "requeue"),
        b.ORDER: order,
        b.CHARGE: int(rules.charge_decisions),
        b.COST: -1 if rules.decision_cost_ns is None else rules.decision_cost_ns,
        b.MAX_ATTEMPTS: rules.max_attempts,
        b.SWITCH_WAIT: switch_wait,
        b.BY_HOSTS: int(allocator.by_hosts),
        b.WHOLE_HOSTS: int(allocator.whole_hosts),
        b.LIMITED: int(bool((limits[:, 1:] < MAX_NS).any())),
        b.N_RESOURCES: 0 if asked is None else asked.per_unit.shape[1],
        b.N_LICENCES: 0 if asked is None else asked.licences.shape[1],
        b.SHORTEST: shortest_ns,
        b.ACCOUNTS: int(scored is not None and scored.accounts),
    }
    return given
