"""Whatever a user gives that cannot be used: one clear line on stderr, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import pytest
from command_line import everything_in, twolevel

from als.techniques import TECHNIQUES
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
    ("words", "meant"),
    [
        ("run sampel --out out", "sample"),
        ("workload info empti.swf", "empty.swf"),
        ("run nois.swf --out out", "noise.swf"),
        ("run folder/fil --out out", "folder/file"),
        ("run sample --platform machine.tom --out out", "machine.toml"),
        ("run sample --bls polices.py:Short --out out", "policies.py"),
        ("run sample --bls policies.py:Shrt --out out", "Short"),
        ("study studi.toml --out out", "study.toml"),
        ("gantt foldr -o x.png", "folder"),
        ("rn sample", "run"),
        ("run sample --bsl sjf --out out", "--bls"),
    ],
)
def test_what_was_meant_is_said(shelf: Path, words: str, meant: str) -> None:
    for name in ("machine.toml", "study.toml"):
        (shelf / name).write_text("")
    (shelf / "policies.py").write_text('class Short:\n    name = "short"\n')
    ran = twolevel(*words.split())
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    found = re.search(r"(?:did you mean|Did you mean|Possible options:) '?([^ ,'?)]+)", ran.err)
    assert found, ran.err
    assert found[1] == meant


def test_nothing_is_guessed_where_nothing_is_near(shelf: Path) -> None:
    assert twolevel("run", "quite-another.log", "--out", "out").err == "twolevel: quite-another.log: no such file\n"


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
        (f"--als {'n' * 300}.py:X", f"no file '{'n' * 300}.py'"),  # longer than the name of any file
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
    refused(shelf, (command, "sample", "--out", "folder", "--force"), "result of twolevel")
    refused(shelf, (command, "sample", "--out", "noise.swf", "--force"), "result of twolevel")
    refused(shelf, (command, "sample", "--out", "folder/file/x"), "--out")
    refused(shelf, (command, "sample", "--out", "x" * 300), "--out")
    refused(shelf, (command, "sample", "--out", "/proc/x"), "--out")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls=", "--bls: empty"),
        ("--bls=fcfs,fcfs", "--bls: 'fcfs,fcfs' has one twice"),
        ("--als=static,4,static:chunk=4", "--als: 'static:chunk=4,static:chunk=4' has one twice"),
        ("--als=dynamic,4,ss: chunk = 4", "has one twice"),
        ("--als=fsc:h=1,sigma=2,fsc:sigma=2,h=1", "has one twice"),
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
    (here / "bad.py").write_text("class Foo: pass\n\nclass NoDecide:\n    name = 'no'\n")
    for option, name, said in (
        (
            "--bls",
            "other.py:X",
            "--bls: other.py:X: int, which has no name; allowed: a policy: a name, and keys(jobs), scored",
        ),
        (
            "--bls",
            "bad.py:Foo",
            "--bls: bad.py:Foo: Foo, which has no name; allowed: a policy: a name, and keys(jobs), scored",
        ),
        (
            "--bls",
            "bad.py:NoDecide",
            "--bls: bad.py:NoDecide has no keys(jobs), no scored(jobs) and no decide(view); allowed",
        ),
        ("--als", "bad.py:Foo", "--als: bad.py:Foo: Foo; allowed: Technique, or a class with chunk(self, ask)"),
        ("--allocator", "bad.py:Foo", "--allocator: bad.py:Foo: Foo; allowed: Allocator"),
        ("--estimates", "bad.py:Foo", "bad.py:Foo is a Foo; allowed: a HistoryEstimator"),
        ("--observe", "bad.py:Foo", "--observe: bad.py:Foo: Foo; allowed: Observer, AdditionalData"),
    ):
        refused(here, (*RUN, option, name), said)
    # This one is the plug-in's fault, not the user's: exit code 1.
    ran = twolevel(*RUN, "--bls", "broken.py:X")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "SyntaxError" in ran.err
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls-timeout 9", "--bls-timeout: needs --bls-command"),
        (
            "--malleable half",
            "--malleable: 'half': no such file; allowed: SHARE, SHARE:MIN or SHARE:MIN:MAX, as 0.5:0.25:2",
        ),
        (
            "--malleable 0.5:0.25:2:3",
            "--malleable: '0.5:0.25:2:3': no such file; allowed: SHARE, SHARE:MIN or SHARE:MIN:MAX",
        ),
        (
            "--als recorded --no-trace --select all --stream --bls-command true",
            "--stream: --bls-command true: a scheduler is told of all jobs; allowed: --bls",
        ),
        (
            "--platform demand-response --no-trace --power --power-of working",
            "--power-of working: needs records of tasks, and there is no run without them (--no-trace, and no --tasks)",
        ),
    ],
)
def test_lines_that_name_the_option_and_what_is_allowed(here: Path, words: str, said: str) -> None:
    refused(here, (*RUN, *words.split()), said)


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("none -o x.png", "there is no such folder"),
        ("other -o x.png", "it has no run.json"),
        ("half -o x.png", "run.json: does not say which hosts"),
        ("list -o x.png", "run.json: is not a record"),
        ("noise -o x.png", "run.json: not valid JSON"),
        ("no-tasks -o x.png", "simulate again with --tasks"),
        ("spoilt -o x.png", "tasks.parquet: not a readable table"),
        ("RESULT -o x.bmp", "allowed: .png, .svg, .pdf"),
        ("RESULT -o x", "allowed: .png, .svg, .pdf"),
        ("RESULT -o x.png --jobs 9999", "--jobs: '9999': there is no such job; allowed: "),
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


LOOP = ("loop", "--n", 20, "--cores", 4, "--out", "out")


@pytest.fixture
def shop(here: Path) -> Path:
    """A folder of the user's files for the application level, none of which can be used as it is."""
    (here / "word.txt").write_text("1e9\n2e9  # two\n\nthree\n")
    (here / "negative.txt").write_text("1\n-2\n")
    (here / "nothing.txt").write_text("# GFLOP\n\n")
    (here / "speeds.csv").write_text("time_s,core,factor\n0,0,1\n5,0,fast\n")
    (here / "key.toml").write_text('[[application]]\nname = "a"\nmatch = { userr = 3 }\n')
    (here / "phase.toml").write_text('[[application]]\nname = "a"\nphases = [{ kind = "loop", sharee = 1 }]\n')
    (here / "als.toml").write_text('[[application]]\nname = "a"\nals = "gs"\n')
    (here / "lengths.toml").write_text('[default]\nlengths = "gama"\n')
    (here / "weights.toml").write_text(
        '[[application]]\nname = "a"\nmatch = { cores = "2-9" }\nals = "wf:weights=1/1"\n'
    )
    (here / "mine.py").write_text(
        "class Nothing: pass\n"
        "class Mine:\n    def chunk(self, ask): return 1\n"
        "class Zero:\n    def chunk(self, ask): return 0\n"
        "class Much:\n    def chunk(self, ask): return ask.remaining + 1\n"
        "class Word:\n    def chunk(self, ask): return 'all'\n"
        "class Raises:\n    def chunk(self, ask): raise ValueError('no\\nidea')\n"
        "class Arguments:\n    def chunk(self): return 1\n"
        "class Begin:\n    def begin(self, loop): raise KeyError('x')\n    def chunk(self, ask): return 1\n"
        "class Needs:\n    def __init__(self, x): pass\n    def chunk(self, ask): return 1\n"
    )
    kernel = "@technique_kernel\ndef {0}(n_tasks, n_cores, core, request, remaining, memo):\n    return {1}\n"
    (here / "kernels.py").write_text(
        "from als import Technique, technique_kernel\n"
        + kernel.format("zero", "0")
        + kernel.format("much", "remaining + 1")
        + 'ZERO, MUCH = Technique("zero", zero), Technique("much", much)\n'
    )
    (here / "arguments.py").write_text(
        "from als import technique_kernel\n@technique_kernel\ndef two(n_tasks, n_cores):\n    return 1\n"
    )
    return here


@pytest.mark.parametrize(
    ("als", "said"),
    [
        ("fsc:sigma=0", "technique fsc: sigma: 0; allowed: above 0"),
        ("fsc:sigma=-1", "technique fsc: sigma: -1; allowed: above 0"),
        ("fsc:h=-1e-6", "technique fsc: h: "),
        ("fsc:sigma=nan", "fsc:sigma: 'nan' is not a number"),
        ("fac-mu-sigma:mu=0", "technique fac-mu-sigma: mu: 0; allowed: above 0"),
        ("mfac:sigma=-0.1", "technique mfac: sigma: -0.1; allowed: 0 or more"),
        ("tap:mu=-1", "technique tap: mu: -1; allowed: above 0"),
        ("tap:alpha=inf", "tap:alpha: 'inf' is not a number"),
        ("bold:mu=0,sigma=1,h=1", "technique bold: mu: 0; allowed: above 0"),
        ("af:sigma=-1", "technique af: sigma: "),
        ("wf:weights=1.5/0.8/0.8/0.8", "technique wf: weights: the 4 weights sum to 3.9; allowed: 4"),
        ("wf:weights=-1/2/2/1", "technique wf: weights: '-1'"),
        ("gss:min=0", "technique gss: min: 0"),
        ("ss:chunk=0", "technique ss: chunk: 0"),
        ("pls:swr=2", "technique pls: swr: 2"),
        ("fiss:stages=1", "technique fiss: stages: 1"),
        ("rnd:low=5,high=2", "technique rnd: high: 2; allowed: 5"),
        ("static:round=x", "technique static: round: unknown round 'x'; known: "),
        ("gss:round=ceil,x=3", "unknown parameter of application technique gss 'x'; known: round, min"),
        ("select:gss", "1 candidates; allowed: two or more"),
        ("select:gss,nope", "unknown application technique 'nope'"),
        ("select:gss,fac,ss:chunk=0", "technique ss: chunk: 0"),
        ("select:gss,gss", "gss twice"),
        ("select:gss,fac,every=soon", "every: 'soon' is not a duration"),
        ("mine.py:None", "has no 'None'"),
        ("mine.py", "--als: 'mine.py': what of that file? allowed: FILE.py:NAME"),
        ("mine.py:Mine:x=3", "has no parameter 'x'"),
    ],
)
def test_techniques_that_cannot_be(shop: Path, als: str, said: str) -> None:
    refused(shop, (*RUN, "--als", als), said)
    refused(shop, (*LOOP, "--als", als), said)
    refused(shop, (*GRID, "--als", f"ss,{als}"), said)


def test_weights_are_for_jobs_of_so_many_cores(shop: Path) -> None:
    refused(shop, (*RUN, "--als", "wf:weights=1/1/1"), "technique wf: its weights are for 3 cores; job 1 has 1")
    refused(shop, (*LOOP, "--als", "wf:weights=1/1/1"), "technique wf: its weights are for 3 cores, not 4")
    said = "weights.toml: application[0].als: technique wf: its weights are for 2 cores; job "
    refused(shop, ("run", "sample", "--out", "out", "--applications", "weights.toml"), said)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--lengths", "gama:cov=1", "unknown distribution of task lengths 'gama'; known: gamma, "),
        ("--lengths", "gamma:cov=-1", "lengths gamma: cov: -1"),
        ("--lengths", "uniform:cov=1", "lengths uniform: cov: 1.0 is out of range; allowed: 0 to 0.57735"),
        ("--lengths", "gamma:x=1", "unknown parameter of lengths gamma 'x'; known: draw, cov"),
        ("--lengths", "file:word.txt", "word.txt: line 4: 'three' is not a number"),
        ("--lengths", "file:negative.txt", "negative.txt: line 2: '-2' is out of range"),
        ("--lengths", "file:nothing.txt", "nothing.txt: no numbers"),
        ("--lengths", "file:none.txt", "none.txt: no such file"),
        ("--lengths", "file:word.txt,unit=tons", "unknown unit of lengths 'tons'; known: "),
        ("--speeds", "sqare:period=1s", "unknown kind of core speeds 'sqare'; known: square, "),
        ("--speeds", "square", "square:period: is missing"),
        ("--speeds", "square:period=5s,low=-1", "square:low: -1"),
        ("--speeds", "late:cores=999,at=1s", "late:cores: core 999; allowed: 0 to "),
        ("--speeds", "trace:none.csv", "cannot be read"),
        ("--speeds", "trace:speeds.csv", "speeds.csv: line 3: "),
        ("--latency", "-1", "--latency: -1 is out of range"),
        ("--latency", "0.5", "--latency"),
        ("--latency", "1000000000001", "--latency"),
        ("--overhead", "-1", "--overhead: -1 is out of range"),
        ("--overhead", "1mm", "--overhead: '1mm' is no time; allowed: a number and ns, us, ms"),
        ("--speeds", "square:period=1s,cores=", "square:cores: empty; allowed"),
        ("--assignment", "mastr", "--assignment: unknown assignment 'mastr'; known: master, "),
    ],
)
def test_what_surrounds_a_technique_and_cannot_be(shop: Path, option: str, value: str, said: str) -> None:
    refused(shop, (*RUN, option, value), said)
    refused(shop, (*GRID, option, value), said)
    refused(shop, (*LOOP, option, value), said)


def test_of_an_option_given_twice_the_one_that_is_wrong_is_shown(shop: Path) -> None:
    refused(
        shop, (*RUN, "--tasks-per-core", 5, "--tasks-per-core=x"), "--tasks-per-core: 'x'; allowed: a whole number ("
    )


@pytest.mark.parametrize("lengths", ["exponential", "equal", "gamma:cov=0.5", "file:word.txt"])
def test_a_variation_that_is_of_no_use(shop: Path, lengths: str) -> None:
    (shop / "word.txt").write_text("1\n2\n")
    said = f"--variation: 0.25 is of no use to --lengths {lengths}, whose spread is its own; allowed: 0"
    for words in (RUN, LOOP):
        refused(shop, (*words, "--lengths", lengths, "--variation=0.25"), said)
    # A study knows where its files are.
    said = said.replace("word.txt", str(shop / "word.txt"))
    refused(shop, (*GRID, "--bls", "fcfs", "--als", "ss", "--lengths", lengths, "--variation=0.25"), said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "none.toml: no such file"),
        ("key", "key.toml: application[0].match.userr: unknown key 'userr'; known: user, "),
        ("phase", "phase.toml: application[0].phases[0].sharee: unknown key 'sharee'; known: share, "),
        ("als", "als.toml: application[0].als: unknown application technique 'gs'; known: gss, "),
        ("lengths", "lengths.toml: default.lengths: unknown distribution of task lengths 'gama'; known: gamma, "),
    ],
)
def test_a_map_that_is_none_shows_the_path_of_the_key(shop: Path, name: str, said: str) -> None:
    refused(shop, (*RUN, "--applications", f"{name}.toml"), said)
    refused(shop, (*GRID, "--applications", f"{name}.toml"), said)


@pytest.mark.parametrize(
    "words",
    [
        "--lengths gamma",
        "--speeds late:cores=1,at=1s",
        "--applications apps.toml",
        "--overhead 5",
        "--latency 5",
        "--assignment master",
        "--variation 0.25",
        "--tasks-per-core 8",
    ],
    ids=lambda words: words[:9],
)
def test_what_needs_an_application_level(here: Path, words: str) -> None:
    (here / "apps.toml").write_text('[default]\nals = "ss"\n')
    for command in (RUN, GRID):
        refused(
            here,
            (*command, "--als", "recorded", *words.split()),
            f"{words.split()[0]}: with --als recorded no application",
        )


@pytest.mark.parametrize("bls", ["fcfs", "sjf,fcfs", "expr:w/t", "multifactor:age=1"])
def test_a_slack_needs_a_policy_that_reads_deadlines(here: Path, bls: str) -> None:
    said = f"--slack 3: --bls {bls.replace(',', ', ')} reads no deadlines; allowed: edf"
    for command in (RUN, GRID) if "," not in bls else (GRID,):
        refused(here, (*command, "--bls", bls, "--slack", "3"), said)


def test_applications_of_another_program_may_lose_cores(here: Path) -> None:
    ran = twolevel(*RUN, "--als", "ss", "--als-command", "false", "--on-failure", "lose", "--out", "r")
    assert "--on-failure" not in ran.err


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        ("--on-failure lose", "--failures; "),
        ("--max-attempts 3", "--failures; "),
        ("--malleable 0.5 --resize mold --resize-cost 5", "a --resize that changes the width of running jobs; "),
        ("--malleable 0.5 --resize none --resize-cost 5", "a --resize that changes the width of running jobs; "),
    ],
)
def test_what_changes_nothing_without_another_option(here: Path, words: str, needs: str) -> None:
    *_, option, value = words.split()
    for command in (RUN, (*GRID, "--bls", "fcfs", "--als", "ss")):
        shown = option if option == "--resize-cost" else f"{option} {value}"
        refused(here, (*command, *words.split()), f"{shown}: needs {needs}")
    used = "--resize expand" if option == "--resize-cost" else "--failures mtbf:900d,mttr:1s"
    ran = twolevel(*RUN, "--select", "first:3", *words.split(), *used.split())
    assert ran.code == 0, ran


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine.py:Zero", "technique mine.py:Zero: chunk() gave 0; allowed: 1 to "),
        ("mine.py:Much", "technique mine.py:Much: chunk() gave "),
        ("mine.py:Word", "technique mine.py:Word: chunk() gave 'all'; allowed: 1 to "),
        ("mine.py:Raises", "technique mine.py:Raises: chunk() failed: ValueError: no idea"),
        ("mine.py:Arguments", "mine.py:Arguments: "),
        ("mine.py:Begin", "technique mine.py:Begin: begin() failed: KeyError: 'x'"),
        ("mine.py:Needs", "mine.py:Needs() cannot be made: TypeError"),
        ("kernels.py:ZERO", "application technique zero sent every core away with tasks left"),
        ("kernels.py:MUCH", "application technique much gave a chunk of "),
        ("arguments.py:X", "technique_kernel: two takes 2 arguments; allowed: n_tasks, n_cores, core, request, "),
    ],
)
def test_techniques_of_the_users_that_fail_are_named(shop: Path, name: str, said: str) -> None:
    # The plug-in's fault: exit code 1, but one line, and nothing is left.
    before = set(everything_in(shop))
    for words in (RUN, LOOP):
        ran = twolevel(*words, "--als", name)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), ran
        assert said in ran.err
    assert {path for path in everything_in(shop) if "__pycache__" not in path} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("word.txt --cores 4 --unit flop --out out", "word.txt: line 4: 'three' is not a number"),
        ("nothing.txt --cores 4 --out out", "nothing.txt: no numbers"),
        ("--n 0 --cores 4 --out out", "--n: 0 is out of range; allowed: 1 to "),
        ("--n 9 --cores 0 --out out", "--cores: 0 is out of range; allowed: 1 to "),
        ("--chunks --n 0 --cores 4 --als gss", "--n: 0 is out of range"),
        ("--chunks --n 9 --cores 4 --als wf:weights=1/1", "technique wf: its weights are for 2 cores, not 4"),
        ("--chunks --n 9 --cores 4 --als select:gss,fac", "chooses among techniques"),
    ],
)
def test_loops_that_cannot_be(shop: Path, words: str, said: str) -> None:
    refused(shop, ("loop", *words.split()), said)


@pytest.mark.parametrize("als", TECHNIQUES)
def test_one_core_and_fewer_tasks_than_cores_are_no_mistake(here: Path, als: str) -> None:
    for n, cores in ((1, 1), (7, 1), (1, 8), (5, 8)):
        ran = twolevel("loop", "--chunks", "--n", n, "--cores", cores, "--als", als)
        assert (ran.code, ran.err) == (0, "")
        assert sum(map(int, ran.out.split())) == n
