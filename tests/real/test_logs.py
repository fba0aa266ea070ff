"""Real logs: how many lines and jobs they have, counted again by a few lines of Python."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from bls.machine.platform import Platform
from bls.workloads import read_workload
from bls.workloads.archive import find_log
from bls.workloads.named_machine import named_machine
from bls.workloads.selection import fit
from bls.workloads.workload import REASONS

LOGS = (
    *("NASA-iPSC-1993-3.1-cln", "KTH-SP2-1996-2.1-cln", "LLNL-Thunder-2007-1.1-cln", "HPC2N-2002-2.2-cln"),
    "CEA-Curie-2011-2.1-cln",
)


SACCT = "Cirrus-EPCC-2024Q1-CPU-sacct-subset.csv.gz"


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


def test_a_dump_of_sacct_is_read_whole(shared: Path) -> None:
    path = shared / "traces" / SACCT
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    ran = [row for row in rows if int(row["ElapsedRaw"]) > 0]
    workload = read_workload(path)
    rejects = {reason: count for reason, count in workload.rejects.items() if count}
    assert rejects == {"no run time": len(rows) - len(ran)}
    first = min(int(row["Submit"]) for row in rows)
    assert workload.header == (f"; UnixStartTime: {first}",)
    status = {"COMPLETED": 1, "CANCELLED": 5}
    expected = [
        (
            int(row["Submit"]) - first,
            int(row["End"]) - int(row["Start"]),
            int(row["Start"]) - int(row["Submit"]),
            int(row["NCPUS"]),
            status.get(row["State"], 0),
            int(row["NNodes"]),
        )
        for row in sorted(ran, key=lambda row: int(row["Submit"]))
    ]
    assert len(set(workload.job_id.tolist())) == len(ran)
    second = 10**9
    times = (workload.submit_ns // second, workload.run_ns // second, workload.wait_ns // second)
    columns = [*times, workload.cores, workload.status, workload.extras["nodes"]]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert 5312850 * 10**10 + 12 in workload.job_id.tolist()


SIZES = ((128, 128), (100, 100), (4008, 1002), (240, 240), (93_312, 5544))


@pytest.mark.parametrize(("log", "size"), list(zip(LOGS, SIZES, strict=True)))
def test_every_job_fits_the_machine_that_its_log_names(shared: Path, log: str, size: tuple[int, int]) -> None:
    workload = read_workload(shared / "traces" / f"{log}.swf.gz")
    machine = named_machine(workload)
    assert machine is not None
    assert (machine.n_cores, machine.n_hosts) == size
    assert workload.cores.max() <= machine.n_cores


@pytest.mark.parametrize("log", LOGS)
def test_the_catalogue_knows_the_log(shared: Path, log: str) -> None:
    known = find_log(log)
    text = gzip.decompress((shared / "traces" / known.file).read_bytes())
    lines = [line for line in text.splitlines() if line.strip()]
    header = [line for line in lines if line.startswith(b";")]
    assert hashlib.sha256(text).hexdigest() == known.text_sha256
    assert len(lines) - len(header) == known.jobs
    assert f"; MaxProcs: {known.cores}".encode() in header
    assert f"; Acknowledge: {known.provided_by}".encode() in header
