"""Cases of single loops and graphs, of applications with injected speeds, of workloads, and of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.digest_cases.case import PLUGINS, Case, paper_draw

_CHANGING = ("square:period=9s,low=0.4,cores=0-2", "lost:cores=5,at=20s,until=45s")

#: Loops: technique, lengths of tasks, and further options.
_LOOPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "fac": ("fac", "gamma:cov=0.5", {}),
    "awf in steps": ("awf", "exponential", {"steps": 4, "core_speed_gflops": (2.0, 1.0, 1.0, 0.5, 0.5, 3.0)}),
    "wf weights": ("wf:weights=1.6/.8/.8/.8", "", {"variation": 0.2, "core_speed_gflops": (2.0, 1.0, 1.0, 1.0)}),
    "af by a master": ("af", "lognormal:cov=1", {"hosts": 3, "overhead_ns": 10**8, "latency_ns": 10**7}),
    "bold": ("bold", "bimodal", {"overhead_ns": 3 * 10**8}),
    "select again": ("select:tss,fac,every=5s", "gamma:cov=0.5", {"speeds": _CHANGING, "overhead_ns": 10**8}),
    "steal": ("static-steal", "decreasing", {"speeds": _CHANGING}),
    "lost for good": ("tss", "exponential", {"speeds": ("lost:cores=1-3,at=15s", "late:cores=6,at=30s")}),
    "python": (f"{PLUGINS}:Measured", "correlated:cov=0.4", {"steps": 2, "speeds": _CHANGING}),
    "static": ("static", "mandelbrot:width=20,height=20,iterations=100", {}),
    "devices": ("awf-c", "gamma:cov=0.5", {"steps": 2, "workers": ("gpu:count=2,speed=6,in_bytes=1e9,streams=2",)}),
    "maf": ("maf", "uniform:cov=0.5", {"steps": 3, "assignment": "master", "overhead_ns": 10**7}),
}

#: Costs of chunks and messages.
_COSTLY = {"hosts": 2, "overhead_ns": 10**7, "latency_ns": 10**6}

#: Graphs: generator or file, scheduler, network, number of hosts, and further options.
_GRAPHS: dict[str, tuple[str, str, str, int, dict[str, Any]]] = {
    "cholesky × heft": ("cholesky:tiles=6,ccr=0.4", "heft", "lv08", 4, {}),
    "lu × peft": ("lu:tiles=5,cov=0.3", "peft", "cm02", 4, {"topology": "star"}),
    "layered × gss": ("layered:tasks=120,ccr=0.5", "gss", "cm02", 2, {"order": "rank", **_COSTLY}),
    "layered × dense": ("layered:tasks=60,density=0.4,width=6,jump=2", "ss", "hockney", 3, {}),
    "chain": ("chain:tasks=12", "fac", "lv08:crosstraffic=no", 4, {"topology": "shared"}),
    "fork-join": ("fork-join:width=9,stages=3", "min-min", "lv08", 2, {"memory_gbps": 50.0}),
    "stencil lost": ("stencil:steps=8,cov=0.2", "ss", "none", 1, {"speeds": ("lost:cores=7,at=100ms",)}),
    "stencil planned lost": ("stencil:steps=8", "heft", "none", 1, {"speeds": ("lost:cores=2-3,at=90ms,until=200ms",)}),
    "tree": ("tree:depth=5,direction=out", "max-min", "lv08", 8, {"topology": "star"}),
    "fat-tree": ("layered:tasks=80,ccr=2", "heft", "lv08", 8, {"topology": "fat-tree:down=4x2,up=1x2"}),
    "dragonfly": (
        "layered:tasks=80,ccr=2",
        "critical-path",
        "cm02:gamma=50000",
        8,
        {"topology": "dragonfly:groups=2,chassis=2,routers=2,nodes=1,routing=simgrid"},
    ),
    "dax": ("small.dax", "heft", "lv08", 2, {}),
    "starpu on devices": ("small.rec", "dmda", "lv08", 2, {"workers": ("w0", "gpu:speed=3,variation=0.5")}),
    "wfformat": ("small.json", "awf-b", "cm02", 2, {"core_speed_gflops": (40.0, 20.0)}),
    "dot mapped": ("ring.dot", "mapped", "cm02", 2, {"core_speed_gflops": (1.0,) * 4}),
    "dot hockney": ("ring.dot", "mapped", "hockney", 2, {"core_speed_gflops": (1.0,) * 4}),
    "graphml mapped": ("small.graphml", "mapped", "lv08", 2, {"order": "rank"}),
    "ladder": (f"{PLUGINS}:LADDER:ratio=3", f"{PLUGINS}:FASTEST", "none", 1, {"tasks": 40}),
    "noise": ("lu:tiles=4", "static", "cm02", 2, {"speeds": ("noise:period=20ms,sigma=0.5",)}),
    "static-steal": ("layered:tasks=90", "static-steal", "none", 1, {"speeds": ("lost:cores=1,at=50ms",)}),
    "master": ("layered:tasks=90", "fac", "lv08", 2, {"assignment": "master", **_COSTLY}),
}

#: Applications into which changes are injected at instants: (s, core or all, GFLOP/s), and perhaps a stop.
_INJECTED: dict[str, dict[str, Any]] = {
    "slower, lost, back": {"als": "fac", "changes": ((1.5, 0, 0.3), (2.0, 2, 0.0), (3.25, None, 2.0), (4.0, 2, 1.0))},
    "stopped": {"als": "awf-c", "changes": ((0.5, 1, 3.0),), "stop_s": 6.125},
    "steal and lost": {"als": "static-steal", "changes": ((2.0, 0, 0.0), (2.5, 1, 0.0), (9.0, 0, 1.0))},
    "often advanced": {"als": "gss", "changes": tuple((0.25 * k, None, 1.0 + k % 3) for k in range(1, 20))},
}

_COMMANDS: dict[str, str] = {
    "run": "run sample --select first:60 --als gss --variation 0.25 --tasks --trace none --lengths normal:draw=paper",
    "work: run": "run sample --select first:60 --als gss --variation 0.25 --tasks --trace none --tasks-per-core 4",
    "run with hosts": "run sample --select first:90 --backfill easy --failures mtbf:12h,mttr:1h,seed:7 --kill-at-walltime "
    "--als recorded --nodes --trace none",
    "streamed run with kinds of gpus": "run with-gpus.swf --platform two-kinds.toml --als recorded --backfill easy --stream "
    "--trace none --failures mtbf:2h,mttr:10min,seed:3",
    "run with windows": "run sample --platform plain.toml --windows sample-windows.toml --als recorded --nodes --trace none",
    "loop": "loop --n 200 --lengths gamma:cov=0.5,draw=paper --cores 6 --als fac --overhead 3000000",
    "work: loop": "loop --n 200 --lengths gamma:cov=0.5 --cores 6 --als fac --overhead 3000000",
    "graph": "graph cholesky:tiles=5 --hosts 2 --cores 8 --als heft --network lv08",
    "grid": "grid sample --select first:30 --bls fcfs,sjf --als recorded,static,fac --variation 0,0.25 --seeds 2 --workers 1 "
    "--lengths normal:draw=paper",
    "work: grid": "grid sample --select first:30 --als static,fac --variation 0.25 --seeds 2 --workers 1 --tasks-per-core 4",
}

#: Fallbacks of power limits; only limits of the whole machine stop hosts.
for _fallback in ("hold", "submit:state=1", "dvfs", "dvfs:slow=fewest", "stop:off", "stop:idle"):
    for _backfill, _als in (("none", "fac"), ("easy", "gss"), ("conservative", "static")):
        _COMMANDS[f"{_fallback}, {_backfill}"] = (
            f"run sample --select first:300 --platform powered.toml --limits {_fallback.partition(':')[0]}.csv --fallback "
            f"{_fallback} --backfill {_backfill} --als {_als} --power --tasks --trace none"
        )

_WORKLOADS: dict[str, dict[str, Any]] = {
    "sample": {"read": "sample"},
    "swf": {"read": "withdrawn.swf"},
    "swf with cancelled": {"read": "withdrawn.swf", "cancelled": True},
    "sacct": {"read": "log.sacct"},
    "batsim": {"read": "log.json"},
    "gwf": {"read": "log.gwf"},
    "table": {"read": "log.csv"},
    "like by calendar": {"like": "sample", "method": "calendar", "n_jobs": 300, "seed": 7},
    "like by accasim": {"like": "sample", "method": "accasim", "n_jobs": 300, "seed": 7},
    "like with cards": {"like": "sample", "n_jobs": 120, "seed": 2, "gpus": (0.5, 2, 500.0), "nodes_factor": 2.0},
    "lublin": {"model": "lublin", "n_jobs": 400, "seed": 4, "n_cores": 128},
    "described": {"read": "sample", "described": "plain.toml"},
}


#: Cores that are lost, for good or not, until the last tasks; and a technique's costs.
_LEAVING = ("lost:cores=1-2,at=30s,until=70s", "lost:cores=4-6,at=55s", "late:cores=7,at=10s")
_GRAPH_LEAVING = ("lost:cores=1,at=60ms,until=200ms", "lost:cores=4-6,at=150ms", "late:cores=7,at=20ms")

_THAT_LOSE = "static", "ss:chunk=4", "gss", "tss", "fac-mu-sigma", "static-steal", "awf-e", "af", "bold", "tap"


def _lost() -> Iterator[Case]:
    for technique in _THAT_LOSE:
        for assignment in ("distributed", "master"):
            costs = {"assignment": assignment, "overhead_ns": 10**8, "latency_ns": 2 * 10**7, "hosts": 3}
            loop = {"als": technique, "lengths": "gamma:cov=0.8,draw=paper", "steps": 2, "speeds": _LEAVING, **costs}
            yield Case(f"loop: {technique} × lost × {assignment}", "loop", loop)
        lossy = {**_COSTLY, "order": "rank", "network": "cm02", "speeds": _GRAPH_LEAVING}
        graph = {"graph": "layered:tasks=150,ccr=0.2,cov=0.5", "als": technique, **lossy}
        yield Case(f"graph: {technique} × lost", "graph", graph)


def alone_cases() -> Iterator[Case]:
    """All cases of this module."""
    yield from _lost()
    yield Case("chunks of all techniques", "chunks", {"n_tasks": 1000, "n_cores": 4, "seed": 6})
    yield Case("chunks of all techniques, odd", "chunks", {"n_tasks": 317, "n_cores": 7, "seed": 0})
    for name, (technique, lengths, more) in _LOOPS.items():
        yield Case(f"loop: {name}", "loop", {"als": technique, "lengths": paper_draw(lengths), **more})
    for name in ("fac", "wf weights", "af by a master", "python"):
        technique, lengths, more = _LOOPS[name]
        yield Case(f"work: loop: {name}", "loop", {"als": technique, "lengths": lengths, **more})
    for name, (graph, scheduler, network, hosts, options) in _GRAPHS.items():
        given = {"graph": graph, "als": scheduler, "network": network, "hosts": hosts, **options}
        yield Case(f"graph: {name}", "graph", given)
    yield from (Case(f"injected: {name}", "application", given) for name, given in _INJECTED.items())
    for name, given in _WORKLOADS.items():
        yield Case(f"workload: {name}", "workload", given)
    for name, words in _COMMANDS.items():
        yield Case(f"command: {name}", "command", {"words": words.split()})
