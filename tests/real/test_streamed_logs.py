"""Real logs, read as simulated time goes on, give the very table that they give as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.stream import Arrivals
from bls.workloads.readers.swf import swf_blocks
from bridge.runs.simulation import run
from bridge.runs.stream import run_stream
from bridge.scenarios.scenario import Options, Scenario, load_workload
from traces.tables import write_jobs


@pytest.mark.parametrize(
    ("log", "cores", "order", "backfill"),
    [
        ("HPC2N-2002-2.2-cln", 240, "fcfs", "easy"),
        ("KTH-SP2-1996-2.1-cln", 100, "sjf", "conservative"),
        ("LLNL-Thunder-2007-1.1-cln", 4096, "wfp3", "4"),
    ],
)
def test_the_same_table_and_metrics(
    shared: Path, log: str, cores: int, order: str, backfill: str, tmp_path: Path
) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    platform = Platform((HostGroup(cores // 4, 4, 8.0),))
    options = Options(bls=order, als="recorded", rules=Rules(backfill))
    whole = run(Scenario.of(load_workload(path, platform), platform, options))
    write_jobs(whole.ledger, tmp_path / "whole.parquet")
    arrivals = Arrivals(swf_blocks(path), platform)
    scenario = Scenario.of(arrivals.first(), platform, options)
    found = run_stream(scenario, arrivals, tmp_path / "streamed.parquet", lambda ended, now_ns: None)
    assert (tmp_path / "streamed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert arrivals.jobs == len(whole.scenario.workload)
    metrics = dict(found.metrics)
    assert metrics.pop("mean_fragmentation") == pytest.approx(whole.metrics["mean_fragmentation"], rel=1e-9)
    assert metrics == {name: value for name, value in whole.metrics.items() if name != "mean_fragmentation"}
