"""Real logs, written and read again, cut by the calendar, merged and scaled; and a run of one as a log."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from layers import these_stay

from bls.workloads import read_workload
from bls.workloads.columns import OPTIONAL
from bls.workloads.readers.swf import parse_swf
from bls.workloads.reshape import cut, merge
from bls.workloads.workload import Workload
from bls.workloads.writers.swf import unwritten, write_swf

LOGS = ("NASA-iPSC-1993-3.1-cln", "HPC2N-2002-2.2-cln", "CEA-Curie-2011-2.1-cln")


def written(workload: Workload) -> bytes:
    file = io.BytesIO()
    write_swf(workload, file)
    return file.getvalue()


@pytest.mark.parametrize("log", these_stay(LOGS, lambda log: log.startswith("NASA")))
def test_a_real_log_is_written_and_read_again(shared: Path, log: str) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    workload = read_workload(path, cancelled=True)
    assert unwritten(workload) == ()
    data = written(workload)
    again = parse_swf(data, "again", cancelled=True)
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", *OPTIONAL):
        np.testing.assert_array_equal(getattr(again, name), getattr(workload, name), name)
    assert (again.header, sum(again.rejects.values())) == (workload.header, 0)
    assert written(again) == data
    # Against the file itself, for jobs that ask for what they were given: every field that is not dropped on the way.
    theirs = {}
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.startswith(";") and line.strip():
                theirs[int(line.split()[0])] = [float(word) for word in line.split()]
    compared = 0
    for line in data.decode().splitlines():
        if line.startswith(";"):
            continue
        ours = [float(word) for word in line.split()]
        if ours[3] < 0:
            continue  # never started
        real = theirs[int(ours[0])]
        for field in (1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17):
            assert ours[field] == real[field], (line, field)
        assert ours[7] == (real[7] if real[7] > 0 else real[4])
        assert ours[8] == (real[8] if real[8] > 0 else real[3])
        compared += 1
    assert compared > 0.7 * len(theirs)


def test_a_year_is_its_months_and_merges_again(shared: Path) -> None:
    whole = read_workload(shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz")
    year = cut(whole, "window:2003-01-01..2004-01-01")
    months = [f"{number:02d}" for number in range(1, 13)]
    ends = [*(f"2003-{month}-01" for month in months[1:]), "2004-01-01"]
    parts = [cut(whole, f"window:2003-{month}-01..{end}") for month, end in zip(months, ends, strict=True)]
    assert [len(part) > 0 for part in parts] == [True] * 12
    made = merge(parts, numbers="same")
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "queue", "status"):
        np.testing.assert_array_equal(getattr(made, name), getattr(year, name), name)
