"""The contracts of small plug-ins: these tests run over the registries, so an entry there tests a new plug-in."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing import Question, questions, suggestion
from plans import Edges, graph_arrays, planned
from scenarios import PLATFORMS, Case, cases, cores_text, crowd, done

import bridge
from als.planners import PLANNERS, planner
from als.planners.trial import try_out
from bls.allocators import ALLOCATORS, allocator
from bls.policies import POLICIES
from traces.exporters import EXPORTERS, exporter
from traces.ledger import Ledger


@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_is_found_under_its_own_name(name: str) -> None:
    assert allocator(name).name == name == name.lower()


@settings(max_examples=150, deadline=None)
@given(question=questions())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_suggests_offered_cores_in_whole_units_or_nothing(name: str, question: Question) -> None:
    """``suggestion`` checks the form of the answer, and that everything else is only looked at."""
    job, rule = question.job, ALLOCATORS[name]
    cores = suggestion(rule, question)
    assert suggestion(rule, question) == cores, "the same answer to the same question"
    if cores is None:
        return
    if rule.whole_hosts:
        assert cores <= question.free
        assert all(
            share in (0, host.cores) for share, host in zip(question.shares(cores), question.machine.hosts, strict=True)
        )
        assert len(cores) >= job.cores
    else:
        assert cores <= question.offered
        assert len(cores) == job.cores
        assert all(share % job.unit_cores == 0 for share in question.shares(cores))


@settings(max_examples=150, deadline=None)
@given(question=questions())
@pytest.mark.parametrize("name", [name for name, rule in ALLOCATORS.items() if rule.countable])
def test_one_that_counts_places_whatever_there_are_enough_cores_for(name: str, question: Question) -> None:
    job = replace(question.job, unit_cores=1, limit=0)
    cores = suggestion(ALLOCATORS[name], replace(question, job=job))
    assert (cores is not None) == (len(question.offered) >= job.cores)


@settings(max_examples=40)
@given(case=cases(recorded=True, max_jobs=12), data=st.data())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_with_it_every_job_runs_and_the_records_are_sound(name: str, case: Case, data: st.DataObject) -> None:
    machine = range(len(case.core_speeds))
    jobs = tuple(replace(job, wanted=frozenset(data.draw(st.permutations(machine))[: job.cores])) for job in case.jobs)
    requested = {job.number: cores_text(job.wanted) for job in jobs if job.wanted}
    result = case.simulated(allocator=name, requested=requested)  # with check_ledger
    assert [job.end - job.start for job in done(result)] == result.scenario.workload.run_ns.tolist()


RUNS = {
    "tasks": lambda: crowd(9, 12, technique="gss", variation=0.25).simulated(),
    "no tasks kept": lambda: crowd(9, 12, technique="gss", variation=0.25).simulated(keep_tasks=False),
    "recorded": lambda: crowd(9, 12, technique="recorded").simulated(),
    "one job on one core": lambda: Case(crowd(2, 1, groups=PLATFORMS[0]).jobs, PLATFORMS[0]).simulated(),
}


def copies(ledger: Ledger) -> list[bytes]:
    records = [ledger.jobs] + ([ledger.tasks] if ledger.tasks is not None else [])
    return [column.tobytes() for record in records for column in vars(record).values()]


def test_a_built_in_is_made_once() -> None:
    assert POLICIES["slurm"] is POLICIES["slurm"]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", EXPORTERS)
def test_it_writes_into_its_folder_and_nowhere_else(
    name: str, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    result: bridge.Result = RUNS[run]()
    before = copies(result.ledger)
    target = tmp_path / "deep" / "trace"
    path = exporter(name)(result.ledger, target)
    assert path.is_file()
    assert path.is_relative_to(target)
    assert {entry.name for entry in tmp_path.iterdir()} == {"here", "deep"}
    assert list((tmp_path / "deep").iterdir()) == [target]
    assert list(here.iterdir()) == []
    out, err = capfd.readouterr()
    progress = "compiling for this version"  # if its kernels are new
    assert (out, [line for line in err.splitlines() if not line.startswith(progress)]) == ("", []), (
        "a writer prints nothing"
    )
    assert copies(result.ledger) == before, "a writer only looks"


@pytest.mark.parametrize("name", EXPORTERS)
def test_it_writes_the_same_files_for_the_same_ledger(name: str, tmp_path: Path) -> None:
    ledger = RUNS["tasks"]().ledger
    sizes = []
    for again in ("first", "second"):
        path = exporter(name)(ledger, tmp_path / again)
        files = {file.relative_to(tmp_path / again): file.stat().st_size for file in path.parent.rglob("*")}
        sizes.append((path.relative_to(tmp_path / again), files))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", EXPORTERS)
def test_it_declares_its_output(name: str) -> None:
    assert exporter(name) is EXPORTERS[name]
    assert name == name.lower()


works = st.lists(st.sampled_from((0.0, 1.0, 2.0, 5.0, 0.3)), min_size=1, max_size=25)
speeds = st.lists(st.sampled_from((0.0, 1.0, 2.0, 0.5)), max_size=6).map(lambda speed: [*speed, 1.0])
prices = st.tuples(*[st.sampled_from((0.0, 1.0, 0.25))] * 3)


def edges_of(data: st.DataObject, n: int) -> Edges:
    pairs = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2 * n))
    return {(i, j): data.draw(st.sampled_from((0.0, 1.0, 3.0))) for i, j in sorted(pairs) if i < j}


@pytest.mark.parametrize("name", PLANNERS)
def test_it_is_found_under_its_own_name_and_says_where_it_comes_from(name: str) -> None:
    assert planner(name).name == name == name.lower()
    assert PLANNERS[name].source
    assert PLANNERS[name].only_cores is None
    try_out(PLANNERS[name])


@settings(max_examples=60)
@given(gflop=works, speed=speeds, costs=prices, data=st.data())
@pytest.mark.parametrize("name", PLANNERS)
def test_its_plan_can_be_run(
    name: str, gflop: list[float], speed: list[float], costs: tuple[float, float, float], data: st.DataObject
) -> None:
    """Data are there as a task begins, a core computes one task at a time, and no sequence waits for itself."""
    n, edges, host = len(gflop), edges_of(data, len(gflop)), [core // 2 for core in range(len(speed))]
    core, begin, answer = planned(PLANNERS[name], gflop, edges, speed, host, costs)
    assert answer == 0
    assert all(speed[c] > 0 for c in core)
    end = [begin[task] + gflop[task] / speed[core[task]] for task in range(n)]
    latency, across, within = costs
    for (i, j), size in edges.items():
        p, q = core[i], core[j]
        free = p == q or size == 0  # an edge without bytes is order only
        cost = 0.0 if free else size * within if host[p] == host[q] else latency + size * across
        assert begin[j] >= end[i] + cost
    place = {int(task): at for at, task in enumerate(graph_arrays(gflop, edges)["order"])}
    graph = nx.DiGraph(list(edges))
    for c in range(len(speed)):
        sequence = sorted((task for task in range(n) if core[task] == c), key=lambda task: (begin[task], place[task]))
        busy = sorted((begin[task], end[task]) for task in sequence)
        assert all(busy[at][1] <= busy[at + 1][0] for at in range(len(busy) - 1)), "one task at a time"
        graph.add_edges_from(pairwise(sequence))
    assert nx.is_directed_acyclic_graph(graph)
    # No plan is shorter than the work on the longest path at the fastest core, or than all work on all cores.
    level = [0.0] * n
    for task in sorted(range(n), key=lambda task: -place[task]):
        level[task] = gflop[task] + max((level[j] for i, j in edges if i == task), default=0.0)
    assert max(end) >= max(level) / max(speed) * (1 - 1e-12)
    assert max(end) >= sum(gflop) / sum(speed) * (1 - 1e-12)


@settings(max_examples=30)
@given(gflop=works, speed=speeds, costs=prices, data=st.data())
@pytest.mark.parametrize("name", PLANNERS)
def test_it_depends_on_its_arguments_only(
    name: str, gflop: list[float], speed: list[float], costs: tuple[float, float, float], data: st.DataObject
) -> None:
    """Twice the same; and the same on a machine that has absent cores beside the others."""
    edges, host = edges_of(data, len(gflop)), [core // 2 for core in range(len(speed))]
    core, begin, _ = planned(PLANNERS[name], gflop, edges, speed, host, costs)
    assert planned(PLANNERS[name], gflop, edges, speed, host, costs)[:2] == (core, begin)
    wider = planned(PLANNERS[name], gflop, edges, [0.0, *speed, 0.0], [0, *host, max(host) + 1], costs)
    assert ([c - 1 for c in wider[0]], wider[1]) == (core, begin)


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("cores", [1, 2, 7, 64])
def test_with_equal_tasks_a_core_each_it_is_perfect(name: str, cores: int) -> None:
    core, begin, _ = planned(PLANNERS[name], [3.0] * cores, {}, [2.0] * cores, [0] * cores, (1.0, 1.0, 1.0))
    assert core == list(range(cores))
    assert begin == [0.0] * cores


@pytest.mark.parametrize("name", PLANNERS)
def test_a_chain_whose_data_take_long_stays_on_the_fastest_core(name: str) -> None:
    edges = {(task, task + 1): 9.0 for task in range(4)}
    core, begin, _ = planned(PLANNERS[name], [2.0] * 5, edges, [2.0, 2.5, 2.0], [0, 1, 2])
    assert core == [1] * 5
    assert begin[0] == 0.0
