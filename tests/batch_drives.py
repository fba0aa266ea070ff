"""Batch cases through the project: the engine by itself, given arrays, and the batch simulator, given what users give.

Both answer in the words of the slow reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from batch_cases import BatchCase
from placing import switch_arrays
from reference import orders, room
from reference.machine import MINUTES, Attempt, Job, Machine, Predictor
from reference.machine import Rules as CaseRules

from bls.allocators import ALLOCATORS, PLACE
from bls.constraints.advance_reservations import Window, windows
from bls.constraints.dependencies import dependencies
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import NEVER, Outages
from bls.constraints.resource_requests import Requests
from bls.engine import initial_state as first_state
from bls.engine import loop as engine
from bls.engine import state as b
from bls.engine.initial_state import Given
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bls.engine.validation import validate
from bls.engine.wall_clock import wall_clock
from bls.estimates import HistoryEstimator
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch
from bls.policies import ACCOUNT, POLICIES, SCORE, KnownJobs, ScoringPolicy, ranks, scoring
from bls.policies.contract import DECIDE, by_prediction, no_account, no_decision, no_score
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.compiled import Array, as_value, function_table
from traces.intervals import intervals_text
from traces.ledger import STATES, WHY

NO_LIMIT = 2**62

#: A job whose run time is not known runs until it is stopped.
_FOR_EVER = 2**60


def int64(values: Any) -> Array:
    """Values as a column."""
    return np.array(list(values), np.int64)


def cores_text(cores: Any) -> str:
    """Cores as an option takes them."""
    return intervals_text([(core, core + 1) for core in sorted(cores)])


@dataclass
class Engine:
    """The engine on the arrays of one case: ``state`` changes as it is advanced."""

    state: BatchState

    def advance(self, max_ends: int = 10**9) -> int:
        """Until something is asked for that is not just room."""
        while True:
            status = int(engine.advance(self.state, max_ends))
            validate(self.state)
            if status not in GROWN:
                return status
            self.state = GROWN[status](self.state)

    def finish(self) -> list[Attempt]:
        """To the end; what has become of all attempts."""
        for _ in range(100_000):
            status = self.advance()
            if status == BatchStatus.DONE:
                return attempts(self.state)
            assert status in (BatchStatus.STARTED, BatchStatus.PAUSED), status
        raise AssertionError("there is no end of it")

    @property
    def starts(self) -> list[int]:
        """When each attempt has started, in the order of rows."""
        found: list[int] = self.state.jobs[b.START, : self.state.sizes[b.N_ROWS]].tolist()
        return found


GROWN: dict[int, Callable[[BatchState], BatchState]] = {
    BatchStatus.POOL_FULL: first_state.grow_pool,
    BatchStatus.ROWS_FULL: first_state.grow_rows,
    BatchStatus.PROFILE_FULL: first_state.grow_profile,
    BatchStatus.DECISIONS_FULL: first_state.grow_decisions,
}


def attempts(state: BatchState) -> list[Attempt]:
    """What has become of all attempts, by job and attempt."""
    columns, found = state.jobs, []
    for row in range(int(state.sizes[b.N_ROWS])):
        first, count = columns[b.HELD_FIRST, row], columns[b.HELD_COUNT, row]
        held = tuple(core for k in range(first, first + count) for core in range(state.pool_lo[k], state.pool_hi[k]))
        number, attempt, eligible, start, end = (
            int(columns[name, row]) for name in (b.NUMBER, b.ATTEMPT, b.ELIGIBLE, b.START, b.END)
        )
        why, became = WHY[columns[b.WHY, row]], STATES[columns[b.STATE, row]]
        one = Attempt(number, attempt, eligible, start, end, held, why, became)
        found.append((int(columns[b.ORIGIN, row]), one))
    return [one for _, one in sorted(found, key=lambda entry: (entry[0], entry[1].attempt))]


def _word(cores: Any) -> int:
    return sum(1 << core for core in cores)


def _names(pairs: Sequence[Any]) -> list[str]:
    return sorted({name for each in pairs for name, _ in each})


def known_jobs(case: BatchCase) -> KnownJobs:
    """The jobs of a case as policies know them."""
    jobs = case.jobs
    return KnownJobs(
        int64(job.number for job in jobs),
        int64(job.submit for job in jobs),
        int64(_planned(job, case.rules) for job in jobs),
        int64(orders.deadline(job, case.rules.slack) for job in jobs),
        int64(job.cores for job in jobs),
    )


def _planned(job: Job, rules: CaseRules) -> int:
    # What a job is planned with, as far as that is known before the simulation.
    if job.planned is None or job.window is not None:
        return job.estimate
    return min(job.planned, job.estimate) if rules.kill else job.planned


def _history(case: BatchCase) -> dict[str, Array]:
    # Which groups of jobs tell of which; each group by what its jobs have in common.
    predictor = case.rules.predictor
    if predictor is None:
        return {"corrections_ns": int64(case.rules.corrections)}
    seen: dict[tuple[object, ...], int] = {}
    rows = []
    for place, level in enumerate(predictor.levels):
        columns = [[getattr(job, name) for name in level] for job in case.jobs]
        rows.append([seen.setdefault((place, *own), len(seen)) if min(own, default=0) >= 0 else -1 for own in columns])
    return {
        "corrections_ns": int64(case.rules.corrections),
        "history_group": int64(rows),
        "history_least": int64([predictor.least] * len(predictor.levels)),
        "history": np.zeros((len(seen) + 1, 1 + predictor.mean_of), np.int64),  # the last row counts predictions
    }


def engine_of(case: BatchCase, *, by_cores: bool | None = None) -> Engine:
    """The engine before the first event; by counts or cores as the case needs it, or as is said. Machines of ≤ 32 cores."""
    jobs, machine, rules = case.jobs, case.machine, case.rules
    n, n_hosts, n_parts = len(jobs), len(machine.hosts), len(machine.partitions)
    known, policy = known_jobs(case), POLICIES[rules.order if isinstance(rules.order, str) else "fcfs"]
    if rules.predictor is not None:
        policy = by_prediction(policy)
    allocator = ALLOCATORS[rules.allocator].with_parameters(seed=rules.seed)
    tier = int64(machine.partitions[job.partition].tier for job in jobs)
    dynamic = scoring(policy, known) if isinstance(policy, ScoringPolicy) else None
    rank = ranks(POLICIES["fcfs"] if dynamic else policy, known, tier)  # type: ignore[arg-type]
    if by_cores is None:
        by_cores = not room.only_counts(jobs, machine, rules)
    resources = _names([host.amounts for host in machine.hosts] + [job.needs for job in jobs])
    licences = _names([machine.licences] + [job.licences for job in jobs])
    users = sorted({job.user for job in jobs})
    children = [[child for child in range(n) if jobs[child].after == row] for row in range(n)]
    failures = [list(host.outages) for host in machine.hosts]
    planned: list[list[tuple[int, int]]] = [
        sorted((w.begin, w.end) for w in machine.windows if w.maintenance and set(machine.cores_of(host)) <= w.cores)
        for host in range(n_hosts)
    ]
    drained = [list(host.drains) for host in machine.hosts]
    away = failures + planned + (drained if any(drained) else [])
    down = [outage for host in away for outage in host]
    partition_cores = [
        [core for host in range(n_hosts) if each.hosts is None or host in each.hosts for core in machine.cores_of(host)]
        for each in machine.partitions
    ]
    wanted = [sorted(job.wanted or ()) for job in jobs]
    limits = [
        (p.tier, *(NO_LIMIT if x is None else x for x in (p.max_jobs, p.max_cores, p.max_user_jobs, p.max_user_cores)))
        for p in machine.partitions
    ]
    switch_lo, switch_hi, switch_level, switch_hosts = switch_arrays(machine)
    given = Given(
        known.submit_ns,
        known.estimate_ns,
        known.cores,
        rank,
        int64(job.run if job.run >= 0 else _FOR_EVER for job in jobs),
        int64(np.cumsum([0] + [host.cores for host in machine.hosts])),
        number=known.job_id,
        columns={
            b.DEPENDS: int64(-1 if job.after is None else job.after for job in jobs),
            b.THINK: int64(job.think for job in jobs),
            b.CANCEL: int64(b.NEVER if job.cancel is None else job.cancel for job in jobs),
            b.PRESET: int64(job.preset for job in jobs),
            b.BEGIN: int64(job.earliest for job in jobs),
            b.PARTITION: int64(job.partition for job in jobs),
            b.USER: int64(users.index(job.user) for job in jobs),
            b.UNIT: int64(job.unit_cores for job in jobs),
            b.LIMIT: int64(job.limit for job in jobs),
            b.WINDOW: int64(-1 if job.window is None else job.window for job in jobs),
            b.WALLTIME: int64(job.estimate for job in jobs),
        },
        **_history(case),
        wanted_first=int64(np.cumsum([0] + [len(some) for some in wanted])),
        wanted_lo=int64(core for some in wanted for core in some),
        wanted_hi=int64(core + 1 for some in wanted for core in some),
        child_first=int64(np.cumsum([0] + [len(some) for some in children])) if any(children) else int64([]),
        child_row=int64(child for some in children for child in some),
        n_users=len(users),
        masks=int64(_word(cores) for cores in partition_cores + [w.cores for w in machine.windows]).reshape(-1, 1),
        limits=int64(limits).reshape(n_parts, 5),
        windows=int64([[w.begin, w.end] for w in machine.windows]).reshape(-1, 2).T.copy(),
        amounts=int64(
            [dict(host.amounts).get(name, 0) for host in machine.hosts for name in resources]
            + [dict(machine.licences).get(name, 0) for name in licences]
        ),
        needs=int64(
            [[dict(job.needs).get(name, 0) for job in jobs] for name in resources]
            + [[dict(job.licences).get(name, 0) for job in jobs] for name in licences]
        ).reshape(-1, n),
        outage_first=int64(np.cumsum([0] + [len(host) for host in away])) if down else int64([]),
        outage_down=int64(begin for begin, _ in down),
        outage_up=int64(end for _, end in down),
        switch_lo=switch_lo,
        switch_hi=switch_hi,
        switch_level=switch_level,
        switch_hosts=switch_hosts,
        parameters=allocator.parameters,
        keep_decisions=True,
        settings={
            b.DEPTH: b.UNBOUNDED if rules.depth is None else rules.depth,
            b.KEEP: int(rules.keep),
            b.BY_CORES: int(by_cores),
            b.KILL: int(rules.kill),
            b.REQUEUE: int(rules.requeue),
            b.ORDER: b.STATIC if dynamic is None else b.SCORED,
            b.CHARGE: int(rules.cost > 0),
            b.COST: rules.cost if rules.cost else -1,
            b.MAX_ATTEMPTS: 1000,
            b.BY_HOSTS: int(allocator.by_hosts),
            b.WHOLE_HOSTS: int(allocator.whole_hosts),
            b.LIMITED: int(any(limit < NO_LIMIT for each in limits for limit in each[1:])),
            b.N_RESOURCES: len(resources),
            b.N_LICENCES: len(licences),
            b.PROMISES: int(rules.promises),
            b.SWITCH_WAIT: b.NEVER if rules.switch_wait is None else rules.switch_wait,
            b.RELEASES: b.BY_DRAIN if any(drained) else b.NO_RELEASES,
        },
    )
    if dynamic is not None:
        given.numbers, given.memory = dynamic.numbers, dynamic.memory
    state = first_state.new_state(given)
    state.functions = function_table(
        [
            as_value(allocator.place, PLACE),
            dynamic.score if dynamic else as_value(no_score, SCORE),
            dynamic.account if dynamic else as_value(no_account, ACCOUNT),
            wall_clock(),
            as_value(no_decision, DECIDE),
        ]
    )
    return Engine(state)


# ---- as users give it ----


def as_users_say(case: BatchCase) -> BatchCase | None:
    """A case in which everything can be said as users say it, much like this one; None if there is none.

    A log's jobs run for 1 ns at least and are not withdrawn before their submit, a reservation is for some jobs and withdraws
    them at its end, nobody asks for what no host has, and an estimator that cannot predict (which is refused) gives way to the
    requests.
    """
    machine = case.machine
    if machine.licences and any(host.drains for host in machine.hosts):
        return None
    used = sorted({job.window for job in case.jobs if job.window is not None})
    places = [k for k, window in enumerate(machine.windows) if window.maintenance or k in used]
    resources = {name for host in machine.hosts for name, amount in host.amounts if amount}
    jobs = []
    for job in case.jobs:
        if any(name not in resources for name, _ in job.needs):
            return None
        cancel = job.cancel if job.cancel is None else max(job.cancel, job.submit)
        place = None
        if job.window is not None:
            window, place = machine.windows[job.window], places.index(job.window)
            if job.cores > len(window.cores) or job.earliest + job.estimate > window.end:
                return None
            if job.estimate > window.end - window.begin:
                return None
            cancel = window.end if cancel is None else min(cancel, window.end)
        jobs.append(replace(job, run=max(job.run, 1) if job.run >= 0 else -1, cancel=cancel, window=place))
    machine = replace(machine, windows=tuple(machine.windows[k] for k in places))
    predictor = case.rules.predictor
    if predictor is not None and not any(_known(level, jobs) for level in predictor.levels):
        predictor = None
    return BatchCase(tuple(jobs), machine, replace(case.rules, corrections=MINUTES, predictor=predictor))


def _known(columns: Sequence[str], jobs: Sequence[Job]) -> bool:
    return all(any(getattr(job, column) >= 0 for job in jobs) for column in columns)


def platform_of(machine: Machine) -> Platform:
    """The machine with its partitions and switches."""
    plain = all(p.hosts is None and _unlimited(p) for p in machine.partitions)
    parts = tuple(
        Partition(
            f"partition {k}",
            hosts="" if p.hosts is None else cores_text(p.hosts),
            default=k == 0,
            priority=p.tier,
            max_running_jobs=p.max_jobs,
            max_running_cores=p.max_cores,
            max_jobs_per_user=p.max_user_jobs,
            max_cores_per_user=p.max_user_cores,
        )
        for k, p in enumerate(machine.partitions)
    )
    leaves = [(f"leaf {min(hosts)}", hosts) for level, hosts in machine.switches if level == 0]
    above = [
        Switch(f"switch {min(hosts)}", switches=tuple(name for name, some in leaves if some <= hosts))
        for level, hosts in machine.switches
        if level == 1
    ]
    return Platform(
        tuple(
            HostGroup(
                1,
                host.cores,
                float(host.cores),
                {"memory_kb" if name == "memory" else name: amount for name, amount in host.amounts if amount},  # type: ignore[arg-type]
            )
            for host in machine.hosts
        ),
        licences=dict(machine.licences),  # type: ignore[arg-type]
        partitions=() if plain and len(parts) == 1 else parts,
        switches=(*(Switch(name, hosts=cores_text(sorted(hosts))) for name, hosts in leaves), *above),
    )


def _unlimited(partition: Any) -> bool:
    limits = (partition.max_jobs, partition.max_cores, partition.max_user_jobs, partition.max_user_cores)
    return all(limit is None for limit in limits)


def workload_of(jobs: Sequence[Job]) -> Workload:
    """The jobs as a log has them."""
    known = [job.run >= 0 for job in jobs]
    columns = [
        int64(job.number for job in jobs),
        int64(job.submit for job in jobs),
        int64(job.run if job.run >= 0 else 1 for job in jobs),
        int64(job.cores for job in jobs),
        int64(job.estimate for job in jobs),
        np.arange(1, len(jobs) + 1),
    ]
    extra = {
        **{name: int64(getattr(job, name) for job in jobs) for name in ("user", "group", "queue", "application")},
        "cancel_ns": int64(-1 if job.cancel is None else job.cancel for job in jobs),
        "status": int64(1 if each else 5 for each in known),
        "preceding": int64(-1 if job.after is None else jobs[job.after].number for job in jobs),
        "think_ns": int64(job.think for job in jobs),
        "preset": int64(job.preset for job in jobs),
        "begin_ns": int64(job.begin for job in jobs),
    }
    return Workload.from_lines(columns, header=(), rejects={}, source="case", n_lines=len(jobs), extra=extra)


@dataclass(frozen=True)
class Said:
    """An estimator of one's own: for each job of a case what is said of it."""

    planned: tuple[int, ...]
    name: str = "said"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        return int64(self.planned)


def estimates_of(case: BatchCase) -> str | Said | HistoryEstimator:
    """Who says what the jobs of a case are planned with."""
    predictor = case.rules.predictor
    if predictor is not None:
        return estimator_of(predictor)
    if case.rules.promises:
        return "application"
    if all(job.planned is None for job in case.jobs):
        return "requested"
    return Said(tuple(job.estimate if job.planned is None else job.planned for job in case.jobs))


def estimator_of(predictor: Predictor) -> HistoryEstimator:
    """A predictor as users say it."""
    levels = tuple(tuple("estimate_ns" if name == "estimate" else name for name in level) for level in predictor.levels)
    return HistoryEstimator("predictor", levels, predictor.mean_of, predictor.least, shortest_ns=1)


def rules_of(rules: CaseRules) -> Rules:
    """The rules of a case as users say them, but for the estimates."""
    return Rules(
        backfill="conservative" if rules.depth is None else str(rules.depth),
        conservative="keep" if rules.keep else "rebuild",
        kill_at_walltime=rules.kill,
        on_failure="requeue" if rules.requeue else "lose",
        charge_decisions=rules.cost > 0,
        decision_cost_ns=rules.cost or None,
        switch_wait_ns=rules.switch_wait,
    )


def circumstances_of(case: BatchCase, platform: Platform, workload: Workload) -> JobConstraints:
    """What surrounds the jobs of a case."""
    jobs, machine = case.jobs, case.machine
    names, licences = platform.resource_names, platform.licence_names
    asked = Requests(
        names,
        licences,
        int64(job.unit_cores for job in jobs),
        int64([dict(job.needs).get(name, 0) for name in names] for job in jobs).reshape(len(jobs), len(names)),
        int64([dict(job.licences).get(name, 0) for name in licences] for job in jobs).reshape(len(jobs), len(licences)),
        int64(job.limit for job in jobs),
    )
    return JobConstraints(
        partition=int64(job.partition for job in jobs) if platform.partitions else None,
        requests=None if asked.plain else asked,
        dependencies=dependencies(workload) if any(job.after is not None for job in jobs) else None,
        windows=windows([_window(case, k) for k in range(len(machine.windows))], platform) if machine.windows else None,
        outages=_outages(machine),
    )


def _outages(machine: Machine) -> Outages | None:
    def table(hosts: list[tuple[tuple[int, int], ...]], drained: Outages | None = None) -> Outages:
        return Outages(
            int64(np.cumsum([0] + [len(some) for some in hosts])),
            int64(down for some in hosts for down, _ in some),
            int64(min(up, NEVER) for some in hosts for _, up in some),
            drained=drained,
        )

    failures, drains = [host.outages for host in machine.hosts], [host.drains for host in machine.hosts]
    drained = table(drains) if any(drains) else None
    return table(failures, drained) if any(failures) or drained is not None else None


def _window(case: BatchCase, place: int) -> Window:
    window, machine = case.machine.windows[place], case.machine
    if window.maintenance:
        hosts = {machine.host_of(core) for core in window.cores}
        return Window("maintenance", f"window {place}", window.begin, window.end, hosts=cores_text(hosts))
    jobs = cores_text(job.number for job in case.jobs if job.window == place)
    return Window("reservation", f"window {place}", window.begin, window.end, cores=cores_text(window.cores), jobs=jobs)


def simulator_of(case: BatchCase, **options: Any) -> BatchSimulator:
    """The batch simulator on a case that users can say (:func:`as_users_say`), with recorded run times by default."""
    platform, workload = platform_of(case.machine), workload_of(case.jobs)
    policy = POLICIES[case.rules.order if isinstance(case.rules.order, str) else "fcfs"]
    requested = {job.number: cores_text(job.wanted) for job in case.jobs if job.wanted is not None}
    usual: dict[str, Any] = {
        "rules": replace(rules_of(case.rules), estimates=estimates_of(case)),
        "circumstances": circumstances_of(case, platform, workload),
        "slack": float(case.rules.slack),
        "recorded": True,
        "requested": requested or None,
        "seed": case.rules.seed,
    }
    policy = options.pop("policy", policy)
    return BatchSimulator(workload, platform, policy, ALLOCATORS[case.rules.allocator], **(usual | options))


def finish(simulator: BatchSimulator) -> list[Attempt]:
    """Run a simulator that knows all run times to its end."""
    for _ in range(100_000):
        if simulator.advance(10**9) == BatchStatus.DONE:
            return attempts(simulator.state)
    raise AssertionError("there is no end of it")
