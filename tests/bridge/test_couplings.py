"""One result in every coupling: a matrix of everything that a run can be asked for, and of the ways to run it.

A feature is a run with options, files and jobs of its own, and says whether the run is worth a comparison, as what it is about
has happened. Each is simulated inline once, and in every other way that it names.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from application_features import (
    CHANGING,
    CHOLESKY,
    GOING,
    GRAPH_FEATURES,
    LEVEL_FEATURES,
    MAPS,
    GraphFeature,
    killed,
)
from batch_features import BATCH_FEATURES
from faulty_runs import simulated as simulated_simply
from one_result import assert_one_result
from reference.batch import Job
from scenarios import PLATFORMS, Case, assert_as_expected, crowd

import bridge
from bls.scheduler_options import Rules
from bridge.couplings import COUPLINGS
from bridge.scenarios.application_level import ASSIGNMENTS, ApplicationLevel
from traces.base.errors import TwolevelError
from traces.exporters.otf2.checks import check_nesting
from traces.ledger_tables import TASKS
from traces.tables import write_jobs

pytestmark = pytest.mark.whole


@dataclass(frozen=True)
class Simple:
    """A run without features but those of an application level that a small simulator of somebody else knows."""

    als: str = "ss"
    jobs: int = 40
    applications: str = ""
    assignment: str = "self"
    latency_ns: int = 0

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        given: dict[str, Any] = {}
        if self.applications:
            (folder / "apps.toml").write_text(self.applications)
            level = ApplicationLevel("gamma:cov=0.5", self.latency_ns, self.assignment, folder / "apps.toml")
            given = {"level": level, "overhead_ns": 10**6}
        return simulated_simply(options.pop("coupling", "inline"), self.jobs, als=self.als, **given, **options)

    def check(self, result: bridge.Result) -> None:
        assert len(result.jobs) == self.jobs


#: A few dozen jobs of all sizes; jobs of whole seconds are promised for, those of nanoseconds are not.
SMALL = crowd(21, 40, policy="sjf", technique="fac", variation=0.25, tasks_per_core=2, overhead=3)


@dataclass(frozen=True)
class Files:
    """A run whose tables and trace are compared as files, too."""

    case: Case

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        result = self.case.simulated(**options)
        write_jobs(result.ledger, folder / "jobs.parquet")
        TASKS.write(result.ledger, folder / "tasks.parquet")
        result.write_trace(folder / "trace")
        return result

    def check(self, result: bridge.Result) -> None:
        assert result.ledger.tasks is not None


def _peer(name: str) -> dict[str, Any]:
    return {"als_command": shlex.join([sys.executable, str(Path(__file__).with_name(name))])}


#: The ways of running: the options of each.
POOL: dict[str, Any] = {"coupling": "pool", "workers": 2}
ALONE: dict[str, Any] = {"coupling": "pool", "workers": 1}
PROCESS: dict[str, Any] = {"coupling": "process", "workers": 2}
TCP: dict[str, Any] = {"socket": "tcp"}
TOY, LENGTHS_PEER = _peer("toy_peer.py"), _peer("lengths_peer.py")

#: A process for each job is slow to start: what the batch level does to a job is tried with it, all of the application level
#: at once, with one job of each application, and the rest with a pool only.
FEW = replace(LEVEL_FEATURES["all at once"], jobs=LEVEL_FEATURES["all at once"].users)
GRAPHS = GraphFeature(
    MAPS["by_rank"] + CHOLESKY + MAPS["file"] + MAPS["map"],
    level={"speeds": (*CHANGING, *GOING), "latency_ns": 10**6, "assignment": "master"},
    overhead_ns=10**7,
)
#: A simulator that is told of tasks and edges.
TOLD_GRAPHS = GraphFeature(
    MAPS["by_rank"] + CHOLESKY + MAPS["file"] + MAPS["told"],
    level={"latency_ns": 10**6, "assignment": "master"},
    overhead_ns=10**6,
    jobs=14,
)
TOLD_IN_TIME = replace(
    TOLD_GRAPHS,
    level=TOLD_GRAPHS.level | {"speeds": (*CHANGING, *GOING)},
    rules=Rules(kill_at_walltime=True),
    seen=killed,
)

#: Features that others contain: ``make release`` tries each by itself.
CONTAINED = {
    *("batch: releases, failures", "batch: hints", "batch: molding", "batch: partitions"),
    *("graph: no network", "graph: heft on a loop"),
    *("another simulator: static", "another simulator: told of graphs"),
    "another simulator: parts, messages, distributed",
}

MATRIX: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    **{
        f"batch: {name}": (feature, [POOL, PROCESS] if name == "all" else [POOL])
        for name, feature in BATCH_FEATURES.items()
    },
    **{f"application: {name}": (feature, [POOL]) for name, feature in LEVEL_FEATURES.items()},
    "application: a few of all at once": (FEW, [PROCESS]),
    **{f"graph: {name}": (feature, [ALONE]) for name, feature in GRAPH_FEATURES.items()},
    "graph: all at once": (GRAPHS, [PROCESS]),
    "files": (Files(SMALL), [POOL | TCP]),
    "another simulator: ss": (Simple("ss"), [POOL | TOY | TCP]),
    "another simulator: static": (Simple("static"), [POOL | TOY]),
    "another simulator, a job each": (Simple("ss", jobs=5), [PROCESS | TOY]),
    **{
        f"another simulator: parts, messages, {assignment}": (
            Simple(applications=MAPS["steps"], assignment=assignment, latency_ns=10**7),
            [POOL | TOY],
        )
        for assignment in ASSIGNMENTS
    },
    "another simulator: told of graphs": (TOLD_GRAPHS, [ALONE | LENGTHS_PEER]),
    "another simulator: told of graphs that are cut": (TOLD_IN_TIME, [ALONE | LENGTHS_PEER]),
}


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of the tables and of the trace's events."""
    kinds = (".parquet", ".evt")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.suffix in kinds}


def _label(options: dict[str, Any]) -> str:
    return "-".join(str(options[key]) for key in ("coupling", "workers", "socket") if key in options)


Inline = Callable[[str], tuple[bridge.Result, Path]]


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Inline:
    @cache
    def simulated(name: str) -> tuple[bridge.Result, Path]:
        folder = tmp_path_factory.mktemp("inline")
        result = MATRIX[name][0].simulated(folder)
        MATRIX[name][0].check(result)
        return result, folder

    return simulated


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, way, id=f"{name}-{_label(way)}", marks=[pytest.mark.release] if name in CONTAINED else [])
        for name, (_, ways) in MATRIX.items()
        for way in ways
    ],
)
def test_one_result(name: str, options: dict[str, Any], inline: Inline, tmp_path: Path) -> None:
    expected, folder = inline(name)
    feature, _ = MATRIX[name]
    compares_files = isinstance(feature, Files)
    result = feature.simulated(tmp_path if compares_files else folder, **options)
    assert_one_result(result, expected)
    if "als_command" in options:
        assert result.coupling["refused"] == 0
    if getattr(feature, "suspends", False):  # otherwise three messages for each job or so, with graphs up to five
        assert result.coupling["messages"] > 5 * len(result.jobs)
    if compares_files:
        found, wanted = files_of(tmp_path), files_of(folder)
        assert len(wanted) > 2 + sum(SMALL.core_speeds[core] > 0 for core in range(9)) + 1
        assert found == wanted


def test_each_coupling_is_tried() -> None:
    assert {way["coupling"] for _, ways in MATRIX.values() for way in ways} | {"inline"} == set(COUPLINGS)
    assert MATRIX.keys() > CONTAINED


@pytest.mark.parametrize("name", ["python-cut", "all"])
def test_traces_of_attempts_that_were_cut(name: str, inline: Inline, tmp_path: Path) -> None:
    path = inline(f"batch: {name}")[0].write_trace(tmp_path / "trace")
    check_nesting(path)
    assert shutil.which("otf2-print"), "install it: tools/install_system_packages.sh otf2-tools"
    printed = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True).stdout
    enters, leaves = (sum(line.startswith(f"{kind} ") for line in printed.splitlines()) for kind in ("ENTER", "LEAVE"))
    assert enters == leaves > 0


#: In a few runs with processes, for which starting is slow, hundreds of small cases: with and without overhead, equal and
#: unequal cores, many tasks and few.
CROWDS = [
    ("pool", crowd(32, 150, policy="edf", technique="ss", variation=1.0, tasks_per_core=4, overhead=5)),
    ("process", crowd(34, 25, policy="edf", technique="fac", variation=0.25, tasks_per_core=3, slack=0.5)),
]


@pytest.mark.parametrize(("coupling", "case"), CROWDS, ids=[f"{c}-{case.technique}" for c, case in CROWDS])
def test_a_crowd_as_the_slow_reference(coupling: str, case: Case) -> None:
    result = case.simulated(coupling=coupling, workers=2)
    assert_as_expected(result, case.expected())
    jobs = result.jobs
    assert (jobs.start_ns > jobs.submit_ns).sum() > len(jobs) // 4, "hardly a job had to wait"
    assert result.coupling["retries"] == 0


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
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return f"{tmp_path / 'mine.py'}:MINE"


def test_a_technique_of_ones_own_works_in_processes_of_their_own(mine: str) -> None:
    case = crowd(41, 8, variation=0.0, tasks_per_core=2)
    expected = case.simulated(als=mine)
    assert (expected.ledger.jobs.chunks == case.workload().cores).all()
    assert case.simulated(als=mine, coupling="process", workers=2).tasks.equals(expected.tasks)


def test_a_technique_at_fault_is_named_with_the_job(mine: str) -> None:
    case = Case((Job(17, 0, 10**9, 1, 10**9),), PLATFORMS[1], tasks_per_core=13)
    with pytest.raises(
        TwolevelError,
        match=r"job 17: .*application technique mine gave a chunk of -5; allowed: 0 to the remaining tasks, 13$",
    ):
        case.simulated(als=mine, coupling="pool", workers=1)
