"""The benchmark's cases of a first and of a second start: kernels that are compiled once, and then are there.

Each has a cache folder of its own, so that what this machine has compiled before does not count.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from tools.bench_rows import Cost, Row, python, row

__all__ = ["cold_and_warm", "everything", "first_use"]

_RUNS = 3

_NEW_PYTHON = "import bridge, bls; assert len(bridge.simulate(bls.sample_path()).jobs) == 320"

_GRAPHS = """
[[application]]
name = "factorisation"
match = { cores = "8-256" }
graph = "cholesky:tiles=4"
"""

#: One more feature: its name, and what ``run sample`` is further told. Plain runs were before, and graphs before their network.
_FEATURES = {
    "graphs": ("--applications", "graphs.toml"),
    "a network for graphs": ("--applications", "graphs.toml", "--network", "lv08"),
    "easy, contiguous": ("--backfill", "easy", "--allocator", "contiguous"),
    "easy, whole hosts": ("--backfill", "easy", "--allocator", "whole-host"),
    "failures": ("--failures", "mtbf:1d,mttr:1h"),
    "speeds": ("--als", "gss", "--speeds", "square:period=10m,low=0.5,cores=0-63"),
}


def _sample(scratch: Path, cache: Path, *words: str) -> Cost:
    cost = python(
        "-m",
        "bridge.cli",
        "run",
        "sample",
        *words,
        "--no-trace",
        "--out",
        "r",
        "--force",
        folder=scratch,
        cache=cache,
    )
    assert json.loads((scratch / "r" / "run.json").read_text())["workload"]["jobs"] == 320
    return cost


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def cold_and_warm() -> list[Row]:
    """``run sample --no-trace`` with an empty cache folder, and again; from a new Python, too."""
    cold, kept, warm, new = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for at in range(_RUNS):
            cold.append(_sample(scratch, scratch / f"cache{at}"))
            kept.append(_megabytes(scratch / f"cache{at}"))
        cache = scratch / "cache0"
        for _ in range(7):
            warm.append(_sample(scratch, cache).wall_s)
            new.append(python("-c", _NEW_PYTHON, folder=scratch, cache=cache).wall_s)
    return [
        row("run sample, nothing compiled, CPU", "≤ 15 s", [cost.cpu_s for cost in cold]),
        row("run sample, nothing compiled, wall", "≤ 15 s", [cost.wall_s for cost in cold]),
        row("run sample, machine code that is kept", "≤ 8 MB", kept, unit="MB"),
        row("run sample, compiled, wall", "≤ 0.6 s", warm, note="whole command"),
        row("bridge.simulate(sample) in a new Python", "≤ 0.7 s", new, note="import included"),
    ]


def first_use() -> list[Row]:
    """CPU seconds of a first run with one more feature."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "graphs.toml").write_text(_GRAPHS)
        _sample(scratch, scratch / "plain")
        for feature, words in _FEATURES.items():
            before = "graphs" if feature == "a network for graphs" else "plain"
            shutil.copytree(scratch / before, scratch / feature)
            first = _sample(scratch, scratch / feature, *words).cpu_s
            again = _sample(scratch, scratch / feature, *words).cpu_s
            rows.append(row(f"first use of {feature}, CPU", "≤ 12 s", [first], note=f"the second time {again:.2f} s"))
    return rows


def everything() -> list[Row]:
    """``warm-up --all`` with an empty cache folder."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        cost = python("-m", "bridge.cli", "warm-up", "--all", folder=scratch, cache=scratch / "cache")
        kept = _megabytes(scratch / "cache")
    return [row("warm-up --all, CPU", "≤ 100 s", [cost.cpu_s], note=f"{cost.wall_s:.0f} s; {kept:.1f} MB kept")]
