"""Cases of one loop or one graph alone, of applications whose speeds are changed from outside, of workloads, of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.digest_cases.case import PLUGINS, Case, paper_draw

__all__ = ["alone_cases"]

_CHANGING = ("square:period=9s,low=0.4,cores=0-2", "lost:cores=5,at=20s,until=45s")

_LOOPS: dict[str, dict[str, Any]] = {
    "fac": {"als": "fac", "lengths": "gamma:cov=0.5"},
    "awf in steps": {
        "als": "awf",
        "lengths": "exponential",
        "steps": 4,
        "core_speed_gflops": (2.0, 1.0, 1.0, 0.5, 0.5, 3.0),
    },
    "wf weights": {
        "als": "wf:weights=1.6/.8/.8/.8",
        "lengths": "",
        "variation": 0.2,
        "core_speed_gflops": (2.0, 1.0, 1.0, 1.0),
    },
    "af by a master": {
        "als": "af",
        "lengths": "lognormal:cov=1",
        "hosts": 3,
        "overhead_ns": 10**8,
        "latency_ns": 10**7,
    },
    "bold": {"als": "bold", "lengths": "bimodal", "overhead_ns": 3 * 10**8},
    "select again": {
        "als": "select:tss,fac,every=5s",
        "lengths": "gamma:cov=0.5",
        "speeds": _CHANGING,
        "overhead_ns": 10**8,
    },
    "steal": {"als": "static-steal", "lengths": "decreasing", "speeds": _CHANGING},
    "lost for good": {
        "als": "tss",
        "lengths": "exponential",
        "speeds": ("lost:cores=1-3,at=15s", "late:cores=6,at=30s"),
    },
    "python": {"als": f"{PLUGINS}:Measured", "lengths": "correlated:cov=0.4", "steps": 2, "speeds": _CHANGING},
    "static": {"als": "static", "lengths": "mandelbrot:width=20,height=20,iterations=100"},
    "maf": {"als": "maf", "lengths": "uniform:cov=0.5", "steps": 3, "assignment": "master", "overhead_ns": 10**7},
}

#: Chunks cost something, and messages take time, with these.
_COSTLY = {"hosts": 2, "overhead_ns": 10**7, "latency_ns": 10**6}

_GRAPHS: dict[str, dict[str, Any]] = {
    "cholesky × heft": {"graph": "cholesky:tiles=6,ccr=0.4", "als": "heft", "network": "lv08", "hosts": 4},
    "lu × peft": {"graph": "lu:tiles=5,cov=0.3", "als": "peft", "network": "cm02", "hosts": 4, "topology": "star"},
    "layered × gss": {
        "graph": "layered:tasks=120,ccr=0.5",
        "als": "gss",
        "order": "rank",
        "network": "cm02",
        **_COSTLY,
    },
    "layered × dense": {
        "graph": "layered:tasks=60,density=0.4,width=6,jump=2",
        "als": "ss",
        "network": "hockney",
        "hosts": 3,
    },
    "chain": {
        "graph": "chain:tasks=12",
        "als": "fac",
        "network": "lv08:crosstraffic=no",
        "hosts": 4,
        "topology": "shared",
    },
    "fork-join": {
        "graph": "fork-join:width=9,stages=3",
        "als": "min-min",
        "network": "lv08",
        "hosts": 2,
        "memory_gbps": 50.0,
    },
    "stencil lost": {"graph": "stencil:steps=8,cov=0.2", "als": "ss", "speeds": ("lost:cores=7,at=100ms",)},
    "stencil planned lost": {
        "graph": "stencil:steps=8",
        "als": "heft",
        "speeds": ("lost:cores=2-3,at=90ms,until=200ms",),
    },
    "tree": {
        "graph": "tree:depth=5,direction=out",
        "als": "max-min",
        "network": "lv08",
        "hosts": 8,
        "topology": "star",
    },
    "fat-tree": {
        "graph": "layered:tasks=80,ccr=2",
        "als": "heft",
        "network": "lv08",
        "hosts": 8,
        "topology": "fat-tree:down=4x2,up=1x2",
    },
    "dragonfly": {
        "graph": "layered:tasks=80,ccr=2",
        "als": "critical-path",
        "network": "cm02:gamma=50000",
        "hosts": 8,
        "topology": "dragonfly:groups=2,chassis=2,routers=2,nodes=1,routing=simgrid",
    },
    "dax": {"graph": "small.dax", "als": "heft", "network": "lv08", "hosts": 2},
    "wfformat": {
        "graph": "small.json",
        "als": "awf-b",
        "network": "cm02",
        "hosts": 2,
        "core_speed_gflops": (40.0, 20.0),
    },
    "dot mapped": {
        "graph": "ring.dot",
        "als": "mapped",
        "network": "cm02",
        "hosts": 2,
        "core_speed_gflops": (1.0,) * 4,
    },
    "dot hockney": {
        "graph": "ring.dot",
        "als": "mapped",
        "network": "hockney",
        "hosts": 2,
        "core_speed_gflops": (1.0,) * 4,
    },
    "graphml mapped": {"graph": "small.graphml", "als": "mapped", "order": "rank", "network": "lv08", "hosts": 2},
    "ladder": {"graph": f"{PLUGINS}:LADDER:ratio=3", "tasks": 40, "als": f"{PLUGINS}:FASTEST"},
    "noise": {
        "graph": "lu:tiles=4",
        "als": "static",
        "speeds": ("noise:period=20ms,sigma=0.5",),
        "hosts": 2,
        "network": "cm02",
    },
    "static-steal": {"graph": "layered:tasks=90", "als": "static-steal", "speeds": ("lost:cores=1,at=50ms",)},
    "master": {"graph": "layered:tasks=90", "als": "fac", "assignment": "master", **_COSTLY, "network": "lv08"},
}

#: Applications into which changes are injected at instants: (s, core or all, GFLOP/s), and perhaps a stop.
_INJECTED: dict[str, dict[str, Any]] = {
    "slower, lost, back": {"als": "fac", "changes": ((1.5, 0, 0.3), (2.0, 2, 0.0), (3.25, None, 2.0), (4.0, 2, 1.0))},
    "stopped": {"als": "awf-c", "changes": ((0.5, 1, 3.0),), "stop_s": 6.125},
    "steal and lost": {"als": "static-steal", "changes": ((2.0, 0, 0.0), (2.5, 1, 0.0), (9.0, 0, 1.0))},
    "often advanced": {"als": "gss", "changes": tuple((0.25 * k, None, 1.0 + k % 3) for k in range(1, 20))},
}

_COMMANDS: dict[str, str] = {
    "run": "run sample --select first:60 --als gss --variation 0.25 --tasks --no-trace --lengths normal:draw=paper",
    "work: run": "run sample --select first:60 --als gss --variation 0.25 --tasks --no-trace --tasks-per-core 4",
    "run with hosts": "run sample --select first:90 --backfill easy --failures mtbf:12h,mttr:1h,seed:7 --kill-at-walltime "
    "--als recorded --nodes --no-trace",
    "run with windows": "run sample --platform plain.toml --windows sample-windows.toml --als recorded --nodes --no-trace",
    "loop": "loop --n 200 --lengths gamma:cov=0.5,draw=paper --cores 6 --als fac --overhead 3000000",
    "work: loop": "loop --n 200 --lengths gamma:cov=0.5 --cores 6 --als fac --overhead 3000000",
    "graph": "graph cholesky:tiles=5 --hosts 2 --cores 8 --als heft --network lv08",
    "grid": "grid sample --select first:30 --bls fcfs,sjf --als recorded,static,fac --variation 0,0.25 --seeds 2 --workers 1 "
    "--lengths normal:draw=paper",
    "work: grid": "grid sample --select first:30 --als static,fac --variation 0.25 --seeds 2 --workers 1 --tasks-per-core 4",
}

_WORKLOADS: dict[str, dict[str, Any]] = {
    "sample": {"read": "sample"},
    "swf": {"read": "withdrawn.swf"},
    "swf with cancelled": {"read": "withdrawn.swf", "cancelled": True},
    "sacct": {"read": "log.sacct"},
    "batsim": {"read": "log.json"},
    "gwf": {"read": "log.gwf"},
    "like by calendar": {"like": "sample", "method": "calendar", "n_jobs": 300, "seed": 7},
    "like by accasim": {"like": "sample", "method": "accasim", "n_jobs": 300, "seed": 7},
    "like with cards": {"like": "sample", "n_jobs": 120, "seed": 2, "gpus": (0.5, 2, 500.0), "nodes_factor": 2.0},
    "lublin": {"model": "lublin", "n_jobs": 400, "seed": 4, "n_cores": 128},
    "described": {"read": "sample", "described": "plain.toml"},
}


#: Cores that go, for good or not, until the last tasks; and a technique's costs.
_LEAVING = ("lost:cores=1-2,at=30s,until=70s", "lost:cores=4-6,at=55s", "late:cores=7,at=10s")
_GRAPH_LEAVING = ("lost:cores=1,at=60ms,until=200ms", "lost:cores=4-6,at=150ms", "late:cores=7,at=20ms")


def _lost() -> Iterator[Case]:
    for technique in (
        "static",
        "ss:chunk=4",
        "gss",
        "tss",
        "fac-mu-sigma",
        "static-steal",
        "awf-e",
        "af",
        "bold",
        "tap",
    ):
        for assignment in ("distributed", "master"):
            costs = {"assignment": assignment, "overhead_ns": 10**8, "latency_ns": 2 * 10**7, "hosts": 3}
            loop = {"als": technique, "lengths": "gamma:cov=0.8,draw=paper", "steps": 2, "speeds": _LEAVING, **costs}
            yield Case(f"loop: {technique} × lost × {assignment}", "loop", loop)
        lossy = {**_COSTLY, "order": "rank", "network": "cm02", "speeds": _GRAPH_LEAVING}
        graph = {"graph": "layered:tasks=150,ccr=0.2,cov=0.5", "als": technique, **lossy}
        yield Case(f"graph: {technique} × lost", "graph", graph)


def alone_cases() -> Iterator[Case]:
    """All of them."""
    yield from _lost()
    yield Case("chunks of all techniques", "chunks", {"n_tasks": 1000, "n_cores": 4, "seed": 6})
    yield Case("chunks of all techniques, odd", "chunks", {"n_tasks": 317, "n_cores": 7, "seed": 0})
    for name, given in _LOOPS.items():
        yield Case(f"loop: {name}", "loop", {**given, "lengths": paper_draw(given["lengths"])})
    for name in ("fac", "wf weights", "af by a master", "python"):
        yield Case(f"work: loop: {name}", "loop", _LOOPS[name])
    for name, given in _GRAPHS.items():
        yield Case(f"graph: {name}", "graph", given)
    for name, given in _INJECTED.items():
        yield Case(f"injected: {name}", "application", given)
    for name, given in _WORKLOADS.items():
        yield Case(f"workload: {name}", "workload", given)
    for name, words in _COMMANDS.items():
        yield Case(f"command: {name}", "command", {"words": words.split()})
