"""The scenario of the two-level paper's section 4.2, by hand, and what its page says of it."""

from __future__ import annotations

import pytest
from pages import ROOT
from scenarios import done

import bridge
from tools.paper_four_jobs import ASSIGNMENTS, CORES, picture, simulated, table

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
    assert "\n".join(table(results)) in (ROOT / "docs" / "two-level-paper.md").read_text("utf-8")


def test_each_task_is_a_bar(results: dict[str, bridge.Result]) -> None:
    (axes, *_) = picture(results["static"], "").axes
    bars = sum(len(bars.get_paths()) for bars in axes.collections) + len(axes.patches)
    assert bars >= 4 * 3
