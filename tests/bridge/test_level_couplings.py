"""Everything that the application level can do, in every coupling: one result, in every column of jobs and tasks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenarios import Case, crowd

import bridge
from als.lengths import LENGTHS
from als.techniques import TECHNIQUES
from bls.workloads.workload import Workload
from bridge.couplings import COUPLINGS
from bridge.scenarios.application_level import ApplicationLevel
from bridge.workers.assignment import Ahead, Order
from bridge.workers.supervisor import Fleet
from traces.base.errors import InputError
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
class Feature:
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
            given["applications"] = folder / "apps.toml"
            numbers = count()
            text = re.sub("user = #", lambda _: f"user = {next(numbers)}", self.applications)
            for name, path in names.items():
                text = text.replace(f"{{{name}}}", str(path))
            given["applications"].write_text(text, encoding="utf-8")
        given["speeds"] = [spec.format_map(names) for spec in given.get("speeds", ())]
        options = case.options() | {"als": self.als.format_map(names), "overhead_ns": self.overhead_ns} | options
        result = bridge.simulate(workload, level=ApplicationLevel(**given), **options)
        check_ledger(result.ledger)
        return result

    def case(self) -> Case:
        """Jobs of at least two cores, as the last one of the machine may be lost."""
        case = crowd(71, self.jobs, policy="sjf", variation=0.25, tasks_per_core=3)
        return replace(case, jobs=tuple(replace(job, cores=max(2, job.cores)) for job in case.jobs))


def chose(result: bridge.Result) -> None:
    chosen = result.jobs.chosen
    assert {name.split()[0] for name in chosen if name} >= {"gss", "static"}
    assert chosen.str.contains(" ").any(), "nothing was chosen anew"
    assert (result.jobs.ahead_chunks > 0).sum() >= 15


def cores_went(result: bridge.Result) -> None:
    assert result.jobs.chunks.sum() > expected_chunks()
    assert (result.tasks.core[result.tasks.start_ns > 60 * 10**9] != 8).all()


@cache
def expected_chunks() -> int:
    return int(Feature(als="ss").case().simulated(als="ss").jobs.chunks.sum())


USERS = ["{mine}:Halves", "{mine}:PAIRS", "{mine}:BY_SPEED", "select:static,af", "select:{mine}:PAIRS,gss"]
LENGTHS_TRIED = [
    *(name for name in LENGTHS if name != "file"),
    "file:{lengths}",
    "file:{lengths},unit=flop,scale=no",
    "gamma:cov=0.5",
]
FEATURES = {
    "programs": Feature(applications=PROGRAMS, overhead_ns=1000, level={"latency_ns": 500}, check=chose),
    "lengths": Feature(applications=every("lengths", LENGTHS_TRIED)),
    "techniques": Feature(
        applications=every("als", list(TECHNIQUES)),
        overhead_ns=10**6,
        level={"latency_ns": 3 * 10**5, "assignment": "master", "lengths": "lognormal:cov=0.8"},
        jobs=60,
    ),
    "speeds that change": Feature(
        "gss", level={"speeds": CHANGING, "latency_ns": 10**7}, overhead_ns=10**7, suspends=True
    ),
    "cores that go": Feature("ss", level={"speeds": GOING}, check=cores_went),
    "a user's techniques": Feature(applications=every("als", USERS), overhead_ns=77),
    "all at once": Feature(
        applications=PROGRAMS + every("als", USERS) + every("lengths", LENGTHS_TRIED),
        overhead_ns=10**6,
        level={"latency_ns": 10**6, "assignment": "master", "speeds": (*CHANGING, *GOING)},
        suspends=True,
    ),
}


@pytest.mark.parametrize("name", FEATURES)
def test_the_same_in_every_coupling(name: str, tmp_path: Path) -> None:
    feature = FEATURES[name]
    inline = feature.simulated(tmp_path)
    feature.check(inline)
    pool = feature.simulated(tmp_path, coupling="pool", workers=2)
    assert_same(pool, inline)
    assert (pool.coupling["messages"] > 4 * feature.jobs) == feature.suspends  # else: three for each job


def test_a_process_a_job(tmp_path: Path) -> None:
    """Which is slow to start: everything at once, one job of each application."""
    feature = FEATURES["all at once"]
    feature = replace(feature, jobs=feature.users)
    assert_same(feature.simulated(tmp_path, coupling="process", workers=2), feature.simulated(tmp_path))


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_job_all_of_whose_cores_are_lost(coupling: str) -> None:
    workload = Workload.from_jobs([(8, 0, 2, 2, 2), (17, 0, 9, 3, 9)])
    level = ApplicationLevel(speeds=("lost:cores=2-255,at=3s", "noise:period=1s,sigma=0.1"))
    with pytest.raises(
        InputError, match=r"^job 17: .*all cores are lost, with 3 tasks left; allowed: cores that come back"
    ):
        bridge.simulate(workload, als="static", level=level, coupling=coupling, workers=1)


def test_a_core_that_comes_late_is_waited_for_in_a_few_steps() -> None:
    # A day is 43,200 times what the job was told of at first.
    level = ApplicationLevel(speeds=("late:cores=0-255,at=24h", "square:period=2s,cores=0"))
    workload = Workload.from_jobs([(8, 0, 1, 1, 1)])
    jobs = bridge.simulate(workload, level=level, coupling="pool", workers=1)
    assert_same(jobs, bridge.simulate(workload, level=level))
    assert jobs.jobs.end_ns[0] > 24 * 3600 * 10**9
    assert jobs.coupling["messages"] < 100


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_file_may_have_less_work_than_the_log(share: float, tmp_path: Path) -> None:
    # Nothing may be promised of it: the job lasts microseconds, or as long as its serial part.
    (tmp_path / "lengths.txt").write_text("0.001\n0.002\n", encoding="utf-8")
    lengths = f"file:{tmp_path / 'lengths.txt'},scale=no"
    serial = f'{{ kind = "serial", share = {share} }}, ' if share else ""
    phases = f'phases = [{serial}{{ kind = "loop", lengths = "{lengths}", share = 0.5 }}]'
    (tmp_path / "apps.toml").write_text(f"[default]\n{phases}\n", encoding="utf-8")
    level = ApplicationLevel(applications=tmp_path / "apps.toml")
    workload = Workload.from_jobs([(8, 0, 10, 2, 10), (9, 1, 10, 256, 10)])
    inline = bridge.simulate(workload, level=level)
    assert_same(bridge.simulate(workload, level=level, coupling="pool", workers=1), inline)
    assert inline.jobs.end_ns[0] < 6 * 10**9


def test_what_is_ahead_can_be_asked_for_again_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Ahead, Ahead]] = []
    real = Fleet.submit

    def submit(self: Fleet, order: Order) -> None:
        start = order.start
        asked.append((Ahead(start.changes, start.until_ns), order.next_changes(start.start_ns)))
        real(self, order)

    monkeypatch.setattr(Fleet, "submit", submit)
    level = ApplicationLevel(speeds=("square:period=2s",))
    bridge.simulate(Workload.from_jobs([(8, 0, 9, 1, 9)]), level=level, coupling="pool", workers=1)
    ((told, again),) = asked
    assert told == again
    assert len(told.changes) == 18


def test_each_coupling_is_tried() -> None:
    assert set(COUPLINGS) == {"inline", "pool", "process"}, "name the new one above"


def assert_same(result: bridge.Result, expected: bridge.Result) -> None:
    assert list(result.jobs.columns) == list(expected.jobs.columns)
    for name in expected.jobs:
        assert result.jobs[name].equals(expected.jobs[name]), name
    for name in expected.tasks:
        assert result.tasks[name].equals(expected.tasks[name]), name
    assert result.coupling["retries"] == 0


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_a_job_whose_cores_never_come_ends_in_an_error(coupling: str, tmp_path: Path) -> None:
    path = tmp_path / "never.csv"
    path.write_text("time_s,core,factor\n0,0,0\n0,1,0\n")
    workload = Workload.from_jobs([(8, 0, 2, 2, 2)])
    level = ApplicationLevel(speeds=(f"trace:{path},periodic=10ms",))
    with pytest.raises(InputError, match=r"^job 8: .*all cores are lost, with 2 tasks left"):
        bridge.simulate(workload, als="static", level=level, coupling=coupling, workers=1)
