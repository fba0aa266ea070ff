"""Real logs: how many lines and jobs they have, counted again by a few lines of Python."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from bls.platform import Platform
from bls.selection import fit, select
from bls.workload import REASONS
from bls.workloads import read_workload

LOGS = (
    "NASA-iPSC-1993-3.1-cln",
    "KTH-SP2-1996-2.1-cln",
    "LLNL-Thunder-2007-1.1-cln",
    "HPC2N-2002-2.2-cln",
    "CEA-Curie-2011-2.1-cln",
)


def counted(path: Path, widest: int) -> tuple[int, Counter[str], list[tuple[int, int, int, int, int]]]:
    """Lines, rejects by reason, and the jobs (number, submit, run, cores, estimate) in whole seconds, in file order."""
    lines, rejects, jobs, seen = 0, Counter[str](), [], set()
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.strip() or line.lstrip().startswith(";"):
                continue
            lines += 1
            fields = [float(field) for field in line.split()]
            number, submit, run = int(fields[0]), int(fields[1]), int(fields[3])
            cores = int(fields[7]) if fields[7] > 0 else int(fields[4])
            estimate = int(fields[8]) if fields[8] > 0 else run
            if submit < 0:  # a job whose submit is not known
                rejects["malformed"] += 1
            elif run <= 0:
                rejects["no run time"] += 1
            elif cores <= 0:
                rejects["no processors"] += 1
            elif number in seen:
                rejects["duplicate job number"] += 1
            else:
                seen.add(number)
                if cores > widest:
                    rejects["wider than the platform"] += 1
                else:
                    jobs.append((number, submit, run, cores, estimate))
    return lines, rejects, jobs


@pytest.mark.parametrize("log", LOGS)
def test_every_line_is_a_job_or_a_counted_reject(shared: Path, log: str) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    lines, rejects, jobs = counted(path, 256)
    workload = fit(read_workload(path), Platform().n_cores)
    assert workload.n_lines == lines
    assert dict(workload.rejects) == {reason: rejects[reason] for reason in REASONS}
    jobs.sort(key=lambda job: job[1])
    seconds = zip(
        workload.job_id.tolist(),
        (workload.submit_ns // 10**9).tolist(),
        (workload.run_ns // 10**9).tolist(),
        workload.cores.tolist(),
        (workload.estimate_ns // 10**9).tolist(),
        strict=True,
    )
    assert list(seconds) == jobs
    if log.startswith("CEA"):
        assert (lines, len(jobs)) == (312_826, 241_794)


def test_the_busiest_day_of_a_real_log(shared: Path) -> None:
    workload = fit(read_workload(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), Platform().n_cores)
    submits = workload.submit_ns.tolist()
    day, best, stop = 86_400 * 10**9, (0, 0), 0
    for first, t in enumerate(submits):
        while stop < len(submits) and submits[stop] < t + day:
            stop += 1
        if stop - first > best[0]:
            best = (stop - first, first)
    chosen = select(workload, "busiest:24h")
    assert chosen.job_id.tolist() == workload.job_id[best[1] : best[1] + best[0]].tolist()
    assert chosen.submit_ns[0] == 0
