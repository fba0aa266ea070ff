"""Running jobs that release cores, receive hints, or change their width: the engine against the slow reference.

The applications are drawn: what becomes of a job follows from its number and from what it has received.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase, cases
from batch_drives import (
    as_users_say,
    attempts,
    circumstances_of,
    estimates_of,
    platform_of,
    rules_of,
    said_cases,
    simulator_of,
    workload_of,
)
from hypothesis import given, settings
from inside import column
from reference.cluster import Changes, Hints, NeverFinishes, Wishes, run
from reference.machine import Attempt

from bls.constraints.widths import Widths
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

    def __init__(self, simulator: BatchSimulator, becomes: Any, *, wishes: Any = None) -> None:
        self.simulator, self.becomes, self.wishes = simulator, becomes, wishes
        #: What each job has received: hints, or changes of its width.
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
        if self.simulator.resizes:
            return tuple(tuple(cores) for cores in self.simulator.resized(row))
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
        if self.wishes is not None and len(set(simulator.width_range(row))) == 2:
            at, wanted = np.array(self.wishes(origin, start, received) or [(NEVER, 1)]).T
            assert simulator.wish(row, np.ascontiguousarray(at), np.ascontiguousarray(wanted), end)
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


def resizing(case: BatchCase, resize: str) -> BatchSimulator:
    around = circumstances_of(case, platform_of(case.machine), workload_of(case.jobs))
    around = replace(around, widths=Widths(*np.array(widths_of(case)).T))
    rules = replace(rules_of(case.rules), resize=resize)
    return simulator_of(case, rules=rules, circumstances=around, recorded=False)


def shares(
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
    """The numbers of cores that a job requests, and when: at its start, perhaps, then from time to time."""
    job, (least, most) = case.jobs[row], widths_of(case)[row]
    wishes: list[tuple[int, int]] = []
    at = start + job.number % 3
    for place in range(job.number % 5):
        wishes.append((at, least + (job.number * 17 + place * 29) % (most - least + 1)))
        told = sum(told_at <= at for told_at, _, _ in changes)
        at += 1 + (job.number * 7 + place * 11 + 5 * told) % max(1, job.run // 2)
    return tuple(wishes)


def expected_widths(case: BatchCase, resize: str, gives_back: bool) -> tuple[list[Attempt], list[Any]] | None:
    """The slow reference's answer, and the changes of each attempt; None where a job waits for ever."""
    told: dict[tuple[int, int], Changes] = {}

    def of(row: int, start: int, first: tuple[int, ...], changes: Changes, _: Hints) -> tuple[int, Mapping[int, int]]:
        told[row, start] = changes
        end, until = shares(case, row, start, first, changes, gives_back)
        return end, {core: at for core, at in until.items() if at < NEVER}

    wishes = (lambda row, start, _, changes: wishes_of(case, row, start, changes)) if resize == "evolve" else None
    try:
        found = run(
            *(case.jobs, case.machine, case.rules), resized=of, widths=widths_of(case), resize=resize, wishes_of=wishes
        )
    except NeverFinishes:
        return None
    rows = {job.number: row for row, job in enumerate(case.jobs)}
    return found, [told.get((rows[one.number], one.start), ()) for one in found]


def driven_widths(case: BatchCase, resize: str, gives_back: bool) -> tuple[list[Attempt], list[Any]]:
    """The engine's answer in the same form: the cores of an attempt are all that it ever had."""
    wishes = (lambda *of: wishes_of(case, *of)) if resize == "evolve" else None
    driven = Driven(resizing(case, resize), lambda *of: shares(case, *of, gives_back), wishes=wishes)
    found, simulator = driven.finish(), driven.simulator
    first, lo, hi = simulator.allocations()
    held = {}
    for row in range(simulator.rows):
        cores = tuple(core for k in range(first[row], first[row + 1]) for core in range(int(lo[k]), int(hi[k])))
        held[int(simulator.job_number(row)), int(column(simulator.state, "jobs.attempt")[row])] = row, cores
    rows = [held[one.number, one.attempt] for one in found]
    answer = [replace(one, cores=cores) for one, (_, cores) in zip(found, rows, strict=True)]
    return answer, [driven.received.get(row, ()) for row, _ in rows]


@pytest.mark.parametrize("gives_back", [False, True])
@pytest.mark.parametrize("resize", RESIZE)
@settings(max_examples=60)
@given(case=cases(RESIZED).filter(able))
def test_jobs_whose_width_changes(resize: str, gives_back: bool, case: BatchCase) -> None:
    said = as_users_say(case)
    there = None if said is None else any(least < most for least, most in widths_of(said))
    expected = expected_widths(said, resize, gives_back) if said is not None and there else None
    if said is not None and expected is not None:
        assert driven_widths(said, resize, gives_back) == expected


def test_moldable_jobs() -> None:
    """Jobs share their work among the cores with which they start."""
    others = deep = 0
    for case in able_cases(11, 120, FEATURES):
        alike = len(case.machine.partitions) == 1 and case.machine.partitions[0].hosts is None
        if not alike or all(least == most for least, most in widths_of(case)):
            continue

        def end_of(row: int, start: int, cores: Sequence[int], case: BatchCase = case) -> int:
            return start + -(-case.jobs[row].run * case.jobs[row].cores // len(cores))

        def becomes(row: int, start: int, cores: list[int], _: Any, end_of: Any = end_of) -> tuple[int, dict[int, int]]:
            return end_of(row, start, cores), {}

        try:
            expected = run(case.jobs, case.machine, case.rules, end_of, widths=widths_of(case), resize="mold")
        except NeverFinishes:
            continue
        assert Driven(resizing(case, "mold"), becomes).finish() == expected
        asked = {job.number: job.cores for job in case.jobs}
        changed = sum(one.start >= 0 and len(one.cores) != asked[one.number] for one in expected)
        others, deep = others + changed, deep + changed * (case.rules.depth not in (0, 1))
    assert others > 12
    assert deep > 12
