"""The inputs of the batch engine, made from workload, platform, policy, rules and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bls import options as o
from bls.allocators import Allocator
from bls.allocators.contract import HostAmounts, PlacementRequest
from bls.conflicts import POLICY, RUN, UNAWARE
from bls.constraints.job_constraints import JobConstraints, masks, outage_columns, unaware_of
from bls.engine import state as b
from bls.engine.feature import RunColumns
from bls.engine.features.order import FEATURES, declared
from bls.engine.jobs import Jobs
from bls.estimates import CORRECTIONS_NS, HistoryEstimator, estimator, planned_ns
from bls.machine.partitions import LIMITS, PartitionTable
from bls.machine.platform import Platform
from bls.policies import AnyPolicy, DecidingPolicy, KnownJobs, Scoring, ranks
from bls.policies.contract import DIRECTIONS, directs, may_direct
from bls.policies.orders import FCFS, Reject
from bls.scheduler_options import Rules
from bls.workloads.columns import distinct
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown
from traces.base.options import check
from traces.base.time import MAX_NS
from traces.compiled import Array, own
from traces.intervals import parse_intervals

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests
    from bls.power.plan import PowerPlan


_SWITCHES = ("lo", "hi", "level", "hosts")  #: columns of a topology that allocators receive


def deadlines_ns(workload: Workload, slack: float) -> Array:
    """The deadline of each job: submit + slack × estimate, at most ``traces.base.time.MAX_NS``. Exact for integer slack;
    otherwise a float64 product rounded half to even, ns. Raises InputError if slack is out of range."""
    slack = o.SLACK.check(slack)
    if slack.is_integer():
        most = MAX_NS // max(1, int(slack))
        slack_ns = np.where(workload.estimate_ns > most, MAX_NS, workload.estimate_ns * int(slack))  # exact
    else:
        slack_ns = np.minimum(np.rint(workload.estimate_ns * slack), 2.0**62).astype(np.int64)
    return np.asarray(workload.submit_ns + np.minimum(slack_ns, MAX_NS - workload.submit_ns))


def _wanted(
    workload: Workload, n_cores: int, requested: Mapping[int, str] | None, allocator: Allocator
) -> tuple[Array, Array, Array]:
    # The columns BatchState.wanted_*: each job's requested cores, or none.
    if requested is None:
        if allocator.name == "given":
            needs = "needs the cores that each job requests: in Python, requested={job number: cores}"
            raise InputError(f"{o.ALLOCATOR:given} {needs}")
        return np.zeros(len(workload) + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    first, lo, hi = [0], [], []
    for job_id, cores in zip(workload.job_id.tolist(), workload.cores.tolist(), strict=True):
        if job_id not in requested:
            raise InputError(f"requested[{job_id}]: missing; every job needs the cores that it requests")
        where = f"requested[{job_id}]"
        intervals = parse_intervals(requested[job_id], where, n_cores)
        if sum(b - a for a, b in intervals) != cores:
            raise InputError(f"{where}: {shown(requested[job_id])} is not {cores} different cores, as the job requests")
        if intervals[-1][1] > n_cores:
            raise InputError(f"{where}: core {intervals[-1][1] - 1}; the platform has the cores 0 to {n_cores - 1}")
        lo += [a for a, _ in intervals]
        hi += [b for _, b in intervals]
        first.append(len(lo))
    return np.array(first), np.array(lo, np.int64), np.array(hi, np.int64)


def planned_with(workload: Workload, rules: Rules, constraints: JobConstraints, seed: int) -> Array:
    """The planned run times, int64 (n,): the requests if estimates are predicted."""
    found = estimator(rules.estimates)
    if isinstance(found, HistoryEstimator):
        return workload.estimate_ns
    planned = planned_ns(found, workload, seed)
    if rules.kill_at_walltime:
        planned = np.minimum(planned, workload.estimate_ns)
    if constraints.windows is None or not len(constraints.windows):
        return planned
    # Jobs in their own window use their requests: the window was checked against these.
    return np.where(constraints.windows.of_jobs(workload) >= 0, workload.estimate_ns, planned)


def known_jobs(
    workload: Workload,
    platform: Platform,
    planned_ns: Array,
    deadline_ns: Array,
    power: PowerPlan | None,
    constraints: JobConstraints,
) -> KnownJobs:
    """The jobs as policies know them, with their planned run times and deadlines."""
    times, gpus = (workload.submit_ns, planned_ns, deadline_ns), constraints.requested_gpus(workload.cores)
    groups = (workload.user, workload.group, workload.queue, workload.partition, workload.qos)
    core_mw = _core_mw(platform, len(workload), power)
    found = KnownJobs(
        workload.job_id, *times, workload.cores, *groups, platform.n_cores, core_mw, gpus, platform.n_gpus
    )
    return replace(found, gpu_mw=gpu_mw(platform, constraints.requests, gpus, power)) if gpus.any() else found


def gpu_mw(
    platform: Platform, asked: Requests | None, gpus: Array, power: PowerPlan | None, *, above_idle: bool = False
) -> Array:
    """``KnownJobs.gpu_mw``, int64 (n,), or with ``above_idle`` what remains of it without that of idle GPUs."""
    if asked is None or asked.gpus is None or not gpus.any():
        return np.zeros_like(gpus)
    least = np.full(len(gpus), MAX_NS)
    for place, group in enumerate(platform.hosts):
        if group.gpus == 0 or group.power is None:
            continue
        watts: Array | int = group.power.gpu_states_w[0][1] if group.power.gpu_states else 0
        if power is not None and power.classes is not None and not power.predicts:
            watts = power.classes.gpu_w[power.classes.kind, 0, place]
        able = asked.gpus.kinds >> platform.gpu_kinds.index(group.gpu) & 1
        more = watts - above_idle * int(group.power.gpu_idle_w)
        least = np.where(able == 1, np.minimum(least, more), least)
    return np.asarray(gpus * np.where(least < MAX_NS, least, 0))


def _core_mw(platform: Platform, n_jobs: int, power: PowerPlan | None) -> Array:
    # ``KnownJobs.core_mw``: the job's power, unless the scheduler predicts the power of jobs; empty without power data.
    active_mw = [group.power.states_mw[0][1] for group in platform.hosts if group.power is not None]
    if len(active_mw) < len(platform.hosts):
        return np.empty(0, np.int64)
    from bls.power.table import MOST_MW  # not needed by most runs

    gpu_w = [
        max((w for _, w in group.power.gpu_states_w), default=0) for group in platform.hosts if group.power is not None
    ]
    of_hosts = zip(platform.hosts, active_mw, gpu_w, strict=True)
    if sum(group.count * (group.cores * mw + 1000 * group.gpus * w) for group, mw, w in of_hosts) > MOST_MW:
        return np.empty(0, np.int64)
    if power is None or power.classes is None or power.predicts:
        return np.full(n_jobs, platform.mean_over_cores(active_mw), np.int64)
    of_class = [platform.mean_over_cores(row) for row in power.classes.active_mw[:, 0].tolist()]
    return np.array(of_class, np.int64)[power.classes.kind]


@dataclass(frozen=True)
class Chosen:
    """A policy and its rules, for tables of conflicts."""

    rules: Rules
    policy: AnyPolicy

    @property
    def decides(self) -> bool:
        """Whether it decides which jobs start."""
        return isinstance(self.policy, DecidingPolicy)

    @property
    def rejects(self) -> bool:
        """Whether it starts no job."""
        return isinstance(self.policy, Reject)

    @property
    def directs(self) -> frozenset[str]:
        """Its commands to running jobs, from ``bls.policies.contract.DIRECTIONS``."""
        return directs(self.policy)

    @property
    def may_direct(self) -> list[str]:
        """Its actual or possible commands to running jobs."""
        return [what for what in DIRECTIONS if may_direct(self.policy, what)]


def check_rules(rules: Rules, policy: AnyPolicy) -> None:
    """Raise InputError if a policy cannot be used with these rules: there is a conflict of ``bls.conflicts.POLICY``."""
    check(POLICY, Chosen(rules, policy))


@dataclass(frozen=True)
class Run(Chosen):
    """A run, for the table of conflicts ``bls.conflicts.RUN``."""

    allocator: Allocator
    constraints: JobConstraints
    limits: PowerPlan | None
    power: PowerPlan | None  # also without limits
    recorded: bool
    countable: bool
    workload: Workload
    platform: Platform

    @property
    def windows(self) -> bool:
        """Whether there are reservations or maintenance."""
        return self.constraints.windows is not None and len(self.constraints.windows) > 0

    @property
    def releases_cores(self) -> bool:
        """Whether jobs release single cores."""
        settled = self.rules.resizing != b.NO_RESIZE or self.constraints.drains
        return not settled and self.rules.releases == b.BY_CORE

    @property
    def counts_power(self) -> bool:
        """Whether counts of cores suffice for the power limit."""
        limits = self.limits
        return limits is not None and self.rules.depth <= 1 and limits.alike and not limits.limits.noticed

    def asks(self, column: str, most: int = 0) -> bool:
        """Whether a job requests more than ``most`` in a column of its requests."""
        asked = self.constraints.requests
        return asked is not None and bool((getattr(asked, column) > most).any())

    def first_asking(self, column: str) -> int:
        """The number of the first job with a request in a column; there must be one."""
        asked = getattr(self.constraints.requests, column)
        return int(self.workload.job_id[np.argmax(asked.reshape(len(asked), -1).any(axis=1))])

    @property
    def unaware(self) -> frozenset[str]:
        """The features that the policy ignores, from ``bls.conflicts.UNAWARE``."""
        return unaware_of(self.policy)

    @property
    def lacking_signal(self) -> str:
        """The first column of signals that the policy requires and the run lacks, in words; empty if there is none."""
        signals = None if self.power is None else self.power.signals
        lacks = f"there are no {o.SIGNALS}" if signals is None else f"{signals.source} has no such column"
        known = {} if signals is None else signals.values
        needed = [one for one in getattr(self.policy, "needs_signals", ()) if one not in known]
        return f"it goes by {needed[0]}, and {lacks}" if needed else ""

    @property
    def divided(self) -> bool:
        """Whether there are several partitions, or one with limits or only part of the machine."""
        table = self.platform.partition_table
        whole = len(table) == 1 and int(table.n_cores[0]) == self.platform.n_cores
        return not whole or any(getattr(one, limit) is not None for one in self.platform.partitions for limit in LIMITS)

    @property
    def waiting(self) -> int:
        """The number of the first job that waits for another; -1 if none does."""
        known = self.constraints.dependencies
        waits = np.zeros(0, bool) if known is None else np.asarray(known.depends_on >= 0)
        return int(self.workload.job_id[np.argmax(waits)]) if waits.any() else -1


def given_for(
    workload: Workload, platform: Platform, policy: AnyPolicy, allocator: Allocator, rules: Rules,
    constraints: JobConstraints, known: KnownJobs, scored: Scoring | None, *, recorded: bool,
    requested: Mapping[int, str] | None, power: PowerPlan | None = None, loses: bool = False,
) -> RunColumns:  # fmt: skip
    """The arrays of a run; ``scored`` is a prepared scoring policy, and planned run times are the estimates of ``known``. Other
    arguments, and errors, as of ``BatchSimulator``."""
    table, windows = platform.partition_table, constraints.windows
    partition = np.zeros(len(workload), np.int64) if constraints.partition is None else constraints.partition
    tier = table.priority[partition] if len(table) > 1 else None
    order = _order(policy, scored)
    limits = power if power is not None and power.limits_jobs else None
    countable = allocator.countable and constraints.interchangeable(platform)
    run = Run(rules, policy, allocator, constraints, limits, power, recorded, countable, workload, platform)
    check(UNAWARE.values(), run)
    if limits is not None:
        countable = countable and (limits.stops or (run.counts_power and not limits.by_cores()))
    run = replace(run, countable=countable)
    check(RUN, run)
    given = RunColumns(
        chosen=run,
        jobs=Jobs.new(
            {"rows": len(workload)},
            origin=np.arange(len(workload)),
            submit_ns=workload.submit_ns,
            begin_ns=workload.earliest_ns,
            estimate_ns=known.estimate_ns,
            walltime_ns=workload.estimate_ns,
            cores=workload.cores,
            rank=ranks(policy if order in (b.STATIC, b.REJECTED) else FCFS, known, tier),  # type: ignore[arg-type]
            # A job without a known run time runs until it is cancelled.
            run_ns=np.where(workload.run_unknown, MAX_NS, workload.run_ns if recorded else -1),
            number=workload.job_id,
            partition=partition,
            user=distinct(workload.user)[1],
            preset=workload.preset,
            cancel_ns=np.where(workload.cancel_ns < 0, b.NEVER, workload.cancel_ns),
        ),
        partitions={"tier": table.priority, **_limits(table)},
        state={
            "host_first": platform.first_core,
            "corrections_ns": np.array(CORRECTIONS_NS),
            "placement": PlacementRequest.none(
                parameters=np.array(allocator.parameters, np.int64),
                more=HostAmounts.none(
                    needs=np.zeros(len(platform.resource_names), np.int64),
                    most=own(platform.host_resources.max(axis=0), np.int64),
                ),
                **{f"switch_{name}": own(getattr(platform.topology, name), np.int64) for name in _SWITCHES},
            ),
        },
        settings=_settings(run, scored, table, order, loses),
    )
    names = ("wanted_first", "wanted_lo", "wanted_hi")
    wanted = _wanted(workload, platform.n_cores, requested, allocator)
    outages = outage_columns(constraints.outages, windows, platform.n_hosts)
    given.state |= dict(zip(names, wanted, strict=True))
    if len(outages[0]):
        given.state["outages"] = dict(zip(("first", "down_ns", "up_ns"), outages, strict=True))
    if scored is not None:
        columns = {"numbers": scored.numbers, "memory": scored.memory}
        given.state["scores"] = columns | {"held_gpus": scored.policy.held_gpus}
    if not countable:
        given.state["masks"] = masks(table, windows, platform.n_cores)
    if constraints.widths is not None and (rules.resizing != b.NO_RESIZE or rules.molds):
        given.state["widths"] = {"least": constraints.widths.min_cores, "most": constraints.widths.max_cores}
    _add_constraints(given, workload, platform, constraints)
    if power is not None:
        power.give(given)
    for where, needs in FEATURES:
        if any(map(given.has, needs)):
            for name, value in declared(where).given(given).items():
                (given.settings if isinstance(value, int) else given.state)[name] = value
    return given


def _order(policy: AnyPolicy, scored: Scoring | None) -> int:
    # A value of ``Settings.order``.
    if isinstance(policy, DecidingPolicy):
        return b.DECIDED
    if scored is not None:
        return b.SCORED
    return b.REJECTED if isinstance(policy, Reject) else b.STATIC


def _limits(table: PartitionTable) -> dict[str, Array]:
    per_user = {"max_user_jobs": table.max_jobs_per_user, "max_user_cores": table.max_cores_per_user}
    return {"max_running_jobs": table.max_running_jobs, "max_running_cores": table.max_running_cores, **per_user}


def _settings(run: Run, scored: Scoring | None, table: PartitionTable, order: int, loses: bool) -> dict[str, int]:
    # The settings of the core, whose meaning no feature owns.
    rules, allocator, asked, directs = run.rules, run.allocator, run.constraints.requests, run.directs
    return {
        "max_reservations": rules.depth,
        "keeps_reservations": int(rules.keeps),
        "by_cores": int(not run.countable),
        "kills": int(rules.kill_at_walltime),
        "order": order,
        "by_hosts": int(allocator.by_hosts),
        "by_units": int(allocator.by_units),
        "whole_hosts": int(allocator.whole_hosts),
        "limited": int(any((limit < MAX_NS).any() for limit in _limits(table).values())),
        "n_resources": len(run.platform.resource_names) if asked is not None or allocator.by_units else 0,
        "n_licences": 0 if asked is None else asked.licences.shape[1],
        "accounts": int(scored is not None and scored.accounts),
        "directs": b.SCALES * ("speeds" in directs) + b.CUTS * ("ends" in directs),
        "loses": int(loses),
    }


def _add_constraints(given: RunColumns, workload: Workload, platform: Platform, constraints: JobConstraints) -> None:
    # Dependencies, requests and advance reservations.
    jobs, depends, asked, windows = given.jobs, constraints.dependencies, constraints.requests, constraints.windows
    if depends is not None and bool((depends.depends_on >= 0).any()):
        jobs.depends_on[:] = depends.depends_on
        columns = {"first": depends.child_first, "row": depends.child_row, "think_ns": depends.think_ns}
        given.state["dependencies"] = columns
        if depends.several:
            given.state["dependencies"]["unmet"] = depends.waits_for
    if asked is None and given.settings["by_units"]:  # its allocator reads all resources
        given.state["needs"] = np.zeros((given.settings["n_resources"], len(workload)), np.int64)
        given.state["totals"] = platform.host_resources.ravel()
    if asked is not None:
        jobs.unit_cores[:] = asked.unit_cores
        if asked.switches.any():
            given.state["switch_limit"] = asked.switches
        given.state["needs"] = np.ascontiguousarray(np.concatenate([asked.per_unit, asked.licences], axis=1).T)
        given.state["totals"] = np.concatenate([platform.host_resources.ravel(), platform.licence_amounts])
    if windows is not None and len(windows):
        # A job of an advance reservation is cancelled or cut at its end.
        jobs.window[:] = windows.of_jobs(workload)
        ends = np.where(jobs.window < 0, b.NEVER, windows.end_ns[jobs.window])
        np.minimum(jobs.cancel_ns, ends, out=jobs.cancel_ns)
        begin_ns, end_ns = (own(column, np.int64) for column in (windows.begin_ns, windows.end_ns))
        given.state["windows"] = b.WindowColumns(begin_ns=begin_ns, end_ns=end_ns)
