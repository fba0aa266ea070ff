"""What is written as SWF is read back as the same jobs; and a finished run is a workload again."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from tables import table_rows
from workload_drawing import swf_workloads

from bls.workloads import read_workload
from bls.workloads.columns import OPTIONAL
from bls.workloads.readers.swf import parse_swf
from bls.workloads.workload import Workload
from bls.workloads.writers.swf import result_as_workload, unwritten, write_swf
from traces.base.errors import InputError
from traces.exporters.swf_lines import FIELDS

S = 10**9


def written(workload: Workload, header: Sequence[str] = ()) -> bytes:
    file = io.BytesIO()
    write_swf(workload, file, header=header)
    return file.getvalue()


def fields_of(data: bytes) -> list[list[str]]:
    return [line.split() for line in data.decode().splitlines() if not line.startswith(";")]


def same_jobs(one: Workload, other: Workload) -> None:
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", *OPTIONAL):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert list(one.extras) == list(other.extras)
    for name, column in one.extras.items():
        np.testing.assert_array_equal(column, other.extras[name], name)


@given(swf_workloads())
def test_what_is_written_is_read_back(workload: Workload) -> None:
    assume(not any(name.startswith("field") for name in workload.extras))
    assume(int(workload.submit_ns[0]) < 315_532_800 * S)  # later ones are read as seconds since 1970
    assert unwritten(workload) == ()
    data = written(workload)
    read = parse_swf(data, "again", cancelled=True)
    same_jobs(read, workload)
    assert sum(read.rejects.values()) == 0
    assert read.header[: len(workload.header)] == workload.header
    assert read.ids == workload.ids
    assert written(read) == data, "a second time, nothing changes"


@given(swf_workloads())
def test_every_field_is_what_the_format_says(workload: Workload) -> None:
    # The fields again, with Python's exact fractions.
    rows = fields_of(written(workload))
    held = bool(workload.held.any())
    assert [len(row) for row in rows] == [len(FIELDS) + held + len(workload.extras)] * len(workload)
    for k, row in enumerate(rows):
        assert not held or row[18] == str(workload.begin_ns[k])
        gone = bool(workload.run_unknown[k])
        seconds = {1: "submit_ns", 8: "estimate_ns"} | ({} if gone else {2: "wait_ns", 3: "run_ns"})
        for field, name in seconds.items():
            ns = int(getattr(workload, name)[k])
            assert Fraction(row[field]) == (Fraction(ns, S) if ns >= 0 else -1)
            assert not row[field].endswith("." if "." not in row[field] else (".", "0")), "as few digits as it needs"
        if gone:
            assert (Fraction(row[2]), row[3]) == (Fraction(int(workload.cancel_ns[k] - workload.submit_ns[k]), S), "-1")
        assert row[4] == row[7] == str(workload.cores[k])
        assert row[5] == row[6] == "-1"
        numbers = {0: "job_id", 9: "memory_kb", 10: "status", 11: "user", 12: "group", 13: "application"}
        for field, name in (numbers | {14: "queue", 15: "partition", 16: "preceding"}).items():
            assert row[field] == str(getattr(workload, name)[k])


def with_extras(*names: str, header: tuple[str, ...] = ()) -> Workload:
    extras = {name: np.array([number]) for number, name in enumerate(names, 1)}
    return replace(Workload.from_jobs([(1, 0, 1, 1, 1)]), extras=extras, header=header)


def test_extra_columns_keep_their_names() -> None:
    header = ("; Field 19: old", "; Column 20: cards", "; Field 21: none")
    data = written(with_extras("gpus", "cards", header=header))
    assert data.decode().splitlines()[:2] == ["; Column 20: cards", "; Field 19: gpus"]
    assert {name: column.tolist() for name, column in parse_swf(data, "x").extras.items()} == {
        "gpus": [1],
        "cards": [2],
    }


def test_an_extra_column_named_by_its_field_stays_there() -> None:
    # As a log has them of which only field 20 has a name, after a filter or a merge has put the names in another order.
    read = parse_swf(written(with_extras("cards", "field19")), "x")
    assert {name: column.tolist() for name, column in read.extras.items()} == {"field19": [2], "cards": [1]}


def test_extra_columns_beyond_the_third_are_told() -> None:
    workload = with_extras("a", "b", "c", "d")
    assert write_swf(workload, io.BytesIO()) == ("d",)
    assert list(parse_swf(written(workload), "x").extras) == ["a", "b", "c"]


def test_a_comment_of_two_lines_is_refused() -> None:
    with pytest.raises(InputError, match=r"comment .* has more than one line"):
        written(with_extras(), ["one\n1 2 3"])


def test_what_the_format_cannot_say_is_told() -> None:
    jobs = [{"job_id": 1, "submit_s": 0, "run_s": 5, "cores": 1, "qos": 2, "cancel_s": 3, "preset": 1}]
    workload = Workload.from_jobs(jobs)
    assert write_swf(workload, io.BytesIO()) == ("qos", "preset", "cancel_ns")
    assert fields_of(written(workload))[0][3] == "5"


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_files_plain_and_gzipped(tmp_path: Path, name: str) -> None:
    workload = Workload.from_jobs([(k, k, 1 + k / 3, 1 + k % 7, 100) for k in range(1, 50)])
    path = tmp_path / name
    for _ in range(2):  # what is there is replaced
        write_swf(workload, path)
    data = path.read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data) == written(workload)
    same_jobs(read_workload(path), workload)
    write_swf(workload, tmp_path / f"other-{name}")
    assert (tmp_path / f"other-{name}").read_bytes() == data, "neither a name nor a time in it"


def test_a_workload_of_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload.from_jobs([(k, k, 1, k, 1) for k in range(1, 12)])
    whole = written(workload)
    monkeypatch.setattr("traces.exporters.swf_lines._BLOCK", 4)
    assert written(workload) == whole


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"x\.swf: cannot be written: "):
        write_swf(Workload.from_jobs([(1, 0, 1, 1, 1)]), tmp_path / "file" / "x.swf")


def run_of(**columns: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
    names = {"submit": "submit_ns", "start": "start_ns", "end": "end_ns", "estimate": "estimate_ns"}
    return {
        names.get(name, name): np.array(values if name not in names else [S * v if v >= 0 else -1 for v in values])
        for name, values in columns.items()
    }


LOG = replace(
    Workload.from_jobs(
        [
            {"job_id": 4, "submit_s": 100, "run_s": 50, "cores": 2, "estimate_s": 60, "user": 5, "wait_s": 9},
            {"job_id": 5, "submit_s": 130, "run_s": 50, "cores": 8, "estimate_s": 60, "user": 6, "queue": 1},
            {"job_id": 6, "submit_s": 150, "run_s": None, "cores": 1, "estimate_s": 60, "cancel_s": 170},
            {"job_id": 7, "submit_s": 160, "run_s": 50, "cores": 1, "estimate_s": 60},
            {"job_id": 8, "submit_s": 160, "run_s": 50, "cores": 1, "estimate_s": 60},
        ]
    ),
    header=("; UnixStartTime: 1000", "; MaxJobs: 5", "; EndTime: some day"),
)


def test_a_run_is_a_workload_again() -> None:
    # Simulated was the window from 100 s on. Job 5 was clamped to 4 cores, cut by an outage at 60 s and run again; job 6
    # was withdrawn; job 7 was killed; job 8 was cut as it began.
    jobs = run_of(
        job_id=[4, 5, 6, 7, 8, 5],
        submit=[0, 30, 50, 60, 60, 30],
        start=[0, 40, -1, 60, 70, 70],
        end=[45, 60, -1, 120, 70, 90],
        cores=[2, 4, 1, 1, 1, 4],
        estimate=[60, 60, 60, 60, 60, 60],
        state=["completed", "requeued", "cancelled", "killed", "failed", "completed"],
    )
    made = result_as_workload(jobs, LOG)
    assert made.job_id.tolist() == [4, 5, 6, 7]
    assert (made.submit_ns // S).tolist() == [0, 30, 50, 60]
    assert (made.wait_ns // S).tolist() == [0, 40, 20, 0]
    assert made.run_ns.tolist() == [45 * S, 20 * S, 1, 60 * S]
    assert made.run_unknown.tolist() == [False, False, True, False]
    assert made.cores.tolist() == [2, 4, 1, 1]
    assert made.status.tolist() == [1, 1, 5, 0]
    assert (made.user.tolist(), made.queue.tolist()) == ([5, 6, -1, -1], [-1, 1, -1, -1])
    assert made.rejects["no run time"] == 1
    assert made.header == (
        "; UnixStartTime: 1100",
        "; MaxJobs: 4",
        "; Note: waits and run times are those of a simulation",
    )
    same_jobs(parse_swf(written(made), "x", cancelled=True), made)
    places = {"completed": 0, "killed": 1, "cancelled": 2, "failed": 3, "requeued": 4}  # as the ledger has them
    same_jobs(result_as_workload(jobs | {"state": np.array([places[s] for s in jobs["state"]], np.int8)}, LOG), made)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"job_id": [4, 99]}, "job 99 of the run is not in jobs"),
        ({"submit": [5, 30]}, "submits its jobs at other times than the run: is it the log of the run?"),
        ({"start": [-1, -1], "end": [-1, -1]}, "no job of the run ran"),
    ],
)
def test_a_run_of_another_log_is_refused(changes: dict[str, list[int]], message: str) -> None:
    good = {
        "job_id": [4, 5],
        "submit": [0, 30],
        "start": [5, 30],
        "end": [6, 60],
        "cores": [2, 8],
        "estimate": [60, 60],
    }
    jobs = run_of(**(good | changes), state=["completed"] * 2)
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        result_as_workload(jobs, LOG)


@pytest.mark.parametrize("further", [{}, {"field19": np.array([7, 8, 9])}])
def test_lists_of_preceding_jobs_are_written(further: dict[str, np.ndarray]) -> None:
    log = Workload.from_jobs([(1, 0, 1, 1, 1), (2, 0, 1, 1, 1), (33, 0, 1, 1, 1)], "a")
    lists = {2: (9, 33), 33: (1,), 5: (4,), 1: (7,)}
    log = replace(
        log, preceding=np.array([-1, 1, 2]), think_ns=np.array([0, 5 * S, 0]), also_preceding=lists, extras=further
    )
    again = parse_swf(written(log), "x")
    assert again.preceding.tolist() == [-1, 1, 2]
    assert again.also_preceding == {2: (9, 33), 33: (1,)}
    assert again.think_ns.tolist() == [0, 5 * S, 0]
    assert {name: column.tolist() for name, column in again.extras.items()} == {
        k: c.tolist() for k, c in further.items()
    }
    assert unwritten(log) == ()


@pytest.mark.parametrize(("name", "line"), table_rows(__file__, "ids_of_jobs_are_comments"))
def test_ids_of_jobs_are_comments(name: str, line: str) -> None:
    log = replace(Workload.from_jobs([(7, 0, 1, 1, 1), (8, 0, 1, 1, 1)]), ids={7: name, 9: "no job"})
    stale = ("; Job: 8 of another log", "; Job: 9 nobody")
    lines = written(replace(log, header=stale)).decode().split("\n")
    assert lines[:-3] == [stale[1], line]
    assert len(lines) == 5
    assert parse_swf("\n".join(lines).encode(), "again").ids == {7: name}
    assert unwritten(log) == ()


def test_every_column_is_written_or_said_to_be_lost() -> None:
    # A new column of workloads must be dealt with here, too.
    said = {*FIELDS, "begin_ns", "cores", "qos", "preset", "cancel_ns", "names", "ids", "also_preceding", "line"}
    not_columns = {"header", "rejects", "reordered", "clamped", "source", "n_lines", "extras", "waiting"}
    not_columns |= {"labels", "rejected", "remarks", "uncounted", "window"}
    assert {entry.name for entry in fields(Workload)} <= said | not_columns


def test_what_is_no_character_is_written_as_a_question_mark() -> None:
    file = io.BytesIO()
    write_swf(Workload.from_jobs([(1, 0, 1, 1, 1)], "a"), file, header=["half \ud800", "\udcff.swf", "ä"])
    assert file.getvalue().splitlines()[:3] == [b"; half ?", b"; ?.swf", "; ä".encode()]
