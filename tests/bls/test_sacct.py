"""The reader of sacct's dumps: every line is a job or one counted reject, and a plain reading by hand agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tables import table_rows

from bls.workloads.columns import OPTIONAL
from bls.workloads.readers import sacct_values
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.sacct_values import limit_ns
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9
Read = Callable[..., Workload]
HEADER = "JobID|NCPUS|Submit|Start|End|ElapsedRaw|TimelimitRaw|State"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def of(*lines: str, cancelled: bool = False) -> Workload:
        (tmp_path / "w.sacct").write_text("\n".join(lines))
        return read_sacct(tmp_path / "w.sacct", cancelled=cancelled)

    return of


def rejects(workload: Workload) -> dict[str, int]:
    return {reason: count for reason, count in workload.rejects.items() if count}


def test_a_dump_drawn_by_hand(read: Read) -> None:
    found = read(
        "User|JobID|Partition|State|AllocCPUS|ReqCPUS|NNodes|Submit|Eligible|Start|End|Elapsed|Timelimit|QOS|Account|Group"
        "|ReqMem|AllocTRES|JobName",
        "ann|7|fat|COMPLETED|8|4|2|1700000100|1700000150|1700000160|1700003760|01:00:00|1-00:00:00|high|phys|g1|4G|"
        "cpu=8,mem=4G,gres/gpu=2|a.sh",
        "ann|7.batch||COMPLETED|8|8|1|1700000160|1700000160|1700000160|1700003760|01:00:00||||||cpu=8|batch",
        "bob|8_3|thin|TIMEOUT|1|1|1|1700000000|Unknown|1700000000|1700000061|00:01:01|00:01:00|high|phys|g2|100Mc||b.sh",
        "ann|9+1|thin|CANCELLED by 1001|1|1|1|1700000200|1700000200|1700000190|1700000260|01:10|UNLIMITED|low|bio|g1|0|"
        "cpu=1|a.sh",
    )
    wanted: dict[str, list[Any]] = {
        "job_id": [8 * 10**10 + 3, 7, 9 * 10**10 + 9 * 10**9 + 1],
        "submit_ns": [0, 100 * NS, 200 * NS],
        "run_ns": [61 * NS, 3600 * NS, 70 * NS],
        "estimate_ns": [60 * NS, 86400 * NS, 70 * NS],
        "begin_ns": [-1, 150 * NS, -1],  # of the last one it is the submit
        "wait_ns": [0, 60 * NS, -1],
        "memory_kb": [100 * 1024, 512 * 1024, -1],
        "cores": [1, 8, 1], "status": [0, 1, 5], "user": [2, 1, 1], "group": [2, 1, 1], "line": [4, 2, 5],
        "partition": [2, 1, 2], "qos": [1, 1, 2], "application": [2, 1, 1],
    }  # fmt: skip
    assert {name: getattr(found, name).tolist() for name in wanted} == wanted
    assert found.names == {1: "a.sh", 2: "b.sh"}
    assert [found.job_name(row) for row in range(3)] == ["b.sh", "a.sh", "a.sh"]
    extras = {name: column.tolist() for name, column in found.extras.items()}
    assert extras == {"account": [1, 1, 2], "nodes": [1, 2, 1], "gpus": [-1, 2, 0]}
    assert found.header == (
        "; UnixStartTime: 1700000000",
        *("; Partition: 1 fat", "; Partition: 2 thin", "; QOS: 1 high", "; QOS: 2 low"),
    )
    assert rejects(found) == {"job step": 1}
    assert found.n_lines == 4


@pytest.mark.parametrize(
    ("raw", "limit", "seconds"),
    [("5", "", 300), ("5", "1-00:00:00", 300), ("", "5", 300), ("UNLIMITED", "01:30", 90), ("", "UNLIMITED", 0)],
)
def test_limits_that_are_plain_numbers_are_minutes(raw: str, limit: str, seconds: int) -> None:
    assert limit_ns(raw, limit) == seconds * NS


def test_each_reject_is_counted_under_the_first_reason_that_applies(read: Read) -> None:
    found = read(
        HEADER,
        "1|4|50|60|70|10|5|COMPLETED",
        "2|4|50|60|70|10|5",  # a field is missing
        "x|4|50|60|70|10|5|COMPLETED",
        "2|4|soon|60|70|10|5|RUNNING",
        "2|many|50|60|70|10|5|COMPLETED",
        "2|4|50|60|70|long|5|COMPLETED",
        "2|4|50|60|70|10|five|COMPLETED",
        "2.0|?|?|?|?|?|?|?",
        "1_2.extern|4|50|60|70|10|5|COMPLETED",
        "2|0|50|60|Unknown|0|5|RUNNING",
        "2|4|40|Unknown|Unknown|0|5|PENDING",
        "2_[4-9%2]|0|50|Unknown|90|5|5|CANCELLED by 7",
        "2|0|50|Unknown|90|0|5|CANCELLED by 7",
        "2|0|50|60|70|10|5|FAILED",
        "1|4|51|60|70|10|5|COMPLETED",  # requeued
        HEADER,  # the dump of the next month
        "# a comment",
        "",
    )
    assert rejects(found) == {
        "malformed": 6,
        "job step": 2,
        "not ended": 2,
        "no run time": 2,
        "no processors": 1,
        "duplicate job number": 1,
    }
    assert found.n_lines == 15 == len(found) + sum(found.rejects.values())
    assert found.header == ("; a comment", "; UnixStartTime: 40")
    assert found.submit_ns.tolist() == [10 * NS]


@pytest.mark.parametrize(("header", "line", "place"), table_rows(__file__, "a_reject_names_the_column_of_the_dump"))
def test_a_reject_names_the_column_of_the_dump(read: Read, header: str, line: str, place: str) -> None:
    others = {"NCPUS": "4", "AllocTRES": "cpu=4", "ReqTRES": "cpu=4", "Elapsed": "00:00:10", "Start": "60", "End": "70"}
    others |= {"AllocCPUS": "4", "alloccpus": "4", "ElapsedRaw": "10", "ELAPSEDRAW": "10"}
    good = "|".join(others.get(name, "") for name in header.split("|"))
    found = read(f"JobID|Submit|{header}", f"1|50|{line}", f"2|50|{good}")
    assert [one.place for one in found.rejected] == [f"line 2: {place}"]
    # A reject of waiting tasks names the column of their job.
    found = read("JobID|NCPUS|Submit|Elapsed", "1|4|50|00:00:10", "2_[4-9]|4|50|00:00:00")
    assert [one.place for one in found.rejected] == ["line 3: JobID, '2_[4-9]'"]


def test_jobs_cancelled_before_their_start(read: Read) -> None:
    lines = (
        HEADER,
        "1|4|50|60|70|10|5|COMPLETED",
        "2|4|50|None|90|0|5|CANCELLED by 7",
        "3|4|50|None|90|0||CANCELLED",  # nothing says how long it would have been
        "4|4|50|None|Unknown|0|5|CANCELLED",  # nor when it was cancelled
        "5|4|50|None|90|0|5|COMPLETED",
        "6_[1-2]|4|50|None|90|0|5|CANCELLED",
    )
    found = read(*lines, cancelled=True)
    assert found.job_id.tolist() == [1, 2]
    assert found.cancel_ns.tolist() == [-1, 40 * NS]
    assert found.estimate_ns.tolist() == [300 * NS, 300 * NS]
    assert found.run_unknown.tolist() == [False, True]
    assert rejects(found) == {"no run time": 4}
    assert rejects(read(*lines)) == {"no run time": 5}


def test_other_marks_between_fields_and_parsable_with_its_mark_at_the_end(read: Read) -> None:
    job = ["1", "4", "50", "60", "70", "10", "", "COMPLETED"]
    for mark in ("|", ",", ";", "\t", "^", ":", "::", "~", "@@"):
        found = read(HEADER.replace("|", mark), mark.join(job))
        assert (found.job_id.tolist(), found.status.tolist()) == ([1], [1])
    ended = read(HEADER + "|", "|".join([*job, ""]), "|".join(["2", *job[1:]]))
    assert ended.job_id.tolist() == [1, 2]
    quoted = read(
        '"JobID",NCPUS,Submit,Elapsed,AllocTRES,State',
        '3,4,50,00:10,"cpu=4,gres/gpu=1",COMPLETED',
        '4,4,50,00:10,"cpu=4,COMPLETED',
        "5,4,50,00:10,cpu=4,mem=1G,COMPLETED",
    )
    assert quoted.extras["gpus"].tolist() == [1]
    assert rejects(quoted) == {"malformed": 2}


def test_an_empty_last_field_between_tabs_is_a_field(read: Read) -> None:
    assert len(read("JobID\tNCPUS\tSubmit\tElapsedRaw\tUser", "1\t4\t50\t60\t", "\t\t\t\t")) == 1


def test_run_time_and_cores_from_what_there_is(read: Read) -> None:
    found = read(
        "jobid|reqtres|alloctres|submit|start|end",
        "1|cpu=9,node=2|cpu=16,node=2|50|60|75",
        "2|cpu=9,node=2||50|60|75",
        "3|billing=9|mem=4G|50|60|75",
        "4|cpu=1|cpu=1|50|60|None",
    )
    assert (found.run_ns // NS).tolist() == [15, 15]
    assert found.cores.tolist() == [16, 9]
    assert rejects(found) == {"no run time": 1, "no processors": 1}
    raw = read("JobIDRaw|JobID|AllocCPUS|ReqCPUS|Submit|ElapsedRaw", "100|7_1|0|3|50|9", "101|7_2|2|3|50|9")
    assert raw.job_id.tolist() == [7 * 10**10 + 1, 7 * 10**10 + 2]  # so that `7_2` names the second
    assert raw.cores.tolist() == [3, 2]


def test_an_unknown_state_or_name_is_unknown_and_no_reject(read: Read) -> None:
    found = read(
        "JobID|NCPUS|Submit|ElapsedRaw|State|User|ReqMem|Start", "1|4|50|9|NEW_STATE||?|yesterday", "2|4|50|9||||"
    )
    assert {name: getattr(found, name).tolist() for name in OPTIONAL} == {
        name: [default] * 2 for name, default in OPTIONAL.items()
    }


def test_dates_are_read_as_the_log_shows_them(read: Read) -> None:
    found = read(
        "JobID|NCPUS|Submit|Start|End",
        "1|4|2024-01-01T00:00:10|2024-01-01T00:00:20|2024-01-02T00:00:20",
        "2|4|2024-01-01T01:00:15+01:00|2024-01-01T00:00:20|2024-01-01T00:00:21",
    )
    assert found.header == ("; UnixStartTime: 1704067210",)
    assert found.submit_ns.tolist() == [0, 5 * NS]
    assert found.run_ns.tolist() == [86_400 * NS, NS]


@pytest.mark.parametrize(("function", "arguments", "answer"), table_rows(__file__, "words"))
def test_words(function: str, arguments: list[Any], answer: int | None) -> None:
    assert getattr(sacct_values, function)(*arguments) == answer


@pytest.mark.parametrize(
    ("columns", "words", "cores", "nodes", "gpus", "kb"), table_rows(__file__, "the_order_of_columns")
)
def test_the_order_of_columns(
    read: Read, columns: str, words: str, cores: int, nodes: int | None, gpus: int | None, kb: int
) -> None:
    found = read(f"JobID|Submit|ElapsedRaw|{columns}", f"1|50|60|{words}")
    extras = {name: column.tolist()[0] for name, column in found.extras.items()}
    assert found.cores.tolist() == [cores]
    assert (extras.get("nodes"), extras.get("gpus")) == (nodes, gpus)
    assert found.memory_kb.tolist() == [kb]


@pytest.mark.parametrize(
    ("eligible", "start", "begin_s"),
    [*table_rows(__file__, "a_job_is_eligible_from_an_instant_on"), ("None", "160", -1)],
)
def test_a_job_is_eligible_from_an_instant_on(read: Read, eligible: str, start: str, begin_s: int) -> None:
    found = read("JobID|NCPUS|Submit|Eligible|Start|ElapsedRaw", f"1|4|50|{eligible}|{start}|60")
    assert found.begin_ns.tolist() == [begin_s * NS if begin_s >= 0 else -1]
    assert found.held.tolist() == [begin_s >= 0]
    assert found.earliest_ns.tolist() == [max(0, begin_s) * NS]


NAMED = "JobID|JobName|NCPUS|Submit|ElapsedRaw|State"


@pytest.mark.parametrize(
    ("lines", "jobs", "rejected"),
    [
        (["1|a|b|4|50|60|COMPLETED"], {1: "a|b"}, {}),
        (["1||||4|50|60|COMPLETED"], {1: "||"}, {}),
        (["1|a", "b|4|50|60|COMPLETED", "2|c|4|50|60|COMPLETED"], {1: "a\nb", 2: "c"}, {}),
        (["1|a|x", "", "# b", "|c|4|50|60|COMPLETED"], {1: "a|x\n# b\n|c"}, {}),
        (["1|a", "2|c|4|50|60|COMPLETED"], {2: "c"}, {"malformed": 1}),  # cut off, and no part of the next line
        (["2|c|4|50|60|COMPLETED", "1|a"], {2: "c"}, {"malformed": 1}),
        (["2|c|4|50|60|COMPLETED", "1|a|4|50|"], {2: "c"}, {"malformed": 1}),
        (["1.batch|a|b|4|50|60|COMPLETED", "1|c|4|50|60|COMPLETED"], {1: "c"}, {"job step": 1}),
        (["1|a", NAMED, "2|c|4|50|60|COMPLETED"], {2: "c"}, {"malformed": 1}),
        (["1|a", *["b"] * 300, "2|c|4|50|60|COMPLETED"], {2: "c"}, {"malformed": 301}),  # no name is as long
        (["2|c|4|50|60|COMPLETED", "b|4|50|60|COMPLETED|x|y"], {2: "c"}, {"malformed": 1}),
    ],
)
def test_a_name_may_have_marks_and_line_breaks_in_it(
    read: Read, lines: list[str], jobs: dict[int, str], rejected: dict[str, int]
) -> None:
    found = read(NAMED, *lines)
    assert {int(job): found.job_name(row) for row, job in enumerate(found.job_id)} == jobs
    assert rejects(found) == rejected
    assert found.n_lines == len(jobs) + sum(rejected.values())


def test_a_name_may_go_on_in_the_next_line_and_nothing_else(read: Read) -> None:
    found = read(
        "JobID|JobName|NCPUS|Submit|ElapsedRaw|Partition|State",
        *("1|a|4|50|60|gpu", "x|COMPLETED", "2|b|4|50|60|cpu|COMPLETED"),
    )
    assert found.job_id.tolist() == [2]
    assert rejects(found) == {"malformed": 2}
    found = read("JobID|NCPUS|Submit|ElapsedRaw|JobName", "1|4|50|60|a|b", "c", "2|4|51|60|d", "3|4|5")
    assert [found.job_name(row) for row in range(2)] == ["a|b\nc", "d"]
    assert rejects(found) == {"malformed": 1}


@pytest.mark.parametrize(("line", "name", "reason"), table_rows(__file__, "several_columns_of_free_text"))
def test_several_columns_of_free_text(read: Read, line: str, name: str | None, reason: str | None) -> None:
    whole = "2|x|4|50|60|/x|COMPLETED"
    found = read("JobID|JobName|NCPUS|Submit|ElapsedRaw|WorkDir|State", whole, line)
    assert rejects(found) == ({reason: 1} if reason else {})
    assert [found.job_name(row) for row in range(len(found))] == (["x"] if reason else ["x", name])


def test_a_name_beside_another_free_text_is_unknown(read: Read) -> None:
    found = read("JobID|JobName|Comment|NCPUS|Submit|ElapsedRaw", "1|a|b|c|4|50|60", "2|a|b|4|50|60")
    assert [found.job_name(row) for row in range(2)] == [None, "a"]


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "first_lines"))
def test_first_lines_that_name_too_little(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.sacct").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_sacct(tmp_path / "a.sacct")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}")
