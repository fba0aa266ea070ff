"""The text trace: one file for the batch simulator and one for each application simulator, which say what the ledger says."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledgers import NEVER, Job, ledger, machine, never_started

from traces.base.errors import InputError
from traces.exporters.text import write_text


def test_the_text_by_hand(tmp_path: Path) -> None:
    rows = [
        Job(7, 0, 0, 10, [(0, 2)], [(0, 0, 0, 3), (1, 1, 0, 4), NEVER], state="requeued"),
        never_started(8, 5, asked=3),
        Job(7, 0, 10, 10, [(0, 1), (2, 3)], [(2, 0, 10, 10)], attempt=1, why="backfill", eligible=10),
    ]
    path = write_text(ledger(machine(3), rows), tmp_path)
    assert path.read_text().splitlines()[1:] == [
        "0 submit job=7 attempt=0 cores=2 estimate_ns=10 user=-1",
        "0 eligible job=7 attempt=0",
        "0 start job=7 attempt=0 why=head cores=0-1",
        "5 submit job=8 attempt=0 cores=3 estimate_ns=0 user=-1",
        "5 eligible job=8 attempt=0",
        "5 leave job=8 attempt=0 state=cancelled",
        "10 end job=7 attempt=0 state=requeued",
        "10 eligible job=7 attempt=1",
        "10 start job=7 attempt=1 why=backfill cores=0,2",
        "10 end job=7 attempt=1 state=completed",
    ]
    applications = path.parent / "applications"
    assert {one.name for one in applications.iterdir()} == {"7.txt", "7-1.txt"}
    assert (applications / "7-1.txt").read_text().splitlines() == [
        "# twolevel text trace 1: application simulator of job 7, attempt 1; TIME EVENT KEY=VALUE ..., time in ns",
        "10 start cores=2",
        "10 task-start core=2 task=0 chunk=0",
        "10 task-end core=2 task=0",
        "10 end state=completed tasks=1 chunks=1",
    ]
    with pytest.raises(InputError, match="exists already"):
        write_text(ledger(machine(3), rows), tmp_path)


def test_a_file_in_the_way_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "applications").write_text("")
    with pytest.raises(InputError, match=r"applications: cannot be written: File exists$"):
        write_text(ledger(machine(1), [Job(1, 0, 0, 1, [(0, 1)], [(0, 0, 0, 1)])]), tmp_path)
