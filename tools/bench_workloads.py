"""The benchmark's cases of workloads: reading logs, rejecting every job of one, making one like another."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from bls.workloads import read_workload
from bls.workloads.generators import generate_like
from bls.workloads.writers.swf import write_swf
from tools.bench_rows import CURIE, HPC2N, Row, log, python, row, timed

__all__ = ["generator", "readers", "rejected"]

#: As many jobs as the largest log of the archive has, and of AccaSim's paper.
_MANY = 5_731_100

_SETH = """
[[hosts]]
count = 120
cores = 4
speed_gflops = 4.0

[network]
topology = "full"
bandwidth_gbps = 50.0
latency_ns = 500
"""


def readers() -> list[Row]:
    """Lines a second of two gzipped logs in SWF."""
    rows = []
    for name, lines in ((HPC2N, 202_871), (CURIE, 312_826)):
        path = log(name)

        def work(path: Path = path, lines: int = lines) -> None:
            assert read_workload(path).n_lines == lines

        shown = name.partition("-20")[0]
        rows.append(row(f"read {shown}, gzip", "≥ 500 k lines/s", timed(work, 7), per=lines / 1e3, unit="k lines/s"))
    return rows


def _rejected(path: Path, jobs: int, must: str, runs: int, peers: str) -> Row:
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as scratch:
        platform = Path(scratch) / "seth.toml"
        platform.write_text(_SETH)
        words = ("run", str(path), "--platform", str(platform), "--bls", "reject", "--als", "recorded", "--no-trace")
        for at in range(runs + 1):
            cost = python("-m", "bridge.cli", *words, "--out", f"r{at}", folder=Path(scratch))
            assert json.loads((Path(scratch) / f"r{at}" / "run.json").read_text())["metrics"]["state_rejected"] == jobs
            if at:
                seconds.append(cost.cpu_s)
                memory.append(cost.memory_mib)
    mib = statistics.median(memory)
    note = f"CPU s of the whole command; at most {mib:.0f} MiB; {peers}"
    return row(f"AccaSim's Table 1: {jobs:,} jobs, all rejected", must, seconds, note=note, memory_mib=mib)


def rejected() -> list[Row]:
    """AccaSim's Table 1, every job rejected: HPC2N (Seth), and 5.7 million jobs made like it, as many as MetaCentrum has."""
    seth = log(HPC2N)
    peers = "AccaSim 4.7 s (paper 15 s), Batsim 28 s"
    rows = [_rejected(seth, 202_871, "≤ 2 s", 5, peers)]
    with tempfile.TemporaryDirectory() as scratch:
        many = Path(scratch) / "many.swf.gz"
        write_swf(generate_like(read_workload(seth), _MANY, seed=1), many)
        peers = "AccaSim's paper 383 s, Batsim's there 15 GB"
        rows.append(_rejected(many, _MANY, "≤ 30 s, ≤ 4096 MiB", 2, peers))
    return rows


def generator() -> list[Row]:
    """500,000 jobs like HPC2N's."""
    source = read_workload(log(HPC2N))
    rows = []
    for method in ("calendar", "accasim"):

        def work(method: str = method) -> None:
            assert len(generate_like(source, 500_000, seed=1, method=method)) == 500_000

        rows.append(row(f"500,000 jobs like HPC2N, {method}", "≤ 10 s", timed(work, 3)))
    return rows
