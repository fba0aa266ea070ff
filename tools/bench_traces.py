"""Trace writers, each alone: a million tasks, what is written counted and checked, time and memory measured.

    python -m tools.bench_traces [--tasks N] [FORMAT …]

Each format is written in a process of its own, so that its memory is its own. What the figures must be is said beside them:
a million slices per second in Perfetto's, a million events per second in Pajé's format; memory beside the ledger that does not
grow with the tasks, but for 8 bytes each where these are put in the order of their cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from traces.exporters import exporter
from traces.ledger import JobRecords, Ledger, Machine, TaskRecords

CORES, HOSTS, WIDTH, OF_JOB = 256, 4, 64, 1000


def made(n_tasks: int) -> Ledger:
    """Jobs of 64 cores and a thousand tasks, four of them at once, back to back."""
    n = n_tasks // OF_JOB
    job, task = np.arange(n), np.arange(OF_JOB)
    lane, rounds = job % (CORES // WIDTH), -(-OF_JOB // WIDTH)
    length = 2 * 10**9 * rounds
    start = job // (CORES // WIDTH) * length
    generator = np.random.default_rng(1)
    begin = np.repeat(start, OF_JOB) + np.tile(task // WIDTH, n) * 2 * 10**9 + generator.integers(0, 10**9, n * OF_JOB)
    end = begin + generator.integers(1, 10**9, n * OF_JOB)
    core = np.repeat(lane * WIDTH, OF_JOB) + np.tile(task % WIDTH, n)
    nothing = np.zeros(n)
    jobs = JobRecords(
        job_id=job + 1,
        submit_ns=np.maximum(0, start - 10**9 * (job % 7)),
        start_ns=start,
        end_ns=start + length,
        estimate_ns=np.full(n, length),
        deadline_ns=start + 2 * length,
        cores=np.full(n, WIDTH),
        tasks=np.full(n, OF_JOB),
        chunks=np.full(n, OF_JOB // 4),
        length_gflop=nothing,
        imbalance=nothing,
        cov=nothing,
        allocation_first=np.arange(n + 1),
        allocation_lo=lane * WIDTH,
        allocation_hi=(lane + 1) * WIDTH,
    )
    chunk = np.tile(task // 4, n).astype(np.int32)
    tasks = TaskRecords(np.arange(n + 1) * OF_JOB, begin, end, core.astype(np.int32), chunk, np.zeros(n * OF_JOB))
    names = tuple(f"host {host}" for host in range(HOSTS))
    return Ledger(Machine("cluster", names, np.arange(HOSTS + 1) * (CORES // HOSTS)), jobs, tasks)


def _packets(path: Path) -> int:
    """How many packets begin a slice: of each the tag and the length are read, and where in it the type is."""
    data, at, found = memoryview(path.read_bytes()), 0, 0
    while at < len(data):
        size = (data[at + 1] & 0x7F) | data[at + 2] << 7 if data[at + 1] & 0x80 else data[at + 1]
        body = at + (3 if data[at + 1] & 0x80 else 2)
        assert data[at] == 0x0A
        if data[body] == 0x40:  # it has a timestamp, so it is an event
            place = body + 1
            while data[place] & 0x80:
                place += 1
            found += bytes(data[place + 1 : place + 10]).startswith(b"\x50\x01\x68\x02\x5a") and data[place + 9] == 1
        at = body + size
    return found


def _lines(begin: bytes) -> Callable[[Path], int]:
    def count(path: Path) -> int:
        with path.open("rb") as file:
            return sum(line.startswith(begin) for line in file)

    return count


#: Of each format how many slices a file has on cores and lanes, counted by other means than it was written; how many events
#: one is.
COUNTED: dict[str, tuple[Callable[[Path], int], int, int]] = {
    "perfetto": (_packets, 2, 1),
    "paje": (_lines(b"10 "), 0, 2),
    "chrome": (_lines(b'{"ph":"X"'), 2, 1),
    "csv": (lambda path: _lines(b"")(path) - 1, 0, 1),
}


def measured(name: str, n_tasks: int) -> dict[str, float]:
    """What one format takes; an assertion fails if it has not as many slices as there are tasks (and spans of jobs)."""
    count, spans, events = COUNTED[name]
    with tempfile.TemporaryDirectory() as scratch:
        exporter(name)(made(2000), Path(scratch) / "first")  # what is compiled is compiled
        ledger = made(n_tasks)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, busy = time.perf_counter(), time.process_time()
        path = exporter(name)(ledger, Path(scratch) / "trace")
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        n = len(ledger.tasks or ())
        assert count(path) == n + spans * len(ledger.jobs), name
        size = sum(file.stat().st_size for file in (Path(scratch) / "trace").rglob("*") if file.is_file())
    per_s = n * events / 1e6
    return {"wall": per_s / wall, "busy": per_s / busy, "bytes": size / n, "more_mib": (after - before) / 1024}


def main() -> None:
    """Measure the formats that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=list(COUNTED))
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(measured(given.formats[0], given.tasks)))
        return
    for name in given.formats:
        words = [sys.executable, "-m", "tools.bench_traces", name, "--tasks", str(given.tasks), "--alone"]
        found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
        must = {"perfetto": "slices, ≥ 1", "paje": "events, ≥ 1"}.get(name, "slices")
        print(
            f"{name:9}{found['wall']:6.2f} M/s of wall time, {found['busy']:.2f} M/s of processor time ({must}); "
            f"{found['bytes']:.0f} bytes a task; {found['more_mib']:.0f} MiB beside the ledger"
        )


if __name__ == "__main__":
    main()
