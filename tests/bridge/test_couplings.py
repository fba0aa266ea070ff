"""One result in every coupling: a matrix of the features of a run and the ways to run it.

A feature is a run with its own options, files and jobs. It states whether the run is worth a comparison: what the feature is
about must have happened. Each feature is simulated inline, and in every other way that its row lists.
"""

import re
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from application_features import CHANGING, CHOLESKY, GOING, GRAPH_FEATURES, LEVEL_FEATURES, MAPS, GraphFeature, killed
from batch_features import BATCH_FEATURES
from faulty_runs import simulated as simulated_simply
from one_result import assert_one_result

import bridge
import traces
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Application
from traces.base.time import NS_PER_S as S

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
            given = {"lengths": "gamma:cov=0.5", "latency_ns": self.latency_ns, "assignment": self.assignment}
            given |= {"applications": folder / "apps.toml", "overhead_ns": 10**6}
        return simulated_simply(options.pop("coupling", "inline"), self.jobs, als=self.als, **given, **options)

    def check(self, result: bridge.Result) -> None:
        assert len(result.jobs) == self.jobs


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
#: A simulator that receives tasks and edges.
TOLD_IN_TIME = GraphFeature(
    MAPS["by_rank"] + CHOLESKY + MAPS["file"] + MAPS["told"],
    level={"speeds": (*CHANGING, *GOING), "latency_ns": 10**6, "assignment": "master"},
    overhead_ns=10**6,
    rules=Rules(kill_at_walltime=True),
    seen=killed,
    jobs=14,
)

MATRIX: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    **{
        f"batch: {name}": (feature, [POOL, PROCESS] if name == "all" else [POOL])
        for name, feature in BATCH_FEATURES.items()
    },
    **{f"application: {name}": (feature, [POOL]) for name, feature in LEVEL_FEATURES.items()},
    "application: a few of all at once": (FEW, [PROCESS]),
    **{f"graph: {name}": (feature, [ALONE]) for name, feature in GRAPH_FEATURES.items()},
    "graph: all at once": (GRAPHS, [PROCESS]),
    "another simulator: ss": (Simple("ss"), [POOL | TOY | TCP]),
    "another simulator, a job each": (Simple("ss", jobs=5), [PROCESS | TOY]),
    "another simulator: parts, messages": (
        Simple(applications=MAPS["steps"], assignment="master", latency_ns=10**7),
        [POOL | TOY],
    ),
    "another simulator: told of graphs that are cut": (TOLD_IN_TIME, [ALONE | LENGTHS_PEER]),
}


#: Those of ``make test``; what they leave out is among the pairs of features of ``test_both_levels.py``.
STAYS = re.compile("all|failures|another|planners|devices")


def _label(options: dict[str, Any]) -> str:
    return "-".join(str(options[key]) for key in ("coupling", "workers", "socket") if key in options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, way, id=f"{name}-{_label(way)}", marks=() if STAYS.search(name) else pytest.mark.release)
        for name, (_, ways) in MATRIX.items()
        for way in ways
    ],
)
def test_one_result(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    feature, _ = MATRIX[name]
    expected = feature.simulated(tmp_path)
    feature.check(expected)
    result = feature.simulated(tmp_path, **options)
    assert_one_result(result, expected)
    if "als_command" in options:
        assert result.coupling["refused"] == 0
    if getattr(feature, "suspends", False):  # otherwise three messages for each job or so, with graphs up to five
        assert result.coupling["messages"] > 5 * len(result.jobs)


FOUR = Platform((HostGroup(1, 4, 1.0),))


def run(workload: Workload, *speeds: str, coupling: str = "inline", platform: Platform = FOUR, **options: Any) -> Any:
    level = options.pop("level", {})
    result = bridge.simulate(
        workload,
        platform,
        als=options.pop("als", "ss"),
        speeds=speeds,
        **level,
        coupling=coupling,
        workers=1 if coupling == "pool" else None,
        **options,
    )
    traces.check_ledger(result.ledger)
    return result


def rows(result: Any) -> list[tuple[int, int, float, float, str]]:
    """Each attempt: job, attempt, start and end in s, state."""
    jobs = result.jobs
    return [
        (job.job_id, job.attempt, job.start_ns / S, job.end_ns / S, job.state)
        for job in jobs.sort_values(["job_id", "attempt"]).itertuples()
    ]


#: Job 1 has cores 2 and 3, which are lost at 3 s and 5 s; job 2 the others, up to 4 s.
TWO = Workload.from_jobs([(2, 0, 4, 2, 4), (1, 0, 8, 2, 8)])
GONE = ("lost:cores=2,at=3s", "lost:cores=3,at=5s")


@pytest.mark.parametrize(("coupling", "on_failure"), [("process", "requeue"), ("pool", "lose")])
def test_every_coupling_says_which_core_was_the_last(coupling: str, on_failure: str) -> None:
    rules = Rules(on_failure=on_failure)
    result = run(TWO, *GONE, coupling=coupling, rules=rules)
    assert "all its cores were lost, core 3 last" in result.jobs.cut_because.tolist()
    assert rows(result)[0] == (1, 0, 0.0, 5.0, "requeued" if on_failure == "requeue" else "failed")
    assert_one_result(result, run(TWO, *GONE, rules=rules))


def test_its_story_says_which_core_was_the_last() -> None:
    story = run(TWO, *GONE).story(1)
    assert "cut: all its cores were lost, core 3 last; requeued, after 5 s" in story
    story = run(TWO, *GONE, rules=Rules(on_failure="lose")).story(1)
    assert "cut: all its cores were lost, core 3 last; not requeued, after 5 s" in story


def test_released_cores_are_not_waited_for() -> None:
    jobs = Workload.from_jobs([(1, 0, 9, 2, 9)])
    speeds = ("square:period=1000s,low=0.25,duty=0.001,cores=0", "lost:cores=0,at=15s")
    rules = Rules(coordination="release", on_failure="lose")
    result = run(jobs, *speeds, coupling="pool", rules=rules)
    assert result.jobs.cut_because.tolist() == ["all its cores were lost, core 0 last"]
    assert_one_result(result, run(jobs, *speeds, rules=rules))
    assert result.releases.core.tolist() == [1]


def test_an_application_simulator_may_lose_cores_by_itself() -> None:
    """It loses all of them 3 s after time 0, and no message says so."""
    command = f"{sys.executable} {Path(__file__).with_name('lengths_peer.py')} loses"
    result = run(TWO, coupling="pool", als_command=command)
    assert rows(result) == [
        (1, 0, 0.0, 3.0, "requeued"),
        (1, 1, 3.0, 11.0, "completed"),
        (2, 0, 0.0, 3.0, "requeued"),
        (2, 1, 3.0, 7.0, "completed"),
    ]
    assert result.jobs.cut_because.tolist() == [
        "all its cores were lost, core 1 last",
        "all its cores were lost, core 3 last",
        "",
        "",
    ]


def test_a_core_that_comes_late_is_waited_for_in_a_few_steps() -> None:
    # A day is 43,200 times what the job received at first.
    level = Application(speeds=("late:cores=0-255,at=24h", "square:period=2s,cores=0"))
    workload = Workload.from_jobs([(8, 0, 1, 1, 1)])
    jobs = bridge.simulate(workload, application=level, coupling="pool", workers=1)
    assert_one_result(jobs, bridge.simulate(workload, application=level))
    assert jobs.jobs.end_ns[0] > 24 * 3600 * 10**9
    assert jobs.coupling["messages"] < 100


def test_a_file_may_have_less_work_than_the_log(tmp_path: Path) -> None:
    # Nothing may be promised of it: the job lasts as long as its serial part.
    (tmp_path / "lengths.txt").write_text("0.001\n0.002\n", encoding="utf-8")
    lengths = f"file:{tmp_path / 'lengths.txt'},scale=no"
    phases = f'phases = [{{ kind = "serial", share = 0.5 }}, {{ kind = "loop", lengths = "{lengths}", share = 0.5 }}]'
    (tmp_path / "apps.toml").write_text(f"[default]\n{phases}\n", encoding="utf-8")
    level = Application(applications=tmp_path / "apps.toml")
    workload = Workload.from_jobs([(8, 0, 10, 2, 10), (9, 1, 10, 256, 10)])
    inline = bridge.simulate(workload, application=level)
    assert_one_result(bridge.simulate(workload, application=level, coupling="pool", workers=1), inline)
    assert inline.jobs.end_ns[0] < 6 * 10**9


def test_a_job_whose_cores_never_come_fails_at_its_start(tmp_path: Path) -> None:
    path = tmp_path / "never.csv"
    path.write_text("time_s,core,factor\n0,0,0\n0,1,0\n")
    workload = Workload.from_jobs([(8, 0, 2, 2, 2)])
    level = Application(speeds=(f"trace:{path},periodic=10ms",))
    (job,) = bridge.simulate(workload, als="static", application=level, coupling="pool", workers=1).jobs.itertuples()
    assert (job.state, job.start_ns, job.end_ns, job.attempt, job.tasks) == ("failed", 0, 0, 0, 0)
    assert job.cut_because == "all its cores were lost, core 1 last"
