"""What ``sacct --json`` writes is read as the same jobs as its other dumps, whatever version of Slurm wrote it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tables import table_rows

from bls.workloads import format_of, read_workload
from bls.workloads.columns import COLUMNS, OPTIONAL
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.sacct_json import json_jobs
from bls.workloads.readers.sacct_words import sacct_words
from bls.workloads.workload import Workload
from traces.base.errors import InputError

S = 10**9

#: Two jobs, a task of an array and a component of a heterogeneous job: as --parsable2 has them, and as --json of Slurm 21.08,
#: with plain numbers, and of today.
TABLES = Path(__file__).with_name("tables")


def same(one: Workload, other: Workload) -> None:
    for name in (*COLUMNS, *OPTIONAL):
        if name != "line":
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert {name: column.tolist() for name, column in one.extras.items()} == {
        name: column.tolist() for name, column in other.extras.items()
    }
    assert (one.header, one.names, one.rejects) == (other.header, other.names, other.rejects)


@pytest.mark.parametrize("style", ["plain", "set"])
@pytest.mark.parametrize("jobs_first", [False, True])
def test_json_is_read_as_the_lines_are(tmp_path: Path, style: str, jobs_first: bool) -> None:
    dump = json.loads((TABLES / f"sacct_{style}.json").read_text())
    (tmp_path / "a.sacct").write_text((TABLES / "sacct_lines.txt").read_text())
    ordered = dump if jobs_first else dict(reversed(dump.items()))
    (tmp_path / "a.json").write_text("\ufeff \n" + json.dumps(ordered, indent=1))
    assert format_of(tmp_path / "a.json") == "sacct"
    found = read_workload(tmp_path / "a.json")
    same(found, read_workload(tmp_path / "a.sacct"))
    assert found.job_id.tolist() == [12, 900 * 10**10 + 2, 901 * 10**10 + 9 * 10**9 + 1]
    assert found.memory_kb.tolist() == [4096 * 1024, -1, 50 * 1024]
    assert (found.begin_ns // S).tolist() == [100, -1, -1]
    assert found.extras["gpus"].tolist() == [2, 0, 0]
    assert found.line.tolist() == [1, 2, 3]
    words = sacct_words(tmp_path / "a.json", {1: 12, 2: 7})
    assert {job: word["node_list"] for job, word in words.items()} == {12: "n[1-2]"}


def read(tmp_path: Path, text: str) -> Workload:
    (tmp_path / "x.sacct").write_text(text)
    return read_sacct(tmp_path / "x.sacct")


def job(**more: Any) -> dict[str, Any]:
    time = {"submission": 100, "start": 110, "end": 170, "elapsed": 60, "limit": 10}
    return {"job_id": 7, "required": {"CPUs": 4}, "state": {"current": "COMPLETED"}, "time": time, **more}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        *table_rows(__file__, "what_a_job_may_lack"),
        ({"job_id": None}, "malformed"),
        ({"time": None}, "malformed"),
        ({"array": {"job_id": 3, "task_id": None, "task": "1-4"}}, "no run time"),
        ({"tres": {"allocated": [None, 3, {"type": "cpu", "count": "x"}, {"count": 3}]}}, None),
        ({"name": "\ud800", "user": 5}, None),
    ],
)
def test_what_a_job_may_lack(tmp_path: Path, more: dict[str, Any], reason: str | None) -> None:
    other = job(job_id=8)
    found = read(tmp_path, json.dumps({"jobs": [job(**more), other]}))
    assert {name: count for name, count in found.rejects.items() if count} == ({reason: 1} if reason else {})
    assert found.job_id.tolist() == ([8] if reason else [7, 8])


@pytest.mark.parametrize(
    ("more", "place"),
    [*table_rows(__file__, "a_reject_names_the_key_of_the_dump"), ({"time": None}, "time/submission is missing")],
)
def test_a_reject_names_the_key_of_the_dump(tmp_path: Path, more: dict[str, Any], place: str) -> None:
    found = read(tmp_path, json.dumps({"jobs": [job(**more), job(job_id=8)]}))
    assert [one.place for one in found.rejected] == [f"line 1: {place}"]


def test_only_the_name_of_a_job_may_have_line_breaks(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({"jobs": [job(name="two\nlines", partition="a\nb", qos="c\td")]}))
    assert found.names == {1: "two\nlines"}
    assert found.header[1:] == ("; Partition: 1 a?b", "; QOS: 1 c?d")


def test_what_is_no_object_is_malformed(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({"jobs": [1, None, [], job()]}))
    assert (found.rejects["malformed"], found.n_lines, found.line.tolist()) == (3, 4, [4])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *table_rows(__file__, "what_is_no_such_file_is_one_line"),
        ('{"jobs": [' + "[" * 100_000 + "]" * 100_000 + "]}", "not valid JSON: it is nested too deeply"),
        ('{"jobs": [{"job_id": ' + "9" * 5000 + "}]}", "not valid JSON: "),
    ],
)
def test_what_is_no_such_file_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'x.sacct'}: ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


class Endless(io.RawIOBase):
    """A file of as many jobs as anybody reads; only a block of it is ever there."""

    def __init__(
        self, jobs: int, first: bytes = b'{"jobs": [', each: bytes = b'{"job_id": 7, "steps": [1, 2, 3]},'
    ) -> None:
        self.left, self.ahead, self.each, self.given = jobs, first, each, 0

    def readinto(self, buffer: Any) -> int:
        while self.left and len(self.ahead) < len(buffer):
            n = min(self.left, 1000)
            self.ahead, self.left = self.ahead + self.each * n, self.left - n
        got = min(len(self.ahead), len(buffer))
        buffer[:got], self.ahead = self.ahead[:got], self.ahead[got:]
        self.given += got
        return got


def test_one_job_is_in_memory_at_a_time() -> None:
    file = Endless(10**9)
    for place, words in json_jobs(file, "x"):
        assert words is not None
        if place == 50_000:
            break
    assert file.given < 4 << 20  # no more than has been asked for


def test_a_job_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bls.workloads.readers.sacct_json.LINE_BYTES", 1 << 22)
    file = Endless(10**9, b'{"jobs": [{"name": "', b"a" * 1000)
    with pytest.raises(InputError, match=f"a job is longer than {1 << 22} bytes"):
        list(json_jobs(file, "x"))


@pytest.mark.parametrize("signed", [False, True])
def test_the_bit_that_says_per_core_may_be_the_sign(tmp_path: Path, signed: bool) -> None:
    """Slurm 21.08 writes memory and this bit as one number of 64 bits."""
    memory = 2**63 + 4000 - 2**64 * signed
    job = {
        "job_id": 15,
        "required": {"CPUs": 8, "memory": memory},
        "state": {"current": "COMPLETED"},
        "time": {"elapsed": 600, "submission": 1700000000, "start": 1700000005, "end": 1700000605, "limit": 10},
    }
    assert read(tmp_path, json.dumps({"jobs": [job]})).memory_kb.tolist() == [4000 * 1024]
