"""Whatever a user gives that cannot be used: one clear line on stderr, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from command_line import everything_in, twolevel

from bls import sample_path

RUN = ("run", "sample", "--select", "first:5", "--out", "out")
GRID = ("grid", "sample", "--select", "first:5", "--out", "out")
POOL = ("--coupling", "pool")


@pytest.fixture
def shelf(here: Path) -> Path:
    """A folder of files that are no workload."""
    packed = gzip.compress(sample_path().read_bytes())
    noise = random.Random(7).randbytes(3000)
    (here / "noise.swf").write_bytes(noise)
    (here / "empty.swf").write_bytes(b"")
    (here / "comments.swf").write_text("; Version: 2.2\n;\n")
    (here / "blank.swf").write_text("\n\n")
    (here / "cut.swf.gz").write_bytes(packed[:-200])
    (here / "damaged.swf.gz").write_bytes(packed[:1000] + noise + packed[4000:])
    (here / "nothing.gz").write_bytes(b"\x1f\x8b")
    (here / "folder").mkdir()
    (here / "folder" / "file").write_text("not ours")
    return here


def refused(folder: Path, words: tuple[object, ...], *said: str) -> None:
    before = everything_in(folder)
    ran = twolevel(*words)
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.startswith("twolevel: "), ran.err
    assert ran.err.count("\n") == 1, ran.err
    for part in said:
        assert part in ran.err
    assert everything_in(folder) == before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.swf", "no such file"),
        ("two\nlines.swf", "no such file"),
        ("", "no such file"),
        ("folder", "is a directory"),
        ("folder/file/x", "cannot be read"),
        ("empty.swf", "is empty"),
        ("comments.swf", "no valid job"),
        ("blank.swf", "no valid job"),
        ("noise.swf", "no valid job"),
        ("cut.swf.gz", "truncated"),
        ("nothing.gz", "truncated"),
        ("damaged.swf.gz", "damaged"),
    ],
)
@pytest.mark.parametrize("command", ["run", "grid", "workload info"])
def test_a_workload_that_is_none(shelf: Path, command: str, name: str, said: str) -> None:
    target = () if command == "workload info" else ("--out", "out")
    refused(shelf, (*command.split(), name, *target), said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls sfj", "--bls: unknown batch policy 'sfj'; known: sjf, "),
        ("--als gs", "--als: unknown application technique 'gs'; known: gss, "),
        ("--als record", "known: recorded, "),
        ("--allocator low", "--allocator: unknown allocator 'low'; known: lowest, "),
        ("--coupling inlin", "--coupling: unknown coupling 'inlin'; known: inline, "),
        ("--socket unx", "--socket: unknown socket 'unx'; known: unix, "),
        ("--oversize clam", "'clam'; known: clamp, "),
        ("--varation 1", "--variation"),
        ("--bls none.py:X", "no file 'none.py'"),
    ],
)
def test_an_unknown_name_gets_the_known_ones_nearest_first(here: Path, words: str, said: str) -> None:
    refused(here, (*RUN, *words.split()), said)


def test_an_unknown_command_gets_the_nearest(here: Path) -> None:
    refused(here, ("rum", "sample"), "'rum'", "run")
    refused(here, ("workload", "inof", "sample"), "'inof'", "info")


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--variation", ["nan", "inf", "-inf", "1e400", "-0.1", "10.1", "x", ""]),
        ("--seed", ["-1", "1.5", "x", str(2**64), "9" * 5000]),
        ("--tasks-per-core", ["0", "-1", "1e9", "100000001", "9" * 40]),
        ("--overhead", ["-1", "0.5", "3600000000001", "9" * 40]),
        ("--slack", ["nan", "inf", "-1", "1e7", "x"]),
        ("--workers", ["0", "-1", "1025", "x"]),
        ("--als-timeout", ["0", "-1", "nan", "inf", "x"]),
        ("--als-command", ["", '"', "a-program-that-does-not-exist -x"]),
        ("--platform", ["none.toml", "."]),
    ],
)
def test_numbers_and_values_out_of_range(here: Path, option: str, values: list[str]) -> None:
    for value in values:
        refused(here, (*RUN, *POOL, option, value), option if option != "--platform" else value)


@pytest.mark.parametrize(
    "selection",
    [
        *("", "x", "all:1", "first", "first:0", "first:-1", "first:x", "window:1d", "window:0+0", "window:9d+1h"),
        *("busiest:", "busiest:xx", "busiest:0h", "busiest:nan", "busiest:99999999999d"),
    ],
)
def test_a_selection_that_is_none_or_selects_nothing(here: Path, selection: str) -> None:
    refused(here, ("run", "sample", "--select", selection, "--out", "out"), "--select")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "hosts"),
        ("[platform]\nhostz = 3\n", "platform: unknown key"),
        ("x", "not valid TOML"),
        ("hosts = 3", "hosts"),
        ("[[hosts]]\ncount = 0\ncores = 1\nspeed_gflops = 1\n", "hosts[0].count"),
        ("[[hosts]]\ncount = 1\ncores = 0\nspeed_gflops = 1\n", "hosts[0].cores"),
        ("[[hosts]]\ncount = 1\ncores = 1.0\nspeed_gflops = 1\n", "hosts[0].cores"),
        ("[[hosts]]\ncount = 1\ncores = 1\nspeed_gflops = nan\n", "hosts[0].speed_gflops"),
        ("[[hosts]]\ncount = 1\ncores = 1\nspeed_gflops = 1e400\n", "hosts[0].speed_gflops"),
        ("[[hosts]]\ncount = 1\ncores = 1\n", "hosts[0].speed_gflops: missing"),
        ("[[hosts]]\ncount = 1\ncores = 1\nspeed_gflop = 1\n", "hosts[0].speed_gflop: unknown key"),
        (f"[[hosts]]\ncount = {10**30}\ncores = 1\nspeed_gflops = 1\n", "hosts[0].count"),
        (
            "[[hosts]]\ncount = 1\ncores = 1\nspeed_gflops = 1\n" * 2 + "[network]\nlatency_ns = -1\n",
            "network.latency_ns",
        ),
        (
            "[[hosts]]\ncount = 1\ncores = 1\nspeed_gflops = 1\n[network]\ntopology = 'ful'\n",
            "network.topology: unknown topology 'ful'; known: full",
        ),
    ],
)
def test_a_platform_that_is_none_shows_the_path_of_the_key(here: Path, text: str, path: str) -> None:
    (here / "p.toml").write_text(text)
    refused(here, (*RUN, "--platform", "p.toml"), f"p.toml: {path}")


def test_options_that_do_not_go_together(here: Path) -> None:
    refused(here, (*RUN, "--als-command", "true"), "--als-command needs --coupling pool or process")
    refused(here, (*RUN, "--als", "recorded", "--tasks"), "--tasks")
    refused(here, (*RUN, "--allocator", "given"), "requested=")


def test_arguments_that_are_missing_or_too_many(here: Path) -> None:
    refused(here, ("run", "sample"), "--out")
    refused(here, ("run", "--out", "out"), "WORKLOAD")
    refused(here, ("platform", "x"), "x")
    refused(here, ("gantt", "r"), "output")


@pytest.mark.parametrize("command", ["run", "grid"])
def test_a_target_that_cannot_be_had(shelf: Path, command: str) -> None:
    refused(shelf, (command, "sample", "--out", ""), "--out: empty")
    refused(shelf, (command, "sample", "--out", "folder"), "folder exists")
    refused(shelf, (command, "sample", "--out", "folder", "--force"), "not a result of twolevel")
    refused(shelf, (command, "sample", "--out", "noise.swf", "--force"), "not a result of twolevel")
    refused(shelf, (command, "sample", "--out", "folder/file/x"), "--out")
    refused(shelf, (command, "sample", "--out", "x" * 300), "--out")
    refused(shelf, (command, "sample", "--out", "/proc/x"), "--out")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls=", "--bls: empty"),
        ("--bls=fcfs,fcfs", "--bls: 'fcfs,fcfs' has one twice"),
        ("--bls=fcfs,sfj", "known: sjf, "),
        ("--als=ss,gs", "known: gss, "),
        ("--variation=0,x", "--variation"),
        ("--variation=0,nan", "--variation: nan"),
        ("--variation=0,0.0", "has one twice"),
        ("--workers=0", "--workers: 0"),
    ],
)
def test_a_grid_that_is_none(here: Path, words: str, said: str) -> None:
    refused(here, (*GRID, words), said)


def test_plug_ins_that_are_none(here: Path) -> None:
    (here / "broken.py").write_text("x = (\n")
    (here / "other.py").write_text("X = 3\n")
    refused(here, (*RUN, "--bls", "other.py:Y"), "has no 'Y'")
    # These two are the plug-in's fault, not the user's: exit code 1.
    for name, said in (("broken.py:X", "SyntaxError"), ("other.py:X", ": int; allowed: BatchPolicy")):
        ran = twolevel(*RUN, "--bls", name)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert said in ran.err
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("none -o x.png", "there is no such folder"),
        ("other -o x.png", "it has no run.json"),
        ("half -o x.png", "run.json: does not say which hosts"),
        ("list -o x.png", "run.json: is not a record"),
        ("noise -o x.png", "run.json: cannot be read"),
        ("no-tasks -o x.png", "simulate again with --tasks"),
        ("spoilt -o x.png", "tasks.parquet: not a readable table"),
        ("RESULT -o x.bmp", "allowed: .png, .svg, .pdf"),
        ("RESULT -o x", "allowed: .png, .svg, .pdf"),
        ("RESULT -o x.png --jobs 9999", "nothing to draw"),
        ("RESULT -o x.png --jobs a", "--jobs: 'a'"),
        ("RESULT -o x.png --jobs 5-3", "--jobs: '5-3'"),
        ("RESULT -o x.png --cores 999-1000", "the machine has cores 0 to 255"),
        ("RESULT -o x.png --cores -1", "--cores"),
        ("RESULT -o other/x.png/y.png", "cannot write the figure"),
    ],
)
def test_a_chart_that_cannot_be_drawn(here: Path, result: Path, words: str, said: str) -> None:
    for name, record in (("half", "{}"), ("list", "[]"), ("noise", "}"), ("other", None)):
        (here / name).mkdir()
        if record is not None:
            (here / name / "run.json").write_text(record)
    (here / "other" / "x.png").write_text("a file, not a folder")
    for name in ("no-tasks", "spoilt"):
        (here / name).mkdir()
        (here / name / "run.json").write_bytes((result / "run.json").read_bytes())
    (here / "spoilt" / "tasks.parquet").write_text("spoilt")
    refused(here, ("gantt", *(result if word == "RESULT" else word for word in words.split())), said)
