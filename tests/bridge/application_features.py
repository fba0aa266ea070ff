"""Features of an application level, loops and task graphs, that every coupling must simulate equally."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx
import numpy as np
from scenarios import crowd
from tables import table_text

import bridge
from als.lengths import LENGTHS
from als.planners import PLANNERS
from als.techniques import TECHNIQUES
from bls.machine.platform import HostGroup, Network, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger

#: The maps of ``application_maps.toml``.
MAPS: dict[str, str] = tomllib.loads(Path(__file__).with_name("application_maps.toml").read_text(encoding="utf-8"))
LAYERED, CHOLESKY, PROGRAMS = (MAPS[name] for name in ("layered", "cholesky", "programs"))
PLANS = "".join(
    f'[[application]]\nname = "{name}"\nmatch = {{ user = # }}\ngraph = "layered:tasks=24"\nals = "{name}"\n'
    for name in PLANNERS
)
GRAPH_TRACE = "time_s,core,factor\n3,1,0\n5,1,1\n6,0,0\n7,0,1.5\n9,1,0\n12,1,0.5\n30,6,0\n33,6,1\n"
CHANGING = ("square:period=7s,low=0.4,duty=0.6,cores=0-5", "noise:period=3s,sigma=0.3")
GOING = ("trace:{trace}", "late:cores=3-4,at=6s", "lost:cores=7,at=20s")
#: Techniques of the user's own: a class in plain Python, and compiled rules of both forms.
MINE = table_text(__file__, "mine")
#: Core 1 goes and comes all the time; for a while core 0 is away, too.
GONE = [(t, 1, (t % 4 > 0) * 1.5) for t in (*range(4, 200, 4), *range(6, 200, 4))] + [(40, 0, 0), (49, 0, 1)]
TRACE = "time_s,core,factor\n" + "".join(f"{t},{core},{factor}\n" for t, core, factor in sorted(GONE))


def written_map(text: str, path: Path, names: dict[str, Path]) -> Path:
    """Write an application map: of each ``user = #`` the next number from 0, of each ``{name}`` its file."""
    numbers = count()
    text = re.sub("user = #", lambda _: f"user = {next(numbers)}", text)
    for name, file in names.items():
        text = text.replace(f"{{{name}}}", str(file))
    path.write_text(text, encoding="utf-8")
    return path


def every(key: str, values: list[str]) -> str:
    """An application for each value of a key."""
    table = '[[application]]\nname = "{} {}"\nmatch = {{ user = # }}\n{} = "{}"\n'
    return "".join(table.format(key, place, key, value) for place, value in enumerate(values))


@dataclass(frozen=True)
class ApplicationFeature:
    """A run with applications of a map; ``seen`` returns whether the inline result is worth a comparison."""

    applications: str = ""
    als: str = "static"
    overhead_ns: int = 0
    level: dict[str, Any] = field(default_factory=dict)
    seen: Callable[[bridge.Result], object] = lambda result: True
    jobs: int = 40
    suspends: bool | None = None  # whether events of the cores of many jobs arrive bit by bit; None: of some
    trace: ClassVar[str] = TRACE
    defaults: ClassVar[dict[str, Any]] = {}

    @property
    def users(self) -> int:
        """Number of users that the map distinguishes."""
        return max(1, self.applications.count("user = #"))

    def check(self, result: bridge.Result) -> None:
        """The feature is met."""
        assert self.seen(result)

    def case(self) -> tuple[Workload, dict[str, Any]]:
        """Jobs of at least two cores, as the last one of the machine may be lost, and how they run."""
        case = crowd(71, self.jobs, policy="sjf", variation=0.25, tasks_per_core=3)
        case = replace(case, jobs=tuple(replace(job, cores=max(2, job.cores)) for job in case.jobs))
        return case.workload(), case.options()

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        names = {one: folder / one for one in ("mine.py", "trace.csv", "lengths.txt", "file.graphml", "timed.rec")}
        names["mine.py"].write_text(MINE, encoding="utf-8")
        names["trace.csv"].write_text(self.trace, encoding="utf-8")
        names["lengths.txt"].write_text("3\n1.5\n\n# two more\n2\n8\n", encoding="utf-8")
        nx.write_graphml(small_graph(), names["file.graphml"])
        names["timed.rec"].write_text(TIMED, encoding="utf-8")
        names = {path.stem: path for path in names.values()}
        given = self.defaults | self.level
        given["speeds"] = [spec.format_map(names) for spec in given.get("speeds", ())]
        if self.applications:
            given["applications"] = written_map(self.applications, folder / "apps.toml", names)
        workload, how = self.case()
        how |= {"als": self.als.format_map(names), "overhead_ns": self.overhead_ns} | options
        workload = replace(workload, user=np.arange(self.jobs) % self.users)
        result = bridge.simulate(workload, **given, **how)
        check_ledger(result.ledger)
        return result


@dataclass(frozen=True)
class GraphFeature(ApplicationFeature):
    """A run whose applications are task graphs on a network."""

    rules: Rules = field(default_factory=Rules)
    seen: Callable[[bridge.Result], object] = lambda result: (result.jobs.transfers > 0).any()
    jobs: int = 9
    malleable: str | None = None
    trace: ClassVar[str] = GRAPH_TRACE
    defaults: ClassVar[dict[str, Any]] = {"network": "lv08"}

    def case(self) -> tuple[Workload, dict[str, Any]]:
        """Jobs of one to eight cores, of ten seconds or so; the estimates of some are too short."""
        cores, numbers = (5, 3, 8, 1), range(self.jobs)
        jobs = [(number, 2 * number, 4 + 3 * (number % 4), cores[number % 4], 5 + number) for number in numbers]
        network = Network("star", bandwidth_gbps=2.0, latency_ns=50_000, memory_gbps=40.0)
        platform = Platform((HostGroup(3, 2, 4.0), HostGroup(1, 2, 6.0)), network=network)
        how = {"platform": platform, "variation": 0.3, "tasks_per_core": 3, "seed": 7, "rules": self.rules}
        return Workload.from_jobs(jobs), how | {"constraints": ConstraintOptions(malleable=self.malleable)}


def small_graph() -> nx.DiGraph:
    """Eight tasks, the last without work, and data between most of them."""
    graph = nx.DiGraph()
    for number in range(8):
        graph.add_node(f"t{number}", gflop=float((number * 3) % 7))
    for source, target, n_bytes in ((0, 1, 1e8), (0, 2, 3e8), (1, 3, 0.0), (2, 4, 2e8), (3, 5, 5e7), (4, 5, 1e8)):
        graph.add_edge(f"t{source}", f"t{target}", bytes=n_bytes)
    graph.add_edge("t5", "t7", bytes=1e6)
    return graph


def killed(result: bridge.Result) -> bool:
    return bool((result.jobs.state == "killed").any() and result.jobs.slr.isna().any())


USERS = ["{mine}:Halves", "{mine}:PAIRS", "{mine}:BY_SPEED", "select:static,af", "select:{mine}:PAIRS,gss"]
LENGTHS_TRIED = [
    *(name for name in LENGTHS if name != "file"),
    "file:{lengths}",
    "file:{lengths},unit=flop,scale=no",
    "gamma:cov=0.5",
]
#: Some jobs are too narrow for devices; a device of the second kind is driven by two cores.
DEVICES = """
[[application]]
name = "shared"
match = { user = #, cores = "6-" }
phases = [
    { kind = "serial", share = 0.1 },
    { kind = "loop", als = "awf-c", tasks_per_core = 9 },
    { kind = "loop", als = "gss", on = "gpu+slow", tasks = 40 },
]
steps = 2
workers.gpu = { count = 2, speed = 10, launch = "10ms", in_bytes = 1e8, out_bytes = 3e7, variation = 0.4 }
workers.slow = { count = 1, speed = 3, streams = 2, in_bytes = 2e8, bandwidth_gbps = 64, link_latency = "1ms" }
[[application]]
name = "chosen"
match = { user = #, cores = "3-" }
als = "select:static,gss,af"
tasks_per_core = 6
workers.gpu = { count = 1, speed = 4, launch = "2ms" }
[[application]]
name = "graph"
match = { user = #, cores = "2-" }
als = "heft"
graph = "layered:tasks=24"
workers.gpu = { count = 1, speed = 4 }
[[application]]
name = "timed"
match = { user = #, cores = "3-" }
phases = [
    { kind = "graph", graph = "file:{timed}", als = "dmda" },
    { kind = "loop", als = "af" },
    { kind = "graph", graph = "layered:tasks=12", als = "peft" },
]
steps = 2
workers.w0 = { count = 1, speed = 2 }
"""
#: The second task can run on workers of the kind ``w0`` alone.
TIMED = "".join(
    f"Name: {task}\nModel: m\nJobId: {task}\nDependsOn: {max(task - 2, 0)}\nEstimatedTime: {task + 1}e6 {on}\n\n"
    for task, on in enumerate(("9e6", "inf", "2e6", "7e6", "4e6"))
).replace("DependsOn: 0\n", "", 1)
LEVEL_FEATURES = {
    "techniques": ApplicationFeature(
        als="fac",
        applications=every("als", list(TECHNIQUES)),
        overhead_ns=10**6,
        level={"latency_ns": 3 * 10**5, "assignment": "master", "lengths": "lognormal:cov=0.8"},
        jobs=60,
    ),
    "devices": ApplicationFeature(
        als="fac",
        applications=DEVICES,
        overhead_ns=10**6,
        level={"latency_ns": 3 * 10**5, "assignment": "master"},
        seen=lambda result: {"shared", "chosen", "graph", "timed"} <= set(result.jobs.application),
    ),
    "all at once": ApplicationFeature(
        als="fac",
        applications=PROGRAMS + every("als", USERS) + every("lengths", LENGTHS_TRIED),
        overhead_ns=10**6,
        level={
            "latency_ns": 10**6,
            "assignment": "master",
            "speeds": (*CHANGING, "trace:{trace}", "late:cores=3-4,at=25s", "lost:cores=8,at=60s"),
        },
        suspends=True,
    ),
}
GRAPH_FEATURES = {
    "planners": GraphFeature(PLANS, level={"network": "hockney"}),
    "a map": GraphFeature(MAPS["map"], overhead_ns=1000, level={"latency_ns": 500}),
    "widths": GraphFeature(
        MAPS["evolving"],
        als="gss",
        level={"network": "none"},
        rules=Rules("easy", resize="evolve"),
        malleable="1:0.25:3",
        seen=lambda result: set(result.widths.change) == {-1, 0, 1},
        jobs=12,
    ),
    "widths by the batch level": GraphFeature(
        LAYERED + CHOLESKY + PLANS,
        level={"network": "none", "latency_ns": 10**7, "assignment": "master", "resize_ns": 5 * 10**8},
        rules=Rules("conservative", resize="equal"),
        malleable="1:0.25:3",
        seen=lambda result: (result.widths.change == -1).sum() > 20,
        jobs=24,
    ),
    "killed on cores that go": GraphFeature(
        MAPS["by_rank"] + CHOLESKY,
        overhead_ns=10**6,
        level={"speeds": (*CHANGING, *GOING)},
        rules=Rules(kill_at_walltime=True),
        seen=killed,
    ),
}
