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
from bls.scheduler_options import Rules

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
#: A simulator that is told of tasks and edges.
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
STAYS = re.compile("all|failures|another|planners")


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
