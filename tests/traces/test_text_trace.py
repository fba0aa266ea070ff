"""The text trace: one file for the batch simulator and one for each application simulator, which say what the ledger says."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from ledgers import NEVER, Job, ledger, ledgers, machine, messaging_ledgers, never_started

from traces.base.errors import InputError
from traces.exporters.text import APPLICATION_EVENTS, BATCH_EVENTS, write_text
from traces.intervals import intervals_text
from traces.ledger import STATES, WHY, Ledger

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Line(NamedTuple):
    at: int
    event: str
    fields: dict[str, str]


def lines(path: Path, events: dict[str, tuple[str, ...]]) -> list[Line]:
    head, *rest = path.read_text(encoding="ascii").splitlines()
    assert head.startswith("# twolevel text trace 1: ")
    found = []
    for line in rest:
        at, event, *fields = line.split(" ")
        said = dict(field.split("=") for field in fields)
        assert tuple(said) == events[event]
        found.append(Line(int(at), event, said))
    assert [line.at for line in found] == sorted(line.at for line in found)
    return found


def written(of: Ledger) -> tuple[list[Line], dict[str, list[Line]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = write_text(of, Path(folder) / "trace")
        assert path == Path(folder) / "trace" / "text" / "batch.txt"
        apart = sorted((path.parent / "applications").glob("*"))
        return lines(path, BATCH_EVENTS), {one.stem: lines(one, APPLICATION_EVENTS) for one in apart}


def numbers(line: Line, *names: str) -> tuple[int, ...]:
    return tuple(int(line.fields[name]) for name in names)


def check_batch(of: Ledger, found: list[Line]) -> None:
    jobs, said = of.jobs, defaultdict(list)
    running: set[tuple[int, ...]] = set()
    for line in found:
        whose = numbers(line, "job", "attempt")
        said[line.event].append((line.at, *whose, *list(line.fields.values())[2:]))
        if line.event == "start":
            running.add(whose)
        elif line.event == "end":
            running.remove(whose)
    assert not running
    expected: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row, (number, attempt) in enumerate(zip(jobs.job_id.tolist(), jobs.attempt.tolist(), strict=True)):
        whose, state = (number, attempt), STATES[jobs.state[row]]
        if attempt == 0:
            asked = (jobs.cores[row], jobs.estimate_ns[row], jobs.user[row])
            expected["submit"].append((int(jobs.submit_ns[row]), *whose, *map(str, asked)))
        if jobs.eligible_ns[row] >= 0:
            expected["eligible"].append((int(jobs.eligible_ns[row]), *whose))
        if jobs.start_ns[row] < 0:
            expected["leave"].append((int(jobs.left_ns[row]), *whose, state))
            continue
        cores = intervals_text(jobs.allocation(row)).replace(" ", ",")
        expected["start"].append((int(jobs.start_ns[row]), *whose, WHY[jobs.why[row]], cores))
        expected["end"].append((int(jobs.end_ns[row]), *whose, state))
    assert {event: sorted(rows) for event, rows in said.items()} == {
        event: sorted(rows) for event, rows in expected.items()
    }


def check_applications(of: Ledger, found: dict[str, list[Line]]) -> None:
    jobs, tasks = of.jobs, of.tasks
    ran = [row for row in range(len(jobs)) if tasks is not None and jobs.started[row] and np.diff(tasks.first)[row]]
    assert set(found) == {
        f"{jobs.job_id[row]}-{jobs.attempt[row]}" if jobs.attempt[row] else str(jobs.job_id[row]) for row in ran
    }
    for row in ran:
        assert tasks is not None
        number, attempt = int(jobs.job_id[row]), int(jobs.attempt[row])
        mine = found[f"{number}-{attempt}" if attempt else str(number)]
        assert (mine[0].at, mine[0].event, numbers(mine[0], "cores")) == (
            jobs.start_ns[row],
            "start",
            (jobs.cores[row],),
        )
        last = mine[-1]
        assert (last.at, last.event, last.fields["state"]) == (jobs.end_ns[row], "end", STATES[jobs.state[row]])
        assert numbers(last, "tasks", "chunks") == (jobs.tasks[row], jobs.chunks[row])
        on: dict[int, tuple[int, int, int]] = {}
        seen = []
        for line in mine:
            if line.event == "task-start":
                core, task, chunk = numbers(line, "core", "task", "chunk")
                assert core not in on, "a core runs one task at a time"
                on[core] = task, chunk, line.at
            elif line.event == "task-end":
                core, task = numbers(line, "core", "task")
                begun, chunk, since = on.pop(core)
                assert begun == task
                seen.append((task, core, chunk, since, line.at))
        assert not on
        rows = range(int(tasks.first[row]), int(tasks.first[row + 1]))
        columns = (tasks.core, tasks.chunk, tasks.start_ns, tasks.end_ns)
        assert sorted(seen) == [
            (task, *(int(column[at]) for column in columns)) for task, at in enumerate(rows) if tasks.core[at] >= 0
        ]
        if of.transfers is None:
            continue
        sent = [(line.at, *numbers(line, "core", "task", "to_task", "bytes")) for line in mine if line.event == "send"]
        taken = [
            (line.at, *numbers(line, "core", "from_task", "task", "bytes")) for line in mine if line.event == "receive"
        ]
        expected_sent, expected_taken = [], []
        for k in range(int(of.transfers.first[row]), int(of.transfers.first[row + 1])):
            ends = int(of.transfers.source[k]), int(of.transfers.target[k])
            size = round(float(of.transfers.bytes[k]))
            cores = [int(tasks.core[rows[task]]) for task in ends]
            expected_sent.append((int(of.transfers.sent_ns[k]), cores[0], *ends, size))
            expected_taken.append((int(of.transfers.arrived_ns[k]), cores[1], *ends, size))
        assert (sorted(sent), sorted(taken)) == (sorted(expected_sent), sorted(expected_taken))


@QUICK
@given(of=ledgers())
def test_the_files_say_what_the_ledger_says(of: Ledger) -> None:
    batch, applications = written(of)
    check_batch(of, batch)
    check_applications(of, applications)


@QUICK
@given(of=messaging_ledgers())
def test_transfers_are_in_the_files_of_applications(of: Ledger) -> None:
    check_applications(of, written(of)[1])


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
