"""The readers of GWF, of sacct's dumps and their JSON, and of Batsim's workloads: each line is a job or one counted reject."""

import gzip
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.workloads import READERS, format_of, read_workload
from bls.workloads.columns import COLUMNS, OPTIONAL
from bls.workloads.readers import batsim as batsim_reader
from bls.workloads.readers import sacct_columns
from bls.workloads.readers.batsim import read_batsim
from bls.workloads.readers.gwf import read_gwf
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.sacct_columns import limit_ns
from bls.workloads.readers.sacct_dump import json_jobs, sacct_words
from bls.workloads.readers.swf import parse_swf
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9
Read = Callable[..., Workload]


def _read(path: Path, reader: Read, *lines: str, cancelled: bool = False) -> Workload:
    path.write_text("\n".join(lines))
    return reader(path, cancelled=cancelled)


@pytest.fixture
def gwf(tmp_path: Path) -> Read:
    return partial(_read, tmp_path / "w.gwf", read_gwf)


@pytest.fixture
def sacct(tmp_path: Path) -> Read:
    return partial(_read, tmp_path / "w.sacct", read_sacct)


@pytest.mark.parametrize(("name", "text", "form"), table_rows(__file__, "formats_by_name_and_first_lines"))
def test_formats_by_name_and_first_lines(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text)
    assert format_of(tmp_path / name) == form


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        *table_rows(__file__, "a_format_that_is_not_read_is_named"),
        ("accounting", ":".join(["all.q", "n1", "phys", "ann", "job", *["0"] * 40]) + "\n", "Grid Engine"),
    ],
)
def test_a_format_that_is_not_read_is_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_workload(tmp_path / name)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / name}: ")
    assert what in said
    assert said.endswith(f". Formats that are read: {', '.join(READERS)}. For others, use bls.Workload.from_jobs")
    assert ("looks like a" in said and ", a format without a reader. " in said) != ("no valid job" in said)
    assert said.isprintable()


FIELDS = "1 100 5 60 4 -1 -1 8 120 -1 1 ann g1 app q1 p1 s1 s2 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 vo1 pr1".split()  # noqa: SIM905


def gwf_line(mark: str = "\t", **changes: str) -> str:
    """A job's line; keys ``f1`` to ``f29`` replace its fields."""
    fields = list(FIELDS)
    for key, value in changes.items():
        fields[int(key[1:]) - 1] = value
    return mark.join(fields)


def test_gwf_drawn_by_hand(gwf: Read) -> None:
    found = gwf(
        "# Version: 1",
        "JobID SubmitTime WaitTime",
        gwf_line(),
        gwf_line(
            " ", f1="2", f2="50.5", f8="-1", f9="-1", f7="200.5", f10="-1", f12="bob", f15="q2", f17="-1", f11="0"
        ),
        gwf_line(f1="3", f2="200", f12="", f10="30", f7="40", f29="pr2") + "\t",
    )
    expected = {
        "job_id": [2, 1, 3], "submit_ns": [50_500_000_000, 100 * NS, 200 * NS], "cores": [4, 8, 8],
        "estimate_ns": [60 * NS, 120 * NS, 120 * NS], "wait_ns": [5 * NS] * 3, "memory_kb": [201, -1, 30],
        "status": [0, 1, 1], "user": [2, 1, -1], "queue": [2, 1, 1], "group": [1] * 3, "application": [1] * 3,
        "partition": [1] * 3, "line": [4, 3, 5],
    }  # fmt: skip
    assert {name: getattr(found, name).tolist() for name in expected} == expected
    extras = {"orig_site": [-1, 1, 1], "run_site": [1, 1, 1], "vo": [1, 1, 1], "project": [1, 1, 2]}
    assert {name: column.tolist() for name, column in found.extras.items()} == extras
    assert (found.header, found.n_lines) == (("; Version: 1",), 3)


def test_seconds_since_1970_are_recognised_by_the_earliest_submit(gwf: Read) -> None:
    found = gwf(
        gwf_line(f2="1075803421.5"), gwf_line(f1="2", f2="1075803400.25", f4="0"), gwf_line(f1="3", f2="1075803500")
    )
    assert found.header == ("; UnixStartTime: 1075803400",)
    assert found.submit_ns.tolist() == [21_500_000_000, 100 * NS]
    early = gwf(gwf_line(f2="1075803421"), gwf_line(f1="2", f2="0"))
    assert early.header == ()
    assert early.submit_ns.tolist() == [0, 1075803421 * NS]


def test_a_cancelled_job_waited(gwf: Read) -> None:
    found = gwf(gwf_line(f2="0"), gwf_line(f1="2", f4="-1", f11="5", f3="7"), cancelled=True)
    assert (found.run_unknown.tolist(), found.cancel_ns.tolist()) == ([False, True], [-1, 107 * NS])


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
WORDS = st.sampled_from(["1", "0", "-1", "5", "2.0", "0.5", "1e3", "4611686019", "9" * 30, "x", "", "nan", "+7", "-.5"])


@settings(max_examples=200)
@given(st.lists(st.dictionaries(st.integers(1, 18), WORDS, max_size=5), max_size=8), st.booleans())
def test_fields_shared_with_swf_are_read_as_in_swf(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[int, str]], cancelled: bool
) -> None:
    fuzzed = tmp_path_factory.getbasetemp() / "fuzzed.gwf"
    gwf, swf = [], []
    for k, some in enumerate([{}, *changes]):
        fields = dict(enumerate(FIELDS, 1)) | {1: str(k), 2: str(k)} | some
        gwf.append("\t".join(fields[place] for place in range(1, 30)))
        # Fields from 12 on are names here; of 6 neither does use anything. An empty word is none in SWF.
        numbers = [fields[place] if place != 6 else "-1" for place in range(1, 12)]
        extras = [x if NUMBER.fullmatch(x) else "-1" for x in (numbers[2], numbers[6], *numbers[9:])]
        numbers[2], numbers[6], numbers[9], numbers[10] = extras
        swf.append(" ".join([*(number or "empty" for number in numbers), *["-1"] * 7]))
    fuzzed.write_text("\n".join(gwf))
    found, other = read_gwf(fuzzed, cancelled=cancelled), parse_swf("\n".join(swf).encode(), "w", cancelled=cancelled)
    columns = "job_id submit_ns run_ns cores estimate_ns wait_ns memory_kb status cancel_ns line"
    for name in columns.split():
        assert getattr(found, name).tolist() == getattr(other, name).tolist()
    assert dict(found.rejects) == dict(other.rejects)
    assert found.n_lines == other.n_lines


HEADER = "JobID|NCPUS|Submit|Start|End|ElapsedRaw|TimelimitRaw|State"


def rejects(workload: Workload) -> dict[str, int]:
    return {reason: count for reason, count in workload.rejects.items() if count}


def test_a_dump_of_sacct_drawn_by_hand(sacct: Read) -> None:
    found = sacct(
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


@pytest.mark.parametrize(("raw", "limit", "seconds"), table_rows(__file__, "limits_that_are_plain_numbers_are_minutes"))
def test_limits_that_are_plain_numbers_are_minutes(raw: str, limit: str, seconds: int) -> None:
    assert limit_ns(raw, limit) == seconds * NS


def test_each_reject_of_sacct_is_counted_under_the_first_reason_that_applies(sacct: Read) -> None:
    found = sacct(
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
    counts = {"malformed": 6, "job step": 2, "not ended": 2, "no run time": 2, "no processors": 1}
    assert rejects(found) == counts | {"duplicate job number": 1}
    assert found.n_lines == 15 == len(found) + sum(found.rejects.values())
    assert found.header == ("; a comment", "; UnixStartTime: 40")
    assert found.submit_ns.tolist() == [10 * NS]


@pytest.mark.parametrize(("header", "line", "place"), table_rows(__file__, "a_reject_names_the_column_of_the_dump"))
def test_a_reject_names_the_column_of_the_dump(sacct: Read, header: str, line: str, place: str) -> None:
    others = {"NCPUS": "4", "AllocTRES": "cpu=4", "ReqTRES": "cpu=4", "Elapsed": "00:00:10", "Start": "60", "End": "70"}
    others |= {"AllocCPUS": "4", "alloccpus": "4", "ElapsedRaw": "10", "ELAPSEDRAW": "10"}
    good = "|".join(others.get(name, "") for name in header.split("|"))
    found = sacct(f"JobID|Submit|{header}", f"1|50|{line}", f"2|50|{good}")
    assert [one.place for one in found.rejected] == [f"line 2: {place}"]
    # A reject of waiting tasks names the column of their job.
    found = sacct("JobID|NCPUS|Submit|Elapsed", "1|4|50|00:00:10", "2_[4-9]|4|50|00:00:00")
    assert [one.place for one in found.rejected] == ["line 3: JobID, '2_[4-9]'"]


def test_jobs_cancelled_before_their_start(sacct: Read) -> None:
    lines = (
        HEADER,
        "1|4|50|60|70|10|5|COMPLETED",
        "2|4|50|None|90|0|5|CANCELLED by 7",
        "3|4|50|None|90|0||CANCELLED",  # nothing says how long it would have been
        "4|4|50|None|Unknown|0|5|CANCELLED",  # nor when it was cancelled
        "5|4|50|None|90|0|5|COMPLETED",
        "6_[1-2]|4|50|None|90|0|5|CANCELLED",
    )
    found = sacct(*lines, cancelled=True)
    assert found.job_id.tolist() == [1, 2]
    assert found.cancel_ns.tolist() == [-1, 40 * NS]
    assert found.estimate_ns.tolist() == [300 * NS, 300 * NS]
    assert found.run_unknown.tolist() == [False, True]
    assert rejects(found) == {"no run time": 4}
    assert rejects(sacct(*lines)) == {"no run time": 5}


def test_other_marks_between_fields_and_parsable_with_its_mark_at_the_end(sacct: Read) -> None:
    job = ["1", "4", "50", "60", "70", "10", "", "COMPLETED"]
    for mark in ("|", ",", ";", "\t", "^", ":", "::", "~", "@@"):
        found = sacct(HEADER.replace("|", mark), mark.join(job))
        assert (found.job_id.tolist(), found.status.tolist()) == ([1], [1])
    ended = sacct(HEADER + "|", "|".join([*job, ""]), "|".join(["2", *job[1:]]))
    assert ended.job_id.tolist() == [1, 2]
    quoted = sacct(
        '"JobID",NCPUS,Submit,Elapsed,AllocTRES,State',
        '3,4,50,00:10,"cpu=4,gres/gpu=1",COMPLETED',
        '4,4,50,00:10,"cpu=4,COMPLETED',
        "5,4,50,00:10,cpu=4,mem=1G,COMPLETED",
    )
    assert quoted.extras["gpus"].tolist() == [1]
    assert rejects(quoted) == {"malformed": 2}
    # An empty last field between tabs is a field.
    assert len(sacct("JobID\tNCPUS\tSubmit\tElapsedRaw\tUser", "1\t4\t50\t60\t", "\t\t\t\t")) == 1


def test_run_time_and_cores_from_the_available_columns(sacct: Read) -> None:
    found = sacct(
        "jobid|reqtres|alloctres|submit|start|end",
        "1|cpu=9,node=2|cpu=16,node=2|50|60|75",
        "2|cpu=9,node=2||50|60|75",
        "3|billing=9|mem=4G|50|60|75",
        "4|cpu=1|cpu=1|50|60|None",
    )
    assert (found.run_ns // NS).tolist() == [15, 15]
    assert found.cores.tolist() == [16, 9]
    assert rejects(found) == {"no run time": 1, "no processors": 1}
    raw = sacct("JobIDRaw|JobID|AllocCPUS|ReqCPUS|Submit|ElapsedRaw", "100|7_1|0|3|50|9", "101|7_2|2|3|50|9")
    assert raw.job_id.tolist() == [7 * 10**10 + 1, 7 * 10**10 + 2]  # so that `7_2` names the second
    assert raw.cores.tolist() == [3, 2]


def test_an_unknown_state_or_name_is_unknown_and_no_reject(sacct: Read) -> None:
    found = sacct(
        "JobID|NCPUS|Submit|ElapsedRaw|State|User|ReqMem|Start", "1|4|50|9|NEW_STATE||?|yesterday", "2|4|50|9||||"
    )
    assert all(getattr(found, name).tolist() == [default] * 2 for name, default in OPTIONAL.items())


def test_dates_are_read_as_the_log_shows_them(sacct: Read) -> None:
    found = sacct(
        "JobID|NCPUS|Submit|Start|End",
        "1|4|2024-01-01T00:00:10|2024-01-01T00:00:20|2024-01-02T00:00:20",
        "2|4|2024-01-01T01:00:15+01:00|2024-01-01T00:00:20|2024-01-01T00:00:21",
    )
    assert found.header == ("; UnixStartTime: 1704067210",)
    assert found.submit_ns.tolist() == [0, 5 * NS]
    assert found.run_ns.tolist() == [86_400 * NS, NS]


@pytest.mark.parametrize(("function", "arguments", "answer"), table_rows(__file__, "words"))
def test_words(function: str, arguments: list[Any], answer: int | None) -> None:
    assert getattr(sacct_columns, function)(*arguments) == answer


@pytest.mark.parametrize(
    ("columns", "words", "cores", "nodes", "gpus", "kb"), table_rows(__file__, "the_order_of_columns")
)
def test_the_order_of_columns(
    sacct: Read, columns: str, words: str, cores: int, nodes: int | None, gpus: int | None, kb: int
) -> None:
    found = sacct(f"JobID|Submit|ElapsedRaw|{columns}", f"1|50|60|{words}")
    extras = {name: column.tolist()[0] for name, column in found.extras.items()}
    assert found.cores.tolist() == [cores]
    assert (extras.get("nodes"), extras.get("gpus")) == (nodes, gpus)
    assert found.memory_kb.tolist() == [kb]


@pytest.mark.parametrize(("columns", "words", "kind"), table_rows(__file__, "kinds_of_gpus"))
def test_kinds_of_gpus(sacct: Read, columns: str, words: str, kind: str | None) -> None:
    found = sacct(
        f"JobID|Submit|ElapsedRaw|NCPUS|{columns}", f"1|50|60|4|{words}", f"2|51|60|4|{'|' * columns.count('|')}"
    )
    assert ("gpu_kind" in found.extras) == ("gpu_kind" in found.labels) == (kind is not None)
    if kind is not None:
        assert found.extras["gpu_kind"].tolist() == [1, -1]
        assert found.labels["gpu_kind"] == {1: kind}


@pytest.mark.parametrize(
    ("eligible", "start", "begin_s"),
    [*table_rows(__file__, "a_job_is_eligible_from_an_instant_on"), ("None", "160", -1)],
)
def test_a_job_is_eligible_from_an_instant_on(sacct: Read, eligible: str, start: str, begin_s: int) -> None:
    found = sacct("JobID|NCPUS|Submit|Eligible|Start|ElapsedRaw", f"1|4|50|{eligible}|{start}|60")
    assert found.begin_ns.tolist() == [begin_s * NS if begin_s >= 0 else -1]
    assert found.held.tolist() == [begin_s >= 0]
    assert found.earliest_ns.tolist() == [max(0, begin_s) * NS]


NAMED = "JobID|JobName|NCPUS|Submit|ElapsedRaw|State"


@pytest.mark.parametrize(
    ("lines", "jobs", "rejected"),
    [
        *table_rows(__file__, "a_name_may_have_marks_and_line_breaks_in_it"),
        (["1|a", *["b"] * 300, "2|c|4|50|60|COMPLETED"], [(2, "c")], {"malformed": 301}),  # no name is as long
    ],
)
def test_a_name_may_have_marks_and_line_breaks_in_it(
    sacct: Read, lines: list[str], jobs: list[tuple[int, str]], rejected: dict[str, int]
) -> None:
    found = sacct(NAMED, *lines)
    assert {int(job): found.job_name(row) for row, job in enumerate(found.job_id)} == dict(jobs)
    assert rejects(found) == rejected
    assert found.n_lines == len(jobs) + sum(rejected.values())


@pytest.mark.parametrize(("line", "name", "reason"), table_rows(__file__, "several_columns_of_free_text"))
def test_several_columns_of_free_text(sacct: Read, line: str, name: str | None, reason: str | None) -> None:
    whole = "2|x|4|50|60|/x|COMPLETED"
    found = sacct("JobID|JobName|NCPUS|Submit|ElapsedRaw|WorkDir|State", whole, line)
    assert rejects(found) == ({reason: 1} if reason else {})
    assert [found.job_name(row) for row in range(len(found))] == (["x"] if reason else ["x", name])
    # A name next to another free text is unknown.
    found = sacct("JobID|JobName|Comment|NCPUS|Submit|ElapsedRaw", "1|a|b|c|4|50|60", "2|a|b|4|50|60")
    assert [found.job_name(row) for row in range(2)] == [None, "a"]


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "first_lines"))
def test_first_lines_that_name_too_little(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.sacct").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_sacct(tmp_path / "a.sacct")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}")


#: Two jobs, a task of an array and a component of a heterogeneous job: as --parsable2 has them, and as --json of Slurm 21.08,
#: with plain numbers, and of today.
TABLES = Path(__file__).with_name("tables")


def facts(log: Workload) -> list[Any]:
    columns = {name: getattr(log, name) for name in (*COLUMNS, *OPTIONAL) if name != "line"} | dict(log.extras)
    return [{name: column.tolist() for name, column in columns.items()}, log.header, log.names, log.rejects]


@pytest.mark.parametrize("style", ["plain", "set"])
@pytest.mark.parametrize("jobs_first", [False, True])
def test_json_is_read_as_the_lines_are(tmp_path: Path, style: str, jobs_first: bool) -> None:
    dump = json.loads((TABLES / f"sacct_{style}.json").read_text())
    (tmp_path / "a.sacct").write_text((TABLES / "sacct_lines.txt").read_text())
    ordered = dump if jobs_first else dict(reversed(dump.items()))
    (tmp_path / "a.json").write_text("\ufeff \n" + json.dumps(ordered, indent=1))
    assert format_of(tmp_path / "a.json") == "sacct"
    found = read_workload(tmp_path / "a.json")
    assert facts(found) == facts(read_workload(tmp_path / "a.sacct"))
    assert found.job_id.tolist() == [12, 900 * 10**10 + 2, 901 * 10**10 + 9 * 10**9 + 1]
    assert found.memory_kb.tolist() == [4096 * 1024, -1, 50 * 1024]
    assert (found.begin_ns // NS).tolist() == [100, -1, -1]
    assert found.extras["gpus"].tolist() == [2, 0, 0]
    assert found.line.tolist() == [1, 2, 3]
    words = sacct_words(tmp_path / "a.json", {1: 12, 2: 7})
    assert {job: word["node_list"] for job, word in words.items()} == {12: "n[1-2]"}


def read_json(tmp_path: Path, text: str) -> Workload:
    (tmp_path / "x.sacct").write_text(text)
    return read_sacct(tmp_path / "x.sacct")


def json_job(**more: Any) -> dict[str, Any]:
    time = {"submission": 100, "start": 110, "end": 170, "elapsed": 60, "limit": 10}
    return {"job_id": 7, "required": {"CPUs": 4}, "state": {"current": "COMPLETED"}, "time": time, **more}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        *table_rows(__file__, "optional_columns_of_a_job"),
        ({"job_id": None}, "malformed"),
        ({"time": None}, "malformed"),
        ({"array": {"job_id": 3, "task_id": None, "task": "1-4"}}, "no run time"),
        ({"tres": {"allocated": [None, 3, {"type": "cpu", "count": "x"}, {"count": 3}]}}, None),
        ({"name": "\ud800", "user": 5}, None),
    ],
)
def test_optional_columns_of_a_job(tmp_path: Path, more: dict[str, Any], reason: str | None) -> None:
    other = json_job(job_id=8)
    found = read_json(tmp_path, json.dumps({"jobs": [json_job(**more), other]}))
    assert {name: count for name, count in found.rejects.items() if count} == ({reason: 1} if reason else {})
    assert found.job_id.tolist() == ([8] if reason else [7, 8])


@pytest.mark.parametrize(
    ("more", "place"),
    [*table_rows(__file__, "a_reject_names_the_key_of_the_dump"), ({"time": None}, "time/submission is missing")],
)
def test_a_reject_names_the_key_of_the_dump(tmp_path: Path, more: dict[str, Any], place: str) -> None:
    found = read_json(tmp_path, json.dumps({"jobs": [json_job(**more), json_job(job_id=8)]}))
    assert [one.place for one in found.rejected] == [f"line 1: {place}"]


def test_only_the_name_of_a_job_may_have_line_breaks(tmp_path: Path) -> None:
    found = read_json(tmp_path, json.dumps({"jobs": [json_job(name="two\nlines", partition="a\nb", qos="c\td")]}))
    assert found.names == {1: "two\nlines"}
    assert found.header[1:] == ("; Partition: 1 a?b", "; QOS: 1 c?d")
    found = read_json(tmp_path, json.dumps({"jobs": [1, None, [], json_job()]}))  # no objects are malformed
    assert (found.rejects["malformed"], found.n_lines, found.line.tolist()) == (3, 4, [4])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *table_rows(__file__, "files_of_another_kind_are_errors_of_one_line"),
        ('{"jobs": [' + "[" * 100_000 + "]" * 100_000 + "]}", "not valid JSON: it is nested too deeply"),
        ('{"jobs": [{"job_id": ' + "9" * 5000 + "}]}", "not valid JSON: "),
    ],
)
def test_files_of_another_kind_are_errors_of_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(tmp_path, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'x.sacct'}: ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


class Endless(io.RawIOBase):
    """A file of as many jobs as anybody reads; only a block of it is ever there."""

    def __init__(self, first: bytes = b'{"jobs": [', more: bytes = b'{"job_id": 7, "steps": [1, 2, 3]},') -> None:
        self.ahead, self.more, self.given = first, more, 0

    def readinto(self, buffer: Any) -> int:
        while len(self.ahead) < len(buffer):
            self.ahead += self.more * 1000
        got = len(buffer)
        buffer[:got], self.ahead = self.ahead[:got], self.ahead[got:]
        self.given += got
        return got


def test_a_job_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bls.workloads.readers.sacct_dump.LINE_BYTES", 1 << 16)
    with pytest.raises(InputError, match=f"^x: a job is longer than {1 << 16} bytes; this is nothing of sacct's$"):
        list(json_jobs(Endless(b'{"jobs": [{"name": "', b"a"), "x"))


def test_one_job_is_in_memory_at_a_time() -> None:
    file = Endless()
    for place, words in json_jobs(file, "x"):
        assert words is not None
        if place == 50_000:
            break
    assert file.given < 4 << 20  # no more than has been asked for


@pytest.mark.parametrize("signed", [False, True])
def test_the_bit_that_says_per_core_may_be_the_sign(tmp_path: Path, signed: bool) -> None:
    """Slurm 21.08 writes memory and this bit as one number of 64 bits."""
    required = {"CPUs": 8, "memory": 2**63 + 4000 - 2**64 * signed}
    found = read_json(tmp_path, json.dumps({"jobs": [json_job(required=required)]}))
    assert found.memory_kb.tolist() == [4000 * 1024]


PROFILES: dict[str, Any] = json.loads((TABLES / "batsim_profiles.json").read_text())
BAD_IDS: tuple[Any, ...] = (None, True, 1.5, [], "")
BAD_PROFILES: tuple[Any, ...] = (None, 1.5, [], "list", "bad", "never", "endless", "typeless")


def batsim(number: Any, profile: Any = "short", **changes: Any) -> dict[str, Any]:
    return {"id": number, "subtime": 10, "walltime": 100, "res": 4, "profile": profile} | changes


@pytest.fixture
def batsim_jobs(tmp_path: Path) -> Read:
    def of(*jobs: Any, **more: Any) -> Workload:
        (tmp_path / "w.json").write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": PROFILES, **more}))
        return read_batsim(tmp_path / "w.json")

    return of


def test_a_workload_of_batsim_drawn_by_hand(batsim_jobs: Read) -> None:
    found = batsim_jobs(
        batsim(3, "short", subtime=10.1, user="ann"),
        batsim("1", "chain", subtime=5, walltime=-1, res=1),
        batsim("w0!2", "new", walltime=2.5, user=7),
        batsim(9, "chains", user="ann"),
        {"id": 10, "subtime": 0, "res": 2, "profile": 5},  # no walltime; a profile named by a number, as of old
        description="two\nlines",
    )
    columns = (found.submit_ns / NS, found.run_ns / NS, found.estimate_ns / NS, found.cores, found.user, found.line)
    rows = zip(found.job_id.tolist(), *(column.tolist() for column in columns), strict=True)
    assert list(rows) == [
        (10, 0, 1, 1, 2, -1, 5),
        (1, 5, 174, 174, 1, -1, 2),
        (2, 10, 3, 2.5, 4, 2, 3),
        (9, 10, 354, 100, 4, 1, 4),
        (3, 10.1, 20.25, 100, 4, 1, 1),
    ]
    assert found.header == ("; MaxProcs: 8", "; Note: two lines")
    assert rejects(found) == {}


def test_seconds_are_exact(tmp_path: Path) -> None:
    text = json.dumps({"jobs": [batsim(1, subtime="S"), batsim(2, subtime="T")], "profiles": PROFILES})
    data = text.replace('"S"', "16777217.0000000015").replace('"T"', "1.1e-7").encode()
    # The ending or the first character decides.
    for name in ("a.json", "a.json.gz", "a.txt", "a.workload.gz"):
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else b"\n" * (name == "a.txt") + data)
        assert read_workload(tmp_path / name).submit_ns.tolist() == [110, 16777217000000002]


def test_each_reject_of_batsim_is_counted_under_the_first_reason_that_applies(batsim_jobs: Read) -> None:
    found = batsim_jobs(
        batsim(1),
        *(batsim(2, subtime=bad) for bad in (-1, "0", None, True, 10**19, float("inf"), float("nan"))),
        *(batsim(2, res=bad) for bad in (-1, 1.5, "4", True, 2**63)),
        *(batsim(2, walltime=bad) for bad in (0, -2, "1", True, False)),
        *(batsim(bad) for bad in BAD_IDS),
        *(batsim(2, bad) for bad in BAD_PROFILES),
        *("job", None, 5, [], {}),
        *(batsim(2, unknown) for unknown in ("nowhere", "torn", "ptask", "ring", "gnir")),
        *(batsim(2, "none", res=0), batsim(2, "new", res=0), batsim(1, "new"), batsim(2, "seen")),
    )
    counts = {"malformed": 35, "unknown profile": 2, "run time not known": 3, "no run time": 1, "no processors": 1}
    assert rejects(found) == counts | {"duplicate job number": 1}
    assert found.n_lines == len(found) + sum(found.rejects.values())
    assert (found.job_id.tolist(), found.run_ns.tolist()) == ([1, 2], [20_250_000_000, 7_500_000_000])
    found = batsim_jobs(
        batsim("a!7"), batsim("a!3"), batsim("a!3", subtime=1), batsim("a!4", res=0), batsim("a!5", "nowhere")
    )
    assert (found.job_id.tolist(), dict(found.ids)) == ([7, 3], {7: "a!7", 3: "a!3"})
    assert [(one.reason, one.place) for one in found.rejected] == [
        ("no processors", "line 4: res, '0'"),
        ("unknown profile", "line 5: profile, 'nowhere'"),
        ("duplicate job number", "line 3: job number, '3'"),
    ]


def test_invalid_files_are_refused(tmp_path: Path) -> None:
    deep = {"type": "composed", "seq": ["d1"]}
    chain = {f"d{k}": {"type": "composed", "seq": [f"d{k + 1}"]} for k in range(1, 300)}
    in_sequence = json.dumps({"jobs": [batsim(1, "d0")], "profiles": {"d0": deep, **chain}})
    for text, message in (
        *((text.encode(), message) for text, message in table_rows(__file__, "invalid_files_are_refused")),
        (b'{"jobs": [\xff]}', "not valid JSON: byte 10 is not UTF-8"),
        (b"[" * 100_000, "not usable JSON: nested too deeply"),
        (b'{"jobs": [' + b"9" * 5000 + b"]}", "not usable JSON: a number of thousands of digits"),
        (in_sequence.encode(), "more than 100 sequences"),
    ):
        (tmp_path / "a.json").write_bytes(text)
        with pytest.raises(InputError, match=message) as caught:
            read_batsim(tmp_path / "a.json")
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path}")
        assert len(str(caught.value)) < 400


def test_more_text_than_json_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batsim_reader, "MAX_TEXT_BYTES", 1 << 21)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" * (1 << 30 >> 8)))
    with pytest.raises(InputError, match=r"bomb\.json\.gz: more than 2,097,152 bytes of JSON; allowed: up to as many"):
        read_batsim(path)


@pytest.mark.parametrize(
    ("ids", "numbers", "kept"),
    [
        (["a!7", "a!3", "b!4"], [7, 3, 4], {7: "a!7", 3: "a!3", 4: "b!4"}),
        (["a!7", "b!7"], [1, 2], {1: "a!7", 2: "b!7"}),
        (["7", "3"], [7, 3], {}),
        ([7, 3], [7, 3], {}),
        (["0", 2**62], [0, 2**62], {}),
        # If one name is no number, all are numbered by their first appearance.
        *(([50, name, "60"], [1, 2, 3], {1: "50", 2: name, 3: "60"}) for name in ("a", "07", "-1", "1.0", "²")),
        *(([50, name, "60"], [1, 2, 3], {1: "50", 2: name, 3: "60"}) for name in (str(2**62 + 1), "9" * 30)),
    ],
)
def test_ids_that_say_more_than_the_number_are_kept(
    batsim_jobs: Read, ids: list[int | str], numbers: list[int], kept: dict[int, str]
) -> None:
    found = batsim_jobs(
        *(batsim(name, subtime=k) for k, name in enumerate(ids)), batsim(ids[0], subtime=9), batsim(None)
    )
    assert (found.job_id.tolist(), dict(found.ids)) == (numbers, kept)
    assert [found.job_name(row) for row in range(len(found))] == [kept.get(number) for number in numbers]
    assert rejects(found) == {"malformed": 1, "duplicate job number": 1}
