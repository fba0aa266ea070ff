"""Cases of the application level in runs of both levels: techniques, lengths, speeds, costs, programs, graphs, couplings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.digest_cases.case import PLUGINS, Case, run, run_of_paper

#: Techniques, as for ``--als``.
TECHNIQUES = (
    "static",
    "static:round=ceil",
    "ss",
    "ss:chunk=3",
    "fsc",
    "fsc:h=1e-3,sigma=2,round=floor",
    "mfsc",
    "gss",
    "gss:min=2",
    "gss:round=closed",
    "guided",
    "guided:chunk=3",
    "tss",
    "tss:step=real,first_round=ceil",
    "tss:first=9,last=2",
    "fac",
    "fac:rule=halving,min=2",
    "fac:merge=true",
    "fac2",
    "fac-mu-sigma",
    "fac-mu-sigma:mu=10,sigma=3",
    "mfac",
    "wf",
    "tfss",
    "fiss",
    "fiss:stages=3,rest=last",
    "viss",
    "rnd",
    "rnd:low=2,high=6",
    "pls",
    "pls:swr=0.8",
    "tap",
    "tap:alpha=1.3",
    "bold",
    "static-steal",
    "static-steal:chunk=2",
    "awf",
    "awf:time=total",
    "awf-b",
    "awf-b:start=tenth,round=half",
    "awf-c",
    "awf-d",
    "awf-d:min=2",
    "awf-e",
    "af",
    "af:mu=known,start=none,spread=deviation,round=half,cap=true",
    "maf",
    f"{PLUGINS}:Careful",
    f"{PLUGINS}:Measured:part=0.4",
    f"{PLUGINS}:THIRDS",
    "select:static,ss,fac",
    "select:gss,awf-c,tss,every=60s",
    "select:(gss,maf,bold)",
)

#: Distributions, as for ``--lengths``.
LENGTHS = (
    "equal",
    "normal:cov=0.4",
    "uniform:cov=0.5",
    "exponential",
    "gamma:cov=0.7",
    "lognormal:cov=1.5",
    "bimodal:share=0.2,ratio=5",
    "correlated:cov=0.3,rho=0.8",
    "increasing",
    "decreasing:first=3,last=1",
    "file:lengths.txt",
    "file:lengths.txt,unit=flop,scale=no",
    "mandelbrot:width=12,height=10,iterations=60",
    f"{PLUGINS}:WEIBULL",
)

#: Distributions that the pairs of features do not have.
FURTHER_LENGTHS = (
    "weibull:cov=1.5",
    "gamma:cov=0.5,drift=-1.2",
    "file:lengths.txt,unit=ns,scale=no",
    "file:lengths.txt,sample=yes",
)

#: Changes of core speeds, as for ``level``.
SPEEDS = {
    "square": ("square:period=10m,low=0.5,duty=0.3,cores=0-63",),
    "stopping square": ("square:period=4h,low=0,offset=10m,cores=5 21 37",),
    "noise": ("noise:period=1m,sigma=0.3",),
    "trace": ("trace:speeds.csv,periodic=4000s",),
    "late and lost": (
        "late:cores=0-3 64,at=1h",
        "lost:cores=16-20,at=30m,until=100m",
        "lost:cores=70-80,at=20m,until=50m",
    ),
    "product": ("square:period=10m,low=0.4", "noise:period=3m", "noise:period=7m,sigma=0.05"),
}

_COSTS: dict[str, dict[str, Any]] = {
    "overhead": {"overhead_ns": 50_000_000},
    "master": {"overhead_ns": 20_000_000, "level": {"assignment": "master", "latency_ns": 3_000_000}},
    "latency": {"level": {"latency_ns": 40_000_000}},
}

_LEVEL: dict[str, Any] = {"workload": "level", "platform": "plain.toml", "tasks_per_core": 5, "seed": 3}


def _loops() -> Iterator[Case]:
    for technique in TECHNIQUES:
        varied = {**_LEVEL, "als": technique, "variation": 0.3}
        yield run_of_paper(f"als {technique}", **varied)
        if ":" not in technique or technique.startswith((PLUGINS, "select")):
            changing = {"speeds": SPEEDS["late and lost" if technique < "g" else "product"]}
            costs = {"overhead_ns": 30_000_000, "level": {"latency_ns": 10_000_000, **changing}}
            yield run_of_paper(f"als {technique} × costs × speeds", **varied, **costs)
    for lengths in (*LENGTHS, *FURTHER_LENGTHS):
        for technique in ("fac", "ss"):
            yield run_of_paper(f"lengths {lengths} × {technique}", **_LEVEL, als=technique, level={"lengths": lengths})
    for name, speeds in SPEEDS.items():
        for technique in ("awf-c", "gss", "static-steal"):
            given = {**_LEVEL, "platform": "mixed.toml", "als": technique, "variation": 0.2}
            yield run_of_paper(f"speeds {name} × {technique}", **given, level={"speeds": speeds})
    for name, costs in _COSTS.items():
        for technique in ("ss", "fac", "af", "bold", "select:ss,gss"):
            yield run_of_paper(f"{name} × {technique}", **{**_LEVEL, **costs}, als=technique, variation=0.5)
    yield run_of_paper(
        "sample × gss", workload="sample", als="gss", variation=0.25, tasks_per_core=2, seed=1, bls="sjf"
    )
    yield run_of_paper(
        "traced",
        **{**_LEVEL, "workload": "few"},
        als="fac",
        variation=0.25,
        exports=["otf2", "perfetto", "chrome", "paje", "csv", "text"],
    )
    yield run_of_paper("measured", **{**_LEVEL, "workload": "few"}, als="fac", variation=0.25, exports=["measured"])
    yield run_of_paper(
        "traced with GPUs",
        **{**_LEVEL, "workload": "few", "platform": "gpus.toml"},
        als="static",
        variation=0.5,
        rules={"coordination": "release:host"},
        constraints={"requests": "gpus.csv"},
        exports=["otf2", "perfetto", "chrome", "paje", "csv", "text"],
    )


def _programs() -> Iterator[Case]:
    for technique in ("fac", "awf-b", "select:static,gss"):
        for variation in (0.0, 0.3):
            given = {**_LEVEL, "als": technique, "variation": variation, "backfill": "easy"}
            yield run_of_paper(
                f"programs × {technique} × {variation}", **given, level={"applications": "programs.toml"}
            )
    changing = {"applications": "programs.toml", "speeds": SPEEDS["late and lost"], "latency_ns": 5_000_000}
    yield run_of_paper("programs × speeds × master", **_LEVEL, als="gss", level={**changing, "assignment": "master"})


def _graphs() -> Iterator[Case]:
    topologies = ("full", "shared", "star", "fat-tree", "dragonfly")
    networks = ("none", "hockney", "cm02", "lv08", "lv08:crosstraffic=no", f"{PLUGINS}:SLOW_LINKS")
    given, level = {**_LEVEL, "als": "fac"}, dict[str, Any]()
    for k, network in enumerate(networks):
        for maps in ("graphs.toml", "other-graphs.toml"):
            for topology in topologies if network == "lv08" else topologies[k % 5 : k % 5 + 1]:
                title = f"{maps} × {network} × {topology}".replace(f"{PLUGINS}:", "plugins.py:")
                level = {"applications": maps, "network": network}
                yield run_of_paper(title, **{**given, "platform": f"{topology}.toml"}, level=level)
    for name, speeds in SPEEDS.items():
        level = {"applications": "graphs.toml", "network": "cm02", "speeds": speeds}
        yield run_of_paper(f"graphs × speeds {name}", **{**given, "platform": "star.toml"}, variation=0.2, level=level)
    level = {"applications": "graphs.toml", "network": "lv08", "latency_ns": 2_000_000, "assignment": "master"}
    costly = {"overhead_ns": 10_000_000, "allocator": "worst-fit", "rules": {"kill_at_walltime": True}}
    yield run_of_paper("graphs × master × killed", **{**given, "platform": "fat-tree.toml", **costly}, level=level)
    yield run_of_paper(
        "graphs traced", **{**given, "workload": "few", "platform": "star.toml"}, level=level, exports=["otf2"]
    )
    for planner in ("heft", "peft", "min-min", "max-min", "critical-path", "dmda", f"{PLUGINS}:FASTEST"):
        yield run_of_paper(f"planned loops {planner}", **{**_LEVEL, "als": planner}, variation=0.4)


#: Messages to applications in other processes, with every part that a message may have.
_TOLD: dict[str, dict[str, Any]] = {
    "plain": {"als": "static"},
    "varied": {"als": "gss", "variation": 0.3},
    "killed": {"als": "fac", "variation": 0.4, "rules": {"kill_at_walltime": True, "backfill": "easy"}},
    "failures": {"als": "awf-c", "variation": 0.2, "constraints": {"failures": "mtbf:30m,mttr:5m,seed:1"}},
    "speeds": {"als": "af", "variation": 0.2, "level": {"speeds": ("noise:period=30s,sigma=0.3",)}},
    "costs": {"als": "ss", "overhead_ns": 10**8, "level": {"assignment": "master", "latency_ns": 10**7}},
    "programs": {"als": "select:gss,fac", "level": {"applications": "programs.toml", "lengths": "gamma:cov=0.5"}},
    "graphs": {"als": "heft", "platform": "star.toml", "level": {"applications": "graphs.toml", "network": "lv08"}},
    "devices": {"als": "gss", "variation": 0.2, "level": {"applications": "devices.toml"}},
    "python": {"als": f"{PLUGINS}:Careful", "variation": 0.3, "bls": f"{PLUGINS}:Greedy"},
}


def _couplings() -> Iterator[Case]:
    for name, given in _TOLD.items():
        for coupling in ("inline", "pool", "process"):
            common = {"workload": "few", "platform": "plain.toml", "tasks_per_core": 4, "seed": 8, **given}
            yield run_of_paper(
                f"{name} by {coupling}", **common, coupling=coupling, workers=2 if coupling == "pool" else None
            )


def _keeping_work() -> Iterator[Case]:
    # The default draw: exactly P·K tasks with the exact work of the job.
    for lengths in (*LENGTHS, *FURTHER_LENGTHS):
        if not lengths.startswith(("equal", "increasing", "decreasing", "file", "mandelbrot")):
            yield run(f"work: lengths {lengths} × gss", **_LEVEL, als="gss", level={"lengths": lengths})
    for technique in ("static", "fac", "awf-c", "heft"):
        yield run(f"work: als {technique}", **_LEVEL, als=technique, variation=0.3)
    for per_core in (1, 8):
        given = {**_LEVEL, "platform": "mixed.toml", "tasks_per_core": per_core, "seed": 2**64 - 1}
        yield run(f"work: {per_core} per core", **given, als="ss", variation=1.5, level={"speeds": SPEEDS["noise"]})
    for maps in ("work-programs.toml", "graphs.toml"):
        given = {**_LEVEL, "platform": "star.toml"}
        yield run(f"work: {maps}", **given, als="fac", variation=0.4, level={"applications": maps})
    yield run("work: sample × gss", workload="sample", als="gss", variation=0.25, tasks_per_core=2, seed=1, bls="sjf")
    common: dict[str, Any] = {"workload": "few", "platform": "plain.toml", "tasks_per_core": 4, "seed": 8}
    programs = {"level": {"applications": "work-programs.toml", "lengths": "gamma:cov=0.5"}}
    for name, given in (("varied", _TOLD["varied"]), ("programs", _TOLD["programs"] | programs)):
        for coupling in ("inline", "pool", "process"):
            workers = 2 if coupling == "pool" else None
            yield run(f"work: {name} by {coupling}", **common, **given, coupling=coupling, workers=workers)


def application_cases() -> Iterator[Case]:
    """All cases of this module."""
    yield from _loops()
    yield from _programs()
    yield from _graphs()
    yield from _couplings()
    yield from _keeping_work()
