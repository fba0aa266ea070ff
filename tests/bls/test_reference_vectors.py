"""The slow reference of the batch level itself: published schedules, textbook EASY, and what always holds.

``schedules/lives_of_jobs.toml`` has what becomes of jobs that are killed, withdrawn, cut or held back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from batch_cases import FEATURES, BatchCase, cases, expected, seeded_cases
from hypothesis import given, settings
from reference import batch, easy, invariants
from reference.cluster import NeverFinishes, run
from reference.machine import Host, Job, Machine, Rules
from tables import table_rows

FCFS, EASY, REBUILD = Rules(), Rules(depth=1), Rules(depth=None)
KEEP = replace(REBUILD, keep=True)


def jobs_of(*rows: tuple[int, ...]) -> list[Job]:
    """Jobs of (submit, cores, estimate, run), numbered from 1."""
    return [Job(number, q, p, n, r) for number, (q, n, r, p) in enumerate(rows, 1)]


def machine_of(*sizes: int, **more: object) -> Machine:
    return replace(Machine(tuple(Host(cores) for cores in sizes)), **more)  # type: ignore[arg-type]


def starts(jobs: list[Job], machine: Machine, rules: Rules) -> list[int]:
    return [one.start for one in run(jobs, machine, rules)]


# ---- backfilling ----

#: Cores, jobs, starts by fcfs, easy, conservative keep, conservative rebuild where that differs; [] is not known.
VECTORS = [
    (n_cores, rows, fcfs or None, by_easy or None, keep, rebuild)
    for n_cores, rows, fcfs, by_easy, keep, rebuild in table_rows(__file__, "vectors")
]


@pytest.mark.parametrize("scale", [1, 10**9])
@pytest.mark.parametrize("vector", range(len(VECTORS)))
def test_reference_vectors(vector: int, scale: int) -> None:
    n_cores, rows, fcfs, by_easy, keep, rebuild = VECTORS[vector]
    jobs = jobs_of(*((q * scale, n, r * scale, p * scale) for q, n, r, p in rows))
    for rules, answer in ((FCFS, fcfs), (EASY, by_easy), (KEEP, keep), (REBUILD, rebuild or keep)):
        if answer is not None:
            for counts in (True, False):
                found = starts(jobs, machine_of(n_cores), replace(rules, counts=counts))
                assert [start // scale for start in found] == answer


def test_the_old_call_of_one_kind_of_cores() -> None:
    jobs = jobs_of(*VECTORS[0][1])
    placed = batch.simulate(jobs, 4, "fcfs", 2.0, lambda row, start, cores: start + jobs[row].run, depth=1)
    assert [(one.start, one.end, one.cores) for one in placed] == [
        (0, 10, (0, 1, 2)),
        (10, 15, (0, 1, 2, 3)),
        (2, 10, (3,)),
        (15, 24, (0,)),
    ]
    assert batch.key(jobs[0], "edf", 0.5) == 5


def test_why_a_job_started() -> None:
    jobs = jobs_of(*VECTORS[0][1])
    assert [one.why for one in run(jobs, machine_of(4), EASY)] == ["head", "reserved", "backfill", "reserved"]
    assert [one.why for one in run(jobs, machine_of(4), FCFS)] == ["head"] * 4


@pytest.mark.parametrize(("depth", "answer"), [(0, 12), (1, 0), (2, 12), (None, 12)])
def test_the_depth_says_how_many_are_protected(depth: int | None, answer: int) -> None:
    # The last job, beside the first until 11, delays the third (4 cores at 10) and not the second (2 cores at 5).
    jobs = jobs_of((0, 3, 5, 5), (0, 2, 5, 5), (0, 4, 2, 2), (0, 1, 11, 11))
    assert starts(jobs, machine_of(4), Rules(depth=depth))[3] == answer


def test_an_overdue_job_is_expected_to_end_at_the_next_instant() -> None:
    # At 6 job 1 is overdue: the head is expected to start at 7, so that job 3 may not run beyond.
    jobs = jobs_of((0, 3, 5, 9), (1, 4, 5, 5), (6, 1, 2, 2), (6, 1, 1, 1))
    assert starts(jobs, machine_of(4), EASY) == [0, 9, 14, 6]


def test_keep_wakes_at_a_slot_and_finds_the_plan_broken() -> None:
    # Nothing ends at 5. The pass at the kept slot sees that job 1 is overdue, and plans job 2 for 6.
    assert starts(jobs_of((0, 4, 5, 8), (1, 4, 5, 5)), machine_of(4), KEEP) == [0, 8]


def test_a_depth_of_one_is_easy_by_the_book_and_exact_estimates_leave_nothing_to_keep() -> None:
    """With exact estimates no plan is ever broken or bettered: nobody starts later than by FCFS, unless by EASY."""
    later_by_easy = 0
    for case in seeded_cases(1, 150, ()):
        jobs, n_cores = list(case.jobs), sum(host.cores for host in case.machine.hosts)
        assert starts(jobs, case.machine, EASY) == easy.starts_by_the_book(jobs, n_cores), case
        jobs = [replace(job, estimate=max(1, job.run), run=max(1, job.run)) for job in case.jobs]
        fcfs, by_easy = starts(jobs, case.machine, FCFS), starts(jobs, case.machine, EASY)
        assert run(jobs, case.machine, KEEP) == run(jobs, case.machine, REBUILD)
        assert all(a <= b for a, b in zip(starts(jobs, case.machine, KEEP), fcfs, strict=True)), case
        later_by_easy += any(a > b for a, b in zip(by_easy, fcfs, strict=True))
    assert later_by_easy > 0


# ---- orders ----


def test_what_waits_for_ever_is_said() -> None:
    with pytest.raises(NeverFinishes, match=r"\[0, 1\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), FCFS)
    with pytest.raises(NeverFinishes, match=r"\[0\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), EASY)


def test_equal_instants_of_an_end_and_of_what_cuts() -> None:
    machine = Machine((Host(1, outages=((5, 6),)),))
    job = Job(1, 0, 9, 1, 5)
    for other, state in (
        (replace(job, run=5), "completed"),
        (replace(job, cancel=5), "killed"),
        (replace(job, cancel=5, estimate=6), "cancelled"),
        (replace(job, estimate=6), "failed"),
    ):
        assert [one.state for one in run([other], machine, Rules(kill=True, requeue=False))] == [state]


# ---- where ----


# ---- what always holds ----


@settings(max_examples=300)
@given(case=cases())
def test_invariants_of_what_hypothesis_finds(case: BatchCase) -> None:
    invariants.check(case.jobs, case.machine, case.rules, expected(case))


@pytest.mark.parametrize("feature", FEATURES)
def test_invariants_of_each_feature(feature: str) -> None:
    for case in seeded_cases(4, 25, (feature, "orders", "allocators")):
        invariants.check(case.jobs, case.machine, case.rules, expected(case))


def test_random_cases_are_rich() -> None:
    attempts = [one for case in seeded_cases(5, 150) for one in expected(case)]
    assert {one.why for one in attempts} == {"head", "backfill", "reserved", "preset", "never"}
    assert {one.state for one in attempts} == {"completed", "killed", "cancelled", "failed", "requeued"}
    assert sum(one.attempt > 0 for one in attempts) > 3
