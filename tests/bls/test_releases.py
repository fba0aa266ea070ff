"""Running jobs that release cores before their end: the batch level, against the slow reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase, finishes, seeded_cases
from batch_drives import as_users_say, attempts, estimates_of, rules_of, simulator_of
from reference.cluster import NeverFinishes, run
from reference.machine import Attempt, Job

from bls.engine import state as b
from bls.engine.status import BatchStatus
from bls.policies import ScorePolicy, account_kernel, score_kernel
from bls.simulator import BatchSimulator
from bls.view import View

NEVER = 2**63 - 1

#: What a case may have where cores are released one by one, and what it must not have.
BY_CORE = (
    "orders",
    "allocators",
    "given",
    "licences",
    "switches",
    "kill",
    "cancel",
    "dependencies",
    "partitions",
    "limits",
)
BY_CORE += ("reservations", "maintenance", "outages", "presets", "estimates")
BY_HOST = (*BY_CORE, "units", "resources")


def instants(job: Job, attempt_start: int, cores: tuple[int, ...]) -> dict[int, int]:
    """When a job needs each of its cores no more: drawn by its number and the place of the core; the first to the end."""
    found = {}
    for place, core in enumerate(cores):
        share = (job.number * 2654435761 + place * 40503) % 97 / 80  # every sixth to the end and beyond
        found[core] = attempt_start + (int(job.run * share) if place else job.run + 1)
    return found


def natural_end(case: BatchCase) -> Any:
    """A job runs for its run time."""
    return lambda row, start, cores: start + case.jobs[row].run


def told(case: BatchCase, *, by_host: bool) -> list[Attempt] | None:
    """What the slow reference says; None where some job waits for ever."""

    def releases_of(row: int, start: int, cores: tuple[int, ...]) -> Mapping[int, int]:
        return instants(case.jobs[row], start, cores)

    try:
        return run(case.jobs, case.machine, case.rules, natural_end(case), releases_of, by_host)
    except NeverFinishes:
        return None


def simulated(
    case: BatchCase, *, by_host: bool, policy: Any = None, made: list[BatchSimulator] | None = None
) -> list[Attempt]:
    """What the engine says."""
    coordination = "release:host" if by_host else "release"
    rules = replace(rules_of(case.rules), estimates=estimates_of(case), coordination=coordination)
    options = {} if policy is None else {"policy": policy}
    simulator = simulator_of(case, rules=rules, recorded=False, **options)
    if made is not None:
        made.append(simulator)
    for _ in range(100_000):
        status = simulator.advance(10**9)
        simulator.validate()
        if status == BatchStatus.DONE:
            return attempts(simulator.state)
        for row in simulator.started():
            answer(case, simulator, row)
    raise AssertionError("there is no end of it")


def answer(case: BatchCase, simulator: BatchSimulator, row: int) -> None:
    """Tell what becomes of a job that has started, as a coupling does."""
    origin, start = int(simulator.state.jobs[b.ORIGIN, row]), int(simulator.state.jobs[b.START, row])
    job = case.jobs[origin]
    cores = np.concatenate([np.arange(lo, hi) for lo, hi in simulator.allocation(row)])[: job.cores]
    known = instants(job, start, tuple(cores.tolist()))
    own = start + job.run
    while True:
        stop = simulator.stop_ns(row)
        stopped = stop is not None and own > stop
        end = stop if stopped and stop is not None else own
        released = np.array([known[core] if known[core] <= end else NEVER for core in cores.tolist()])
        if not (stopped and simulator.put_off_stop(row, cores, released)):
            break
    assert simulator.release(row, cores, released, end)
    assert simulator.outcome(row, end, stopped=stopped)


def able(case: BatchCase, *, by_host: bool) -> bool:
    """Whether a case can be had so: a core alone is nothing to jobs that hold whole hosts, units or amounts."""
    whole = case.rules.allocator == "whole-host"
    units = any(job.unit_cores > 1 or job.needs for job in case.jobs)
    return case.rules.cost == 0 and all(job.run >= 0 for job in case.jobs) and (by_host or not (whole or units))


@pytest.mark.parametrize("by_host", [False, True])
@pytest.mark.parametrize("feature", ["nothing", *BY_HOST])
def test_each_feature_as_the_slow_reference(feature: str, by_host: bool) -> None:
    features = (
        () if feature == "nothing" else (feature, "orders", "allocators") if feature in BY_HOST[:2] else (feature,)
    )
    seen = 0
    for case in seeded_cases(21, 12, features):
        said = as_users_say(case)
        if said is None or not finishes(said) or not able(said, by_host=by_host):
            continue
        expected = told(said, by_host=by_host)
        if expected is not None:
            seen += 1
            assert simulated(said, by_host=by_host) == expected, said
    assert seen >= (0 if not by_host and feature in ("units", "resources") else 2)


class Places:
    """First come, first served, on the first free cores, which it names: from what it sees of the machine."""

    name = "places"

    def decide(self, view: View) -> list[Any]:
        free = np.flatnonzero(view.is_free).tolist()
        assert view.free_by_host.sum() == len(free) == view.free_cores
        chosen = []
        for job in sorted(view.waiting, key=lambda job: (job.submit_ns, job.row)):
            if job.cores > len(free):
                break
            chosen.append((job, free[: job.cores]))
            free = free[job.cores :]
        return chosen


def test_a_policy_in_python_sees_and_names_what_was_released() -> None:
    for case in seeded_cases(22, 15, ("outages", "kill", "dependencies")):
        said = as_users_say(case)
        if said is None or not able(said, by_host=False):
            continue
        said = replace(said, rules=replace(said.rules, order="fcfs", depth=0, keep=False, allocator="first-fit"))
        expected = told(said, by_host=False)
        if expected is not None:
            found = simulated(said, by_host=False, policy=Places())
            assert [replace(one, why="head") for one in found] == [replace(one, why="head") for one in expected], said


@account_kernel
def _sums(now_ns, row, cores, change, numbers, memory):  # type: ignore[no-untyped-def]
    memory[0] += change * cores * now_ns
    memory[1] += change * cores
    return 0


@score_kernel
def _in_order(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key):  # type: ignore[no-untyped-def]
    for k in range(n_waiting):
        key[k] = waiting[k]
    return 0


def test_a_policy_that_keeps_accounts_is_told_what_was_released() -> None:
    """So fair-share charges a user for what was held, and for no longer."""
    for case in seeded_cases(23, 10, ("kill",)):
        said = as_users_say(case)
        if said is None or not able(said, by_host=False):
            continue
        policy = ScorePolicy("sums", _in_order, _sums, lambda jobs: (np.empty((0, len(jobs.job_id))), np.zeros(2)))
        simulator: list[BatchSimulator] = []
        simulated(said, by_host=False, policy=policy, made=simulator)
        run_ = simulator[0]
        jobs, (row, _, at) = run_.state.jobs, run_.release_columns()
        held = sum(
            int(jobs[b.CORES, r]) * int(jobs[b.END, r] - jobs[b.START, r])
            for r in range(run_.rows)
            if jobs[b.START, r] >= 0
        )
        held -= int(np.sum(jobs[b.END, row] - at))
        assert run_.state.memory.tolist() == [-held, 0]


def test_a_view_shows_what_a_running_job_has_left() -> None:
    seen = 0

    class Looks(Places):
        def decide(self, view: View) -> list[Any]:
            nonlocal seen
            held = [core for job in view.running for lo, hi in view.allocation(job) for core in range(lo, hi)]
            assert len(held) == len(set(held)) == view.n_cores - view.free_cores
            seen += sum(job.cores for job in view.running) > len(held)
            return super().decide(view)

    for case in seeded_cases(24, 10, ()):
        said = as_users_say(case)
        if said is not None and able(said, by_host=False):
            rules = replace(said.rules, order="fcfs", depth=0, keep=False, allocator="first-fit")
            simulated(replace(said, rules=rules), by_host=False, policy=Looks())
    assert seen > 4
