"""The slow reference of the batch level itself: published schedules, and how rich drawn cases are.

``schedules/lives_of_jobs.toml`` has what becomes of jobs that are killed, withdrawn, cut or held back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from batch_cases import expected, seeded_cases
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


def test_what_waits_for_ever_is_said() -> None:
    with pytest.raises(NeverFinishes, match=r"\[0, 1\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), FCFS)
    with pytest.raises(NeverFinishes, match=r"\[0\]"):
        run(jobs_of((0, 5, 1, 1), (0, 1, 1, 1)), machine_of(4), EASY)


def test_random_cases_are_rich() -> None:
    attempts = [one for case in seeded_cases(5, 60) for one in expected(case)]
    assert {one.why for one in attempts} == {"head", "backfill", "reserved", "preset", "never"}
    assert {one.state for one in attempts} == {"completed", "killed", "cancelled", "failed", "requeued"}
    assert any(one.attempt > 0 for one in attempts)
