"""Cases of the benchmark that call the two engines in this process, each alone and both coupled."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import als
import bls
from als.graphs.draw import DrawnGraph, drawn_graph
from als.lengths import normal_lengths
from als.lengths.draw import drawn
from als.network.state import NO_NETWORK
from als.planners.contract import MAPPED
from bls import HostGroup, Network, Platform, SeenJob, View, Workload
from bls.workloads.generators.accasim import generate_like
from bridge import Application, Execution, ReadyScenario, Scenario, run
from bridge.adapters.simgrid.process import find_simgrid
from bridge.scenarios.ready import load_workload
from tools.bench.rows import CURIE, HPC2N, Found, Missing, agree, archive, scratch, timed
from traces import InputError


class Source(NamedTuple):
    """A log, the machine of its jobs, and the number of jobs that fit."""

    name: str
    platform: Platform
    jobs: int


SETH = Source(HPC2N, Platform(hosts=(HostGroup(count=120, cores=2, speed_gflops=2.0),)), 202_871)
CURIE_OWN = Source(CURIE, Platform(hosts=(HostGroup(count=5832, cores=16, speed_gflops=16.0),)), 295_540)

#: Seth as in AccaSim's paper.
SETH_4 = Platform(
    hosts=(HostGroup(count=120, cores=4, speed_gflops=4.0),),
    network=Network(topology="full", bandwidth_gbps=50.0, latency_ns=500),
)


# The batch level alone.


class FcfsByHand:
    """First come, first served, as users would write it."""

    name = "fcfs-by-hand"

    def decide(self, view: View) -> list[SeenJob]:
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            chosen.append(job)
        return chosen


@cache
def _jobs(source: Source) -> Workload:
    workload = bls.fit(bls.read_workload(archive(source.name)), source.platform.n_cores)
    assert len(workload) == source.jobs
    return workload


def _simulated(jobs: Workload, platform: Platform, order: Any, placed: str, *rules: str) -> tuple[float, Any]:
    simulator = bls.BatchSimulator(jobs, platform, order, bls.allocator(placed), rules=bls.Rules(*rules), recorded=True)
    took, status = timed(lambda: simulator.advance(2**40))
    assert (status, simulator.ended) == (bls.BatchStatus.DONE, len(jobs))
    return took, simulator


def batch(
    source: Source, order: str, *rules: str, placed: str = "first-fit", first: int | None = None, short: bool = False
) -> Found:
    """Wall time of the batch engine with recorded run times, of all jobs of a log or of the first."""
    jobs = _jobs(source).take(np.arange(1000 if short else first or source.jobs))
    took, simulator = _simulated(jobs, source.platform, bls.policy(order), placed, *rules)
    starts = simulator.column("start_ns")
    agree(f"starts: {source.name}, {len(jobs)}, {order}, {rules}, {placed}", starts)
    wait_s = float(np.mean(starts - simulator.workload.submit_ns)) / 1e9
    return Found((took,), f"{len(jobs) / took / 1e6:.2f} M jobs/s; mean wait {wait_s:,.0f} s")


def python_policy() -> float:
    """Thousand decisions per second of FCFS written by hand, with the starts of the compiled policy."""
    took, simulator = _simulated(_jobs(SETH), SETH.platform, FcfsByHand(), "first-fit")
    _, compiled = _simulated(_jobs(SETH), SETH.platform, bls.policy("fcfs"), "first-fit")
    assert np.array_equal(simulator.column("start_ns"), compiled.column("start_ns"))
    return float(simulator.decisions()["decisions"] / took / 1e3)


def read(name: str, lines: int) -> float:
    """Thousand lines per second of a reader."""
    took, workload = timed(lambda: bls.read_workload(archive(name)))
    assert workload.n_lines == lines
    return lines / took / 1e3


def generate(method: str) -> float:
    """Wall time to generate 500,000 jobs like those of a log."""
    took, made = timed(lambda: generate_like(_jobs(SETH), 500_000, seed=1, method=method))
    assert len(made) == 500_000
    return took


# The application level alone.


def _loop(tasks: int, cores: int, name: str) -> tuple[float, als.ApplicationSimulator]:
    lengths = drawn(normal_lengths(0.25), 1, 1, tasks, 1.0, float(tasks))
    application = als.ApplicationSimulator(lengths, np.full(cores, 46.875), als.technique(name))
    took, done = timed(application.advance)
    assert (done, application.ran) == (True, tasks)
    assert (application.state.end_ns > application.state.start_ns).all()
    return took, application


def loop(name: str) -> float:
    """Million tasks per second of a technique, with their records."""
    return 1.0 / _loop(1_000_000, 256, name)[0]


def python_technique() -> float:
    """Chunks per second of GSS written by hand, on 4,096 cores; as many chunks as with the compiled technique."""
    path = scratch() / "mine.py"
    path.write_text("class Gss:\n    def chunk(self, ask):\n        return -(-ask.remaining // ask.n_cores)\n")
    took, application = _loop(200_000, 4096, f"{path}:Gss")
    assert application.chunks == _loop(200_000, 4096, "gss")[1].chunks
    return application.chunks / took


@cache
def _graph(tasks: int) -> DrawnGraph:
    return drawn_graph(als.graph_model(f"layered:tasks={tasks},degree=3,ccr=0.1,cov=0.5"), 1, 1, 0, 64, 1e6, 1.3e8)


def _run_graph(drawn: DrawnGraph, part: als.GraphPart, core_host: Any, network: Any = NO_NETWORK) -> tuple[float, Any]:
    # From arrays to the last record: sorting edges, ranking or planning, and running.
    def work() -> als.ApplicationSimulator:
        edges = als.Edges(np.array([0, len(drawn.source)]), drawn.source, drawn.target, drawn.bytes)
        speed = np.full(len(core_host), 46.875)
        application = als.ApplicationSimulator(
            drawn.gflop, speed, phases=[part], edges=edges, core_host=core_host, network=network
        )
        assert application.advance()
        return application

    took, application = timed(work)
    assert application.ran == len(drawn.gflop)
    assert (application.state.end_ns[drawn.source] <= application.state.start_ns[drawn.target]).all()
    return took, application.state


def ranked(tasks: int, cores: int) -> float:
    """Wall time of a graph by upward rank, without a network."""
    return _run_graph(_graph(tasks), als.GraphPart(als.technique("ss"), by_rank=True), np.zeros(cores, np.int64))[0]


def mapped(topology: str, hosts: int, transfers: int) -> float:
    """Wall time of a graph with a fixed mapping, whose transfers share links."""
    drawn, core_host = _graph(10_000), np.repeat(np.arange(hosts), 64 // hosts)
    assert (core_host[drawn.source % 64] != core_host[drawn.target % 64]).sum() == transfers
    part = als.GraphPart(MAPPED, core=np.arange(len(drawn.gflop)) % 64)
    links = als.network_state(als.network_model("lv08"), topology, hosts=hosts, bandwidth_gbps=50.0, latency_ns=500)
    took, state = _run_graph(drawn, part, core_host, links)
    arrived = state.graph.arrived_ns
    assert (arrived <= state.start_ns[drawn.target])[arrived >= 0].all()
    return took


# Both levels.


def _run(scenario: ReadyScenario, coupling: str = "inline", *, tasks: bool = True, **peers: Any) -> tuple[float, Any]:
    result = run(scenario, execution=Execution(coupling, **peers), keep_tasks=tasks)
    return float(result.coupling["simulation_s"]), result.ledger


@cache
def _first(name: str, jobs: int) -> Workload:
    return load_workload(archive(name), Platform(), selection=f"first:{jobs}")


def two_level(name: str, jobs: int, coupling: str = "inline", cores: int = 256, *, short: bool = False) -> Found:
    """Wall time of the simulation of the first jobs of a log, FCFS-STATIC, as in Figure 10 of the two-level paper.

    On a larger machine the jobs are wider by the same factor, so they fill it in the same way.
    """
    jobs = 20 if short else jobs
    machine = Platform(hosts=(HostGroup(count=cores // 64, cores=64, speed_gflops=3000.0),))
    base = _first(name, jobs)
    workload = base.take(np.arange(len(base)), cores=base.cores * (cores // 256))
    options = Scenario.flat(bls="fcfs", als="static", variation=0.25, seed=1)
    took, ledger = _run(ReadyScenario.of(workload, machine, options), coupling, tasks=False, workers=2)
    tasks = int(workload.cores.sum())
    assert (len(ledger.jobs), int(ledger.jobs.tasks.sum())) == (jobs, tasks)
    agree(f"ends of the first {jobs} jobs of {name} on {cores} cores", ledger.jobs.end_ns)
    return Found((took,), f"simulation time, {1e6 * took / jobs:.2f} µs per job, {1e9 * took / tasks:.0f} ns per task")


def _busiest_day(platform: Platform) -> Workload:
    return load_workload(archive(CURIE), platform, selection="busiest:24h", preset=False)


def day_of_graphs(platform: Platform) -> Found:
    """Wall time of the busiest day of CEA-Curie, where every job is a random graph of 64 tasks with communication."""
    workload, path = _busiest_day(platform), scratch() / "day.toml"
    path.write_text('[default]\ngraph = "layered:tasks=64,ccr=0.5"\nals = "ss"\norder = "rank"\n')
    level = Application(applications=path, network="lv08")
    took, ledger = _run(ReadyScenario.of(workload, platform, Scenario.flat(variation=0.25, seed=1, application=level)))
    assert len(ledger.tasks) == 64 * len(workload)
    # Within a host a transfer takes no time.
    assert (ledger.transfers.arrived_ns > ledger.transfers.sent_ns).sum() > 30_000
    return Found((took,), f"{len(workload)} jobs, records kept")


class Levels:
    """FCFS with EASY backfilling; each pass sets all running jobs to the other of two speeds."""

    name = "levels"
    directs = ("speeds",)

    def __init__(self) -> None:
        self.passes = 0

    def decide(self, view: View) -> Iterator[SeenJob]:
        free, waiting, starts = view.free_cores, list(view.waiting), []
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            starts.append(waiting.pop(0))
        if waiting and free:
            ends = [(job.expected_end_ns, job.cores) for job in view.running]
            coming = sorted(ends + [(view.now_ns + job.estimate_ns, job.cores) for job in starts])
            shadow_ns, left = view.now_ns, free
            while coming and left < waiting[0].cores:
                shadow_ns, cores = coming.pop(0)
                left += cores
            extra = left - waiting[0].cores
            for job in waiting[1:]:
                before = view.now_ns + job.estimate_ns <= shadow_ns
                if job.cores <= free and (before or job.cores <= extra):
                    extra -= 0 if before else job.cores
                    free -= job.cores
                    starts.append(job)
        yield from starts
        self.passes += 1
        view.scale([*view.running, *starts], (1.0, 0.99)[self.passes % 2])


def every_job_scaled(als: str, *, short: bool = False) -> Found:
    """Wall time of the busiest day of CEA-Curie on its own cores, where each pass scales every running job."""
    workload = _busiest_day(CURIE_OWN.platform)
    workload = workload.take(np.arange(100 if short else len(workload)))
    options = Scenario.flat(bls=Levels(), als=als, variation=0.25)
    took, ledger = _run(ReadyScenario.of(workload, CURIE_OWN.platform, options))
    changes = len(ledger.scales.job)
    assert short or changes == 1_677_157
    return Found((took,), f"{changes:,} changes, {1e6 * took / changes:.1f} µs each, including the policy's time")


# The same applications in this project's engine and in SimGrid.


def _simgrid_scenario(kind: str) -> tuple[ReadyScenario, int]:
    # Allowed rounding difference of an instant, ns; on shared links differences accumulate: a millionth of the run.
    network = Network(topology="star", bandwidth_gbps=10.0, latency_ns=500)
    machine = Platform(hosts=(HostGroup(count=16, cores=4, speed_gflops=50.0),), network=network)
    path = scratch() / "graph.toml"
    path.write_text('[default]\ngraph = "layered:tasks=2000,degree=3,ccr=0.5"\nals = "heft"\n')
    level = Application(applications=path, network="lv08")
    one, many = [(1, 0, 3600, 64, 3600)], [(k + 1, 60 * k, 1800, 8, 1800) for k in range(50)]
    jobs, options, most_ns = {
        "loop": (one, Scenario.flat(als="ss", variation=0.25, tasks_per_core=312, seed=1), 1250),
        "graph": (one, Scenario.flat(seed=1, application=level), 3_600_000),
        "jobs": (many, Scenario.flat(als="fac", variation=0.25, tasks_per_core=20, seed=1), 200),
    }[kind]
    return ReadyScenario.of(Workload.from_jobs(jobs), machine, options), most_ns


def simgrid(kind: str) -> Found:
    """Wall time of a simulation by the adapter of SimGrid, whose tasks begin and end at the same instants as inline."""
    try:
        version = find_simgrid().version
    except InputError as error:
        raise Missing(str(error)) from None
    scenario, most_ns = _simgrid_scenario(kind)
    inline_s, known = min((_run(scenario) for _ in range(5)), key=lambda one: one[0])
    command = shlex.join([sys.executable, "-m", "bridge.adapters.simgrid"])
    took, ledger = _run(scenario, "pool", workers=1, command=command)
    assert len(known.tasks) == len(ledger.tasks)
    for column in ("start_ns", "end_ns"):
        apart = np.abs(getattr(known.tasks, column) - getattr(ledger.tasks, column)).max()
        assert apart <= most_ns, f"{kind}: {apart} ns"
    return Found((took,), f"{took / inline_s:,.0f} times as long as inline, {1e3 * inline_s:.2g} ms; SimGrid {version}")
