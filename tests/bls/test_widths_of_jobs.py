"""Running jobs that are given cores, or asked for some: the batch engine against the slow reference, with drawn jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase, cases, seeded_cases
from batch_drives import as_users_say, attempts, circumstances_of, platform_of, rules_of, simulator_of, workload_of
from hypothesis import given, settings
from reference.cluster import Changes, Hints, NeverFinishes, Wishes, run
from reference.machine import Attempt

from bls.constraints.widths import Widths
from bls.engine import state as b
from bls.engine.status import BatchStatus

NEVER = 2**62

#: What a case may have beside plain jobs.
FEATURES = ("orders", "kill", "cancel", "dependencies", "partitions", "limits", "outages")

#: And what they may ask for, or are kept from, beside cores.
MORE = ("resources", "licences", "reservations", "maintenance")

RESIZE = ("expand", "shrink", "expand+shrink", "equal", "evolve")


def widths_of(case: BatchCase) -> list[tuple[int, int]]:
    """Between which numbers of cores the width of each job may change; by its number."""
    found = []
    for job in case.jobs:
        most = case.machine.partitions[job.partition].hosts
        hosts = range(len(case.machine.hosts)) if most is None else sorted(most)
        room = sum(case.machine.hosts[host].cores for host in hosts)
        draw = job.number * 7919 % 101
        least, most_cores = max(1, job.cores - draw % 4), min(room, job.cores + draw // 4 % 5)
        found.append((job.cores, job.cores) if draw % 5 == 0 else (least, most_cores))
    return found


def becomes(
    case: BatchCase, row: int, start: int, first: Sequence[int], changes: Changes, gives_back: bool
) -> tuple[int, dict[int, int]]:
    """A job whose work is shared among its cores: as many as stay do it, and one that it is asked for goes a while later.

    Returns its end, and until when it holds each core that it has, or had and gave back: the latest time that it had it.
    """
    job = case.jobs[row]
    work, now, stay = job.run * len(first), start, set(first)
    until = dict.fromkeys(first, NEVER)

    def idle(end: int) -> dict[int, int]:
        # Those that fall idle before the end, if nothing changes any more.
        if not gives_back:
            return {}
        least = sorted(stay - {first[0]})
        return {
            core: max(now + 1, end - (job.number * 13 + place * 7) % max(1, end - now))
            for place, core in enumerate(least)
            if (job.number + place) % 3 == 0
        }

    end = now + -(-work // len(stay))
    until |= idle(end)
    for at, came, asked in changes:
        work -= min(work, (at - now) * len(stay))
        stay = {core for core in stay if until[core] > at} - set(asked)
        now = at
        until |= {core: at + 1 + (job.number * 31 + core * 17) % max(1, job.run // 2) for core in asked}
        stay |= set(came)
        until |= dict.fromkeys(stay, NEVER)
        end = now + -(-work // len(stay))
        until |= idle(end)
    return end, until


def wishes_of(case: BatchCase, row: int, start: int, changes: Changes) -> Wishes:
    """For how many cores a job wishes, and when: at its start, perhaps, then from time to time; when depends on what it is
    told."""
    job, (least, most) = case.jobs[row], widths_of(case)[row]
    wishes: list[tuple[int, int]] = []
    at = start + job.number % 3
    for place in range(job.number % 5):
        wishes.append((at, least + (job.number * 17 + place * 29) % (most - least + 1)))
        told = sum(told_at <= at for told_at, _, _ in changes)
        at += 1 + (job.number * 7 + place * 11 + 5 * told) % max(1, job.run // 2)
    return tuple(wishes)


def expected(case: BatchCase, resize: str, gives_back: bool) -> tuple[list[Attempt], list[Any]] | None:
    """What the slow reference says, and what it told its jobs; None where some job waits for ever."""
    told: dict[tuple[int, int], Changes] = {}

    def of(row: int, start: int, first: tuple[int, ...], changes: Changes, _: Hints) -> tuple[int, Mapping[int, int]]:
        told[row, start] = changes
        end, until = becomes(case, row, start, first, changes, gives_back)
        return end, {core: at for core, at in until.items() if at < NEVER}

    try:
        found = run(
            case.jobs,
            case.machine,
            case.rules,
            resized=of,
            widths=widths_of(case),
            resize=resize,
            wishes_of=(lambda row, start, _, changes: wishes_of(case, row, start, changes))
            if resize == "evolve"
            else None,
        )
    except NeverFinishes:
        return None
    rows = {job.number: row for row, job in enumerate(case.jobs)}
    return found, [told.get((rows[one.number], one.start), ()) for one in found]


class Driven:
    """The engine, told what becomes of jobs as a coupling tells it."""

    def __init__(self, case: BatchCase, resize: str, gives_back: bool) -> None:
        rules = replace(rules_of(case.rules), resize=resize)
        around = circumstances_of(case, platform_of(case.machine), workload_of(case.jobs))
        least, most = np.array(widths_of(case)).T
        around = replace(around, widths=Widths(least, most))
        self.case, self.gives_back = case, gives_back
        self.simulator = simulator_of(case, rules=rules, circumstances=around, recorded=False)
        self.changes: dict[int, Changes] = {}

    def finish(self) -> tuple[list[Attempt], list[Any]]:
        for _ in range(100_000):
            status = self.simulator.advance(10**9)
            self.simulator.validate()
            if status == BatchStatus.DONE:
                return self.found()
            for row in self.simulator.reached():
                came, asked = (tuple(cores) for cores in self.simulator.resized(row))
                self.changes[row] = (*self.changes.get(row, ()), (self.simulator.now_ns, came, asked))
                assert self.simulator.take_back(row)
                self.answer(row)
            for row in self.simulator.started():
                self.answer(row)
        raise AssertionError("there is no end of it")

    def found(self) -> tuple[list[Attempt], list[Any]]:
        simulator = self.simulator
        first, lo, hi = simulator.allocations()
        held = {}
        for row in range(simulator.rows):
            cores = [np.arange(lo[k], hi[k]) for k in range(first[row], first[row + 1])]
            held[int(simulator.job_number(row)), int(simulator.state.jobs[b.ATTEMPT, row])] = (
                row,
                tuple(np.concatenate(cores).tolist()) if cores else (),
            )
        rows = [
            (replace(one, cores=held[one.number, one.attempt][1]), held[one.number, one.attempt][0])
            for one in attempts(simulator.state)
        ]
        return [one for one, _ in rows], [self.changes.get(row, ()) for _, row in rows]

    def answer(self, row: int) -> None:
        simulator = self.simulator
        first = [core for lo, hi in simulator.allocation(row) for core in range(lo, hi)]
        origin, start = simulator.origin(row), simulator.start_ns(row)
        own, until = becomes(self.case, origin, start, first, self.changes.get(row, ()), self.gives_back)
        cores = np.array(sorted(until))
        while True:
            stop = simulator.stop_ns(row)
            stopped = stop is not None and own > stop
            end = stop if stopped and stop is not None else own
            released = np.array([until[core] if until[core] <= end else NEVER for core in cores.tolist()])
            if not (stopped and simulator.put_off_stop(row, cores, released)):
                break
        if simulator.evolves and len(set(simulator.width_range(row))) == 2:
            wishes = wishes_of(self.case, origin, start, self.changes.get(row, ()))
            at, wanted = np.array(wishes or [(NEVER, 1)]).T
            assert simulator.wish(row, np.ascontiguousarray(at), np.ascontiguousarray(wanted), end)
        assert simulator.release(row, cores, released, end)
        assert simulator.outcome(row, end, stopped=stopped)


def able(case: BatchCase) -> bool:
    """Whether a case can be had so."""
    return case.rules.cost == 0 and not case.rules.promises and all(job.run >= 0 for job in case.jobs)


@pytest.mark.parametrize("gives_back", [False, True])
@pytest.mark.parametrize("resize", RESIZE)
@settings(max_examples=60)
@given(case=cases((*FEATURES, *MORE)).filter(able))
def test_as_the_slow_reference(resize: str, gives_back: bool, case: BatchCase) -> None:
    said = as_users_say(case)
    there = None if said is None else any(least < most for least, most in widths_of(said))
    wanted = expected(said, resize, gives_back) if said is not None and there else None
    if said is not None and wanted is not None:
        assert Driven(said, resize, gives_back).finish() == wanted


def molded(case: BatchCase) -> list[Attempt]:
    """What the engine says of jobs that share their work among the cores that they start with."""
    around = circumstances_of(case, platform_of(case.machine), workload_of(case.jobs))
    least, most = np.array(widths_of(case)).T
    simulator = simulator_of(
        case,
        rules=replace(rules_of(case.rules), resize="mold"),
        circumstances=replace(around, widths=Widths(least, most)),
        recorded=False,
    )
    for _ in range(100_000):
        status = simulator.advance(10**9)
        simulator.validate()
        if status == BatchStatus.DONE:
            return attempts(simulator.state)
        for row in simulator.started():
            cores = tuple(core for lo, hi in simulator.allocation(row) for core in range(lo, hi))
            own = shared(case, simulator.origin(row), simulator.start_ns(row), cores)
            stop = simulator.stop_ns(row)
            stopped = stop is not None and own > stop
            assert simulator.outcome(row, stop if stopped and stop is not None else own, stopped=stopped)
    raise AssertionError("there is no end of it")


def shared(case: BatchCase, row: int, start: int, cores: tuple[int, ...]) -> int:
    """When a job ends on these cores."""
    return start + -(-case.jobs[row].run * case.jobs[row].cores // len(cores))


def test_moldable_jobs_as_the_slow_reference() -> None:
    others = deep = 0
    for drawn in seeded_cases(11, 120, FEATURES, max_jobs=14):
        case = as_users_say(drawn)
        if case is None or not able(case):
            continue
        alike = len(case.machine.partitions) == 1 and case.machine.partitions[0].hosts is None
        if not alike or all(least == most for least, most in widths_of(case)):
            continue

        def end_of(row: int, start: int, cores: tuple[int, ...], case: BatchCase = case) -> int:
            return shared(case, row, start, cores)

        try:
            wanted = run(case.jobs, case.machine, case.rules, end_of, widths=widths_of(case), resize="mold")
        except NeverFinishes:
            continue
        assert molded(case) == wanted
        asked = {job.number: job.cores for job in case.jobs}
        changed = sum(one.start >= 0 and len(one.cores) != asked[one.number] for one in wanted)
        others, deep = others + changed, deep + changed * (case.rules.depth not in (0, 1))
    assert others > 12
    assert deep > 12
