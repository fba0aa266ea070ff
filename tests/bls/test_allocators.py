"""The allocators, the cores that jobs ask for by number, and what an allocator may not suggest."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bls import engine
from bls.allocators import ALLOCATORS, Allocator, allocator, allocator_kernel
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bls.workload import Workload
from traces.compiled import jit_enabled
from traces.errors import InputError, PluginError
from traces.time import NS_PER_S

WORKLOAD = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (3, 1, 10, 2, 10)])
REQUESTED = {1: "0 2", 2: "3-5", 3: "2-3"}


def simulator(allocator: Allocator, requested: dict[int, str] | None = None, n_cores: int = 6) -> BatchSimulator:
    return BatchSimulator(WORKLOAD, n_cores, POLICIES["fcfs"], allocator, recorded=True, requested=requested)


def placed(allocator: Allocator, requested: dict[int, str] | None = None) -> list[tuple[int, list[tuple[int, int]]]]:
    run = simulator(allocator, requested)
    assert run.advance(100) == engine.DONE
    return [(int(start) // NS_PER_S, list(run.allocation(row))) for row, start in enumerate(run.state.start_ns)]


def test_lowest_takes_the_lowest_numbered_free_cores() -> None:
    assert placed(ALLOCATORS["lowest"]) == [(0, [(0, 2)]), (0, [(2, 5)]), (10, [(0, 2)])]


def test_given_waits_for_the_very_cores() -> None:
    """Core 1 is free all the time; job 3 wants 2 and 3, which end at 10 s."""
    assert placed(ALLOCATORS["given"], REQUESTED) == [
        (0, [(0, 1), (2, 3)]),
        (0, [(3, 6)]),
        (10, [(2, 4)]),
    ]


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (None, "--allocator given needs the cores that each job asks for: give requested={job number: cores}"),
        ({1: "0-1"}, "requested[2]: missing; every job needs the cores that it asks for"),
        ({**REQUESTED, 1: "0"}, "requested[1]: '0' is not 2 different cores, as the job asks for"),
        ({**REQUESTED, 1: "3 3"}, "requested[1]: '3 3' is not 2 different cores, as the job asks for"),
        ({**REQUESTED, 3: "5-6"}, "requested[3]: core 6; the platform has the cores 0 to 5"),
        ({**REQUESTED, 3: "2-x"}, "requested[3]: '2-x' is not a number or a range; allowed: as 0-63 128-191"),
        ({**REQUESTED, 2: ""}, "requested[2]: '' is not 3 different cores, as the job asks for"),
    ],
)
def test_requests_that_cannot_be(requested: dict[int, str] | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulator(ALLOCATORS["given"], requested)
    assert str(caught.value) == message


def test_requests_may_be_in_any_order_and_in_pieces() -> None:
    assert placed(ALLOCATORS["given"], {1: "2,0", 2: "5 3 4", 3: "3 2"}) == placed(ALLOCATORS["given"], REQUESTED)


@allocator_kernel
def _highest(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    if free_hi[n_free - 1] - free_lo[n_free - 1] < n_cores:
        return 0
    lo[0] = free_hi[n_free - 1] - n_cores
    hi[0] = free_hi[n_free - 1]
    return 1


@allocator_kernel
def _never(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    return 0


@allocator_kernel
def _first_cores(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    lo[0] = 0  # free or not
    hi[0] = n_cores
    return 1


@allocator_kernel
def _one_more(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    lo[0] = free_lo[0]
    hi[0] = free_lo[0] + n_cores + 1
    return 1


@allocator_kernel
def _descending(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    lo[0], hi[0] = 1, 1 + n_cores // 2
    lo[1], hi[1] = 0, n_cores - n_cores // 2
    return 2


@allocator_kernel
def _more_than_fit(
    free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any
) -> int:
    return lo.size + 1


@allocator_kernel
def _below_zero(free_lo: Any, free_hi: Any, n_free: int, n_cores: int, w_lo: Any, w_hi: Any, lo: Any, hi: Any) -> int:
    return -1


def test_an_allocator_of_ones_own() -> None:
    assert placed(Allocator("highest", _highest)) == [(0, [(4, 6)]), (0, [(1, 4)]), (10, [(4, 6)])]


@pytest.mark.parametrize(
    ("kernel", "job"),
    [(_first_cores, 2), (_one_more, 1), (_descending, 1), (_more_than_fit, 1), (_below_zero, 1)],
)
def test_an_impossible_suggestion_names_the_allocator_and_the_job(kernel: Any, job: int) -> None:
    with pytest.raises(PluginError) as caught:
        simulator(Allocator("mine", kernel), REQUESTED).advance(100)  # with room for more intervals than it should need
    needed = {1: 2, 2: 3}[job]
    assert str(caught.value) == (
        f"allocator mine: job {job} needs {needed} free cores, each once and in ascending intervals; "
        "it suggested something else"
    )


def test_a_job_that_is_never_placed_is_named() -> None:
    with pytest.raises(InputError, match="stuck at job 1: nothing runs or arrives any more, and allocator mine"):
        simulator(Allocator("mine", _never)).advance(100)


def test_an_allocator_that_is_not_compiled_is_refused() -> None:
    fault = pytest.raises(PluginError, match=r"allocator plain: .*; decorate it with allocator_kernel")
    with fault if jit_enabled() else nullcontext():  # in a debugger everything is plain
        simulator(Allocator("plain", lambda *arguments: 0))


def test_an_unknown_allocator_is_told_the_nearest_first() -> None:
    with pytest.raises(InputError) as caught:
        allocator("gven")
    assert str(caught.value).startswith("--allocator: unknown allocator 'gven'; known: given, ")


def test_an_allocator_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from bls.allocators import Allocator, allocator_kernel\n\n\n"
        "@allocator_kernel\n"
        "def place(free_lo, free_hi, n_free, n_cores, wanted_lo, wanted_hi, out_lo, out_hi):\n"
        "    out_lo[0] = free_hi[n_free - 1] - n_cores\n"
        "    out_hi[0] = free_hi[n_free - 1]\n"
        "    return 1\n\n\n"
        "MINE = Allocator('mine', place)\n",
        encoding="utf-8",
    )
    found = allocator(f"{file}:MINE")
    run = simulator(found)
    assert run.advance(1) in (engine.PAUSED, engine.DONE)
    assert list(run.allocation(0)) == [(4, 6)]


def test_what_an_allocator_is_asked() -> None:
    """The kernels of the registry, called as the engine calls them: room for every free and wanted interval."""
    free = np.array([1, 5, 9], np.int64), np.array([3, 6, 12], np.int64)
    nothing = np.empty(0, np.int64)
    out = np.full((2, 3), -7, np.int64)
    assert ALLOCATORS["lowest"].place(*free, 3, 4, nothing, nothing, *out) == 3
    assert out.tolist() == [[1, 5, 9], [3, 6, 10]]
    assert ALLOCATORS["lowest"].place(*free, 1, 3, nothing, nothing, *out) == 0, "two cores are not three"
    wanted = np.array([2, 10], np.int64), np.array([3, 12], np.int64)
    assert ALLOCATORS["given"].place(*free, 3, 3, *wanted, *out) == 2
    assert out[:, :2].tolist() == [[2, 10], [3, 12]]
    assert ALLOCATORS["given"].place(*free, 2, 3, *wanted, *out) == 0
