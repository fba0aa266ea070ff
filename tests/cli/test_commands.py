"""The commands at their best: what each prints, where, and that the same comes out of Python."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from typing import Annotated

import pandas as pd
import pytest
from command_line import twolevel
from pages import ROOT

import bridge
import traces
from bls import Platform, sample_path
from bls.machine.platform import parse_platform
from bridge.cli.app import _show_warnings
from bridge.options.bundles import bundled
from bridge.scenarios.options import ScenarioOptions
from traces.base.option import Panel

COMMANDS = (
    *(
        "run",
        "replay",
        "worker",
        "watch",
        "grid",
        "study",
        "repeat",
        "compare",
        "story",
        "loop",
        "graph",
        "workload info",
        "trace info",
        "trace cut",
        "trace convert",
    ),
    *("platform", "gantt", "power", "figures", "report", "doctor", "cite"),
)


@pytest.mark.parametrize("command", ["", *COMMANDS, "workload", "trace"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(here: Path, command: str, option: str) -> None:
    ran = twolevel(*command.split(), option)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: ")
    assert re.search(r"-h, --help +\S", ran.out)
    if command in COMMANDS:
        assert f"Example: twolevel {command}" in " ".join(ran.out.split())


def test_every_command_is_tested_here(here: Path) -> None:
    listed = twolevel("--help").out.partition("Commands:")[2]
    found = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
    assert set(found) == {command.split()[0] for command in COMMANDS}
    assert "..." not in listed  # a summary that was cut says nothing


def test_help_is_quick_because_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, bridge.cli; print([name for name in ('numpy', 'numba', 'pandas', 'rich') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version(here: Path) -> None:
    from importlib.metadata import version

    ran = twolevel("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"twolevel {version('twolevel')}\n", "")


def test_the_command_is_installed() -> None:
    script = Path(sys.executable).parent / "twolevel"
    assert subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "twolevel "
    )


def test_the_command_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "twolevel", "--version"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == twolevel("--version").out


def test_the_platform_is_the_default_one(here: Path) -> None:
    ran = twolevel("platform")
    assert (ran.code, ran.err) == (0, "")
    assert parse_platform(ran.out) == Platform()


def test_workload_info_as_text_and_as_json(here: Path) -> None:
    text = twolevel("workload", "info", "sample")
    assert (text.code, text.err) == (0, "")
    assert re.search(r"^jobs +320$", text.out, re.MULTILINE)
    assert "busiest day" in text.out
    ran = twolevel("workload", "info", sample_path(), "--json")
    assert (ran.code, ran.err) == (0, "")
    described = json.loads(ran.out)
    assert (described["jobs"], described["lines"], described["platform_cores"]) == (320, 320, 256)
    assert described["rejects"]["wider than the platform"] == 0


def test_what_does_not_fit_is_counted(here: Path) -> None:
    (here / "small.toml").write_text("[[hosts]]\ncount = 1\ncores = 100\nspeed_gflops = 100\n")
    words = ("workload", "info", "sample", "--platform", "small.toml", "--json")
    rejected = json.loads(twolevel(*words).out)
    clamped = json.loads(twolevel(*words, "--oversize", "clamp").out)
    wide = rejected["rejects"]["wider than the platform"]
    assert 0 < wide == clamped["clamped"]
    assert (rejected["jobs"], clamped["jobs"]) == (320 - wide, 320)


def test_data_on_stdout_words_on_stderr_and_the_seed_always(here: Path) -> None:
    ran = twolevel("run", "sample", "--select", "first:30", "--seed", 41, "--no-trace", "--out", "r")
    assert ran.code == 0
    assert re.search(r"^variation, seed +0, 41$", ran.out, re.MULTILINE)
    assert re.search(r"^makespan +\d", ran.out, re.MULTILINE)
    assert ran.err == "workload: 30 jobs selected; 320 lines, no rejects\nresults: r\n"
    ran = twolevel("grid", "sample", "--select", "first:30", "--seed", 41, "--workers", 1, "--out", "g")
    assert ran.code == 0
    assert len(re.findall(r"^(?:fcfs|edf|sjf) × ", ran.out, re.MULTILINE)) == 5 * 12  # measures of combinations
    assert ran.out.splitlines()[2].startswith("fcfs × static")
    assert "seed 41" in ran.err
    assert "g/results.parquet" in ran.err


def test_rejects_are_said(here: Path) -> None:
    (here / "w.swf").write_bytes(sample_path().read_bytes() + b"1 2 3\n 999 0 -1 0 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n")
    ran = twolevel("run", "w.swf", "--no-trace", "--out", "r")
    rejected = "malformed 1 (line 340: field 4 is missing), no run time 1"
    assert ran.err.startswith(f"workload: 320 jobs selected; 322 lines, rejected: {rejected}\n")
    assert json.loads((here / "r" / "run.json").read_text())["rejects"]["malformed"] == 1


def test_the_same_from_python(here: Path) -> None:
    words = ("--bls", "sjf", "--als", "gss", "--variation", 0.25, "--seed", 3, "--select", "first:60")
    assert twolevel("run", "sample", *words, "--overhead", 10**9, "--tasks", "--out", "r").code == 0
    result = bridge.simulate(
        sample_path(), bls="sjf", als="gss", variation=0.25, seed=3, select="first:60", overhead_ns=10**9
    )
    pd.testing.assert_frame_equal(pd.read_parquet("r/jobs.parquet"), result.jobs)
    pd.testing.assert_frame_equal(pd.read_parquet("r/tasks.parquet"), result.tasks)
    record = json.loads((here / "r" / "run.json").read_text())
    assert record["metrics"] == json.loads(json.dumps(dict(result.metrics)))
    traces.check_ledger(result.ledger)


def test_a_result_shows_itself(here: Path) -> None:
    result = bridge.simulate(sample_path(), als="ss", variation=0.1, seed=77, select="first:5")
    text, table = repr(result), result._repr_html_()
    assert text.startswith("<twolevel result: batch × application fcfs × ss, backfilling, allocator none, first-fit, ")
    assert "variation, seed 0.1, 77, " in text
    assert table.startswith("<table>")
    assert table.count("<tr>") == len(result.summary())
    for _, value in result.summary():
        assert value in text
        assert value in table
    recorded = bridge.simulate(sample_path(), als="recorded", select="first:5")
    assert "mean imbalance –" in repr(recorded)


def test_warnings_of_the_bridge_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("twolevel")
    before = list(log.handlers)
    try:
        _show_warnings()
        _show_warnings()  # a second call changes nothing
        logging.getLogger("twolevel.bridge").warning("a connection was refused: %s", "two\nlines")
        logging.getLogger("twolevel.bridge").info("not shown")
    finally:
        log.handlers[:] = before
    assert capsys.readouterr().err == "twolevel: a connection was refused: two lines\n"


def test_nobody_reads_stdout() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        ran = subprocess.run(
            [sys.executable, "-m", "bridge.cli", "workload", "info", "sample"],
            stdout=nobody,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (1, "")


def test_what_run_and_grid_share_is_the_same_in_both() -> None:
    # They are written once, as the fields of a dataclass.
    names = [f"--{one.name.replace('_', '-')}" for one in fields(ScenarioOptions)]
    assert len(names) == 48
    described = []
    for command in ("run", "grid"):
        text = re.sub(r"\n\n[A-Z].*:\n", "\n", twolevel(command, "--help").out.partition("Example:")[0])
        options = re.split(r" (?=--[a-z]|-h,)", " ".join(text.split()))
        by_name = {one.split(maxsplit=1)[0]: one for one in options}
        described.append({name: by_name[name] for name in names})
    assert described[0] == described[1]
    assert "[default: distributed]" in described[0]["--assignment"]


@pytest.mark.parametrize("command", ["run", "grid"])
def test_many_options_are_shown_by_what_they_are_about(command: str) -> None:
    text = twolevel(command, "--help").out
    panels = re.findall(r"^([A-Z].*):$", text, re.MULTILINE)
    assert panels == ["Arguments", *(one for one in Panel if command == "run" or one != Panel.TRACES)]
    blocks = dict(re.findall(r"^([A-Z].*):\n((?:  .*\n)+)", text, re.MULTILINE))
    options = {panel: re.findall(r"^  (--?[a-z-]+)", block, re.MULTILINE) for panel, block in blocks.items()}
    assert max(map(len, options.values())) <= 12
    assert set(options[Panel.OTHER]) <= {"--seed", "--seeds", "--config", "-h"}
    assert {"--bls", "--backfill"} <= set(options[Panel.BATCH])
    assert {"--als", "--variation"} <= set(options[Panel.APPLICATION])


def test_few_options_are_one_list() -> None:
    assert re.findall(r"^([A-Z].*):$", twolevel("story", "--help").out, re.MULTILINE) == ["Arguments", "Options"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("twolevel ru", ["run"]),
        ("twolevel workload fe", ["fetch"]),
        ("twolevel run sample --dec", ["--decision-cost", "--decisions"]),
        ("twolevel run sample --bls sj", ["sjf"]),
        ("twolevel run sample --coupling ", ["inline", "pool", "process"]),
        ("twolevel run sample --oversize c", ["clamp"]),
        ("twolevel grid sample --als gss,ts", ["gss,tss"]),
        ("twolevel loop --als aw", ["awf", "awf-b", "awf-c", "awf-d", "awf-e"]),
    ],
)
def test_a_shell_completes(line: str, offered: list[str]) -> None:
    asked = {"_TWOLEVEL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    script = Path(sys.executable).parent / "twolevel"
    ran = subprocess.run([script], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert (sorted(ran.stdout.split()), ran.stderr) == (offered, "")


def test_options_come_from_a_file_where_they_are_not_given(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "machine.toml").write_text(twolevel("platform").out)
    (here / "sub" / "my.toml").write_text(
        '[run]\nworkload = "sample"\nbls = "sjf"\nals = "gss"\nselect = "first:20"\n'
        "variation = 1\nbackfill = 2\ntrace = false\n"
        'platform = "machine.toml"\nspeeds = ["square:period=60s,low=0.5"]\n'
    )
    assert twolevel("run", "--config", "sub/my.toml", "--bls", "fcfs", "--out", "a").code == 0
    words = ("--bls", "fcfs", "--als", "gss", "--select", "first:20", "--variation", 1, "--backfill", 2, "--no-trace")
    words = (*words, "--platform", "sub/machine.toml", "--speeds", "square:period=60s,low=0.5")
    assert twolevel("run", "sample", *words, "--out", "b").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("a/jobs.parquet"), pd.read_parquet("b/jobs.parquet"))
    one, other = (json.loads((here / name / "run.json").read_text())["arguments"] for name in "ab")
    one["platform"] = other["platform"]
    assert one == other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('bsl = "sjf"', "my.toml: unknown option of twolevel run 'bsl'; known: bls, "),
        ('config = "my.toml"', "my.toml: unknown option of twolevel run 'config'"),
        ('tasks-per-core = "4"', "my.toml: tasks-per-core: '4'; allowed: a whole number"),
        ("variation = true", "my.toml: variation: True; allowed: a number"),
        ("[run]\ntrace = 3.5", "my.toml: [run] trace: 3.5; allowed: text"),
        ("speeds = [1]", "my.toml: speeds: [1]; allowed: a list of texts"),
        ("bls = ", "my.toml: not valid TOML"),
    ],
)
def test_a_file_of_options_that_is_wrong(here: Path, text: str, said: str) -> None:
    (here / "my.toml").write_text(text + "\n")
    ran = twolevel("run", "sample", "--config", "my.toml", "--out", "r")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"twolevel: {said}")
    assert "no such file" in twolevel("run", "sample", "--config", "your.toml", "--out", "r").err


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ('[run]\ntrace = "no"', (), "my.toml: [run] trace: unknown trace writer 'no'; known: "),
        ('bls = "sfj"', (), "my.toml: bls: unknown batch policy 'sfj'; known: sjf, "),
        ("[run]\noverhead = -1", (), "my.toml: [run] overhead: -1 is out of range; allowed: 0 to"),
        ('als = "recorded"\ntasks = true', (), "my.toml: tasks: with --als recorded there are no tasks"),
        ('allocator = "best-fti"\nals = "ss"', (), "my.toml: allocator: unknown allocator 'best-fti'; known: best-fit"),
        ('decision-cost = "50ms"', (), "my.toml: decision-cost: needs --charge-decisions"),
        ('platform = "machine.toml"', (), "my.toml: platform: "),
        ('coupling = "pol"', (), "my.toml: coupling: "),
        ("als-timeout = 0", (), "my.toml: als-timeout: 0"),
        # What the command line says is not the file's; nor is what only holds the letters of a value.
        ('bls = "sjf"', ("--bls", "sfj"), "--bls: unknown batch policy 'sfj'; known: sjf, "),
        ('als = "ss"', ("--select", "first:0"), "--select: 'first:0' is not a selection"),
    ],
)
def test_a_value_of_a_file_of_options_that_cannot_be(here: Path, text: str, words: tuple[str, ...], said: str) -> None:
    (here / "machine.toml").write_text("hosts = 3\n")
    (here / "my.toml").write_text(text + "\n")
    ran = twolevel("run", "sample", "--config", "my.toml", *words, "--out", "r")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith(f"twolevel: {said}")
    assert not (here / "r").exists()


TIMES = [
    ("run sample --select first:9", "--overhead 1500000 --latency 5000", "--overhead 1.5ms --latency 5us"),
    ("run sample --select first:9 --charge-decisions", "--decision-cost 60", "--decision-cost 1min --als-timeout 5m"),
    ("run sample --select first:9", "--als fsc:h=1e-6,sigma=0.02", "--als fsc:h=1us,sigma=20ms"),
    ("loop --n 40 --cores 4 --hosts 2", "--overhead 2000 --latency 0", "--overhead 2us --latency 0ms"),
    ("graph cholesky:tiles=3 --hosts 2 --network cm02 --cores 4", "--link-latency 2500", "--link-latency 2.5us"),
]


@pytest.mark.parametrize(("command", "bare", "with_units"), TIMES)
def test_times_are_given_with_a_unit_or_in_that_of_the_option(
    here: Path, command: str, bare: str, with_units: str
) -> None:
    def recorded(words: str, out: str) -> dict[str, object]:
        ran = twolevel(*command.split(), *words.split(), "--out", out)
        assert ran.code == 0, ran.err
        record = json.loads(next((here / out).glob("*.json")).read_text())
        arguments: dict[str, object] = record.get("arguments", record.get("options"))
        return arguments

    one, other = recorded(bare, "a"), recorded(with_units, "b")
    if "--als " in bare:  # it is recorded as it was written
        assert one.pop("als") != other.pop("als")
        pd.testing.assert_frame_equal(pd.read_parquet("a/jobs.parquet"), pd.read_parquet("b/jobs.parquet"))
    assert one == other


def test_times_in_files(here: Path) -> None:
    (here / "my.toml").write_text(
        'overhead = "1.5ms"\nlatency = 5000\nals-timeout = "1m"\ncoupling = "pool"\nselect = "first:9"\n'
    )
    assert twolevel("run", "sample", "--config", "my.toml", "--latency", "6us", "--out", "a").code == 0
    found = json.loads((here / "a" / "run.json").read_text())["arguments"]
    assert (found["overhead_ns"], found["latency_ns"], found["als_timeout_s"]) == (1_500_000, 6000, 60.0)
    (here / "my.toml").write_text('overhead = "soon"\n')
    ran = twolevel("run", "sample", "--config", "my.toml", "--out", "r")
    assert ran.err.startswith("twolevel: my.toml: overhead: 'soon' is no time; allowed: a number and ns, us, ms")
    assert ran.code == 2


@dataclass(frozen=True)
class Pair:
    left: Annotated[int, "the left one"] = 1
    right: Annotated[str, "the right one"] = "r"


def test_a_bundle_of_options_stands_for_its_fields() -> None:
    given: list[tuple[str, Pair, bool]] = []

    def command(*, first: str, pair: Pair, last: bool = False) -> None:
        given.append((first, pair, last))

    flat = bundled(command)
    found = signature(flat).parameters
    assert [(name, one.default) for name, one in found.items()][1:] == [("left", 1), ("right", "r"), ("last", False)]
    assert found["first"].default is found["first"].empty
    assert found["left"].annotation == Annotated[int, "the left one"]
    flat(first="f", left=2, right="s", last=True)
    assert given == [("f", Pair(2, "s"), True)]


@pytest.mark.parametrize("words", [(), ("workload",), ("trace",)])
def test_a_group_of_commands_alone_prints_its_help(words: tuple[str, ...]) -> None:
    ran = twolevel(*words)
    assert (ran.code, ran.out) == (2, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("Usage: ")
    assert lines[0].endswith(" ".join(["twolevel", *words, "[OPTIONS] COMMAND [ARGS]..."]))
    assert "Commands:" in lines
    assert len(lines) > 8
