"""Transfers: the table is what the ledger says, faults are named, and waits are what a plain loop finds."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from ledgers import NEVER, Job, ledger, machine, messaging_ledgers, transfer_records
from tables import table_rows

from traces.base.errors import InputError
from traces.checks.ledger import InvariantError, check_ledger
from traces.ledger import Ledger
from traces.ledger_tables import TRANSFERS, tasks_frame, transfers_frame
from traces.waits import waits

# Core 0 runs 0 and 2, core 1 runs 1 and 3, core 2 runs 4; 3 needs 0 and 1, 4 needs 2 and 3.
#   0: |000000|  |22222|
#   1: |111|.....wwww|3333|
#   2: ....................www|44|      (w: what the producers have made is under way)
GRAPH = Job(
    7,
    0,
    10,
    40,
    [(0, 3)],
    [(0, 0, 10, 16), (1, 1, 10, 13), (0, 2, 18, 23), (1, 3, 20, 24), (2, 4, 30, 40)],
    transfers=[(0, 3, 4e6, 16, 20), (2, 4, 1e3, 23, 25), (3, 4, 2.5, 24, 30)],
)
ALONE = Job(9, 0, 50, 60, [(0, 2)], [(0, 0, 50, 60), NEVER], state="killed")
OTHER = Job(8, 0, 60, 70, [(1, 4)], [(1, 0, 60, 61), (3, 1, 62, 70)], transfers=[(0, 1, 8.0, 61, 62)])


def sound() -> Ledger:
    return ledger(machine(2, 2), [GRAPH, ALONE, OTHER], with_transfers=True)


def naive_waits(of: Ledger) -> list[tuple[int, int, int, int, int]]:
    found = []
    assert of.tasks is not None
    assert of.transfers is not None
    for job in range(len(of.jobs)):
        base = int(of.tasks.first[job])
        rows = range(int(of.tasks.first[job]), int(of.tasks.first[job + 1]))
        mine = range(int(of.transfers.first[job]), int(of.transfers.first[job + 1]))
        for row in rows:
            come = [k for k in mine if base + of.transfers.target[k] == row]
            start, core = int(of.tasks.start_ns[row]), int(of.tasks.core[row])
            if not come or max(int(of.transfers.arrived_ns[k]) for k in come) != start:
                continue
            before = [
                int(of.tasks.end_ns[k])
                for k in rows
                if of.tasks.core[k] == core and of.tasks.end_ns[k] <= start and k != row
            ]
            free = max([int(of.jobs.start_ns[job]), *before])
            since = max(free, *(int(of.transfers.sent_ns[k]) for k in come))
            if since < start:
                found.append((core, since, start, job, row - base))
    return sorted(found)


def test_the_table() -> None:
    frame = transfers_frame(sound())
    assert tuple(frame.columns) == TRANSFERS.columns
    assert frame.to_numpy().tolist() == [
        [7, 0, 3, 0, 1, 4e6, 16, 20],
        [7, 2, 4, 0, 2, 1e3, 23, 25],
        [7, 3, 4, 1, 2, 2.5, 24, 30],
        [8, 0, 1, 1, 3, 8.0, 61, 62],
    ]


@settings(max_examples=40, deadline=None)
@given(of=messaging_ledgers())
def test_reading_returns_what_was_written(of: Ledger, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_ledger(of)
    path = tmp_path_factory.mktemp("t") / "transfers.parquet"
    TRANSFERS.write(of, path)
    frame = transfers_frame(of)
    pd.testing.assert_frame_equal(TRANSFERS.read(path), frame)
    tasks = tasks_frame(of)
    for row in frame.itertuples():
        alike = tasks[(tasks.job_id == row.job_id)]
        assert row.source_core in set(alike[alike.task == row.source].core)
        assert row.target_core in set(alike[alike.task == row.target].core)


def test_no_network_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this result has no transfers"):
        transfers_frame(ledger(machine(2, 2), [GRAPH]))
    with pytest.raises(InputError, match="no such file"):
        TRANSFERS.read(tmp_path / "transfers.parquet")


def test_waits_by_hand() -> None:
    rows = list(zip(*(column.tolist() for column in waits(sound())), strict=True))
    assert rows == [(0, 3, 16, 20), (0, 4, 24, 30), (2, 1, 61, 62)]
    assert [len(column) for column in waits(ledger(machine(2, 2), [GRAPH]))] == [0, 0, 0, 0]


@settings(max_examples=100, deadline=None)
@given(of=messaging_ledgers())
def test_waits_are_those_of_the_definition(of: Ledger) -> None:
    assert of.tasks is not None
    job, task, since, until = (column.tolist() for column in waits(of))
    core = [int(of.tasks.core[of.tasks.first[j] + k]) for j, k in zip(job, task, strict=True)]
    found = list(zip(core, since, until, job, task, strict=True))
    assert found == naive_waits(of)


@pytest.mark.parametrize(("row", "changes", "message"), table_rows(__file__, "planted_faults"))
def test_planted_faults_are_named(row: int, changes: dict[str, float], message: str) -> None:
    of = sound()
    assert of.transfers is not None
    columns = {name: getattr(of.transfers, name).copy() for name in changes}
    for name, value in changes.items():
        columns[name][row] = value
    transfers = dataclasses.replace(of.transfers, **columns)
    with pytest.raises(InvariantError, match=message):
        check_ledger(dataclasses.replace(of, transfers=transfers))


def test_transfers_of_tasks_that_never_ran_or_were_not_kept() -> None:
    of = sound()
    killed = transfer_records(3, [(1, (0, 1, 1.0, 60, 60))])
    with pytest.raises(InvariantError, match="job 9, transfer 0 -> 1 leads to or from a task that never ran"):
        check_ledger(dataclasses.replace(of, transfers=killed))
    with pytest.raises(InvariantError, match=r"transfers: .* were not kept"):
        check_ledger(dataclasses.replace(of, tasks=None))
    for first in ([0, 1, 2], [0, 3, 3, 3], [0, 4, 3, 4], [1, 3, 3, 4]):
        assert of.transfers is not None
        with pytest.raises(InvariantError, match="transfers: the bounds do not divide the rows among the 3 jobs"):
            check_ledger(dataclasses.replace(of, transfers=dataclasses.replace(of.transfers, first=np.array(first))))
