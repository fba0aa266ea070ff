"""Measured programs: what the tool records is what the program notes by hand, however the program ends; loops in Python."""

import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Ran, succeeds, twolevel
from pages import ROOT, blocks

from bridge.measure import MeasurementTables, measuring, read_measurement
from bridge.measure.folder import TABLES
from bridge.measure.in_python import MeasuredLoop
from bridge.measure.openmp import installed_openmp
from bridge.measure.records import dependences
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent
HEADER = ROOT / "bridge" / "measure" / "native"
PAGE = ROOT / "docs" / "how-to" / "measure.md"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A function that compiles toy_loops.c with further words, once for each."""
    folder, made = tmp_path_factory.mktemp("toy"), dict[tuple[str, ...], str]()

    def compiled(*words: str) -> str:
        if words not in made:
            made[words] = str(folder / f"toy{len(made)}")
            given = ["-fopenmp", "-g", "-O1"] if not words else [*words]
            subprocess.run(["cc", *given, str(HERE / "toy_loops.c"), "-o", made[words]], check=True)
        return made[words]

    return compiled


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_MAX_ACTIVE_LEVELS", "2")
    monkeypatch.delenv("OMP_SCHEDULE", raising=False)


def measured(*words: object, options: tuple[str, ...] = ()) -> tuple[Ran, MeasurementTables]:
    ran = twolevel("measure", "--out", "m", *options, "--", *words)
    return ran, read_measurement("m")


def remarks(found: MeasurementTables) -> str:
    return "\n".join(found.record.remarks)


def check_structure(found: MeasurementTables) -> None:
    """Chunks of a loop are within it, those of a thread follow each other, and waits follow them."""
    chunks = found.chunks.merge(found.loops, on=["run", "loop"], suffixes=("", "_loop"))
    assert (chunks.begin_ns >= chunks.begin_ns_loop).all()
    assert (chunks.end_ns <= chunks.end_ns_loop).all()
    assert (chunks.thread < chunks.threads).all()
    assert (found.loops.sort_values(["run", "loop"]).groupby("run").begin_ns.diff().dropna() >= 0).all()
    for _, of_thread in found.chunks.groupby(["run", "loop", "thread"]):
        assert (of_thread.begin_ns.to_numpy()[1:] >= of_thread.end_ns.to_numpy()[:-1]).all()
    last = found.chunks.groupby(["run", "loop", "thread"], as_index=False).end_ns.max()
    waits = found.waits.merge(last, on=["run", "loop", "thread"], suffixes=("", "_chunk"))
    assert (waits.begin_ns >= waits.end_ns_chunk).all()


N = 200

#: The program's word, OMP_SCHEDULE, and the sizes of its chunks: of all, or of each thread.
SCHEDULES = [
    ("up", "static", [100, 100]),
    ("up", "static,7", None),
    ("up", "dynamic,1", [1] * 200),
    ("up", "dynamic,7", [7] * 28 + [4]),
    ("up", "guided", None),
    ("up", "trapezoidal", None),
    ("up", "static_steal,2", None),
    ("down", "static", [100, 100]),
    ("down", "dynamic,7", [7] * 28 + [4]),
    ("down", "guided,3", None),
    ("taskloop", "static", None),
]


@pytest.mark.parametrize(("word", "schedule", "sizes"), SCHEDULES)
def test_chunks_are_those_that_the_program_notes_by_hand(
    toy: Any, word: str, schedule: str, sizes: list[int] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    ran, found = measured(toy(), word, N, options=("--schedules", schedule))
    assert ran.code == 0
    notes = np.array([line.split() for line in capfd.readouterr().out.splitlines()], np.int64)
    assert len(notes) == N
    check_structure(found)
    chunks = found.chunks
    assert found.loops.iterations.tolist() == [N]
    assert found.loops.threads.tolist() == [2]
    parts = [np.arange(first, first + n) for first, n in zip(chunks["first"], chunks.iterations, strict=True)]
    assert sorted(np.concatenate(parts)) == list(range(N))
    for part, thread in zip(parts, chunks.thread, strict=True):
        assert (notes[part, 1] == thread).all()
    # There is a begin of the run with which all iterations are within their chunks.
    earliest = max(notes[part, 3].max() - end for part, end in zip(parts, chunks.end_ns, strict=True))
    latest = min(notes[part, 2].min() - begin for part, begin in zip(parts, chunks.begin_ns, strict=True))
    assert earliest <= latest
    if sizes is not None:
        assert chunks.sort_values("first").iterations.tolist() == sizes


def test_the_macros_of_our_header_measure_what_the_runtime_does_not_see(
    toy: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    program = toy("-fopenmp", "-DWITH_HEADER", f"-I{HEADER}")
    ran, found = measured(program, "own", N)
    notes = np.array([line.split() for line in capfd.readouterr().out.splitlines()], np.int64)
    assert ran.code == 0
    check_structure(found)
    assert (found.regions.name.tolist(), found.loops.iterations.tolist()) == (["forces"], [N, N])
    chunks = found.chunks[found.chunks.loop == 1]  # the notes are of the second
    assert chunks.iterations.tolist() == [5] * 40
    assert sorted(chunks["first"]) == list(range(0, N, 5))
    threads = {tuple(notes[first : first + 5, 1]) for first in chunks["first"][chunks.thread == 0]}
    assert len(threads) == 1
    alone = subprocess.run([program, "own", str(N)], capture_output=True, text=True, check=True)
    assert len(alone.stdout.splitlines()) == N  # without twolevel measure, it is a loop as any other


def test_tasks_have_their_dependences_creators_and_times(toy: Any) -> None:
    _, found = measured(toy(), "tasks")
    tasks = found.tasks
    assert found.regions.kind.tolist() == ["tasks"]
    assert tasks.creator.tolist() == [-1] * 5 + [4]
    assert (tasks.created_ns <= tasks.begin_ns).all()
    assert tasks.run_ns.sum() > 0
    pairs = set(zip(found.dependences.before, found.dependences.after, strict=True))
    assert pairs == {(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)}
    for before, after in pairs:
        assert tasks.end_ns[before] <= tasks.begin_ns[after]
    assert tasks.run_ns[4] <= tasks.end_ns[4] - tasks.begin_ns[4] - tasks.run_ns[5]


def _ordered(accesses: list[tuple[object, int, int]]) -> set[tuple[int, int]]:
    # Slow: every pair of tasks with common data that may not run in any order.
    pairs = set()
    for at, (data, task, kind) in enumerate(accesses):
        for other, before, other_kind in accesses[:at]:
            if data == other and task != before and not (kind == other_kind and kind in (1, 4, 7)):
                pairs.add((before, task))
    return pairs


def _closed(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs = pairs | more
    return pairs


@pytest.mark.parametrize("seed", range(20))
def test_dependences_are_those_of_every_pair_of_accesses(seed: int) -> None:
    random = np.random.default_rng(seed)
    accesses = []
    for task in range(12):
        for data in random.choice(3, random.integers(1, 3), replace=False).tolist():
            accesses.append(((task % 2, data), task, int(random.choice([1, 2, 3, 4, 7]))))
    assert _closed(set(dependences(accesses))) == _closed(_ordered(accesses))


def test_runs_are_interleaved_and_loops_that_do_not_follow_the_schedule_are_named(toy: Any) -> None:
    ran, found = measured(
        toy(), "mixed", options=("--schedules", "dynamic,5; static", "--threads", "1,2", "--repeat", "2")
    )
    runs = found.runs
    assert list(zip(runs.schedule, runs.threads, runs.repeat, strict=True)) == [
        (schedule, threads, repeat) for repeat in (0, 1) for threads in (1, 2) for schedule in ("dynamic,5", "static")
    ]
    assert (runs.begin_ns.to_numpy()[1:] >= runs.end_ns.to_numpy()[:-1]).all()
    assert (runs.quiet_ns > 0).all()
    check_structure(found)
    names = found.regions.name.tolist()
    assert len(names) == 3
    assert all(name.startswith("toy_loops.c:") for name in names)
    assert (
        f"loops that do not follow OMP_SCHEDULE, as they have no schedule(runtime): {names[1]}, {names[2]}" in ran.err
    )
    overhead, clock = found.record.overhead, found.record.clock
    assert overhead["event_ns"] > 0
    assert 0 < overhead["share"] <= 1
    assert (clock["name"], clock["resolution_ns"]) == ("CLOCK_MONOTONIC", 1)
    assert os.uname().nodename not in Path("m/measurement.json").read_text()
    assert set(found.record.affinity) == {"0", "1"}


def test_the_programs_input_output_and_exit_code_are_as_without(toy: Any) -> None:
    command = [sys.executable, "-m", "bridge.cli", "measure", "--out", "m", "--", toy(), "print", "3"]
    alone = subprocess.run(command[-3:], input="5\n", capture_output=True, text=True, check=False)
    ran = subprocess.run(command, input="5\n", capture_output=True, text=True, check=False)
    assert (alone.returncode, ran.returncode) == (3, 1)
    assert ran.stdout.startswith(alone.stdout)
    assert ran.stderr.splitlines() == [
        *alone.stderr.splitlines(),
        "measurement: m",
        f"twolevel: run 0: {toy()} ended with exit code 3; what was measured until then is in m",
    ]
    assert read_measurement("m").runs.exit_status.tolist() == [3]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_of_a_program_that_is_ended_by_a_signal_everything_before_is_kept(toy: Any, number: signal.Signals) -> None:
    ran, found = measured(toy(), "end", int(number), options=("--repeat", "3"))
    assert ran.code == 1
    assert f"was ended by signal {int(number)} ({number.name}); what was measured until then is in m" in ran.err
    assert found.runs.exit_status.tolist() == [-number]  # the last run
    by_loop = found.chunks.groupby("loop").iterations.sum()
    assert by_loop[0] == 100
    assert 40 <= by_loop[1] < 100
    assert "chunks and tasks that had not ended when the program did are left out: " in remarks(found)
    check_structure(found)


def test_a_fork_is_not_measured_and_works(toy: Any) -> None:
    ran, found = measured(toy(), "fork")
    assert ran.code == 0  # the program's: its child has executed its loop
    assert found.loops.iterations.tolist() == [10, 20]
    assert found.chunks.groupby("loop").iterations.sum().tolist() == [10, 20]
    assert "OpenMP in a forked process was not measured" in remarks(found)


def test_threads_that_share_a_processor_are_noted(toy: Any) -> None:
    core = min(os.sched_getaffinity(0))
    _, found = measured("taskset", "-c", core, toy(), "up", 20)
    assert found.record.affinity == {"0": [core], "1": [core]}
    assert f"2 threads may use only 1 processors (OMP_PROC_BIND, taskset): [{core}]" in remarks(found)


def test_the_loops_of_several_processes_are_numbered_together(toy: Any) -> None:
    _, found = measured("sh", "-c", f"{toy()} up 5; exec {toy()} up 7")
    assert found.loops.iterations.tolist() == [5, 7]
    assert found.chunks.groupby("loop").iterations.sum().tolist() == [5, 7]
    assert found.record.remarks == ["2 processes used OpenMP; their loops are numbered together"]


def test_nested_regions_are_separate_loops(toy: Any) -> None:
    _, found = measured(toy(), "nested")
    assert sorted(found.loops.iterations) == [4, 10, 10, 10, 10]
    assert sorted(found.loops.threads) == [1, 1, 2, 2, 2]
    assert "parallel regions are nested" in remarks(found)
    check_structure(found)
    outer = found.loops[found.loops.iterations == 4].iloc[0]
    inner = found.loops[found.loops.iterations == 10]
    assert (inner.begin_ns >= outer.begin_ns).all()
    assert (inner.end_ns <= outer.end_ns).all()


def test_of_very_many_chunks_several_are_merged(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -DTWOLEVEL_WHOLE=64u -DTWOLEVEL_STEP_BITS=5")
    _, found = measured(toy(), "cheap", 100_000)
    chunks = found.chunks
    assert (chunks.iterations.sum(), chunks.chunks.sum()) == (100_000, 100_000)
    assert chunks.groupby("thread").size().max() < 64 + 32 * 13
    most = chunks[chunks.thread == chunks.thread[chunks.chunks.idxmax()]]
    assert (most.chunks.iloc[:64] == 1).all()
    assert (np.diff(most.chunks.iloc[64:-1]) >= 0).all()
    assert set(most.chunks.iloc[64:-1]) <= {2**k for k in range(1, 17)}
    assert "chunks are in rows of several" in remarks(found)
    check_structure(found)


def test_a_clock_that_goes_back_is_noted_and_no_time_does(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Path("clock.so").absolute()
    subprocess.run(["cc", "-shared", "-fPIC", str(HERE / "toy_clock.c"), "-o", str(library)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    _, found = measured(toy(), "up", N, options=("--schedules", "dynamic,2"))
    assert "the clock went back " in remarks(found)
    assert found.chunks.iterations.sum() == N


#: Words of the compiler and of the program, and the line.
NOTHING = [
    (["-Wno-unknown-pragmas"], "up", "nothing was measured; toy.* has called no OpenMP runtime that is a library; "),
    (["-fopenmp", "-static"], "up", "nothing was measured; toy.* is linked statically; twolevel_measure.h can "),
    (
        ["-fopenmp", "-Wl,--push-state,-Bstatic,--whole-archive", "-lgomp", "-Wl,--pop-state", "-ldl"],
        "up",
        "nothing was measured; toy.* has called no OpenMP runtime that is a library; ",
    ),
    ([], "inlined", "nothing was measured; parallel regions without loops of the runtime: toy_loops.c:[0-9]+; "),
    ([], "", "nothing was measured; toy.* has called no OpenMP runtime"),
]


@pytest.mark.parametrize(("words", "word", "line"), NOTHING)
def test_a_program_in_which_nothing_can_be_measured(toy: Any, words: list[str], word: str, line: str) -> None:
    ran = twolevel("measure", "--out", "m", "--", toy(*words), word, 5)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    with pytest.raises(InputError, match=line):
        raise InputError(ran.err.removeprefix("twolevel: ").strip())
    assert not Path("m").exists()


REFUSED = [
    (["--", "./nothing"], "measure: './nothing' is not found; allowed: a program and its arguments"),
    (["--", "./text"], "measure: './text' is no program; allowed: a program and its arguments"),
    ([], "Missing argument 'COMMAND...': The program and its arguments, after --; example: twolevel measure "),
    (["--schedules", "static; fast", "--", "true"], "--schedules: 'fast'; allowed: static, dynamic, guided, "),
    (["--schedules", "static,0", "--", "true"], "--schedules: 'static,0'; allowed: static, "),
    (["--schedules", "static;static", "--", "true"], "--schedules: 'static;static' has a schedule twice; allowed: "),
    (["--threads", "2,0", "--", "true"], "--threads: '0'; allowed: numbers from 1 to 65535, separated by commas"),
    (["--repeat", "0", "--", "true"], "--repeat: 0 is out of range; allowed: 1 to 10000"),
]


@pytest.mark.parametrize(("words", "line"), REFUSED)
def test_wrong_command_lines(words: list[str], line: str) -> None:
    Path("text").write_text("a text")
    ran = twolevel("measure", "--out", "m", *words)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert ran.err.startswith(f"twolevel: {line}")


def test_an_interrupted_measurement_ends_the_program_and_writes_nothing() -> None:
    command = [
        sys.executable,
        "-m",
        "bridge.cli",
        "measure",
        "--out",
        "m",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 1000",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()  # ends when the program has closed its output
    assert (process.returncode, out, err) == (130, "", "twolevel: interrupted; nothing was written\n")
    assert not Path("m").exists()


def test_an_interrupt_while_the_program_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, words: Sequence[str], **options: Any) -> None:
            super().__init__(words, **options)
            if words[0] == "sleep":
                started.append(self)
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    assert twolevel("measure", "--out", "m", "--", "sleep", "1000").code == 130
    assert [process.returncode for process in started] == [-signal.SIGTERM]


def test_options_of_the_program_are_its_own(toy: Any) -> None:
    show = "import sys; print(sys.argv[1:])"
    words = ["--debug", "--help-all", "--force", "-h"]
    ran = subprocess.run(
        [sys.executable, "-m", "bridge.cli", "measure", "--out", "m", "--", sys.executable, "-c", show, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.splitlines()[0] == str(words)


def test_a_missing_runtime_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert installed_openmp().library.name.startswith("libomp")
    monkeypatch.setattr("bridge.measure.openmp._LLVM", tmp_path)
    ran = twolevel("measure", "--out", "m", "--", "true")
    assert ran.code == 2
    assert "needs LLVM's OpenMP runtime with omp-tools.h; Debian's package is libomp-19-dev" in ran.err


def _work(loop: MeasuredLoop, first: int) -> None:
    with loop.chunk(first, 10):
        sum(range(1000))


def _pooled(words: tuple[MeasuredLoop, int]) -> None:
    _work(*words)


@pytest.mark.parametrize("start", ["fork", "spawn", "threads"])
def test_loops_of_python_in_processes_and_threads(start: str) -> None:
    firsts = range(0, 100, 10)
    with measuring("m") as m:
        for name in ("a", "b", "a"):
            with m.loop(name, 100) as loop:
                if start == "threads":
                    with ThreadPoolExecutor(2) as pool:
                        list(pool.map(lambda first, loop=loop: _work(loop, first), firsts))
                else:
                    with get_context(start).Pool(2) as processes:
                        processes.map(_pooled, [(loop, first) for first in firsts], chunksize=1)
    found = read_measurement("m")
    check_structure(found)
    assert found.record.source == "python"
    assert (found.regions.name.tolist(), found.loops.region.tolist()) == (["a", "b"], [0, 1, 0])
    for _, chunks in found.chunks.groupby("loop"):
        assert sorted(chunks["first"]) == list(firsts)
    assert found.record.overhead["event_ns"] > 0


def test_chunks_outside_of_a_named_loop_are_left_out_with_a_remark() -> None:
    with measuring("m") as m, m.loop("named") as loop:
        _work(loop, 0)
        _work(m, 10)
    found = read_measurement("m")
    assert found.chunks["first"].tolist() == [0]
    assert found.record.remarks == ["1 chunks are left out, as they belong to no loop"]


def test_the_block_is_one_loop_if_none_is_named() -> None:
    with measuring("m") as m:
        for first in range(0, 30, 10):
            _work(m, first)
    found = read_measurement("m")
    assert (found.regions.name.tolist(), found.loops.iterations.tolist()) == (["loop"], [30])
    with pytest.raises(InputError, match="folder: m exists; choose another folder"), measuring("m"):
        raise AssertionError
    with pytest.raises(InputError, match="measuring: no chunk was measured"), measuring("n"):
        pass
    with pytest.raises(InputError, match="chunk: iterations: 0 is out of range"), measuring("n") as m, m.chunk(0, 0):
        raise AssertionError
    assert not Path("n").exists()
    assert json.loads(Path("m/measurement.json").read_text())["remarks"] == []
    with measuring("m", force=True) as m:
        _work(m, 0)


def test_the_page_does_what_it_says() -> None:
    Path("app.c").write_text(blocks(PAGE, "c")[0], encoding="utf-8")
    compiling, *measurements = blocks(PAGE, "text")[0].splitlines()
    subprocess.run(shlex.split(compiling), check=True)
    for line in measurements:
        succeeds(*shlex.split(line)[1:])
    assert len(read_measurement("several").runs) == 18
    Path("example.py").write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    runpy.run_path("example.py", run_name="__main__")
    assert read_measurement("loops").chunks.iterations.sum() == 200
    rows = dict(re.findall(r"^\| `(\w+)\.parquet` \|.*?\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    said = {name: re.findall(r"`(\w+)`", text) for name, text in rows.items()}
    assert said == {name: list(columns) for name, columns in TABLES.items()}
    finding = shlex.split(blocks(PAGE, "text")[2])
    found = subprocess.run([sys.executable, *finding[1:]], capture_output=True, text=True, check=True).stdout.strip()
    assert (Path(found) / "twolevel_measure.h").is_file()
