"""The scenario of the two-level paper's section 4.2, by hand, and its tables on the pages."""

from __future__ import annotations

import pytest
from pages import ROOT
from scenarios import done

import bridge
from tools.pictures import FOUR_JOBS, four_jobs

S = 10**9
DOCS = ROOT / "docs" / "explanation"

#: Of J0: the core, start and end (s) of its three tasks, and when J2 and J3 start.
EXPECTED = {
    "static": ([(0, 0, 5), (0, 5, 10), (1, 0, 10)], 10, 20),
    "the smaller chunk first": ([(0, 0, 5), (1, 0, 5), (1, 5, 15)], 15, 30),
    "ss": ([(0, 0, 5), (1, 0, 5), (0, 5, 15)], 15, 30),
}


@pytest.fixture(scope="module")
def results() -> dict[str, bridge.Result]:
    return {name: four_jobs(name) for name in FOUR_JOBS}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_assignment_of_tasks_decides_when_the_others_start(name: str, results: dict[str, bridge.Result]) -> None:
    tasks, second, third = EXPECTED[name]
    found = done(results[name])
    assert [(task.core, task.start // S, task.end // S) for task in found[0].tasks] == tasks
    assert [job.start for job in found] == [0, 0, second * S, third * S]
    assert [job.cores for job in found] == [(0, 1), (2, 3), (2, 4), (0, 4)]


def test_the_paper_s_page_shows_the_runs(results: dict[str, bridge.Result]) -> None:
    page = (DOCS / "two-level-paper.md").read_text("utf-8")
    for name, result in results.items():
        tasks, jobs = result.tasks, result.jobs.set_index("job_id")
        chunks = ", ".join(map(str, tasks[tasks["job_id"] == 0].groupby("chunk", sort=True).size()))
        run, second, third = (ns / S for ns in (jobs.end_ns[0] - jobs.start_ns[0], jobs.start_ns[2], jobs.start_ns[3]))
        assert f"| {name} | {chunks} | {run:g} s | {jobs.imbalance[0]:.3g} | {second:g} s | {third:g} s |" in page


#: When J3 starts with SS (s), by coordination: the wish with which the paper's section 4.2 ends.
THIRD_WITH_SS = {"none": 30, "release": 20, "hint": 15}


@pytest.mark.parametrize("coupling", ["inline", "pool", "process"])
def test_with_hints_the_third_job_starts_earlier(coupling: str) -> None:
    """J1 serves R2, for which J2 waits, last: J2 has it at 5 s. R4 is J3's as J2 needs it no more, R0 as J0 ends."""
    found = {way: done(four_jobs("ss", way, coupling)) for way in THIRD_WITH_SS}
    assert {way: jobs[3].start // S for way, jobs in found.items()} == THIRD_WITH_SS
    assert [job.start // S for job in found["hint"]] == [0, 0, 5, 15]
    assert [(task.core, task.start // S, task.end // S) for task in found["hint"][1].tasks] == [
        (2, 0, 5),
        (3, 0, 5),
        (3, 5, 15),
    ]
    told = four_jobs("ss", "hint", coupling).hints
    assert told[["job_id", "told_ns", "waiting_job_id", "lack", "wanted"]].to_numpy().tolist() == [
        [0, 5 * S, 3, 2, 1],
        [1, 1 * S, 2, 1, 1],
    ]


def test_the_page_on_coordination_shows_the_runs() -> None:
    page = (DOCS / "coordination.md").read_text("utf-8")
    for name in FOUR_JOBS:
        starts = [four_jobs(name, way).jobs.set_index("job_id").start_ns for way in THIRD_WITH_SS]
        assert f"| {name} | {' | '.join(f'{start[2] / S:g} s, {start[3] / S:g} s' for start in starts)} |" in page
