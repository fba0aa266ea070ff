"""The scenario of the two-level paper's section 4.2, by hand, and what its page says of it."""

from __future__ import annotations

import pytest
from pages import ROOT
from scenarios import done

import bridge
from tools.paper_four_jobs import ASSIGNMENTS, COORDINATIONS, CORES, coordinated, picture, simulated, table

S = 10**9

#: Of J0: who computes which of the three tasks from when to when (s), and when J2 and J3 start.
EXPECTED = {
    "static": ([(0, 0, 5), (0, 5, 10), (1, 0, 10)], 10, 20),
    "the smaller chunk first": ([(0, 0, 5), (1, 0, 5), (1, 5, 15)], 15, 30),
    "ss": ([(0, 0, 5), (1, 0, 5), (0, 5, 15)], 15, 30),
}


@pytest.fixture(scope="module")
def results() -> dict[str, bridge.Result]:
    return {name: simulated(als) for name, als in ASSIGNMENTS.items()}


@pytest.mark.parametrize("name", EXPECTED)
def test_who_gets_which_task_decides_when_the_others_start(name: str, results: dict[str, bridge.Result]) -> None:
    tasks, second, third = EXPECTED[name]
    found = done(results[name])
    assert [(task.core, task.start // S, task.end // S) for task in found[0].tasks] == tasks
    assert [job.start for job in found] == [0, 0, second * S, third * S]
    assert [job.cores for job in found] == [(0, 1), (2, 3), (2, 4), (0, 4)]
    assert len(CORES) == len(found)


def test_the_page_shows_what_is_printed(results: dict[str, bridge.Result]) -> None:
    assert "\n".join(table(results)) in (ROOT / "docs" / "explanation/two-level-paper.md").read_text("utf-8")


#: When J3 starts with SS (s), by what the levels tell each other: the wish with which the paper's section 4.2 ends.
THIRD_WITH_SS = {"none": 30, "release": 20, "hint": 15}


@pytest.mark.parametrize("coupling", ["inline", "pool", "process"])
def test_with_hints_the_third_job_starts_earlier(coupling: str) -> None:
    """J1 serves R2, for which J2 waits, last: J2 has it at 5 s. R4 is J3's as J2 needs it no more, R0 as J0 ends."""
    assert tuple(THIRD_WITH_SS) == COORDINATIONS
    found = {way: done(simulated("ss", way, coupling)) for way in COORDINATIONS}
    assert {way: jobs[3].start // S for way, jobs in found.items()} == THIRD_WITH_SS
    assert [job.start // S for job in found["hint"]] == [0, 0, 5, 15]
    assert [(task.core, task.start // S, task.end // S) for task in found["hint"][1].tasks] == [
        (2, 0, 5),
        (3, 0, 5),
        (3, 5, 15),
    ]
    told = simulated("ss", "hint", coupling).hints
    assert told[["job_id", "told_ns", "waiting_job_id", "lack", "wanted"]].to_numpy().tolist() == [
        [0, 5 * S, 3, 2, 1],
        [1, 1 * S, 2, 1, 1],
    ]


def test_the_page_on_coordination_shows_what_is_printed() -> None:
    assert "\n".join(coordinated()) in (ROOT / "docs" / "explanation/coordination.md").read_text("utf-8")


def test_each_task_is_a_bar(results: dict[str, bridge.Result]) -> None:
    (axes, *_) = picture(results["static"], "").axes
    bars = sum(len(bars.get_paths()) for bars in axes.collections) + len(axes.patches)
    assert bars >= 4 * 3
