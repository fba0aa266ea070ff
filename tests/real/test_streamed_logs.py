"""Real logs, read as simulated time goes on, give the very table that they give as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from layers import these_stay

from bls.constraints.options import Surroundings
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.stream import Arrivals
from bls.workloads.readers.swf import swf_blocks
from bridge.runs.simulation import run
from bridge.runs.stream import run_stream
from bridge.scenarios.scenario import Options, Scenario, load_workload
from traces.tables import write_jobs


@pytest.mark.parametrize(
    ("log", "cores", "order", "backfill", "more"),
    these_stay(
        [
            ("HPC2N-2002-2.2-cln", 240, "fcfs", "easy", {}),
            ("HPC2N-2002-2.2-cln", 240, "reject", "none", {"memory": "swf"}),
            ("HPC2N-2002-2.2-cln", 240, "sjf", "none", {"memory": "swf"}),
            ("KTH-SP2-1996-2.1-cln", 100, "sjf", "conservative", {}),
            ("KTH-SP2-1996-2.1-cln", 100, "fcfs", "easy", {"failures": "mtbf:30d,mttr:4h"}),
            ("LLNL-Thunder-2007-1.1-cln", 4096, "wfp3", "4", {}),
        ],
        lambda row: row[0].startswith("KTH"),
    ),
)
def test_the_same_table_and_metrics(
    shared: Path, log: str, cores: int, order: str, backfill: str, more: dict[str, str], tmp_path: Path
) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    platform = Platform((HostGroup(cores // 4, 4, 8.0, resources=(("memory", 1 << 20),)),))
    options = Options(bls=order, als="recorded", rules=Rules(backfill), around=Surroundings(**more))
    whole = run(Scenario.of(load_workload(path, platform), platform, options))
    write_jobs(whole.ledger, tmp_path / "whole.parquet")
    arrivals = Arrivals(swf_blocks(path), platform, memory=options.around.memory)
    scenario = Scenario.of(arrivals.first(), platform, options)
    found = run_stream(scenario, arrivals, tmp_path / "streamed.parquet", lambda ended, now_ns: None)
    assert (tmp_path / "streamed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert arrivals.jobs == len(whole.scenario.workload)
    metrics = dict(found.metrics)
    fragmentation = whole.metrics["mean_fragmentation"]  # None, if no job started
    assert metrics.pop("mean_fragmentation") == (fragmentation and pytest.approx(fragmentation, rel=1e-9))
    assert metrics == {name: value for name, value in whole.metrics.items() if name != "mean_fragmentation"}
