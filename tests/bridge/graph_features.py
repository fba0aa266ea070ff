"""What task graphs can be and do, as features of runs that every coupling must simulate alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import bridge
from als.planners import PLANNERS
from bls.machine.platform import HostGroup, Network, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel
from traces.checks.ledger import check_ledger

LAYERED = '[[application]]\nname = "layered"\nmatch = { user = # }\ngraph = "layered:tasks=40,ccr=2"\nals = "gss"\n'
BY_RANK = LAYERED + 'order = "rank"\n'
CHOLESKY = '[[application]]\nname = "cholesky"\nmatch = { user = # }\ngraph = "cholesky:tiles=4,ccr=1"\nals = "heft"\n'
FILE = """
[[application]]
name = "file"
match = { user = # }
graph = "file:{file}"
als = "ss"

[[application]]
name = "file as it is"
match = { user = # }
graph = "file:{file},scale=no"
als = "peft"
"""
#: Four phases, which are all that an application can be made of.
PHASES = """steps = 2
redraw = true
phases = [
    { kind = "serial", share = 0.1 },
    { kind = "graph", graph = "stencil:ccr=1", als = "fac", order = "rank", share = 0.5 },
    { kind = "loop", als = "$", lengths = "gamma:cov=1", tasks_per_core = 3, share = 0.2 },
    { kind = "graph", graph = "fork-join:ccr=3", als = "min-min", share = 0.2 },
]
"""
MAP = (
    """
[[application]]
name = "all"
match = { user = # }
"""
    + PHASES.replace("$", "awf")
    + """
[[application]]
name = "same again"
match = { user = # }
steps = 3
phases = [
    { kind = "graph", graph = "lu:tiles=3,ccr=1", als = "rnd", share = 0.5 },
    { kind = "loop", als = "max-min", tasks = 11, share = 0.2 },
    { kind = "loop", als = "select:gss,af", tasks_per_core = 5, share = 0.3 },
]

[[application]]
name = "loops only"
match = { user = # }
als = "fac"
"""
)
PLANS = "".join(
    f'[[application]]\nname = "{name}"\nmatch = {{ user = # }}\ngraph = "layered:tasks=24"\nals = "{name}"\n'
    for name in PLANNERS
)
#: What somebody can do who knows neither the run's random numbers nor which parts are a step.
TOLD = (
    """
[[application]]
name = "phases"
match = { user = # }
"""
    + PHASES.replace("$", "gss")
    + """
[[application]]
name = "loops only"
match = { user = # }
als = "fac"

[[application]]
name = "planned loop"
match = { user = # }
als = "max-min"
tasks = 11
"""
)
TRACE = "time_s,core,factor\n3,1,0\n5,1,1\n6,0,0\n7,0,1.5\n9,1,0\n12,1,0.5\n30,6,0\n33,6,1\n"
CHANGING = ("square:period=7s,low=0.4,duty=0.6,cores=0-5", "noise:period=3s,sigma=0.3")
GOING = ("trace:{trace}", "late:cores=3-4,at=6s", "lost:cores=7,at=20s")


def written_map(text: str, path: Path, names: dict[str, Path]) -> Path:
    """Write an application map: of each ``user = #`` the next number from 0, of each ``{name}`` its file."""
    numbers = count()
    text = re.sub("user = #", lambda _: f"user = {next(numbers)}", text)
    for name, file in names.items():
        text = text.replace(f"{{{name}}}", str(file))
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class GraphFeature:
    """What of graphs is tried; ``seen`` says whether the inline result is worth a comparison."""

    applications: str = ""
    als: str = "static"
    overhead_ns: int = 0
    level: dict[str, Any] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    seen: Callable[[bridge.Result], object] = lambda result: (result.jobs.transfers > 0).any()
    topology: str = "star"
    jobs: int = 9
    suspends: bool | None = None  # whether what happens to the cores of many jobs is told bit by bit; None: of some

    @property
    def users(self) -> int:
        """Whose jobs the map tells apart."""
        return max(1, self.applications.count("user = #"))

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        names = {"file": folder / "graph.graphml", "trace": folder / "trace.csv"}
        nx.write_graphml(small_graph(), names["file"])
        names["trace"].write_text(TRACE, encoding="utf-8")
        given = {"network": "lv08"} | self.level
        given["speeds"] = [spec.format_map(names) for spec in given.get("speeds", ())]
        if self.applications:
            given["applications"] = written_map(self.applications, folder / "apps.toml", names)
        result = bridge.simulate(
            self.workload(),
            platform=Platform(
                (HostGroup(3, 2, 4.0), HostGroup(1, 2, 6.0)),
                network=Network(self.topology, bandwidth_gbps=2.0, latency_ns=50_000, memory_gbps=40.0),
            ),
            als=self.als,
            variation=0.3,
            tasks_per_core=3,
            seed=7,
            overhead_ns=self.overhead_ns,
            rules=self.rules,
            level=ApplicationLevel(**given),
            **options,
        )
        check_ledger(result.ledger)
        return result

    def check(self, result: bridge.Result) -> None:
        """The feature is met."""
        assert self.seen(result)

    def workload(self) -> Workload:
        """Jobs of one to eight cores, of ten seconds or so; the estimates of some are too short."""
        jobs = [
            (number, 2 * number, 4 + 3 * (number % 4), (5, 3, 8, 1)[number % 4], 5 + number)
            for number in range(self.jobs)
        ]
        return replace(Workload.from_jobs(jobs), user=np.arange(self.jobs) % self.users)


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


def measured(result: bridge.Result) -> bool:
    return bool((result.jobs.critical_path_ns > 0).all())


GRAPH_FEATURES = {
    "planners": GraphFeature(PLANS, level={"network": "hockney"}),
    "no network": GraphFeature(
        LAYERED + CHOLESKY, level={"network": "none"}, seen=lambda result: result.jobs.parallelism.min() > 1
    ),
    "a map": GraphFeature(MAP, overhead_ns=1000, level={"latency_ns": 500}),
    "heft on a loop": GraphFeature(als="heft", level={"network": "none"}, seen=measured),
    "killed on cores that go": GraphFeature(
        BY_RANK + CHOLESKY,
        overhead_ns=10**6,
        level={"speeds": (*CHANGING, *GOING)},
        rules=Rules(kill_at_walltime=True),
        seen=killed,
    ),
}
