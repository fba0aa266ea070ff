"""Workloads out of workloads: cut, merged, scaled, filtered."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusing import refusals
from tables import table_rows

from bls.workloads import read_workload
from bls.workloads.header import moved_header
from bls.workloads.merge import merge
from bls.workloads.reshape import cut, filter_jobs, scale
from bls.workloads.selection import select
from bls.workloads.workload import Workload
from bls.workloads.writers.swf import write_swf
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S

S = NS_PER_S
DAY = 86_400

#: Midnight of 1 January 2003 in Stockholm, one hour before that of UTC.
NEW_YEAR_S = 1_041_375_600


def log(*jobs: dict[str, Any], header: tuple[str, ...] = (), source: str = "a.swf") -> Workload:
    filled = [{"job_id": k, "submit_s": k, "run_s": 10, "cores": 1} | job for k, job in enumerate(jobs, 1)]
    return replace(Workload.from_jobs(filled, source), header=header)


def submits_of(*seconds: float, header: tuple[str, ...] = (), source: str = "a.swf") -> Workload:
    return log(*({"submit_s": second} for second in seconds), header=header, source=source)


#: A job every six hours from 30 December 2002, 06:00 in Stockholm.
WINTER = submits_of(
    *(k * DAY / 4 for k in range(20)),
    header=(f"; UnixStartTime: {NEW_YEAR_S - 7 * DAY // 4}", "; TimeZoneString: Europe/Stockholm"),
)


@pytest.mark.parametrize(
    "spec", ["all", "first:3", "first:99", "busiest:24h", "window:1d+2d", "window:0+1d", "window:36h+1"]
)
def test_a_cut_is_a_selection(spec: str) -> None:
    chosen, expected = cut(WINTER, spec), select(WINTER, spec)
    assert chosen.job_id.tolist() == expected.job_id.tolist()
    assert chosen.submit_ns.tolist() == expected.submit_ns.tolist()
    said = "all jobs" if spec == "all" else f"the jobs {spec}"
    assert chosen.header[-1] == f"; Note: {said} of a.swf"


@pytest.mark.parametrize(("spec", "first", "count"), table_rows(__file__, "windows_by_the_calendar"))
def test_windows_by_the_calendar(spec: str, first: int, count: int) -> None:
    expected = list(range(first, first + count))
    assert cut(WINTER, spec).job_id.tolist() == select(WINTER, spec).job_id.tolist() == expected


def test_the_calendar_moves_with_time_0() -> None:
    chosen = cut(WINTER, "window:2003-01-01T03:00+1d")
    assert (chosen.submit_ns // S).tolist() == [10800, 32400, 54000, 75600]
    assert f"; UnixStartTime: {NEW_YEAR_S + 3 * 3600}" in chosen.header
    busiest = cut(submits_of(5, 99.75, 100, 101, header=("; UnixStartTime: 1000",)), "busiest:10s")
    assert busiest.header[0] == "; UnixStartTime: 1099", "whole seconds, rounded down"
    assert busiest.submit_ns[0] == 0
    assert cut(WINTER, "first:3").header[0] == WINTER.header[0]


#: Users, groups and applications of two logs are others; queues, partitions and QOS are the machine's.
APART = "apart,queue=same,partition=same,qos=same"


def test_two_logs_lie_on_each_other_as_the_calendar_says() -> None:
    early = submits_of(0, 100, header=("; UnixStartTime: 1000", "; MaxProcs: 8"))
    late = submits_of(0, 30, header=("; UnixStartTime: 1060", "; MaxProcs: 8"), source="b.swf")
    made = merge([late, early])
    assert (made.submit_ns // S).tolist() == [0, 60, 90, 100]
    assert made.job_id.tolist() == [3, 1, 2, 4]
    assert made.source == "b.swf + a.swf"
    assert made.header == (
        *("; MaxProcs: 8", "; UnixStartTime: 1000", "; MaxJobs: 4", "; MaxRecords: 4"),
        *("; Note: log 1 of 2 is b.swf, 2 jobs", "; [1] UnixStartTime: 1060", "; [1] MaxProcs: 8"),
        *("; Note: log 2 of 2 is a.swf, 2 jobs", "; [2] UnixStartTime: 1000", "; [2] MaxProcs: 8"),
    )
    aligned = merge([late, early], align="start")
    assert (aligned.submit_ns // S).tolist() == [0, 0, 30, 100]
    assert not any(line.startswith("; UnixStartTime") for line in aligned.header)


def test_numbers_that_clash_are_moved_apart_and_dependencies_follow() -> None:
    one = log({"user": 1, "group": 1}, {"user": 4, "preceding": 1}, {"user": -1, "preceding": 11})
    two = log(
        *({"job_id": 2, "user": 1, "group": 3, "queue": 2}, {"job_id": 11, "user": 4, "preceding": 2, "think_s": 5}),
        {"job_id": 12, "preceding": 1},
    )
    made = merge([one, two], align="start", numbers=APART)
    rows = dict(zip(made.job_id.tolist(), range(len(made)), strict=True))
    assert list(rows) == [1, 4, 2, 13, 3, 14]  # by (submit, log)
    preceding = {number: int(made.preceding[row]) for number, row in rows.items()}
    # Job 3 named a job 11 that its own log does not have, and 14 (12 before) a job 1: they are none, not the other log's.
    assert preceding == {1: -1, 2: 1, 3: -1, 4: -1, 13: 4, 14: -1}
    users = {number: int(made.user[row]) for number, row in rows.items()}
    assert users == {1: 1, 2: 4, 3: -1, 4: 5, 13: 8, 14: -1}
    assert [int(made.group[rows[number]]) for number in (1, 4)] == [1, 3], "no clash, no change"
    assert int(made.queue[rows[4]]) == 2


def test_further_columns_are_joined() -> None:
    one = replace(submits_of(0, 2), extras={"gpus": np.array([1, 2])})
    two = replace(submits_of(1), extras={"gpus": np.array([3]), "nodes": np.array([9])})
    made = merge([one, two], align="start")
    assert {name: column.tolist() for name, column in made.extras.items()} == {"gpus": [1, 3, 2], "nodes": [-1, 9, -1]}


FROM_1970, AT_5 = ("; UnixStartTime: 0",), ("; UnixStartTime: 5",)
LATE = submits_of(4_000_000_000, header=("; UnixStartTime: 4000000000",))
FULL = log({"job_id": 0}, {"job_id": MAX_NS})


SACCT = "JobID|User|Account|Partition|QOS|NCPUS|Submit|Start|End|ElapsedRaw|Timelimit|State\n"


def sacct(path: Path, *rows: str) -> Path:
    """A dump of jobs ``ID|User|Account|Partition|QOS``."""
    path.write_text(
        SACCT + "".join(f"{row}|8|1704067200|1704067200|1704070800|3600|02:00:00|COMPLETED\n" for row in rows)
    )
    return path


def of_jobs(workload: Workload, column: str) -> dict[int, str]:
    named = workload.names if column == "application" else workload.labels[column]
    return {job: named[n] for job, n in zip(workload.job_id.tolist(), getattr(workload, column).tolist(), strict=True)}


def test_logs_with_names_are_merged_by_them(tmp_path: Path) -> None:
    january = sacct(tmp_path / "jan.sacct", "1|ann|phys|gpu|normal", "2|bob|bio|cpu|normal")
    february = sacct(tmp_path / "feb.sacct", "3|bob|bio|cpu|normal", "4|ann|phys|gpu|high", "5|eve|bio|long|normal")
    made = merge([read_workload(january), read_workload(february)])
    assert made.partition.tolist() == [1, 2, 2, 1, 3]
    assert made.user.tolist() == [1, 2, 2, 1, 3]
    assert of_jobs(made, "partition") == {1: "gpu", 2: "cpu", 3: "cpu", 4: "gpu", 5: "long"}
    assert of_jobs(made, "user") == {1: "ann", 2: "bob", 3: "bob", 4: "ann", 5: "eve"}
    assert of_jobs(made, "qos") == {1: "normal", 2: "normal", 3: "normal", 4: "high", 5: "normal"}
    named = [line for line in made.header if line.startswith("; Partition")]
    assert named == ["; Partition: 1 gpu", "; Partition: 2 cpu", "; Partition: 3 long"]
    # Written as SWF and read again, partitions keep their names, and users only their numbers.
    write_swf(made, tmp_path / "made.swf")
    again = read_workload(tmp_path / "made.swf")
    words = r"^user 1 of .*made.swf has no name; .*made.swf also has user 1; allowed: numbers='same\|apart'$"
    with pytest.raises(InputError, match=words):
        merge([again, again], align="start")
    both = merge([again, again], align="start", numbers="user=same,group=same")
    assert both.partition.tolist() == [1, 2, 2, 1, 3] * 2


@pytest.mark.parametrize(("logs", "numbers", "expected", "names"), table_rows(__file__, "numbers_with_names"))
def test_named_and_unnamed_numbers_are_merged(
    logs: list[tuple[str, str]], numbers: str | None, expected: list[int] | str, names: dict[str, str]
) -> None:
    made = [
        log(
            *({"queue": int(queue)} for queue in queues.split()),
            header=tuple(f"; Queue: {name}" for name in named.split(", ") if name),
        )
        for queues, named in logs
    ]
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            merge(made, align="start", numbers=numbers)
        return
    merged = merge(made, align="start", numbers=numbers)
    assert merged.queue[np.argsort(merged.line)].tolist() == expected
    assert {str(number): name for number, name in merged.labels["queue"].items()} == names


def test_headers_that_do_not_agree_get_a_remark() -> None:
    one, two = submits_of(0, header=("; MaxProcs: 8", "; TimeZone: 0")), submits_of(0, header=("; MaxProcs: 16",))
    made = merge([one, two], align="start", numbers="same")
    assert made.remarks == (
        "MaxProcs is left out of the merged log, as the headers differ: a.swf 8, a.swf 16",
        "TimeZone is left out of the merged log, as the headers differ: a.swf 0, a.swf none",
    )


def test_ids_and_lists_of_preceding_jobs_follow_their_jobs() -> None:
    one = replace(log({"job_id": 1}, {"job_id": 2}, {"job_id": 3, "preceding": 1}), also_preceding={3: (2, 9)})
    two = replace(one, ids={1: "a", 2: "b", 3: "c"})
    made = merge([one, two], align="start")
    assert made.ids == {4: "a", 5: "b", 6: "c"}
    assert merge([two, two], align="start").numbers_of_ids == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}
    # Names of jobs that are not taken must not become names of the other log's jobs.
    assert merge([two.take(np.array([0])), one], align="start").ids == {1: "a"}
    assert made.also_preceding == {3: (2,), 6: (5,)}


@pytest.mark.parametrize(
    ("preceding", "others", "first", "further"),
    [(1, (9,), 1, {}), (9, (2, 1), 2, {3: (1,)}), (9, (1,), 1, {}), (9, (8,), -1, {}), (9, (8, 1, 7, 2), 1, {3: (2,)})],
)
def test_preceding_jobs_that_a_log_does_not_have_are_left_out(
    preceding: int, others: tuple[int, ...], first: int, further: dict[int, tuple[int, ...]]
) -> None:
    one = log({"job_id": 1}, {"job_id": 2}, {"job_id": 3, "preceding": preceding})
    made = merge([replace(one, also_preceding={3: others})], align="start")
    assert int(made.preceding[2]) == first
    assert made.also_preceding == further


@pytest.mark.parametrize(
    ("columns", "factors", "expected"),
    [
        ({"submit_s": [100, 160, 160.3, 1300]}, {"load": 1.2}, {"submit_ns": [100 * S, 150 * S, 150_250_000_000, 1100 * S]}),
        ({"run_s": [10, 1e-9, 7], "estimate_s": [100, 3e-9, 7], "wait_s": [5, 0, 0]}, {"speed": 2},
         {"run_ns": [5 * S, 1, 3_500_000_000], "estimate_ns": [50 * S, 2, 3_500_000_000], "wait_ns": [-1] * 3,
          "submit_ns": [S, 2 * S, 3 * S]}),  # 3 ns / 2: half to even; such a system never ran
        ({"cores": [1, 2, 3, 5, 100]}, {"cores": 0.5}, {"cores": [1, 1, 2, 2, 50]}),  # half to even, at least 1
        ({"cores": [1, 2, 3, 5, 100]}, {"cores": 1.5}, {"cores": [2, 3, 4, 8, 150]}),
        # At a thousandth of the time all are at once, and in the order of their lines.
        ({"submit_s": [2e-9, 1e-9, 0]}, {"load": 1000}, {"submit_ns": [0, 0, 0], "job_id": [1, 2, 3]}),
        # A user cancels after the same wait.
        ({"submit_s": [10, 30], "run_s": [10, None], "estimate_s": [60, 60], "cancel_s": [99, 50]}, {"load": 2, "speed": 4},
         {"submit_ns": [10 * S, 20 * S], "cancel_ns": [99 * S, 40 * S], "wait_ns": [-1, 20 * S],
          "run_ns": [2_500_000_000, 1], "estimate_ns": [15 * S, 15 * S], "run_unknown": [False, True]}),
    ],
)  # fmt: skip
def test_scaled_logs(columns: dict[str, list[Any]], factors: dict[str, float], expected: dict[str, list[Any]]) -> None:
    made = scale(
        log(*(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))), **factors
    )
    assert {name: getattr(made, name).tolist() for name in expected} == expected
    (name, factor), *_ = factors.items()
    assert made.header[0].startswith(f"; Note: a.swf with {name} × {factor}")


PEOPLE = log(
    {"user": 1, "queue": 0, "cores": 4, "run_s": 10, "status": 1},
    {"user": 2, "queue": 1, "cores": 8, "run_s": 20, "status": 0},
    {"user": 1, "queue": 1, "cores": 16, "run_s": 30, "status": 5, "partition": 3},
    {"user": -1, "queue": 2, "cores": 32, "run_s": None, "estimate_s": 9, "cancel_s": 9, "status": 5},
    header=("; MaxJobs: 4", "; StartTime: then"),
)


@pytest.mark.parametrize(
    ("tests", "left"),
    [
        *table_rows(__file__, "which_jobs_are_left"),
        ({"queues": range(1, 3)}, [2, 3, 4]),
        ({"cores": (8, None)}, [2, 3, 4]),
        ({"cores": (None, 8)}, [1, 2]),
        ({"run": (20 * S, None)}, [2, 3]),
        ({"run": (None, 20 * S)}, [1, 2]),
        ({"users": [1], "cores": (5, None)}, [3]),
    ],
)
def test_which_jobs_are_left(tests: dict[str, Any], left: list[int]) -> None:
    made = filter_jobs(PEOPLE, **tests)
    assert made.job_id.tolist() == left
    assert made.submit_ns.tolist() == [number * S for number in left]
    assert made.header[0] == f"; MaxJobs: {len(left)}"


def test_a_filter_describes_itself() -> None:
    note = filter_jobs(PEOPLE, users=[1, 2], cores=(2, 8), run=(S, None)).header[-1]
    assert note == "; Note: the jobs with users 1 2, cores from 2, cores to 8, run from 1 s of a.swf"


def test_a_header_stays_true() -> None:
    header = (
        "; MaxJobs: 9",
        ";MaxRecords:  9 ",
        "; UnixStartTime: 5",
        "; StartTime: Mon",
        "; EndTime:  Tue",
        "; Note: x",
    )
    moved = ("; MaxJobs: 3", "; MaxRecords: 3", "; UnixStartTime: 7", "; Note: x", "; Note: cut short")
    assert moved_header(header, 3, 2 * S, "cut\nshort") == moved
    assert moved_header(header, 9, 0, "y", same_span=True)[2:5] == header[2:5]
    assert moved_header(("; UnixStartTime: soon",), 1, S, "y")[0] == "; UnixStartTime: soon"


def test_a_date_in_an_unknown_zone_is_refused() -> None:
    strange = ("; UnixStartTime: 0", "; TimeZoneString: Mars/Olympus")
    with pytest.raises(
        InputError, match=r"TimeZoneString 'Mars/Olympus' is not a known time zone.*; allowed: e.g. 2003"
    ):
        cut(submits_of(0, 90_000, header=strange), "window:1970-01-02+1d")
    assert len(cut(submits_of(0, 90_000, header=strange), "window:1970-01-02T00:00Z+1d")) == 1
    assert len(cut(submits_of(0, 90_000, header=(*strange, "; TimeZone: 3600")), "window:1970-01-02+1d")) == 1


test_bad_input_is_refused = refusals(
    __file__,
    {
        "a_cut_that_selects_nothing_is_one_line": (lambda spec: cut(WINTER, spec), "select="),
        "merging": lambda logs, align: merge(logs, align=align),
        "numbers": lambda text: merge([log({"user": 1}), log({"user": 1})], align="start", numbers=text),
        "factors_that_cannot_be_used_are_one_line": lambda factors: scale(
            log({"submit_s": 0}, {"submit_s": 4e9, "cores": MAX_NS // 2}), **factors
        ),
        "filters": lambda tests: filter_jobs(PEOPLE, **tests),
    },
    {
        "merging": [
            ([], "start", "no workload; allowed: one or more"),
            ([submits_of(0)], "end", "unknown alignment 'end'; known: "),
            ([WINTER, submits_of(0)], "calendar", "align: a.swf has no UnixStartTime in its header; allowed: start"),
            ([submits_of(0), FULL, submits_of(0)], "start", "its job numbers cannot be moved apart"),
            ([submits_of(0, header=FROM_1970), LATE], "calendar", "begins too long after the others"),
            ([submits_of(0, header=FROM_1970), log({"submit_s": 0, "preset": 1}, header=AT_5)], "calendar",
             "are running at its"),
        ],
        "numbers": [(text, "numbers") for text in ("both", "user", "user=", "=same", "nobody=same", "same,same")]
        + [("user=same,user=apart", "numbers")],
        "factors_that_cannot_be_used_are_one_line": [({"speed": float("nan")}, "speed=nan: nan is out of range")],
        "filters": [
            ({"users": [7]}, "a.swf: none of 4 jobs is left (users 7)"),
            ({"cores": (9, 8)}, "cores: 9 to 8; allowed: low to high"),
        ],
    },
)  # fmt: skip
