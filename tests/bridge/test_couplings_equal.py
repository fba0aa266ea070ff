"""Three couplings, one result: inline, pool and process, with any number of workers, and the slow reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reference.batch import Job
from scenarios import PLATFORMS, Case, assert_as_expected, crowd

from bridge.couplings import COUPLINGS
from traces.base.errors import TwolevelError
from traces.tables import write_jobs, write_tasks

#: A few dozen jobs of all sizes; jobs of whole seconds are promised for, those of nanoseconds are not.
SMALL = crowd(21, 40, policy="sjf", technique="fac", variation=0.25, tasks_per_core=2, overhead=3)


def written(case: Case, folder: Path, **options: Any) -> dict[str, bytes]:
    """The bytes of the tables and of the trace's events."""
    result = case.simulated(**options)
    folder.mkdir()
    write_jobs(result.ledger, folder / "jobs.parquet")
    write_tasks(result.ledger, folder / "tasks.parquet")
    result.write_trace(folder / "trace")
    kinds = (".parquet", ".evt")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.suffix in kinds}


@pytest.fixture(scope="module")
def small_bytes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return written(SMALL, tmp_path_factory.mktemp("inline") / "run")


@pytest.mark.parametrize(
    ("coupling", "workers", "socket"),
    [
        ("pool", 1, "unix"),
        ("pool", 2, "tcp"),
        ("pool", 4, "unix"),
        ("process", 1, "unix"),
        ("process", 4, "unix"),
    ],
)
def test_the_same_bytes_for_any_coupling_and_number_of_workers(
    coupling: str, workers: int, socket: str, tmp_path: Path, small_bytes: dict[str, bytes]
) -> None:
    assert len(small_bytes) == 2 + sum(SMALL.core_speeds[core] > 0 for core in range(9)) + 1
    assert written(SMALL, tmp_path / "run", coupling=coupling, workers=workers, socket=socket) == small_bytes


def test_each_coupling_is_tried() -> None:
    assert set(COUPLINGS) == {"inline", "pool", "process"}, "name the new one above, and its workers"


#: In a few runs with processes, for which starting is slow, hundreds of small cases: every technique and policy, with
#: and without overhead, equal and unequal cores, many tasks and few.
CROWDS = [
    ("pool", crowd(31, 400, policy="fcfs", technique="static", variation=0.25)),
    ("pool", crowd(32, 400, policy="edf", technique="ss", variation=1.0, tasks_per_core=4, overhead=5)),
    ("pool", crowd(33, 400, policy="sjf", technique="gss", variation=0.1, tasks_per_core=7, groups=PLATFORMS[3])),
    ("process", crowd(34, 120, policy="edf", technique="fac", variation=0.25, tasks_per_core=3, slack=0.5)),
]


@pytest.mark.parametrize(("coupling", "case"), CROWDS, ids=[f"{c}-{case.technique}" for c, case in CROWDS])
def test_a_crowd_as_the_slow_reference(coupling: str, case: Case) -> None:
    result = case.simulated(coupling=coupling, workers=2)
    assert_as_expected(result, case.expected())
    jobs = result.jobs
    assert (jobs.start_ns > jobs.submit_ns).sum() > len(jobs) // 4, "hardly a job had to wait"
    assert result.coupling["retries"] == 0


def test_without_task_records_the_jobs_are_the_same() -> None:
    result = SMALL.simulated(coupling="pool", workers=2, keep_tasks=False)
    assert result.ledger.tasks is None
    assert result.jobs.equals(SMALL.simulated().jobs)


MINE = """
from als.techniques import Technique, technique_kernel


@technique_kernel
def two_at_a_time(n_tasks, n_cores, core, request, remaining, memo):
    if n_tasks == 13:
        return -5
    return min(2, remaining)


MINE = Technique("mine", two_at_a_time)
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    return f"{file}:MINE"


def test_a_technique_of_ones_own_works_in_every_coupling(mine: str) -> None:
    case = crowd(41, 25, variation=0.0, tasks_per_core=2)
    expected = case.simulated(als=mine)
    assert (expected.ledger.jobs.chunks == case.workload().cores).all()
    for coupling in ("pool", "process"):
        assert case.simulated(als=mine, coupling=coupling, workers=2).tasks.equals(expected.tasks)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_technique_at_fault_is_named_with_the_job(coupling: str, mine: str) -> None:
    case = Case((Job(17, 0, 10**9, 1, 10**9),), PLATFORMS[1], tasks_per_core=13)
    with pytest.raises(
        TwolevelError,
        match=r"job 17: .*application technique mine gave a chunk of -5; allowed: 0 to the remaining tasks, 13$",
    ):
        case.simulated(als=mine, coupling=coupling, workers=1)
