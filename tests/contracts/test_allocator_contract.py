"""What every allocator keeps: these tests run over the registry, so a new allocator is tested by its line there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import Case, cases, cores_text, done

from bls.allocators import ALLOCATORS, allocator

MANY = 12


@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_is_found_under_its_own_name(name: str) -> None:
    assert allocator(name).name == name == name.lower()


@settings(max_examples=80)
@given(free=st.sets(st.integers(0, MANY - 1), min_size=1), data=st.data())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_suggests_free_cores_in_order_or_nothing(name: str, free: set[int], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, MANY - 1), min_size=1, max_size=len(free)))
    intervals, asked = _runs(free), _runs(wanted)
    free_lo, free_hi = np.array(intervals, np.int64).T.copy()
    wanted_lo, wanted_hi = np.array(asked, np.int64).T.copy()
    room = len(intervals) + len(asked)
    lo, hi = np.full((2, room), -1, np.int64)
    n = ALLOCATORS[name].place(free_lo, free_hi, len(intervals), len(wanted), wanted_lo, wanted_hi, lo, hi)
    assert 0 <= n <= room
    assert list(zip(free_lo.tolist(), free_hi.tolist(), strict=True)) == intervals, "the free cores are only looked at"
    assert list(zip(wanted_lo.tolist(), wanted_hi.tolist(), strict=True)) == asked
    if n:
        cores = [core for k in range(n) for core in range(lo[k], hi[k])]
        assert cores == sorted(set(cores))
        assert set(cores) <= free
        assert len(cores) == len(wanted)


@settings(max_examples=40)
@given(case=cases(recorded=True, max_jobs=12), data=st.data())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_with_it_every_job_runs_and_the_records_are_sound(name: str, case: Case, data: st.DataObject) -> None:
    machine = range(len(case.core_speeds))
    jobs = tuple(replace(job, wanted=frozenset(data.draw(st.permutations(machine))[: job.cores])) for job in case.jobs)
    requested = {job.number: cores_text(job.wanted) for job in jobs if job.wanted}
    result = case.simulated(allocator=name, requested=requested)  # with check_ledger
    assert [job.end - job.start for job in done(result)] == result.scenario.workload.run_ns.tolist()


def _runs(cores: set[int]) -> list[tuple[int, int]]:
    return [
        (core, next(stop for stop in range(core, MANY + 1) if stop not in cores))
        for core in sorted(cores)
        if core - 1 not in cores
    ]
