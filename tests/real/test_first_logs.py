"""What a newcomer does with a log of his own in the first hour: Cirrus' dump of sacct, the busiest day of CEA-Curie."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import twolevel


@pytest.mark.parametrize(
    ("log", "select", "jobs"),
    [
        ("Cirrus-EPCC-2024Q1-CPU-sacct-subset.csv.gz", "first:500", 500),
        ("CEA-Curie-2011-2.1-cln.swf.gz", "busiest:24h", 9_206),
    ],
)
def test_a_log_is_looked_at_run_and_explained(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, select: str, jobs: int
) -> None:
    monkeypatch.chdir(tmp_path)

    def perform(*words: object) -> str:
        ran = twolevel(*words)
        assert ran.code == 0, ran.err
        assert "Traceback" not in ran.err
        return ran.out

    file = shared / "traces" / log
    assert log in perform("workload", "info", file)
    Path("machine.toml").write_text(perform("platform"))
    perform(
        "run", file, "--select", select, "--platform", "machine.toml", "--als", "gss", "--variation", 0.25, "--out", "r"
    )
    record = json.loads(Path("r/run.json").read_text())
    assert record["metrics"]["jobs"] == jobs
    assert Path("r/trace/traces.otf2").is_file()
    ran = pd.read_parquet("r/jobs.parquet")
    longest = ran.job_id[(ran.start_ns - ran.submit_ns).idxmax()]
    assert "waited" in perform("story", "r", longest)
    perform("figures", "r", "--out", "figures")
    assert list(Path("figures").iterdir())
