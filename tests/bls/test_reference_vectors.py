"""The slow reference of the batch level itself: published schedules, textbook EASY, and what always holds.

``schedules/lives_of_jobs.toml`` has what becomes of jobs that are killed, withdrawn, cut or held back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from batch_cases import expected, seeded_cases
from reference import easy
from reference.cluster import NeverFinishes, run
from reference.machine import Host, Job, Machine, Rules
from tables import table_rows

pytestmark = pytest.mark.whole

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


def test_a_depth_of_one_is_easy_by_the_book_and_exact_estimates_leave_nothing_to_keep() -> None:
    """With exact estimates no plan is ever broken or bettered: nobody starts later than by FCFS, unless by EASY."""
    later_by_easy = 0
    for case in seeded_cases(1, 50, ()):
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


# ---- what always holds ----


def test_random_cases_are_rich() -> None:
    attempts = [one for case in seeded_cases(5, 60) for one in expected(case)]
    assert {one.why for one in attempts} == {"head", "backfill", "reserved", "preset", "never"}
    assert {one.state for one in attempts} == {"completed", "killed", "cancelled", "failed", "requeued"}
    assert any(one.attempt > 0 for one in attempts)
