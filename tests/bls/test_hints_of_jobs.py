"""What running jobs are told of the head of the queue: the batch engine against the slow reference, with drawn applications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from batch_cases import BatchCase, seeded_cases
from batch_drives import as_users_say, attempts, estimates_of, rules_of, simulator_of
from reference.cluster import Hints, NeverFinishes, run
from reference.machine import Attempt

from bls import Rules
from bls.engine import state as b
from bls.engine.status import BatchStatus
from bls.policies import POLICIES
from traces.base.errors import InputError
from traces.compiled import Array

NEVER = 2**62

#: What a case may have beside plain jobs: nothing that a core alone is nothing to.
FEATURES = ("orders", "kill", "cancel", "dependencies", "partitions", "limits", "outages", "estimates")


def becomes(case: BatchCase, row: int, start: int, cores: tuple[int, ...], hints: Hints) -> tuple[int, dict[int, int]]:
    """A job that is told something runs on, and releases a core that is wanted sooner, another later; by its number.

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


def told(case: BatchCase, *, by_host: bool) -> list[Attempt] | None:
    """What the slow reference says; None where some job waits for ever."""

    def of(row: int, start: int, cores: tuple[int, ...], hints: Hints) -> tuple[int, Mapping[int, int]]:
        return becomes(case, row, start, cores, hints)

    try:
        return run(case.jobs, case.machine, case.rules, by_host=by_host, told=of)
    except NeverFinishes:
        return None


class Driven:
    """The engine, told what becomes of jobs as a coupling tells it."""

    def __init__(self, case: BatchCase, *, by_host: bool) -> None:
        coordination = "hint:host" if by_host else "hint"
        rules = replace(rules_of(case.rules), estimates=estimates_of(case), coordination=coordination)
        self.case, self.simulator = case, simulator_of(case, rules=rules, recorded=False)
        self.hints: dict[int, Hints] = {}

    def cores(self, row: int) -> Array:
        number = self.case.jobs[int(self.simulator.state.jobs[b.ORIGIN, row])].cores
        return np.concatenate([np.arange(lo, hi) for lo, hi in self.simulator.allocation(row)])[:number]

    def finish(self) -> list[Attempt]:
        for _ in range(100_000):
            status = self.simulator.advance(10**9)
            self.simulator.validate()
            if status == BatchStatus.DONE:
                return attempts(self.simulator.state)
            for row in self.simulator.reached():
                cores = self.cores(row)
                wanted = frozenset(cores[self.simulator.wanted(row, cores)].tolist())
                self.hints[row] = (*self.hints.get(row, ()), (self.simulator.now_ns, wanted))
                assert self.simulator.take_back(row)
                self.answer(row)
            for row in self.simulator.started():
                self.answer(row)
        raise AssertionError("there is no end of it")

    def answer(self, row: int) -> None:
        simulator, cores = self.simulator, self.cores(row)
        origin, start = int(simulator.state.jobs[b.ORIGIN, row]), int(simulator.state.jobs[b.START, row])
        own, until = becomes(self.case, origin, start, tuple(cores.tolist()), self.hints.get(row, ()))
        while True:
            stop = simulator.stop_ns(row)
            stopped = stop is not None and own > stop
            end = stop if stopped and stop is not None else own
            released = np.array([until[core] if until[core] <= end else NEVER for core in cores.tolist()])
            if not (stopped and simulator.put_off_stop(row, cores, released)):
                break
        assert simulator.release(row, cores, released, end)
        assert simulator.outcome(row, end, stopped=stopped)


def able(case: BatchCase) -> bool:
    """Whether a case can be had so."""
    return case.rules.cost == 0 and not case.rules.promises and all(job.run >= 0 for job in case.jobs)


@pytest.mark.parametrize("by_host", [False, True])
def test_many_as_the_slow_reference(by_host: bool) -> None:
    hinted = 0
    for drawn in seeded_cases(7, 90, FEATURES, max_jobs=14):
        case = as_users_say(drawn)
        expected = told(case, by_host=by_host) if case is not None and able(case) else None
        if case is not None and expected is not None:
            driven = Driven(case, by_host=by_host)
            assert driven.finish() == expected
            hinted += len(driven.hints)
    assert hinted > 60


def test_hints_that_cannot_be() -> None:
    with pytest.raises(InputError, match="its queue has no head"):
        Rules(coordination="hint").check(POLICIES["reject"])
    with pytest.raises(InputError, match="--estimates application"):
        Rules(coordination="hint", estimates="application").check(POLICIES["fcfs"])
