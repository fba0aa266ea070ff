"""Running jobs that release cores or receive hints: the engine against the slow reference.

The applications are drawn: what becomes of a job follows from its number and from what it has received.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase
from batch_drives import (
    attempts,
    estimates_of,
    rules_of,
    said_cases,
    simulator_of,
)
from inside import column
from reference.cluster import Hints, NeverFinishes, run
from reference.machine import Attempt

from bls.engine.status import BatchStatus
from bls.policies import POLICIES, ScorePolicy, account_kernel, score_kernel
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.view import View
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

NEVER = 2**62

#: Features that every kind of running job meets, further ones of jobs that release cores, and of jobs that change width.
FEATURES = ("orders", "kill", "cancel", "dependencies", "partitions", "limits", "outages")
RELEASING = (*FEATURES, "estimates", "licences", "reservations", "maintenance", "presets")
RESIZED = (*FEATURES, "resources", "licences", "reservations", "maintenance")


def able(case: BatchCase) -> bool:
    return case.rules.cost == 0 and not case.rules.promises and all(job.run >= 0 for job in case.jobs)


def able_cases(seed: int, n: int, features: tuple[str, ...]) -> list[BatchCase]:
    return [case for case in said_cases(seed, n, features, max_jobs=14) if able(case)]


class Driven:
    """The engine, which receives the outcomes of jobs as from a coupling."""

    def __init__(self, simulator: BatchSimulator, becomes: Any) -> None:
        self.simulator, self.becomes = simulator, becomes
        #: The hints that each job has received.
        self.received: dict[int, tuple[Any, ...]] = {}

    def finish(self) -> list[Attempt]:
        for _ in range(100_000):
            status = self.simulator.advance(10**9)
            self.simulator.validate()
            if status == BatchStatus.DONE:
                return attempts(self.simulator.state)
            for row in self.simulator.reached():
                self.received[row] = (*self.received.get(row, ()), (self.simulator.now_ns, *self.news_of(row)))
                assert self.simulator.take_back(row)
                self.answer(row)
            for row in self.simulator.started():
                self.answer(row)
        raise AssertionError("there is no end of it")

    def news_of(self, row: int) -> tuple[Any, ...]:
        cores = np.array(self.cores(row))
        return (frozenset(cores[self.simulator.wanted(row, cores)].tolist()),)

    def cores(self, row: int) -> list[int]:
        return [core for lo, hi in self.simulator.allocation(row) for core in range(lo, hi)]

    def answer(self, row: int) -> None:
        simulator, received = self.simulator, self.received.get(row, ())
        origin, start = simulator.origin(row), simulator.start_ns(row)
        own, until = self.becomes(origin, start, self.cores(row), received)
        cores = np.array(sorted(until), np.int64)
        while True:
            stop = simulator.stop_ns(row)
            stopped = stop is not None and own > stop
            end = stop if stopped and stop is not None else own
            released = np.array([until[core] if until[core] <= end else NEVER for core in cores.tolist()])
            if not (until and stopped and simulator.put_off_stop(row, cores, released)):
                break
        assert not until or simulator.release(row, cores, released, end)
        assert simulator.outcome(row, end, stopped=stopped)


def releases(case: BatchCase, row: int, start: int, cores: Sequence[int], hints: Hints) -> tuple[int, dict[int, int]]:
    """A job that receives hints runs on, and releases a core that is wanted sooner, another later; by its number.

    What has happened by the instant of a hint is as it was without.
    """
    job = case.jobs[row]
    end = start + job.run
    until = {
        core: start + job.run * ((job.number * 7919 + place * 40503) % 97) // 80 for place, core in enumerate(cores)
    }
    until[cores[0]] = end + 1
    for at, wanted in hints:
        for core in cores:
            if until[core] > at and core != cores[0]:
                until[core] = at + 1 + (until[core] - at - 1) // 3 if core in wanted else until[core] + (end - at) // 4
        if end > at + 1 and wanted:
            end += (end - at) // 5
            until[cores[0]] = end + 1
    return end, {core: at if at < end else NEVER for core, at in until.items()}


def expected_releases(case: BatchCase, coordination: str) -> list[Attempt] | None:
    def hinted(row: int, start: int, cores: tuple[int, ...], hints: Hints) -> tuple[int, Mapping[int, int]]:
        return releases(case, row, start, cores, hints)

    by_host = coordination.endswith(":host")
    try:
        if coordination.startswith("hint"):
            return run(case.jobs, case.machine, case.rules, by_host=by_host, told=hinted)
        return run(
            *(case.jobs, case.machine, case.rules),
            lambda *of: releases(case, *of, ())[0],
            lambda *of: releases(case, *of, ())[1],
            by_host,
        )
    except NeverFinishes:
        return None


def releasing(case: BatchCase, coordination: str = "release", **options: Any) -> Driven:
    rules = replace(rules_of(case.rules), estimates=estimates_of(case), coordination=coordination)
    simulator = simulator_of(case, rules=rules, recorded=False, **options)
    return Driven(simulator, lambda *of: releases(case, *of))


@pytest.mark.parametrize("coordination", ["release", "release:host", "hint", "hint:host"])
def test_jobs_that_release_cores(coordination: str) -> None:
    met = hinted = 0
    features = (*FEATURES, "estimates") if coordination.startswith("hint") else RELEASING
    for case in able_cases(7, 70, features):
        expected = expected_releases(case, coordination)
        if expected is not None:
            driven = releasing(case, coordination)
            assert driven.finish() == expected
            met, hinted = met + 1, hinted + len(driven.received)
    assert met > 15
    assert hinted > 40 or coordination.startswith("release")


def test_hints_that_cannot_be() -> None:
    with pytest.raises(InputError, match="its queue has no head"):
        Rules(coordination="hint").check(POLICIES["reject"])
    with pytest.raises(InputError, match="--estimates application"):
        Rules(coordination="hint", estimates="application").check(POLICIES["fcfs"])


class Places:
    """First come, first served, on the first free cores, which it names: from what it sees of the machine."""

    name = "places"
    seen = 0

    def decide(self, view: View) -> list[Any]:
        held = [core for job in view.running for lo, hi in view.allocation(job) for core in range(lo, hi)]
        assert len(held) == len(set(held)) == view.n_cores - view.free_cores - self.down(view)
        Places.seen += sum(job.cores for job in view.running) > len(held)
        free = np.flatnonzero(view.is_free).tolist()
        assert view.free_by_host.sum() == len(free) == view.free_cores
        chosen = []
        for job in sorted(view.waiting, key=lambda job: job.origin):
            if job.cores > len(free):
                break
            chosen.append((job, free[: job.cores]))
            free = free[job.cores :]
        return chosen

    def down(self, view: View) -> int:
        return sum(view.hosts[host].n_cores for host in view.down)


def test_a_policy_in_python_sees_and_names_what_was_released() -> None:
    Places.seen = 0
    for case in able_cases(22, 20, ("outages", "kill", "dependencies")):
        fcfs = replace(case.rules, order="fcfs", depth=0, keep=False, allocator="first-fit")
        plain = replace(case, rules=fcfs)
        expected = expected_releases(plain, "release")
        if expected is not None:
            found = releasing(plain, policy=Places()).finish()
            assert [replace(one, why="head") for one in found] == [replace(one, why="head") for one in expected], plain
    assert Places.seen > 4


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
    policy = ScorePolicy("sums", _in_order, _sums, lambda jobs: (np.empty((0, len(jobs.job_id))), np.zeros(2)))
    drawn = able_cases(23, 10, ("kill",))
    assert len(drawn) > 3
    for case in drawn:
        driven = releasing(case, policy=policy)
        driven.finish()
        simulator = driven.simulator
        start, end, cores = (column(simulator.state, f"jobs.{name}") for name in ("start_ns", "end_ns", "cores"))
        row, _, at = simulator.release_columns()
        started = [r for r in range(simulator.rows) if start[r] >= 0]
        held = sum(int(cores[r]) * int(end[r] - start[r]) for r in started) - int(np.sum(end[row] - at))
        assert simulator.state.memory.tolist() == [-held, 0]
