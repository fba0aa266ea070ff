"""Dependencies: rows and children by hand and against a slow search; circles are named."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bridge
from bls import Surroundings
from bls.constraints.dependencies import dependencies
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9


def workload(preceding: dict[int, int], **changes: dict[int, int]) -> Workload:
    """Jobs submitted in the order given; keys are job numbers, values their preceding jobs."""
    return Workload.from_jobs(
        {"job_id": job, "submit_s": place, "run_s": 1, "cores": 1, "preceding": before, "think_s": 3}
        | {key: values[job] for key, values in changes.items() if job in values}
        for place, (job, before) in enumerate(preceding.items())
    )


def test_by_hand() -> None:
    found = dependencies(workload({7: -1, 5: 7, 9: 77, 8: 5, 6: 7}))
    assert found.depends_on.tolist() == [-1, 0, -1, 1, 0]
    assert found.think_ns.tolist() == [0, 3 * NS, 0, 3 * NS, 3 * NS]
    assert found.child_first.tolist() == [0, 2, 3, 3, 3, 3]
    assert found.child_row.tolist() == [1, 4, 3]
    assert (found.missing, len(found)) == (1, 3)
    with pytest.raises(ValueError, match="read-only"):
        found.depends_on[0] = 1


def test_a_job_may_precede_one_that_was_submitted_before_it() -> None:
    assert dependencies(workload({1: 2, 2: -1})).depends_on.tolist() == [1, -1]


def test_a_preset_job_waits_for_nothing() -> None:
    found = dependencies(workload({1: -1, 2: 1, 3: 9}, preset={2: 1, 3: 1}, submit_s={1: 0, 2: 0, 3: 0}))
    assert found.depends_on.tolist() == [-1, -1, -1]
    assert (found.missing, len(found)) == (0, 0)


@pytest.mark.parametrize(
    ("preceding", "message"),
    [
        ({4: 4}, "jobs wait for each other: 4 before 4"),
        ({1: -1, 4: 6, 6: 4, 9: 4}, "4 before 6 before 4|6 before 4 before 6"),
        ({1: 2, 2: 3, 3: 1}, "(1 before 3 before 2|3 before 2 before 1|2 before 1 before 3) before [123]$"),
        ({k: k % 30 + 1 for k in range(1, 31)}, r"before … \(20 more\) before [0-9]+$"),
    ],
)
def test_circles_are_named(preceding: dict[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dependencies(workload(preceding))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(-1, 9), min_size=1, max_size=9))
def test_agrees_with_a_slow_search(preceding: list[int]) -> None:
    made = workload(dict(enumerate(preceding)))
    parents = {job: before for job, before in enumerate(preceding) if 0 <= before < len(preceding)}

    def circular(job: int) -> bool:
        for _ in range(len(preceding) + 1):
            if job not in parents:
                return False
            job = parents[job]
        return True

    if any(circular(job) for job in range(len(preceding))):
        with pytest.raises(InputError, match="jobs wait for each other") as caught:
            dependencies(made)
        names = [int(name) for name in str(caught.value).split(": ")[-1].split(" before ")]
        assert all(parents[after] == before for before, after in itertools.pairwise(names))
        return
    found = dependencies(made)
    assert found.depends_on.tolist() == [parents.get(job, -1) for job in range(len(preceding))]
    for job in range(len(preceding)):
        children = found.child_row[found.child_first[job] : found.child_first[job + 1]].tolist()
        assert children == [other for other, parent in sorted(parents.items()) if parent == job]
    assert found.missing == sum(before >= len(preceding) for before in preceding)


def several(*rows: tuple[int, ...]) -> Workload:
    """Jobs 1, 2, … on one core each, submitted at 0; a row is a run time in s and the jobs that precede it."""
    jobs = [
        {"job_id": k, "submit_s": 0, "run_s": run, "cores": 1, "preceding": before[0] if before else -1, "think_s": 3}
        for k, (run, *before) in enumerate(rows, 1)
    ]
    made = Workload.from_jobs(jobs)
    return replace(made, also_preceding={k: tuple(row[2:]) for k, row in enumerate(rows, 1) if len(row) > 2})


def test_several_by_hand() -> None:
    found = dependencies(several((10,), (20,), (5, 1, 2), (5, 9, 3), (5, 9, 8), (5, 2, 2)))
    assert found.depends_on.tolist() == [-1, -1, 0, 2, -1, 1]
    assert found.waits_for.tolist() == [0, 0, 2, 1, 0, 1]
    assert found.child_first.tolist() == [0, 1, 3, 4, 4, 4, 4]
    assert found.child_row.tolist() == [2, 2, 5, 3]
    assert (found.missing, len(found), found.several) == (2, 3, True)


def test_circles_through_lists_are_named() -> None:
    with pytest.raises(InputError, match="jobs wait for each other: 2 before 3 before 2"):
        dependencies(several((1,), (1, 1, 3), (1, 1, 2), (1, 3, 1)))


@pytest.mark.parametrize(
    ("rows", "starts"),
    [
        (((10,), (20,), (5, 1, 2)), [0, 0, 23]),
        (((20,), (10,), (5, 1, 2)), [0, 0, 23]),
        (((10,), (5, 1), (30,), (5, 2, 3, 1), (1, 4, 99)), [0, 13, 0, 33, 41]),
        (((10,), (10,), (5, 2, 1)), [0, 0, 13]),
    ],
)
def test_a_job_starts_after_the_last_of_those_that_it_names(
    rows: tuple[tuple[int, ...], ...], starts: list[int]
) -> None:
    made, waiting = several(*rows), Surroundings(dependencies=True)
    result = bridge.simulate(made, als="recorded", surroundings=waiting)
    assert (result.jobs.sort_values("job_id")["start_ns"] // NS).tolist() == starts
    with pytest.raises(InputError, match="fair_start=True: not with jobs that wait for several others"):
        bridge.simulate(made, als="recorded", surroundings=waiting, fair_start=True)
