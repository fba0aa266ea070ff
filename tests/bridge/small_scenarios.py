"""Small two-level scenarios of every kind that the bridge treats differently, drawn from a number, and their inline results."""

import atexit
import random
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from application_features import MAPS, written_map
from directors import Director
from one_result import different

import bridge
from bls.machine.platform import HostGroup, Network, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario

__all__ = ["KINDS", "INTERRUPTED", "VARIANTS", "different", "expected", "scenario"]

#: How many of each kind there are.
VARIANTS = 6

#: What differs: applications that receive everything at once or bit by bit, are cut, tried again, in parts, with data between
#: tasks, or that give cores back before they end, get hints, are given some, and asked for some, while they run, request
#: others, or run faster and slower as a policy says, which ends some.
KINDS = ("loops", "speeds", "cut", "again", "parts", "graphs", "releases", "hints", "widths", "evolving", "directed")

#: Those whose running jobs receive commands, so that applications are simulated again.
INTERRUPTED = ("hints", "widths", "evolving", "directed")

_HOSTS = (HostGroup(2, 3, 4.0), HostGroup(1, 3, 6.0))

_MAPS = {
    "parts": MAPS["parts"],
    "graphs": MAPS["by_rank"] + MAPS["cholesky"] + MAPS["told"],
    "evolving": MAPS["wishes"],
}
_SPEEDS = ("square:period=3s,low=0.1,duty=0.3", "noise:period=7s,sigma=0.2")


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="scenarios-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def scenario(kind: str, variant: int) -> ReadyScenario:
    """One of ``KINDS``, of which there are ``VARIANTS``."""
    draw = random.Random(f"{kind} {variant}")
    users = 1
    level: dict[str, Any] = {}
    if kind in _MAPS:
        users = max(1, _MAPS[kind].count("user = #"))
        level["applications"] = written_map(_MAPS[kind], _folder() / f"{kind}.toml", {})
    if kind in ("speeds", "cut") or (kind == "directed" and variant % 3 == 0) or (kind == "graphs" and variant % 2):
        level["speeds"] = _SPEEDS
    if kind == "graphs":
        level["network"] = draw.choice(("lv08", "hockney"))
    if draw.random() < 0.3:
        level |= {"latency_ns": 10**7, "assignment": draw.choice(("master", "distributed"))}
    n = draw.randint(5, 15)
    rows = []
    for number in range(n):
        run_s = draw.choice((1, 3, 8, 20))
        rows.append(
            (100 + number, draw.randint(0, 30), run_s, draw.choice((1, 1, 2, 3, 5, 9)), run_s + draw.randint(-1, 9))
        )
    workload = replace(Workload.from_jobs(rows), user=np.arange(n) % users)
    options = Scenario.flat(
        bls=Director(variant, 0.5, 0.05) if kind == "directed" else draw.choice(("fcfs", "sjf", "saf")),
        als=draw.choice(("static", "ss", "gss", "fac")),
        variation=draw.choice((0.0, 0.25, 1.0)),
        tasks_per_core=draw.randint(1, 6),
        seed=variant,
        overhead_ns=draw.choice((0, 0, 10**6)),
        rules=Rules(
            "none" if kind == "directed" else draw.choice(("none", "easy", "conservative")),
            kill_at_walltime=kind == "cut",
            coordination=_coordination(kind, draw),
            resize=_resize(kind, draw),
            max_attempts=1000 if kind == "directed" else Rules.max_attempts,
        ),
        failures="mtbf:40s,mttr:5s" if kind == "again" else None,
        malleable="1:0.25:3" if kind in ("widths", "evolving") else None,
        **level,
    )
    network = Network("star", bandwidth_gbps=2.0, latency_ns=50_000, memory_gbps=40.0)
    return ReadyScenario.of(workload, Platform(_HOSTS, network=network), options)


def _resize(kind: str, draw: random.Random) -> str:
    if kind == "widths":
        return draw.choice(("expand+shrink", "equal"))
    return "evolve" if kind == "evolving" else "none"


def _coordination(kind: str, draw: random.Random) -> str:
    if kind in ("releases", "hints"):
        return kind.removesuffix("s") + draw.choice((":core", ":host"))
    return "release" if kind == "directed" and draw.random() < 0.3 else "none"


@cache
def expected(kind: str, variant: int, keep_tasks: bool) -> bridge.Result:
    """Its result, inline."""
    return run(scenario(kind, variant), keep_tasks=keep_tasks)
