"""Everything that the application level can do, as features of runs that every coupling must simulate alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from graph_features import written_map
from scenarios import Case, crowd

import bridge
from als.lengths import LENGTHS
from als.techniques import TECHNIQUES
from bridge.scenarios.application_level import ApplicationLevel
from traces.checks.ledger import check_ledger

#: Techniques of the user's own: a class in plain Python, and compiled rules of both forms.
MINE = """
from als.techniques import Technique, technique_kernel


class Halves:
    def begin(self, loop):
        self.first = True

    def chunk(self, ask):
        size = -(-ask.remaining // (2 * ask.n_cores)) + self.first
        self.first = False
        return min(size, ask.remaining)


@technique_kernel
def _pairs(n_tasks, n_cores, core, request, remaining, memo):
    memo[core] += 1.0
    return min(remaining, 1 + int(memo[core]) % 2)


PAIRS = Technique("pairs", _pairs, memo_per_core=1)


@technique_kernel
def _by_speed(n_tasks, n_cores, core, request, remaining, facts, speed, params, memo):
    return max(1, int(remaining * speed[core] / speed.sum() / params[0]))


BY_SPEED = Technique("by-speed", _by_speed, params=(2.0,))
"""

#: Serial parts and barriers, steps with the same tasks and with new ones, numbers of tasks of their own, choices.
PROGRAMS = """
[[application]]
name = "steps"
match = { user = # }
steps = 3
phases = [
    { kind = "serial", share = 0.2 },
    { kind = "loop", share = 0.5, als = "awf", lengths = "gamma:cov=1", tasks_per_core = 4 },
    { kind = "loop", share = 0.3, als = "static", lengths = "increasing", tasks = 17 },
]

[[application]]
name = "drawn anew"
match = { user = # }
steps = 2
redraw = true
phases = [
    { kind = "loop", als = "select:gss,fac,af", lengths = "exponential", tasks_per_core = 6 },
    { kind = "serial", share = 0.1 },
]

[[application]]
name = "choosing again"
match = { user = # }
als = "select:static,ss,every=2s"
lengths = "bimodal:share=0.2,ratio=9"
tasks = 40

[[application]]
name = "serial"
match = { user = # }
phases = [{ kind = "serial", share = 1 }]

[[application]]
name = "random"
match = { user = # }
als = "rnd"
lengths = "correlated:cov=0.3,rho=0.8"
"""

#: Core 1 goes and comes all the time; for a while core 0 is away, too.
GONE = [(t, 1, (t % 4 > 0) * 1.5) for t in (*range(4, 200, 4), *range(6, 200, 4))] + [(40, 0, 0), (49, 0, 1)]
TRACE = "time_s,core,factor\n" + "".join(f"{t},{core},{factor}\n" for t, core, factor in sorted(GONE))
CHANGING = ("square:period=7s,low=0.4,duty=0.6,cores=0-5", "noise:period=3s,sigma=0.3")
GOING = ("trace:{trace}", "late:cores=3-4,at=25s", "lost:cores=8,at=60s")


def every(key: str, values: list[str]) -> str:
    """An application for each value of a key."""
    table = '[[application]]\nname = "{} {}"\nmatch = {{ user = # }}\n{} = "{}"\n'
    return "".join(table.format(key, place, key, value) for place, value in enumerate(values))


@dataclass(frozen=True)
class LevelFeature:
    """What of a run's application level is tried."""

    als: str = "fac"
    overhead_ns: int = 0
    applications: str = ""  # the text of the map
    level: dict[str, Any] = field(default_factory=dict)
    check: Callable[[bridge.Result], object] = lambda result: None
    jobs: int = 40
    suspends: bool = False  # whether jobs last so long that what happens to their cores is told bit by bit

    @property
    def users(self) -> int:
        """Whose jobs the map tells apart."""
        return max(1, self.applications.count("user = #"))

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        case = self.case()
        workload = replace(case.workload(), user=np.arange(self.jobs) % self.users)
        names = {"mine": folder / "mine.py", "trace": folder / "trace.csv", "lengths": folder / "lengths.txt"}
        for name, text in (("mine", MINE), ("trace", TRACE), ("lengths", "3\n1.5\n\n# two more\n2\n8\n")):
            names[name].write_text(text, encoding="utf-8")
        given = dict(self.level)
        if self.applications:
            given["applications"] = written_map(self.applications, folder / "apps.toml", names)
        given["speeds"] = [spec.format_map(names) for spec in given.get("speeds", ())]
        options = case.options() | {"als": self.als.format_map(names), "overhead_ns": self.overhead_ns} | options
        result = bridge.simulate(workload, level=ApplicationLevel(**given), **options)
        check_ledger(result.ledger)
        return result

    def case(self) -> Case:
        """Jobs of at least two cores, as the last one of the machine may be lost."""
        case = crowd(71, self.jobs, policy="sjf", variation=0.25, tasks_per_core=3)
        return replace(case, jobs=tuple(replace(job, cores=max(2, job.cores)) for job in case.jobs))


USERS = ["{mine}:Halves", "{mine}:PAIRS", "{mine}:BY_SPEED", "select:static,af", "select:{mine}:PAIRS,gss"]
LENGTHS_TRIED = [
    *(name for name in LENGTHS if name != "file"),
    "file:{lengths}",
    "file:{lengths},unit=flop,scale=no",
    "gamma:cov=0.5",
]
LEVEL_FEATURES = {
    "techniques": LevelFeature(
        applications=every("als", list(TECHNIQUES)),
        overhead_ns=10**6,
        level={"latency_ns": 3 * 10**5, "assignment": "master", "lengths": "lognormal:cov=0.8"},
        jobs=60,
    ),
    "all at once": LevelFeature(
        applications=PROGRAMS + every("als", USERS) + every("lengths", LENGTHS_TRIED),
        overhead_ns=10**6,
        level={"latency_ns": 10**6, "assignment": "master", "speeds": (*CHANGING, *GOING)},
        suspends=True,
    ),
}
