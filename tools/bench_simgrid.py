"""A case of the benchmark: the same applications in the project's engine and in SimGrid, by the adapter, in one run."""

from __future__ import annotations

import shlex
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bls.machine.platform import HostGroup, Network, Platform
from bls.workloads.workload import Workload
from bridge.adapters.simgrid.process import find_simgrid
from bridge.couplings import PeerOptions
from bridge.runs.simulation import run
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.scenario import Options, Scenario
from tools.bench_rows import Row, row
from traces.base.errors import InputError

__all__ = ["beside_simgrid"]

_ADAPTER = shlex.join([sys.executable, "-m", "bridge.adapters.simgrid"])

_GRAPH = """
[default]
graph = "layered:tasks=2000,degree=3,ccr=0.5"
als = "heft"
"""


def _seconds(scenario: Scenario, coupling: str, command: str | None, runs: int) -> tuple[list[float], Any]:
    peers = PeerOptions(workers=1, command=command)
    results = [run(scenario, coupling_name=coupling, peers=peers) for _ in range(runs)]
    return [float(result.coupling["simulation_s"]) for result in results], results[-1].ledger


def _pair(case: str, scenario: Scenario, most_ns: int) -> list[Row]:
    """Both engines on one scenario; their tasks begin and end at the same instants but for ``most_ns`` for rounding."""
    _seconds(scenario, "inline", None, 1)
    ours_s, ours = _seconds(scenario, "inline", None, 5)
    theirs_s, theirs = _seconds(scenario, "pool", _ADAPTER, 3)
    assert len(ours.tasks) == len(theirs.tasks)
    for name in ("start_ns", "end_ns"):
        apart = np.abs(getattr(ours.tasks, name) - getattr(theirs.tasks, name)).max()
        assert apart <= most_ns, f"{case}: {apart} ns"
    times = statistics.median(theirs_s) / statistics.median(ours_s)
    return [
        row(f"{case}, inline", "", ours_s, note=f"{len(ours.tasks):,} tasks"),
        row(f"{case}, by SimGrid", "", theirs_s, note=f"ours is {times:,.0f} times quicker"),
    ]


def beside_simgrid() -> list[Row]:
    """Loops by chunks of one task and by few chunks, a large graph on shared links, and many small jobs."""
    try:
        version = find_simgrid().version
    except InputError as error:
        raise FileNotFoundError(str(error)) from None
    machine = Platform(
        hosts=(HostGroup(count=16, cores=4, speed_gflops=50.0),),
        network=Network(topology="star", bandwidth_gbps=10.0, latency_ns=500),
    )
    one = Workload.from_jobs([(1, 0, 3600, 64, 3600)])
    many = Workload.from_jobs([(k + 1, 60 * k, 1800, 8, 1800) for k in range(50)])
    rows = []
    for als, tasks in (("ss", 20_000), ("gss", 20_000)):
        options = Options(als=als, variation=0.25, tasks_per_core=tasks // 64, seed=1)
        case = f"a loop of {tasks:,} tasks on 64 cores, {als}"
        rows += _pair(case, Scenario.of(one, machine, options), 4 * tasks // 64)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "graph.toml"
        path.write_text(_GRAPH)
        level = ApplicationLevel(applications=path, network="lv08")
        case = "a graph of 2,000 tasks on 16 hosts of a star, heft, lv08"
        # Who shares links with many passes a nanosecond of rounding on, and back: a millionth of the run's time.
        rows += _pair(case, Scenario.of(one, machine, Options(seed=1, level=level)), 3_600_000)
    options = Options(als="fac", variation=0.25, tasks_per_core=20, seed=1)
    rows += _pair("50 jobs of about 160 tasks, fac", Scenario.of(many, machine, options), 200)
    rows[0].note += f"; SimGrid {version}"
    return rows
