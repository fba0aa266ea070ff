"""The jobs of a ledger as Batsim's jobs.csv and as SWF; and the ledger of a table of jobs that was written before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from ledgers import Job, ledger, ledgers, machine, never_started
from tables import table_rows

from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.exporters import exporter
from traces.exporters.batsim_jobs import write_batsim_jobs
from traces.exporters.stored import stored_ledger
from traces.exporters.swf import write_swf_jobs
from traces.ledger import Ledger
from traces.tables import jobs_frame

S = NS_PER_S

#: A job that ran, one that was withdrawn, one that an outage cut and that ran again, one cut at its very start.
LEDGER = ledger(
    machine(4, 4),
    [
        Job(1, 0, 0, 1_500_000_000, [(0, 3)], asked=2, state="killed"),
        never_started(7, 5, asked=3),
        Job(2, S, 2 * S, 3 * S, [(0, 2), (5, 6)], state="requeued"),
        Job(3, S, 2 * S, 2 * S, [(3, 4)], state="cancelled"),
        Job(2, S, 4 * S, 6 * S + 1, [(1, 4)], attempt=1, eligible=3 * S),
        Job(9, 2 * S, 2 * S, 3 * S, [(7, 8)], state="failed"),
    ],
    with_tasks=False,
)


def test_batsims_file_as_a_whole(tmp_path: Path) -> None:
    path = write_batsim_jobs(LEDGER, tmp_path / "new")
    assert path == tmp_path / "new" / "jobs.csv"
    assert path.read_text().splitlines() == [
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
        "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,"
        "consumed_energy,metadata",
        '1,w0,delay,0.0,2,1.5,0,COMPLETED_WALLTIME_REACHED,0.0,1.5,1.5,0.0,1.5,1.0,0-2,-1,""',
        '7,w0,delay,0.000000005,3,0.0,0,REJECTED,,,,,,,,,""',
        '2,w0,delay,1.0,3,1.0,0,COMPLETED_KILLED,2.0,1.0,3.0,1.0,2.0,2.0,0-1 5,-1,""',
        '3,w0,delay,1.0,1,0.0,0,COMPLETED_KILLED,2.0,0.0,2.0,1.0,1.0,,3,-1,""',
        "2#1,w0,delay,3.0,3,2.000000001,1,COMPLETED_SUCCESSFULLY,4.0,2.000000001,6.000000001,1.0,3.000000001,"
        '1.49999999975,1-3,-1,""',
        '9,w0,delay,2.0,1,1.0,0,COMPLETED_FAILED,2.0,1.0,3.0,0.0,1.0,1.0,7,-1,""',
    ]


def test_jobs_with_tasks_are_applications(tmp_path: Path) -> None:
    jobs = [Job(1, 0, 0, 5, [(0, 1)], [(0, 0, 0, 5)]), Job(2, 5, 5, 9, [(0, 1)])]
    path = write_batsim_jobs(ledger(machine(1), jobs), tmp_path)
    assert pd.read_csv(path)["profile"].tolist() == ["application", "delay"]


def test_swf_of_a_run_as_a_whole(tmp_path: Path) -> None:
    path = write_swf_jobs(LEDGER, tmp_path)
    assert path.read_text().splitlines() == [
        *("; Version: 2.2", "; Computer: cluster", "; MaxJobs: 5", "; MaxRecords: 5"),
        *("; MaxNodes: 2", "; MaxProcs: 8", "; Note: jobs of a simulation"),
        "1 0 0 1.5 3 -1 -1 2 1.5 -1 0 -1 -1 -1 -1 -1 -1 -1",
        "7 0.000000005 -1 -1 -1 -1 -1 3 0 -1 5 -1 -1 -1 -1 -1 -1 -1",
        "3 1 1 0 1 -1 -1 1 0 -1 5 -1 -1 -1 -1 -1 -1 -1",
        "2 1 3 2.000000001 3 -1 -1 3 2.000000001 -1 1 -1 -1 -1 -1 -1 -1 -1",
        "9 2 0 1 1 -1 -1 1 1 -1 0 -1 -1 -1 -1 -1 -1 -1",
    ]


def test_a_run_of_no_jobs(tmp_path: Path) -> None:
    empty = ledger(machine(2), [])
    assert len(write_batsim_jobs(empty, tmp_path).read_text().splitlines()) == 1
    assert "; MaxJobs: 0" in write_swf_jobs(empty, tmp_path).read_text()


@pytest.mark.parametrize("name", ["batsim", "swf"])
def test_what_is_there_is_not_replaced(name: str, tmp_path: Path) -> None:
    path = exporter(name)(LEDGER, tmp_path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        exporter(name)(LEDGER, tmp_path)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        exporter(name)(LEDGER, path / "below")


@given(of=ledgers())
@settings(max_examples=50)
def test_a_table_of_jobs_is_a_ledger_again(of: Ledger) -> None:
    frame = jobs_frame(of)
    again = stored_ledger({name: frame[name].to_numpy() for name in frame.columns}, of.machine)
    assert again.tasks is None
    for name, column in vars(of.jobs).items():
        np.testing.assert_array_equal(getattr(again.jobs, name), column, name)
        assert getattr(again.jobs, name).dtype == column.dtype, name


@pytest.mark.parametrize(("column", "value", "message"), table_rows(__file__, "a_table_that_is_none_is"))
def test_a_table_that_is_none_is_one_line(column: str, value: str, message: str) -> None:
    frame = jobs_frame(LEDGER)
    columns = {name: frame[name].to_numpy().copy() for name in frame.columns}
    columns[column][0] = value
    with pytest.raises(InputError, match=message):
        stored_ledger(columns, LEDGER.machine)
