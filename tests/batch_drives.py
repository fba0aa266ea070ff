"""Batch cases through the batch simulator, which gets what users give, and answers in the words of the slow reference."""

import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from batch_cases import FEATURES, BatchCase, finishes, seeded_cases
from inside import column, number, put_state
from reference.gpus import in_units
from reference.machine import MINUTES, Attempt, Gpus, Job, Machine, Predictor
from reference.machine import Rules as CaseRules

from bls.allocators import allocator
from bls.constraints.advance_reservations import Window, windows
from bls.constraints.dependencies import dependencies
from bls.constraints.gpu_requests import GpuRequests
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import NEVER, Outages
from bls.constraints.resource_requests import Requests
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bls.estimates import HistoryEstimator
from bls.machine.partitions import Partition, Switch
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import REBUILD, Rules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.compiled import Array
from traces.intervals import intervals_text
from traces.ledger import STATES, WHY


def int64(values: Any) -> Array:
    """Values as a column."""
    return np.array(list(values), np.int64)


def cores_text(cores: Any) -> str:
    """Cores as an option takes them."""
    return intervals_text([(core, core + 1) for core in sorted(cores)])


def attempts(state: BatchState) -> list[Attempt]:
    """Results of all attempts, by job and attempt."""
    names = (
        "origin",
        "number",
        "attempt",
        "eligible_ns",
        "start_ns",
        "end_ns",
        "held_first",
        "held_count",
        "why",
        "state",
    )
    rows = number(state, "n_rows")
    found: list[tuple[int, Attempt]] = []
    columns = [column(state, f"jobs.{name}")[:rows].tolist() for name in names]
    for origin, job, attempt, eligible, start, end, first, count, why, became in zip(*columns, strict=True):
        held = tuple(core for k in range(first, first + count) for core in range(state.pool.lo[k], state.pool.hi[k]))
        row = len(found)
        found.append(
            (origin, Attempt(job, attempt, eligible, start, end, held, WHY[why], STATES[became], gpus_of(state, row)))
        )
    return [one for _, one in sorted(found, key=lambda entry: (entry[0], entry[1].attempt))]


def gpus_of(state: BatchState, row: int) -> tuple[int, ...]:
    """The GPUs of an attempt that has run."""
    first, count = (column(state, f"gpus.{name}") for name in ("first", "count"))
    if not len(first) or state.jobs.start_ns[row] < 0:
        return ()
    return tuple(column(state, "gpus.lists.gpu")[first[row] : first[row] + count[row]].tolist())


def as_users_say(case: BatchCase) -> BatchCase | None:
    """A case in which everything can be said as users say it, much like this one; None if there is none.

    A log's jobs run for 1 ns at least and are not withdrawn before their submit, a reservation is for some jobs and withdraws
    them at its end, no job requests more than a host has, and an estimator that cannot predict (which is refused) gives way to
    the requests.
    """
    machine = case.machine
    if machine.licences and any(host.drains for host in machine.hosts):
        return None
    used = sorted({job.window for job in case.jobs if job.window is not None})
    places = [k for k, window in enumerate(machine.windows) if window.maintenance or k in used]
    resources = {name for host in machine.hosts for name, amount in host.amounts if amount}
    jobs = []
    for job in case.jobs:
        if any(name not in resources for name, _ in job.needs) or (job.gpus is not None and not machine.has_gpus):
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
    return BatchCase(tuple(jobs), machine, replace(case.rules, predictor=predictor))


def said_cases(
    seed: int, n: int, features: Collection[str] = FEATURES, *, always: Collection[str] = (), max_jobs: int = 12
) -> list[BatchCase]:
    """Return those of ``n`` seeded cases that users can say, in their words."""
    said = map(as_users_say, seeded_cases(seed, n, features, always=always, max_jobs=max_jobs))
    return [case for case in said if case is not None and finishes(case)]


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
            max_running_gpus=None if p.max_milli is None else p.max_milli / 1000,
            max_gpus_per_user=None if p.max_user_milli is None else p.max_user_milli / 1000,
        )
        for k, p in enumerate(machine.partitions)
    )
    leaves = [(f"leaf {min(hosts)}", hosts) for level, hosts in machine.switches if level == 0]
    above = [
        Switch(f"switch {min(hosts)}", switches=tuple(name for name, some in leaves if some <= hosts))
        for level, hosts in machine.switches
        if level == 1
    ]
    groups = []
    for host in machine.hosts:
        amounts = {"memory_kb" if name == "memory" else name: amount for name, amount in host.amounts if amount}
        has = {"gpus": host.gpus, "gpu": host.kind if host.gpus else ""}
        groups.append(HostGroup(1, host.cores, float(host.cores), amounts, **has))  # type: ignore[arg-type]
    return Platform(
        tuple(groups),
        licences=dict(machine.licences),  # type: ignore[arg-type]
        partitions=() if plain and len(parts) == 1 else parts,
        switches=(*(Switch(name, hosts=cores_text(sorted(hosts))) for name, hosts in leaves), *above),
    )


def _unlimited(partition: Any) -> bool:
    limits = (partition.max_jobs, partition.max_cores, partition.max_user_jobs, partition.max_user_cores)
    return all(limit is None for limit in (*limits, partition.max_milli, partition.max_user_milli))


def workload_of(jobs: Sequence[Job]) -> Workload:
    """The jobs as a log has them."""
    known = [job.run >= 0 for job in jobs]
    rows = [(job.number, job.submit, job.run if job.run >= 0 else 1, job.cores, job.estimate) for job in jobs]
    columns = [*map(int64, zip(*rows, strict=True)), np.arange(1, len(jobs) + 1)]
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
    """The estimator of the jobs of a case."""
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
        backfill=("conservative" if rules.keep else REBUILD) if rules.depth is None else str(rules.depth),
        kill_at_walltime=rules.kill,
        on_failure="requeue" if rules.requeue else "lose",
        decision_cost_ns=rules.cost or None,
        switch_wait_ns=rules.switch_wait,
    )


def constraints_of(case: BatchCase, platform: Platform, workload: Workload) -> JobConstraints:
    """Constraints of the jobs of a case."""
    jobs, machine = tuple(map(in_units, case.jobs)), case.machine
    names, licences = platform.resource_names, platform.licence_names
    asked = Requests(
        names,
        licences,
        int64(job.unit_cores for job in jobs),
        int64([dict(job.needs).get(name, 0) for name in names] for job in jobs).reshape(len(jobs), len(names)),
        int64([dict(job.licences).get(name, 0) for name in licences] for job in jobs).reshape(len(jobs), len(licences)),
        int64(job.limit for job in jobs),
        gpus=_gpu_requests(jobs, platform) if any(job.gpus is not None for job in jobs) else None,
    )
    return JobConstraints(
        partition=int64(job.partition for job in jobs) if platform.partitions else None,
        requests=None if asked.plain else asked,
        dependencies=dependencies(workload) if any(job.after is not None for job in jobs) else None,
        windows=windows([_window(case, k) for k in range(len(machine.windows))], platform) if machine.windows else None,
        outages=_outages(machine),
    )


def _gpu_requests(jobs: Sequence[Job], platform: Platform) -> GpuRequests:
    every = [job.gpus or Gpus(0) for job in jobs]
    kinds = [
        sum(1 << k for k, kind in enumerate(platform.gpu_kinds) if kind in one.kinds or not one.kinds) for one in every
    ]
    return GpuRequests(
        int64(one.n * (one.per == "unit") for one in every),
        int64(one.n * (one.per == "host") for one in every),
        int64(one.milli for one in every),
        int64(kinds),
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


def simulator_of(case: BatchCase, *, by_cores: bool = False, **options: Any) -> BatchSimulator:
    """Return the simulator of a case that users can say (:func:`as_users_say`), with recorded run times by default.

    ``by_cores``: plan with the free cores themselves, also where their number is enough.
    """
    platform, workload = platform_of(case.machine), workload_of(case.jobs)
    policy = POLICIES[case.rules.order if isinstance(case.rules.order, str) else "fcfs"]
    requested = {job.number: cores_text(job.wanted) for job in case.jobs if job.wanted is not None}
    usual: dict[str, Any] = {
        "rules": replace(rules_of(case.rules), estimates=estimates_of(case)),
        "constraints": constraints_of(case, platform, workload),
        "slack": float(case.rules.slack),
        "recorded": True,
        "requested": requested or None,
        "seed": case.rules.seed,
    }
    policy, placed = options.pop("policy", policy), options.pop("allocator", None) or allocator(case.rules.allocator)
    placed = replace(placed, countable=placed.countable and not by_cores)
    simulator = BatchSimulator(workload, platform, policy, placed, **(usual | options))
    if case.rules.corrections != MINUTES:  # of other lengths than the usual ones, so that small cases have some
        put_state(simulator, simulator.state._replace(corrections_ns=int64(case.rules.corrections)))
    return simulator


def finish(simulator: BatchSimulator) -> list[Attempt]:
    """Run a simulator that knows all run times to its end."""
    for _ in range(100_000):
        if simulator.advance(10**9) == BatchStatus.DONE:
            return attempts(simulator.state)
    raise AssertionError("there is no end of it")


def without_compiled_code(module: str, function: str) -> int:
    """Call a function of a module in a Python without compiled kernels, and return its result."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    text = f"import {module}; print({module}.{function}())"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)
