"""The reader of sacct's dumps: every line is a job or one counted reject, and a plain reading by hand agrees."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.workloads import read_workload
from bls.workloads.columns import OPTIONAL
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.sacct_values import (
    gres_count,
    job_number,
    limit_ns,
    memory_kb,
    time_ns,
    timespan_ns,
    tres_count,
    tres_memory_kb,
)
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS

NS = 10**9
Read = Callable[..., Workload]
HEADER = "JobID|NCPUS|Submit|Start|End|ElapsedRaw|TimelimitRaw|State"


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is written anew in every example."""
    return tmp_path_factory.mktemp("fuzz") / "w"


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
    assert found.job_id.tolist() == [8 * 10**10 + 3, 7, 9 * 10**10 + 9 * 10**9 + 1]
    assert (found.submit_ns // NS).tolist() == [0, 100, 200]
    assert (found.run_ns // NS).tolist() == [61, 3600, 70]
    assert (found.estimate_ns // NS).tolist() == [60, 86400, 70]
    assert found.cores.tolist() == [1, 8, 1]
    assert (found.wait_ns / NS).tolist() == [0, 60, -1e-9]
    assert found.status.tolist() == [0, 1, 5]
    assert found.user.tolist() == [2, 1, 1]
    assert found.group.tolist() == [2, 1, 1]
    assert found.partition.tolist() == [2, 1, 2]
    assert found.qos.tolist() == [1, 1, 2]
    assert found.application.tolist() == [2, 1, 1]
    assert found.names == {1: "a.sh", 2: "b.sh"}
    assert [found.job_name(row) for row in range(3)] == ["b.sh", "a.sh", "a.sh"]
    assert found.memory_kb.tolist() == [100 * 1024, 512 * 1024, -1]
    assert {name: column.tolist() for name, column in found.extras.items()} == {
        "account": [1, 1, 2],
        "nodes": [1, 2, 1],
        "gpus": [-1, 2, 0],
    }
    assert (found.begin_ns // NS).tolist() == [-1, 150, -1]  # of the last one it is the submit
    assert found.header == (
        "; UnixStartTime: 1700000000",
        *("; Partition: 1 fat", "; Partition: 2 thin", "; QOS: 1 high", "; QOS: 2 low"),
    )
    assert found.line.tolist() == [4, 2, 5]
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


@pytest.mark.parametrize(
    ("header", "line", "place"),
    [
        ("AllocCPUS|ElapsedRaw|Timelimit|State", "0|10|5|COMPLETED", "AllocCPUS, '0'"),
        ("alloccpus|NCPUS|ElapsedRaw|State", "|many|10|COMPLETED", "NCPUS, 'many'"),
        ("AllocTRES|ElapsedRaw|State", "|10|COMPLETED", "AllocTRES is missing"),
        ("ReqTRES|Elapsed|State", "|00:00:10|COMPLETED", "ReqTRES is missing"),
        ("NCPUS|ELAPSEDRAW|State", "4|0|COMPLETED", "ELAPSEDRAW, '0'"),
        ("NCPUS|Elapsed|State", "4|long|COMPLETED", "Elapsed, 'long'"),
        ("NCPUS|Start|End|State", "4|60|60|COMPLETED", "End, '60'"),
        ("NCPUS|Elapsed|Timelimit|State", "4|00:00:10|five|COMPLETED", "Timelimit, 'five'"),
        ("NCPUS|Elapsed|State", "4|00:00:10|RUNNING", "State, 'RUNNING'"),
    ],
)
def test_a_reject_names_the_column_of_the_dump(read: Read, header: str, line: str, place: str) -> None:
    others = {"NCPUS": "4", "AllocTRES": "cpu=4", "ReqTRES": "cpu=4", "Elapsed": "00:00:10", "Start": "60", "End": "70"}
    others |= {"AllocCPUS": "4", "alloccpus": "4", "ElapsedRaw": "10", "ELAPSEDRAW": "10"}
    good = "|".join(others.get(name, "") for name in header.split("|"))
    found = read(f"JobID|Submit|{header}", f"1|50|{line}", f"2|50|{good}")
    assert [one.place for one in found.rejected] == [f"line 2: {place}"]


def test_a_reject_of_waiting_tasks_names_the_column_of_their_job(read: Read) -> None:
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


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("0", 0),
        ("5312850_12", 53128500000000012),
        ("5312850+1", 53128509000000001),
        ("461168601_1", 4611686010000000001),
        ("461168602_1", None),  # beyond 2**62
        ("9999999999", 9999999999),
        ("10000000000", None),  # would be a task's number
        ("0_1", None),  # would be job 1
        ("1_9000000000", None),
        ("1+1000000000", None),
        ("1_2_3", None),
        ("-1", None),
        ("1 2", None),
        ("", None),
        ("١", None),
    ],
)
def test_job_numbers(word: str, number: int | None) -> None:
    assert job_number(word) == number


@given(
    st.tuples(st.integers(0, 10**9), st.sampled_from(["", "_", "+"]), st.integers(0, 10**8)),
    st.tuples(st.integers(0, 10**9), st.sampled_from(["", "_", "+"]), st.integers(0, 10**8)),
)
def test_no_two_jobs_tasks_or_components_have_one_number(
    one: tuple[int, str, int], other: tuple[int, str, int]
) -> None:
    words = [f"{job}{mark}{part if mark else ''}" for job, mark, part in (one, other)]
    numbers = [job_number(word) for word in words]
    assert None in numbers or (numbers[0] == numbers[1]) == (words[0] == words[1])


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("00:00:00", 0),
        ("1-02:03:04", 93784),
        ("02:03:04", 7384),
        ("03:04", 184),
        ("03:04.5", 184.5),
        ("1-02", 93600),
        ("1-02:03", 93780),
        ("00:00.0000000000", 0),
        ("100:00:00", 360000),
        ("60", None),
        ("999999999-00:00:00", None),  # beyond 2**62 ns
        ("1:2:3:4", None),
        ("-1:00", None),
        ("INVALID", None),
    ],
)
def test_timespans(word: str, seconds: float | None) -> None:
    assert timespan_ns(word) == (None if seconds is None else int(seconds * NS))


@pytest.mark.parametrize(
    ("word", "instant"),
    [("1", NS), ("1.5", 1_500_000_000), ("0", None), ("-5", None), ("Unknown", None), ("4611686019", None),
     ("1970-01-01T00:00:01", NS), ("1969-12-31T23:59:59", None), ("9999-01-01T00:00:00", None), ("tomorrow", None),
     ("2024-13-01T00:00:00", None)],
)  # fmt: skip
def test_instants(word: str, instant: int | None) -> None:
    assert time_ns(word) == instant


@pytest.mark.parametrize(
    ("word", "kb"),
    [
        ("4000Mc", 4000 * 1024),
        ("4000Mn", 2000 * 1024),  # 2 nodes, 4 cores
        ("4G", 1024 * 1024),
        ("1.5G", 393216),
        ("1K", 1),  # rounded up
        ("16", 4 * 1024),  # MB
        ("2TB", 2**29),
        ("0", -1),
        ("0n", -1),
        ("", -1),
        ("G", -1),
        ("9" * 31 + "G", -1),
        ("9" * 25 + "P", -1),
        ("2147487648Mn", 4000 * 1024),  # 2³¹: the bit that says "per core"
        ("2147487648Mc", 4000 * 1024),
        ("2147487648n", 4000 * 1024),
        ("2097156Gn", 4 * 2**20),  # the same with 4096 MB, in the largest unit that it is a whole number of
        ("2147487648M", 4000 * 1024),  # without a suffix more than any core has
        ("9223372036854779808Mn", 4000 * 1024),  # 2⁶³, as from Slurm 17.02 on
        ("2147483648Mn", -1),  # the bit alone
        ("8T", 2**31),  # of the whole job
        ("1.5tn", 3 * 2**28),
        ("0c", -1),
    ],
)
def test_memory_is_that_of_a_core(word: str, kb: int) -> None:
    assert memory_kb(word, 4, 2) == kb


@pytest.mark.parametrize(
    ("words", "resource", "count"),
    [
        ("billing=4,cpu=4,mem=62.50G,node=2", "cpu", 4),
        ("billing=4,cpu=4,mem=62.50G,node=2", "node", 2),
        ("1=4,2=16384,4=2", "node", 2),  # by Slurm's own numbers
        ("cpu=4", "gres/gpu", -1),
        ("cpu=4,gres/gpu=2", "gres/gpu", 2),
        ("gres/gpu:a100=2,gres/gpu=3,gres/gpu:v100=1", "gres/gpu", 3),
        ("gres/gpu:a100=2,gres/gpu:v100=1", "gres/gpu", 3),
        ("gres/gpu:a100=2,gres/gpumem=40G,gres/gpuutil=7,gres/mps=50,gres/mps:a100=9", "gres/gpu", 2),
        ("gres/gpu:a100=x", "gres/gpu", 0),
        ("", "cpu", -1),
    ],
)
def test_counts_of_resources(words: str, resource: str, count: int) -> None:
    assert tres_count(words, resource) == count


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("gpu:2", 2),
        ("gpu", 1),
        ("gpu:a100", 1),
        ("gpu:a100:2", 2),
        ("gpu:a100:2,gpu:v100:1", 3),
        ("gres:gpu:2", 2),
        ("gres/gpu=2", 2),
        ("gpu:a100:2(S:0-1)", 2),
        ("gpu:2(IDX:0,2),mic:1", 2),
        ("7696487:4", 4),  # "gpu" as a number
        ("7696487:0", 0),
        ("mic:1", -1),
        ("6515053:1", -1),
        ("", -1),
    ],
)
def test_counts_of_generic_resources(words: str, count: int) -> None:
    assert gres_count(words, "gpu") == count


@pytest.mark.parametrize(
    ("words", "kb"),
    [
        ("cpu=4,mem=62.50G", 16_384_000),
        ("mem=280000M", 71_680_000),
        ("mem=4", 1024),
        ("mem=0", -1),
        ("cpu=4", -1),
        ("", -1),
    ],
)
def test_memory_of_resources_is_that_of_the_job(words: str, kb: int) -> None:
    assert tres_memory_kb(words, 4) == kb


@pytest.mark.parametrize(
    ("columns", "words", "cores", "nodes", "gpus", "kb"),
    [
        # What the job held, then what it asked for; and what Slurm writes today, then the old columns.
        ("AllocTRES|ReqTRES|NCPUS", "cpu=8,node=2,mem=8G|cpu=4,node=1,mem=2G|3", 8, 2, 0, 2**20),
        ("AllocTRES|ReqTRES|NCPUS", "|cpu=4,node=1,mem=2G,gres/gpu:a=1|3", 3, 1, 1, 699051),
        ("ReqTRES|AllocCPUS|ReqCPUS", "cpu=4,mem=8G|8|2", 8, -1, 0, 2**20),
        ("ReqTRES|AllocCPUS|ReqCPUS", "cpu=4,mem=8G|0|2", 4, -1, 0, 2**21),
        ("AllocCPUS|ReqMem|NNodes", "8|4Gn|2", 8, 2, None, 2**20),
        ("NCPUS|ReqMem|ReqTRES", "4|2Gc|cpu=4,mem=4G", 4, -1, 0, 2**20),
        ("NCPUS|AllocGRES|ReqGRES", "4|gpu:a100:2|gpu:3", 4, None, 2, -1),
        ("NCPUS|AllocGRES|ReqGRES", "4||7696487:3", 4, None, 3, -1),
        ("NCPUS|AllocTRES|AllocGRES", "4|cpu=4,node=1|gpu:2", 4, 1, 2, -1),  # a cluster that does not account for GPUs
        ("NCPUS|AllocGRES", "4|", 4, None, -1, -1),
    ],
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
    [
        ("150", "160", 100),
        ("160", "160", 110),
        ("50", "160", -1),
        ("40", "160", -1),
        ("161", "160", -1),  # of another attempt
        ("Unknown", "160", -1),
        ("None", "160", -1),
        ("", "160", -1),
        ("1970-01-01T00:02:30", "160", 100),
        ("4294967294", "160", -1),
        ("150", "Unknown", 100),
    ],
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


def test_a_line_that_was_cut_off_outside_the_name_is_no_part_of_the_next(read: Read) -> None:
    found = read(
        "JobID|JobName|NCPUS|Submit|ElapsedRaw|Partition|State",
        "1|a|4|50|60|gpu",
        "x|COMPLETED",
        "2|b|4|50|60|cpu|COMPLETED",
    )
    assert found.job_id.tolist() == [2]
    assert rejects(found) == {"malformed": 2}


def test_a_name_at_the_end_of_a_line_goes_on_in_the_next(read: Read) -> None:
    found = read("JobID|NCPUS|Submit|ElapsedRaw|JobName", "1|4|50|60|a|b", "c", "2|4|51|60|d", "3|4|5")
    assert [found.job_name(row) for row in range(2)] == ["a|b\nc", "d"]
    assert rejects(found) == {"malformed": 1}


@pytest.mark.parametrize(
    ("line", "name", "reason"),
    [
        ("1|a|4|50|60|/x|COMPLETED", "a", None),
        ("1|a|b|4|50|60|/x|COMPLETED", "a|b", None),  # else there would be "b" cores
        ("1|a|4|50|60|/x|y|COMPLETED", "a", None),
        ("1|a|4|4|50|60|/x|COMPLETED", None, "free text in JobName or WorkDir"),  # 4 cores, or 4 in the name
        ("1|a|b|4|50|60|/x|y|COMPLETED", None, "malformed"),  # one in each
    ],
)
def test_several_columns_of_free_text(read: Read, line: str, name: str | None, reason: str | None) -> None:
    whole = "2|x|4|50|60|/x|COMPLETED"
    found = read("JobID|JobName|NCPUS|Submit|ElapsedRaw|WorkDir|State", whole, line)
    assert rejects(found) == ({reason: 1} if reason else {})
    assert [found.job_name(row) for row in range(len(found))] == (["x"] if reason else ["x", name])


def test_a_name_beside_another_free_text_is_unknown(read: Read) -> None:
    found = read("JobID|JobName|Comment|NCPUS|Submit|ElapsedRaw", "1|a|b|c|4|50|60", "2|a|b|4|50|60")
    assert [found.job_name(row) for row in range(2)] == [None, "a"]


def test_memory_of_nodes_needs_their_number() -> None:
    assert memory_kb("4Gn", 4, None) == memory_kb("4Gn", 4, 0) == -1


def test_first_lines_that_name_too_little(tmp_path: Path) -> None:
    for text, message in (
        ("1 0 -1 60\n", r"line 1: '1 0 -1 60' names no column for the job number: JobID, JobIDRaw; the first line"),
        ("JobID|Submit|NCPUS|End\n", "names no column for the run time: ElapsedRaw, Elapsed, End"),
        ("# x\nJobID|ElapsedRaw|NCPUS\n", "line 2: .* names no column for the submit: Submit"),
        ("JobID|ElapsedRaw|Submit\n", "names no column for the cores: AllocCPUS, NCPUS, ReqCPUS, AllocTRES, ReqTRES"),
        ("JobID|Submit|NCPUS|Elapsed|jobid\n", "column 'jobid' is there twice"),
        ("# nothing\n", "names no column for the job number"),
        ("   JobID  State\n------ ------\n1      FAILED\n", "columns of fixed width, .* --parsable2"),
        ("JobID State\n", "columns of fixed width"),
        ("7|a|long|4|2016-12-26T21:17:42|00:10:00|COMPLETED\n", "is a job, and names no columns; leave out --noheader"),
        ("7_3,4,1700000000,60\n", "leave out --noheader"),
        ("", "the file is empty"),
        (HEADER, "no valid job in 0 lines"),
        (f"{HEADER}\n1|2", "no valid job in 1 line: malformed 1"),
    ):
        (tmp_path / "a.sacct").write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            read_sacct(tmp_path / "a.sacct")
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path}")


def test_a_dump_is_told_by_its_first_line_whatever_its_name(tmp_path: Path) -> None:
    for name in ("a.csv", "a.txt", "a", "a.csv.gz"):
        data = b"# from March\nUser|JobID|NCPUS|Submit|ElapsedRaw\nann|1|2|3|4\n"
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        assert read_workload(tmp_path / name).cores.tolist() == [2]
    (tmp_path / "a.swf").write_bytes(data)
    with pytest.raises(InputError, match="no valid job"):
        read_workload(tmp_path / "a.swf")


WORDS = st.one_of(
    st.sampled_from(
        ["1", "2_3", "4+1", "5.batch", "0", "-1", "", "60", "01:00", "1-00:00:00", "COMPLETED", "CANCELLED by 1"]
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.text(max_size=6),
)


@settings(max_examples=300)
@given(st.lists(st.lists(WORDS, min_size=6, max_size=9).map("|".join), max_size=8), st.booleans())
def test_fuzzed_lines_are_jobs_or_counted_and_never_raise(fuzzed: Path, lines: list[str], cancelled: bool) -> None:
    text = "\n".join([HEADER, "77|4|50|60|70|10|5|COMPLETED", *lines])
    fuzzed.write_bytes(text.encode("utf-8", "surrogatepass"))
    found = read_sacct(fuzzed, cancelled=cancelled)
    assert len(found) + sum(found.rejects.values()) == found.n_lines
    assert found.submit_ns.max() <= MAX_NS
