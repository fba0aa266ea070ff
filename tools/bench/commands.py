"""Cases of the benchmark that run whole commands, each in a process of its own: large inputs, first and later starts."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow.parquet as pq

from bls import Platform, read_workload
from bls.workloads.generators.accasim import generate_like
from bls.workloads.writers.swf import write_swf
from tools.bench.rows import CURIE, HPC2N, ROOT, Found, archive, scratch, timed
from traces.kernels.store import cache_directory

# A process inherits the peak memory of its parent; a small process in between prevents this.
_BETWEEN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


class Cost(NamedTuple):
    """Cost of a process, including the processes that it started and waited for."""

    wall_s: float
    cpu_s: float
    memory_mib: float


def python(*words: str, kernels: Path | None = None) -> Cost:
    """Run Python and return its cost; ``kernels`` is a cache folder to use instead of the usual one."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    if kernels is not None:
        env.pop("NUMBA_CACHE_DIR", None)
        env["XDG_CACHE_HOME"] = str(kernels)
    line = [sys.executable, "-S", "-c", _BETWEEN, sys.executable, *words]
    took, done = timed(
        lambda: subprocess.run(line, check=False, capture_output=True, text=True, cwd=scratch(), env=env)
    )
    assert done.returncode == 0, done.stderr
    cpu_s, kib = done.stdout.split()
    return Cost(took, float(cpu_s), int(kib) / 1024)


def command(*words: str, kernels: Path | None = None) -> Cost:
    """Run a command of ``twolevel`` and return its cost."""
    return python("-m", "bridge.cli", *words, kernels=kernels)


def given(word: str | Path | Platform | Callable[[], Path]) -> str:
    """Return a word of a command: files are made, and logs searched, when the case begins."""
    if isinstance(word, Platform):
        path = scratch() / f"{word.n_cores}.toml"
        path.write_text(word.to_toml(), encoding="utf-8")
        return str(path)
    return str(word() if callable(word) else word)


def whole(
    *words: str | Path | Platform | Callable[[], Path], cpu: bool = False, short: bool = False, **expected: int
) -> Found:
    """Run a command with ``--out`` and check its result; a short run takes the sample as its workload.

    ``expected`` has entries of ``run.json``, such as ``metrics__tasks``, or ``results``, the number of rows of a study's table.
    """
    with TemporaryDirectory() as name:
        line = [given("sample" if short and at == 1 else word) for at, word in enumerate(words)]
        cost = command(*line, "--out", f"{name}/r")
        for key, value in expected.items() if not short else ():
            if key == "results":
                found = pq.read_metadata(f"{name}/r/results.parquet").num_rows
            else:
                record = json.loads(Path(name, "r", "run.json").read_text(encoding="utf-8"))
                found = reduce(getitem, key.split("__"), record)
            assert found == value, f"{key}: {found}, not {value}"
    note = f"{'CPU' if cpu else 'wall'} time of the command; {cost.memory_mib:.0f} MiB"
    return Found((cost.cpu_s if cpu else cost.wall_s,), note, cost.memory_mib)


@cache
def seth_many() -> Path:
    """Write 5,731,100 jobs like those of HPC2N, the number of jobs in the largest log of the archive."""
    path = scratch() / "many.swf"
    write_swf(generate_like(read_workload(archive(HPC2N)), 5_731_100, seed=1), path)
    with path.open("rb") as lines, gzip.open(f"{path}.gz", "wb", compresslevel=1) as packed:
        shutil.copyfileobj(lines, packed, 2**20)
    path.unlink()
    return Path(f"{path}.gz")


@cache
def repeated_curie() -> Path:
    """Write CEA-Curie 19 times in sequence, each from the last submit of the previous copy: 5.6 million jobs."""
    with gzip.open(archive(CURIE)) as file:
        jobs = [line.split(None, 2) for line in file if line.strip() and not line.startswith(b";")]
    known = [(int(number), int(submit_s), rest) for number, submit_s, rest in jobs]
    last, last_s, _ = known[-1]
    path = scratch() / "long.swf.gz"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for k in range(19):
            lines = (b"%d %d %s" % (k * last + number, k * last_s + at_s, rest) for number, at_s, rest in known)
            packed.write(b"".join(lines))
    return path


# First starts: each cache folder is empty at first, so existing kernels of this machine do not count.

#: A feature, and the options of ``run sample`` that use it, in the order in which :func:`first_uses` compiles them.
FEATURES = {
    "graphs": ("--applications", "graphs.toml"),
    "a network for graphs": ("--applications", "graphs.toml", "--network", "lv08"),
    "easy, contiguous": ("--backfill", "easy", "--allocator", "contiguous"),
    "failures": ("--failures", "mtbf:1d,mttr:1h"),
    "speeds": ("--als", "gss", "--speeds", "square:period=10m,low=0.5,cores=0-63"),
    "easy, whole hosts": ("--backfill", "easy", "--allocator", "whole-host"),
}

_GRAPHS = '[[application]]\nname = "factorisation"\nmatch = { cores = "8-256" }\ngraph = "cholesky:tiles=4"\n'


def _sample(kernels: str, *words: str) -> Cost:
    (scratch() / "graphs.toml").write_text(_GRAPHS)
    cost = command("run", "sample", *words, "--trace", "none", "--out", "r", "--force", kernels=scratch() / kernels)
    assert json.loads((scratch() / "r" / "run.json").read_text())["workload"]["jobs"] == 320
    return cost


@cache
def cold() -> Cost:
    """Return the cost of ``run sample`` with an empty cache folder."""
    return _sample("plain")


def kept_mb() -> float:
    """Return the size of the machine code that :func:`cold` has cached."""
    cold()
    return sum(path.stat().st_size for path in (scratch() / "plain").rglob("*") if path.is_file()) / 1e6


@cache
def _compiled() -> list[Cost]:
    cold()
    return [_sample("plain") for _ in range(3)]


def warm() -> Found:
    """Measure ``run sample`` with compiled kernels."""
    return Found([cost.wall_s for cost in _compiled()], "wall time of the command")


def new_python() -> float:
    """Measure ``bridge.simulate`` of the sample, with the import."""
    cold()
    text = "import bridge, bls; assert len(bridge.simulate(bls.sample_path()).jobs) == 320"
    return python("-c", text, kernels=scratch() / "plain").wall_s


@cache
def first_uses() -> dict[str, float]:
    """Return the CPU time of the first run with each feature.

    All features but the last have no kernels in common and share a cache. The last feature shares EASY with an earlier one.
    """
    cold()
    for name in ("all", "again"):
        shutil.copytree(scratch() / "plain", scratch() / name)
    last = list(FEATURES)[-1]
    return {name: _sample("again" if name == last else "all", *words).cpu_s for name, words in FEATURES.items()}


def everything() -> Found:
    """Return the CPU time of ``warm-up --all`` from an empty cache.

    It is the sum over the plain run, over the features that share its cache, each without the time that a compiled run takes,
    and over ``warm-up --all`` after them. If the user has no kernels yet, they are kept for the cases that follow.
    """
    before = [cold().cpu_s, *list(first_uses().values())[:-1]]
    before_s = sum(before) - len(before) * statistics.median(cost.cpu_s for cost in _compiled())
    rest_s = command("warm-up", "--all", kernels=scratch() / "all").cpu_s
    usual = cache_directory()
    if usual is not None and not usual.exists():
        shutil.copytree(scratch() / "all" / "twolevel" / usual.name, usual)
    return Found((before_s + rest_s,), f"including {before_s:.0f} s in the first uses above")
