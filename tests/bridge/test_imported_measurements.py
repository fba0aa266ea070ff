"""Measurements of other tools: small files of each format are read into the tables that they describe; others are refused."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from otf2.enums import RegionRole

import bridge
from bridge.measure import import_measurement, read_measurement
from bridge.measure.folder import SOURCES
from bridge.measure.program import measured_program
from bridge.measure.readers.formats import FORMATS, read_measured
from traces.base.errors import InputError

Rows = list[tuple[Any, ...]]


def imported(path: Path, folder: Path, **others: Any) -> Any:
    record = import_measurement(path, folder, **others)
    found = read_measurement(folder)
    assert found.record == record
    return found


LOOP_NAME = ";a.c;main;12;5;;"
#: Two threads that execute chunks of 3, 2 and 1 iterations.
LB4OMP = f"""\
LoopOccurrence: 1 Location: {LOOP_NAME} #iterations 6 threadID: 1 threadTime: 2.5e-06
LoopOccurrence: 1 Location: {LOOP_NAME} #iterations 6 threadID: 0 threadTime: 4e-06
Location: {LOOP_NAME} #iterations 6 LoopTime: 4e-06
chunkLocation: {LOOP_NAME} lower 0 upper 2 chunksize 3 tid 0
chunkLocation: {LOOP_NAME} lower 3 upper 4 chunksize 2 tid 1
chunkLocation: {LOOP_NAME} lower 5 upper 5 chunksize 1 tid 0
"""
NO_CHUNKS = "Location: f #iterations 9 LoopTime: 1e-06\nMean 812.5 Sigma 3.5 iterations 9\n"


def trace(*events: tuple[Any, ...]) -> str:
    """Chrome's JSON of events: phase, name, thread, ts, and dur or arguments."""
    made = []
    for phase, name, thread, ts, *more in events:
        made.append({"ph": phase, "name": name, "pid": 1, "tid": thread, "ts": ts})
        for one in more:
            made[-1] |= {"args": one} if isinstance(one, dict) else {"dur": one}
    return json.dumps({"traceEvents": made})


#: Name → content, region, source, loops (iterations, threads, begin, end), chunks (loop, thread, first, iterations, chunks,
#: begin, end), waits (loop, thread, begin, end), and words of the remarks.
FILES: dict[str, tuple[str, str, str, Rows, Rows, Rows, list[str]]] = {
    "one column": (
        "1e-6\n2e-6\n",
        "",
        "csv",
        [(2, 1, 0, 3000)],
        [(0, 0, 0, 1, 1, 0, 1000), (0, 0, 1, 1, 1, 1000, 3000)],
        [],
        ["taken as seconds", "no column thread", "begins of iterations are unknown"],
    ),
    "threads, two instances, from 1": (
        "iteration,time_us,thread\n1,1,3\n2,4,7\n2,5,3\n\n1,2,3\n",
        "sweep",
        "csv",
        [(2, 2, 0, 4000), (2, 2, 4000, 11000)],
        [(0, 0, 0, 1, 1, 0, 1000), (0, 1, 1, 1, 1, 0, 4000), (1, 0, 1, 1, 1, 4000, 9000), (1, 0, 0, 1, 1, 9000, 11000)],
        [],
        ["iterations begin at 1 in the file"],
    ),
    "chunks": (
        "thread,first,iterations,begin_ns,end_ns\n0,0,4,100,150\n1,4,2,110,170\n",
        "",
        "csv",
        [(6, 2, 0, 70)],
        [(0, 0, 0, 4, 1, 0, 50), (0, 1, 4, 2, 1, 10, 70)],
        [],
        [],
    ),
    "lb4omp": (
        LB4OMP,
        "",
        "lb4omp",
        [(6, 2, 0, 4000)],
        [(0, 0, 0, 4, 2, 0, 4000), (0, 1, 3, 2, 1, 0, 2500)],
        [(0, 0, 4000, 4000), (0, 1, 2500, 4000)],
        ["chunks have no times", "the time between loops is unknown"],
    ),
    "lb4omp, two loops": (
        LB4OMP + NO_CHUNKS,
        "f",
        "lb4omp",
        [(9, 1, 0, 1000)],
        [],
        [],
        ["f: the log has no chunks", "1 lines of LB4OMP's profile are left out"],
    ),
    "complete events": (
        trace(("X", "step", 10, 7.5, 1.25, {"task": 1}), ("X", "step", 9, 7, 2, {"task": 0}), ("X", "other", 9, 1, 1)),
        "step",
        "chrome",
        [(2, 2, 0, 2000)],
        [(0, 0, 0, 1, 1, 0, 2000), (0, 1, 1, 1, 1, 500, 1750)],
        [],
        [],
    ),
    "begins and ends": (
        trace(
            ("B", "step", 1, 5),
            ("B", "step", 1, 6),
            ("E", "", 1, 7),
            ("E", "", 1, 8),
            ("B", "step", 1, 8),
            ("E", "step", 1, 9),
        ),
        "",
        "chrome",
        [(2, 1, 0, 4000)],
        [(0, 0, 0, 1, 1, 0, 3000), (0, 0, 1, 1, 1, 3000, 4000)],
        [],
        ["the numbers of iterations are unknown", "parts within others"],
    ),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_a_file_has_these_rows(name: str, compressed: bool, tmp_path: Path) -> None:
    content, region, source, loops, chunks, waits, words = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    found = imported(path, tmp_path / "m", region=region)
    assert found.record.source == source
    assert found.loops[["iterations", "threads", "begin_ns", "end_ns"]].to_records(index=False).tolist() == loops
    assert found.chunks.drop(columns="run").to_records(index=False).tolist() == chunks
    assert found.waits.drop(columns="run").to_records(index=False).tolist() == waits
    assert all(any(word in line for line in found.record.remarks) for word in words)
    assert found.runs.end_ns[0] == max(end for *_, end in loops)


#: Content, region, and the error after the file's name.
REFUSED = [
    ("", "", "is empty; allowed: an OTF2 archive"),
    (
        "\x7fELF\n1,2",
        "",
        "is of no known format; allowed: an OTF2 archive of Score-P (traces.otf2), a log of LB4OMP, messages",
    ),
    ("iteration,time\n0,1\n1\n", "", "line 3: 1 fields; the first line has 2"),
    ("iteration,time\n0,1\n1,fast\n", "", "line 3: time: 'fast'; allowed: a time, 0 or more"),
    ("iteration,time\n0.5,1\n", "", "line 2: iteration: '0.5'; allowed: a whole number, 0 or more"),
    ("iteration\n0\n", "", "line 1: columns iteration; allowed: time; iteration,time; or first,"),
    ("time\n", "", "no line of times follows the header"),
    ("iteration,time\n30000000,1\n0,1\n", "", "loop: 30000001 iterations; allowed: up to 20000000"),
    ("thread,first,iterations,begin,end\n0,0,1,5,4\n", "", "line 2: the clock goes back: the end is before the begin"),
    ("thread,first,iterations,begin,end\n0,0,1,5,8\n0,1,1,7,9\n", "", "loop: the clock of thread 0 goes back: a part"),
    (
        LB4OMP[:-9],
        "",
        "line 6: 'chunkLocation: ;a.c;main;12;5;; lower 5 upper 5 chunksize' is no line of LB4OMP's log; is",
    ),
    (LB4OMP[:90], "", "the last loop has no LoopTime; the file is truncated"),
    (LB4OMP, "b.c:1", "no region 'b.c:1'; known: a.c:12"),
    (
        LB4OMP.replace("LoopTime: 4", "LoopTime: 3"),
        "",
        "line 3: the clock goes back: the loop ends before one of its threads",
    ),
    (NO_CHUNKS.split("\n")[1], "", "only means of LB4OMP's profile, in ticks of the processor; KMP_TIME_LOOPS=FILE"),
    ("... sent start=1, size=4 to 2\n", "", "DLS4LB's messages have no times; allowed: a CSV file thread,first,"),
    ("[1, 2]", "", "event 0: 1; allowed: an object"),
    ('{"a": 1}', "", "no list of events; allowed: a list, or"),
    (trace(("X", "step", 1, 1, 1))[:-5], "", "not valid JSON: "),
    (
        trace(("X", "step", 1, 1, 1), ("X", "end", 1, 3, 1)),
        "",
        "name the region whose executions are iterations; known:",
    ),
    (trace(("X", "step", 1, 1, 1), ("X", "end", 1, 3, 1)), "a", "no region 'a'; known: step, end"),
    (trace(("B", "step", 1, 1)), "", "'step' has a begin (B) without an end (E); is the file truncated?"),
    (trace(("E", "step", 1, 1)), "", "event 0: an end (E) without its begin (B)"),
    (trace(("B", "step", 1, 2), ("E", "step", 1, 1.5)), "", "event 1: the clock goes back"),
    (trace(("X", "step", 1, 2, -1)), "", "event 0: the clock goes back"),
    (trace(("X", "step", 1, "now", 1)), "", "event 0: ts is 'now'; allowed: a number of microseconds"),
    (
        trace(("X", "step", 1, 0, 9), ("X", "step", 1, 5, 9)),
        "",
        "step: the clock of thread 1/1 goes back: a part begins 4000 ns before the end of the part before it",
    ),
]


@pytest.mark.parametrize(("content", "region", "words"), REFUSED)
def test_what_is_not_valid_is_refused_in_one_line(content: str, region: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        import_measurement(path, tmp_path / "m", region=region)
    said = str(refused.value).removeprefix(f"{path}: ").removeprefix(f"{path} ")
    assert said.startswith(words)
    assert "\n" not in said
    assert not (tmp_path / "m").exists()


#: What a location of an archive does: Score-P's event, region or number of a task, ns; and attributes.
Event = tuple[Any, ...]
ROLES = {"!$omp parallel": RegionRole.PARALLEL, "!$omp for": RegionRole.LOOP, "!$omp task": RegionRole.TASK}


def archive(folder: Path, ranks: list[list[list[Event]]]) -> Path:
    """Write an archive as Score-P does: a location group for each process, a location for each thread."""
    with otf2.writer.open(str(folder), timer_resolution=10**9) as made:
        known = made.definitions
        node = known.system_tree_node("node")
        numbers = known.attribute("iteration", "", otf2.Type.UINT64)
        regions: dict[str, Any] = {}
        locations = known.group(
            "locations", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.OPENMP, members=[]
        )
        team = known.comm("team", group=locations)
        for rank, threads in enumerate(ranks):
            process = known.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            for k, events in enumerate(threads):
                writer = made.event_writer("Master thread" if k == 0 else f"OMP thread {k}", group=process)
                for what, which, ns, *more in events:
                    if what in ("enter", "leave"):
                        role = ROLES.get(str(which).partition(" @")[0], RegionRole.FUNCTION)
                        region = regions.setdefault(which, known.region(which, region_role=role))
                        attributes = {numbers: more[0]} if more else None
                        getattr(writer, what)(ns, region, attributes)
                    else:
                        getattr(writer, f"thread_task_{what}")(ns, team, rank, which)
    return folder / "traces.otf2"


def within(name: str, begin: int, end: int, inner: Iterable[Event] = ()) -> list[Event]:
    return [("enter", name, begin), *inner, ("leave", name, end)]


FOR, PARALLEL, BARRIER, TASK = (
    f"!$omp {name}" for name in ("for @a.c:4", "parallel @a.c:3", "implicit barrier", "task @a.c:9")
)


def test_loops_of_score_p(tmp_path: Path) -> None:
    """Barriers within a loop, or after it; the second process has a team of two only for the first of its loops."""
    path = archive(
        tmp_path / "a",
        [
            [
                within(PARALLEL, 1_000, 1_300, within(FOR, 1_010, 1_200, within(BARRIER, 1_150, 1_200)))
                + within(PARALLEL, 1_400, 1_500, [*within(FOR, 1_410, 1_440), *within(BARRIER, 1_450, 1_490)]),
                within(PARALLEL, 1_005, 1_300, within(FOR, 1_020, 1_200, within(BARRIER, 1_190, 1_200)))
                + within(PARALLEL, 1_405, 1_500, [*within(FOR, 1_415, 1_480), *within(BARRIER, 1_481, 1_490)]),
            ],
            [
                [*within(FOR, 1_100, 1_160), *within(FOR, 1_200, 1_250)],
                [*within("main", 1_001, 1_090), *within(FOR, 1_110, 1_150)],
            ],
        ],
    )
    found = imported(path.parent, tmp_path / "m")
    assert (found.record.source, found.regions.name.tolist()) == ("score-p", ["a.c:4"])
    assert found.loops[["iterations", "threads", "begin_ns", "end_ns"]].to_records(index=False).tolist() == [
        (2, 2, 10, 190),
        (2, 2, 410, 480),
        (2, 2, 100, 160),
        (1, 1, 200, 250),
    ]
    assert found.chunks[["loop", "thread", "first", "begin_ns", "end_ns"]].to_records(index=False).tolist() == [
        (0, 0, 0, 10, 150),
        (0, 1, 1, 20, 190),
        (1, 0, 0, 410, 440),
        (1, 1, 1, 415, 480),
        (2, 0, 0, 100, 160),
        (2, 1, 1, 110, 150),
        (3, 0, 0, 200, 250),
    ]
    assert found.waits[["loop", "thread", "begin_ns", "end_ns"]].to_records(index=False).tolist() == [
        (0, 0, 150, 200),
        (0, 1, 190, 200),
        (1, 0, 450, 490),
        (1, 1, 481, 490),
    ]
    assert "2 processes (MPI ranks): the loops of each are separate instances" in found.record.remarks
    assert "Score-P records no iterations" in "\n".join(found.record.remarks)
    _, tables = read_measured(path, FOR)
    assert len(tables["loops"]["loop"]) == 4
    with pytest.raises(InputError, match=r"no region 'x'; known: .*, main$"):
        read_measured(path, "x")


def test_tasks_of_score_p(tmp_path: Path) -> None:
    """Task 2 suspends task 1, which created it; task 3 does not end."""
    body = [
        *[("create", 1, 110), ("enter", BARRIER, 120), ("switch", 1, 130), ("enter", TASK, 131), ("create", 2, 140)],
        *[("switch", 2, 150), ("enter", TASK, 151), ("leave", TASK, 159), ("complete", 2, 160), ("switch", 1, 165)],
        *[("leave", TASK, 179), ("complete", 1, 180), ("switch", 0, 180), ("leave", BARRIER, 190)],
    ]
    path = archive(
        tmp_path / "a",
        [
            [
                within(PARALLEL, 100, 200, body),
                within(PARALLEL, 102, 200, within(BARRIER, 103, 190, [("create", 3, 110)])),
            ]
        ],
    )
    found = imported(path, tmp_path / "m")
    assert found.regions.to_records(index=False).tolist() == [(0, "a.c:3", "tasks")]
    assert found.loops.drop(columns=["run", "schedule"]).to_records(index=False).tolist() == [(0, 0, 0, 2, 0, 100)]
    assert found.tasks.drop(columns="run").to_records(index=False).tolist() == [
        (0, 0, -1, 0, 10, 30, 80, 20 + 15),
        (0, 1, 0, 0, 40, 50, 60, 10),
    ]
    remarks = "\n".join(found.record.remarks)
    assert "1 tasks without an end" in remarks
    assert "no dependences of tasks" in remarks
    assert measured_program(found).parts[0, 0].edges == ((0, 1),)


def test_archives_that_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = archive(tmp_path / "none", [[within("main", 1, 9, within("solve", 2, 4))]])
    with pytest.raises(
        InputError, match=r"no OpenMP loops and no tasks; name a region of the program; known: main, solve$"
    ):
        read_measured(path)
    path = archive(tmp_path / "open", [[[("enter", "main", 1)]]])
    with pytest.raises(InputError, match=r"traces.otf2: main does not end; the archive is truncated$"):
        read_measured(path, "main")
    path = archive(tmp_path / "end", [[[("leave", "main", 1)]]])
    with pytest.raises(
        InputError, match=r"location Master thread: main ends at 1 ns, but has not begun; is the archive"
    ):
        read_measured(path, "main")
    path = archive(tmp_path / "task", [[within(PARALLEL, 1, 9, [("create", 1, 2)])]])
    with pytest.raises(InputError, match=r"traces.otf2: no loop, and no task that has ended$"):
        read_measured(path)
    for name in ("traces.def", "traces/0.evt", "traces.otf2"):
        for damage in (
            lambda data: data[: len(data) * 2 // 3],
            lambda data: data.replace(b"Master", b"\xff\xfe\xffter"),
        ):
            path = archive(
                tmp_path / f"{name}-{damage(b'Master')[:1]!r}", [[within("main", 1, 9, within("solve", 2, 4))]]
            )
            content = (path.parent / name).read_bytes()
            (path.parent / name).write_bytes(damage(content))
            if damage(content) != content:
                with pytest.raises(InputError) as refused:
                    read_measured(path, "main")
                assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seed", range(4))
def test_all_formats_give_the_planted_loop(seed: int, tmp_path: Path) -> None:
    """A random loop of several instances, each thread's iterations one after the other, in three formats."""
    random = np.random.default_rng(seed)
    n, threads, instances = (int(random.integers(low, high)) for low, high in ((3, 40), (1, 5), (1, 4)))
    planted: Rows = []
    now = 0
    for loop in range(instances):
        free = [now] * threads
        for first in range(n):
            thread = int(np.argmin(free)) if first >= threads else first
            end = free[thread] + int(random.integers(1, 10**6))
            planted.append((loop, thread, first, 1, 1, free[thread], end))
            free[thread] = end
        now = max(free)
    planted.sort()
    events = [
        ("X", "f", thread, begin / 1e3, (end - begin) / 1e3, {"iteration": k})
        for _, thread, k, _, _, begin, end in planted
    ]
    (tmp_path / "a.json").write_text(trace(*[events[k] for k in random.permutation(len(events))]))
    lines = [f"{k},{end - begin},{thread}" for _, thread, k, _, _, begin, end in planted]
    (tmp_path / "a.csv").write_text("iteration,time_ns,thread\n" + "\n".join(lines))
    of_threads: list[list[Event]] = [[] for _ in range(threads)]
    for _, thread, k, _, _, begin, end in planted:
        of_threads[thread] += [("enter", "f", begin, k), ("leave", "f", end)]
    archive(tmp_path / "otf2", [of_threads])
    for name in ("a.json", "a.csv", "otf2"):
        found = imported(tmp_path / name, tmp_path / "m", region="f", force=True)
        assert found.chunks.drop(columns="run").to_records(index=False).tolist() == planted
        assert found.loops.iterations.tolist() == [n] * instances
        assert found.loops.threads.unique().tolist() == [min(n, threads)]


def test_a_simulated_loop_is_read_from_its_traces(tmp_path: Path) -> None:
    succeeds(
        "loop",
        "--n",
        60,
        "--cores",
        3,
        "--als",
        "gss",
        "--lengths",
        "gamma:cov=0.5",
        "--trace",
        "otf2,chrome",
        "--out",
        tmp_path / "l",
    )
    simulated = pd.read_parquet(tmp_path / "l" / "tasks.parquet").sort_values(["core", "start_ns"])
    for name in ("trace", "trace/trace.json"):
        found = imported(tmp_path / "l" / name, tmp_path / "m", region="job 0", force=True)
        for column, other in (("first", "task"), ("thread", "core"), ("begin_ns", "start_ns"), ("end_ns", "end_ns")):
            assert found.chunks[column].tolist() == simulated[other].tolist()


def test_the_command_writes_a_program_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("iteration,time_ms\n" + "".join(f"{k},{5 + k % 7}\n" for k in range(40)))
    ran = succeeds("measure", "--from", path, "--region", "sweep", "--out", tmp_path / "m")
    assert "source     csv" in ran.out
    assert (tmp_path / "m" / "measured.toml").exists()
    log = tmp_path / "one.swf"
    log.write_text("1 0 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n")
    done = bridge.simulate(str(log), als="ss", applications=str(tmp_path / "m" / "measured.toml"))
    assert done.jobs.iloc[0]["tasks"] == 40
    (tmp_path / "log").write_text(NO_CHUNKS)
    assert "no program is written" in succeeds("measure", "--from", tmp_path / "log", "--out", tmp_path / "n").err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "no program to measure; allowed: the program after --, or --from with a file"),
        (
            ["--region", "a", "--", "true"],
            "--region is a region of a file; allowed: the program after --, or --from with a file",
        ),
        (
            ["--from", "a", "--repeat", 2, "--", "true"],
            "--from reads a file, and runs no program; drop COMMAND and --repeat",
        ),
        (["--from", "a"], "a: no such file"),
    ],
)
def test_options_of_the_command(words: list[Any], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = twolevel("measure", "--out", "m", *words)
    assert (ran.code, ran.err.splitlines()) == (2, [f"twolevel: {line}"])


def test_sources_of_formats_are_those_of_records() -> None:
    assert FORMATS.keys() < set(SOURCES)
