"""Both levels where jobs are task graphs, or choose among techniques, and their widths change: the same in every coupling, and
each graph as the slow reference has it on the cores that the batch level gave it and asked it for."""

from __future__ import annotations

import random
from typing import Any

import pytest
from one_result import assert_one_result
from reference.application import Resize
from reference.graph_records import planned, planning_anew
from reference.graph_run import run_graph
from reference.graph_ways import Plan
from reference.sharing import Network

import bridge
from als.planners import PLANNERS
from als.programs.table import drawn_program
from bls import HostGroup, Platform, Rules, Workload
from bls.constraints.options import Surroundings
from bridge.couplings.contract import core_gflop
from bridge.scenarios.application_level import ApplicationLevel
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

RESIZE = ("expand", "shrink", "expand+shrink", "equal", "equal")
GRAPHS = ("layered:tasks=24", "fork-join", "cholesky:tiles=4", "lu:tiles=3", "chain:tasks=6")
SCHEDULERS = ("ss", "gss", "static", "fac", "awf-b", "static-steal", *PLANNERS)
LOOPS = ("ss", "heft", "select:ss,gss,static", "select:static,awf-b,every=3s", "min-min")


def drawn(seed: int) -> tuple[Workload, dict[str, Any], str]:
    """Jobs of several users; how they run; and which user's jobs compute what."""
    chance = random.Random(seed)
    rows = [
        {
            "job_id": number,
            "submit_s": chance.randint(0, 40),
            "run_s": chance.randint(1, 30),
            "cores": chance.randint(1, 8),
            "estimate_s": chance.randint(1, 40),
            "user": chance.randint(1, 4),
        }
        for number in chance.sample(range(1, 100), chance.randint(2, 8))
    ]
    lines = []
    for user in (1, 2):
        graph, als = chance.choice(GRAPHS), chance.choice(SCHEDULERS)
        lines.append(
            f'[[application]]\nname = "g{user}"\nmatch = {{ user = {user} }}\ngraph = "{graph}"\nals = "{als}"\n'
        )
    several = [f'{{ kind = "graph", graph = "layered:tasks=12", als = "{chance.choice(SCHEDULERS)}", share = 0.5 }}']
    several += ['{ kind = "loop", als = "select:fac,static", share = 0.3 }', '{ kind = "serial", share = 0.2 }']
    chance.shuffle(several)
    phases = ",\n".join(several)
    lines.append(f'[[application]]\nname = "s"\nmatch = {{ user = 3 }}\nsteps = 2\nphases = [\n{phases},\n]\n')
    options = {
        "als": chance.choice(LOOPS),
        "variation": chance.choice((0.0, 0.3, 0.8)),
        "tasks_per_core": chance.randint(1, 6),
        "seed": seed,
        "overhead_ns": chance.choice((0, 0, 10**8)),
        "rules": Rules(
            resize=chance.choice(RESIZE),
            backfill=chance.choice(("none", "easy", "conservative")),
            coordination=chance.choice(("none", "none", "release")),
        ),
        "surroundings": Surroundings(malleable=chance.choice(("1", "1:0.5:3"))),
    }
    level = {
        "resize_ns": chance.choice((0, 0, 5 * 10**8)),
        "latency_ns": chance.choice((0, 0, 10**7)),
        "assignment": chance.choice(("distributed", "distributed", "master")),
        "speeds": chance.choice(((), (), ("square:period=3s,low=0.4,duty=0.3",), ("noise:period=7s,sigma=0.3",))),
    }
    return Workload.from_jobs(rows), options | {"level": level}, "\n".join(lines)


PLATFORM = Platform((HostGroup(2, 4, 1.0), HostGroup(1, 4, 2.0)))


def simulated(seed: int, folder: Any, **more: Any) -> bridge.Result:
    """The run of a seed."""
    workload, options, text = drawn(seed)
    path = folder / "map.toml"
    path.write_text(text)
    level = ApplicationLevel(**options.pop("level"), applications=str(path))
    found = bridge.simulate(workload, PLATFORM, level=level, **options, **more)
    check_ledger(found.ledger)
    return found


def numbers_of(allocation: str) -> list[int]:
    """The cores of an allocation, as 0-3 8."""
    found: list[int] = []
    for piece in str(allocation).split():
        first, _, last = piece.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def decisions(result: bridge.Result, row: int, first: int, latency: int, cost: int) -> list[Resize[float]]:
    """What the batch level gave a job, whose first core is this, and asked it for."""
    host, told, found = PLATFORM.core_host, result.widths[result.widths.row == row], []
    for at, some in told.groupby("told_ns", sort=True):
        given = tuple(
            (int(core), float(PLATFORM.core_speed_gflops[core]), latency if host[core] != host[first] else 0)
            for core in some[some.change == 1].core
        )
        asked = tuple(int(core) for core in some[some.change == -1].core)
        found.append(Resize(int(at), given, frozenset(), cost, asked))
    return found


def graph_differs(result: bridge.Result, row: int) -> str:
    """Why a job that is one graph is not what the reference makes of it on the cores that it had; "" if it is, None if it is
    another kind of job."""
    scenario = result.scenario
    program = scenario.applications[int(scenario.program[row])]
    phases, level = program.phases, scenario.options.level
    if len(phases) != 1 or getattr(phases[0], "graph", None) is None or level.speeds or scenario.options.rules.releases:
        return "another kind"
    job, seed = int(scenario.workload.job_id[row]), scenario.model.seed
    place, cores = int(scenario.program[row]), int(scenario.workload.cores[row])
    work = float(core_gflop(scenario)[row]), scenario.platform.slowest_gflops, scenario.bytes_per_gflop
    tasks = drawn_program(scenario.programs, place, seed, job, cores, *work)
    edges = list(zip(tasks.source.tolist(), tasks.target.tolist(), tasks.bytes.tolist(), strict=True))
    lengths, named = tasks.lengths.tolist(), phases[0].technique
    first = numbers_of(result.jobs.allocation[row])
    speeds, host = [float(PLATFORM.core_speed_gflops[core]) for core in first], PLATFORM.core_host
    latency = [level.latency_ns if host[core] != host[first[0]] else 0 for core in first]
    plan = None
    if named in PLANNERS:
        of, at = zip(*planned(named, lengths, edges, speeds), strict=True)
        plan = Plan(of, at)
    wanted = run_graph(
        lengths,
        edges,
        speeds,
        [0] * len(first),
        Network("none"),
        technique="" if plan else named,
        plan=plan,
        order=plan.place if plan else None,
        overhead_ns=scenario.options.overhead_ns,
        latency_ns=latency,
        master=level.master,
        start_ns=int(result.jobs.start_ns[row]),
        seed=seed,
        job=job,
        resizes=decisions(result, row, first[0], level.latency_ns, level.resize_ns),
        replan=planning_anew(named, lengths, edges) if plan else None,
        numbers=first,
    )
    found = result.tasks[result.tasks.job_id == job].sort_values("task")
    ours = list(zip(found.core.tolist(), found.start_ns.tolist(), found.end_ns.tolist(), strict=True))
    theirs = [(one.core, one.start, one.end) for one in wanted.tasks if one is not None]
    return "" if ours == theirs else f"job {job}: {ours}, and not {theirs}"


def test_graphs_are_as_the_reference_has_them(tmp_path: Any) -> None:
    looked_at = 0
    for seed in range(30):
        result = simulated(seed, tmp_path)
        for row in range(len(result.scenario.workload)):
            why = graph_differs(result, row)
            assert why in ("", "another kind"), seed
            looked_at += why == "" and (result.widths.row == row).any()
    assert looked_at >= 8


@pytest.mark.parametrize(("coupling", "seeds"), [("pool", range(100, 102)), ("process", range(140, 141))])
def test_so_it_is_in_every_coupling(coupling: str, seeds: range, tmp_path: Any) -> None:
    for seed in seeds:
        result = simulated(seed, tmp_path, coupling=coupling, workers=2)
        assert_one_result(result, simulated(seed, tmp_path))


_EVOLVING = """
[default]
steps = 2
phases = [{ kind = "loop", cores = 2 }, { kind = "graph", graph = "cholesky:tiles=4", als = "heft", cores = 0.5 }]
"""


def test_applications_wish_as_graphs_begin(tmp_path: Any) -> None:
    path = tmp_path / "evolving.toml"
    path.write_text(_EVOLVING)
    chance = random.Random("heft")
    rows = [(k, chance.randint(0, 30), chance.randint(1, 20), chance.randint(1, 6), 40) for k in range(1, 13)]
    options: dict[str, Any] = {"als": "gss", "rules": Rules("easy", resize="evolve"), "keep_tasks": True}
    options |= {"surroundings": Surroundings(malleable="1:0.25:3"), "level": ApplicationLevel(applications=path)}
    platform = Platform((HostGroup(4, 4, 2.0),))
    result = bridge.simulate(Workload.from_jobs(rows), platform, **options)
    check_ledger(result.ledger)
    assert set(result.widths.change) == {-1, 0, 1}
    other = bridge.simulate(Workload.from_jobs(rows), platform, coupling="pool", workers=2, **options)
    assert_one_result(result, other)
