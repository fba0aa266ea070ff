"""The commands at their best: what each prints, where, and that the same comes out of Python."""

import json
import logging
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
from command_line import succeeds, twolevel
from pages import ROOT
from tables import table_rows

from bls import Platform, sample_path
from bls.machine.platform import parse_platform
from bridge.cli.app import _show_warnings
from bridge.runs.page import run_page
from traces.base.options import Panel

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
        "measure",
        "calibrate",
    ),
    *("workload info", "trace info", "trace cut", "trace convert"),
    *("platform", "gantt", "metrics", "power", "figures", "table", "report", "doctor", "cite"),
)


def test_help(here: Path) -> None:
    for command in ("", *COMMANDS, "workload", "trace"):
        ran = twolevel(*command.split(), "--help")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Usage: ")
        assert re.search(r"-h, --help +\S", ran.out)
        if command in COMMANDS:
            assert f"Example: twolevel {command}" in " ".join(ran.out.split())
    assert twolevel("run", "-h") == twolevel("run", "--help")
    listed = twolevel("--help").out.partition("Commands:")[2]
    found = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
    assert set(found) == {command.split()[0] for command in COMMANDS}
    assert "..." not in listed  # a summary that was cut says nothing


def test_a_recorded_run_mentions_no_tasks(here: Path) -> None:
    Path("my.toml").write_text('workers = "none"\nsleep-after = "none"\npreset = "none"\nplatform = "none"\n')
    nothing = "--failures none --decision-cost none --workers none --limits none"
    words = f"run sample --select first:5 --als recorded {nothing} --config my.toml --trace none --out r"
    ran = succeeds(*words.split())
    assert "tasks" not in ran.out
    assert json.loads(Path("r/run.json").read_text())["arguments"]["failures"] is None
    assert "tasks" not in [metric.name for metric in run_page(Path("r")).main]


def test_help_is_quick_because_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, bridge.cli; print([name for name in ('numpy', 'numba', 'pandas', 'rich') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_of_the_installed_command_and_of_the_module(here: Path) -> None:
    said = f"twolevel {version('twolevel')}\n"
    ran = twolevel("--version")
    assert (ran.code, ran.out, ran.err) == (0, said, "")
    for command in ([Path(sys.executable).parent / "twolevel"], [sys.executable, "-m", "twolevel"]):
        run = subprocess.run([*command, "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert run.stdout == said


def test_the_platform_is_the_default_one(here: Path) -> None:
    ran = twolevel("platform")
    assert (ran.code, ran.err) == (0, "")
    assert parse_platform(ran.out) == Platform()


def test_what_does_not_fit_is_counted(here: Path) -> None:
    (here / "small.toml").write_text("[[hosts]]\ncount = 1\ncores = 100\nspeed_gflops = 100\n")
    words = ("workload", "info", "sample", "--platform", "small.toml", "--json")
    rejected = json.loads(twolevel(*words).out)
    clamped = json.loads(twolevel(*words, "--oversize", "clamp").out)
    wide = rejected["rejects"]["wider than the platform"]
    assert 0 < wide == clamped["clamped"]
    assert (rejected["jobs"], clamped["jobs"]) == (320 - wide, 320)


def test_data_on_stdout_words_on_stderr_and_the_seed_always(here: Path) -> None:
    ran = succeeds("run", "sample", "--select", "first:30", "--seed", 41, "--trace", "none", "--out", "r")
    assert re.search(r"^variation, seed +0, 41$", ran.out, re.MULTILINE)
    assert re.search(r"^makespan +\d", ran.out, re.MULTILINE)
    assert ran.err == "workload: 30 jobs selected; 320 lines, no rejects\nresults: r\n"
    ran = succeeds("grid", "sample", "--select", "first:3", "--bls", "fcfs", "--seed", 41, "--workers", 1, "--out", "g")
    assert len(re.findall(r"^fcfs × ", ran.out, re.MULTILINE)) == 5 * 4  # measures of techniques
    assert ran.out.splitlines()[2].startswith("fcfs × static")
    assert "seed 41" in ran.err
    assert "g/results.parquet" in ran.err


def test_rejects_are_said(here: Path) -> None:
    (here / "w.swf").write_bytes(sample_path().read_bytes() + b"1 2 3\n 999 0 -1 0 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n")
    ran = twolevel("run", "w.swf", "--trace", "none", "--out", "r")
    rejected = "malformed 1 (line 340: field 4 is missing), no run time 1"
    assert ran.err.startswith(f"workload: 320 jobs selected; 322 lines, rejected: {rejected}\n")
    assert json.loads((here / "r" / "run.json").read_text())["rejects"]["malformed"] == 1


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


@pytest.mark.parametrize("command", ["run", "grid"])
def test_many_options_are_shown_by_topic(command: str) -> None:
    first = twolevel(command, "--help").out
    shown = re.findall(r"^  (--?[a-z-]+)", first.partition("Options:")[2].partition("Example:")[0], re.M)
    assert len(shown) <= 21  # with --help itself
    assert re.fullmatch(rf"All \d+ options, by topic: twolevel {command} --help-all", first.splitlines()[-1])
    text = twolevel(command, "--help-all").out.partition("Example:")[0]
    assert all(panel.when in " ".join(text.split()) for panel in Panel if panel in text)
    panels = re.findall(r"^([A-Z].*):$", text, re.MULTILINE)
    left_out = {Panel.CLOCK} if command == "run" else {Panel.CLOCK, Panel.TRACES}
    assert panels == ["Arguments", *(one for one in Panel if one not in left_out)]
    blocks = dict(re.findall(r"^([A-Z].*):\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE))
    options = {panel: re.findall(r"^  (--?[a-z-]+)", block, re.MULTILINE) for panel, block in blocks.items()}
    assert max(map(len, options.values())) <= 12
    assert set(options[Panel.OTHER]) <= {"--seed", "--seeds", "--config", "-h"}
    assert {"--bls", "--backfill"} <= set(options[Panel.BATCH])
    assert {"--als", "--variation"} <= set(options[Panel.APPLICATION])
    assert re.findall(r"^([A-Z].*):$", twolevel("story", "--help").out, re.MULTILINE) == ["Arguments", "Options"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("twolevel workload fe", ["fetch"]),
        ("twolevel run sample --dec", ["--decision-cost", "--decisions"]),
        ("twolevel run sample --coupling ", ["inline", "pool", "process"]),
        ("twolevel grid sample --als gss,ts", ["gss,tss"]),
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
    succeeds("run", "--config", "sub/my.toml", "--bls", "fcfs", "--out", "a")
    words = (
        "--bls",
        "fcfs",
        "--als",
        "gss",
        "--select",
        "first:20",
        "--variation",
        1,
        "--backfill",
        2,
        "--trace",
        "none",
    )
    words = (*words, "--platform", "sub/machine.toml", "--speeds", "square:period=60s,low=0.5")
    succeeds("run", "sample", *words, "--out", "b")
    pd.testing.assert_frame_equal(pd.read_parquet("a/jobs.parquet"), pd.read_parquet("b/jobs.parquet"))
    one, other = (json.loads((here / name / "run.json").read_text())["arguments"] for name in "ab")
    one["platform"] = other["platform"]
    assert one == other


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "wrong_files"))
def test_a_file_of_options_that_is_wrong(here: Path, text: str, said: str) -> None:
    (here / "my.toml").write_text(text + "\n")
    ran = twolevel("run", "sample", "--config", "my.toml", "--out", "r")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"twolevel: {said}")
    assert "no such file" in twolevel("run", "sample", "--config", "your.toml", "--out", "r").err


@pytest.mark.parametrize(("text", "words", "said"), table_rows(__file__, "wrong_values"))
def test_a_value_of_a_file_of_options_that_cannot_be(here: Path, text: str, words: str, said: str) -> None:
    (here / "machine.toml").write_text("hosts = 3\n")
    (here / "my.toml").write_text(text + "\n")
    ran = twolevel("run", "sample", "--config", "my.toml", *words.split(), "--out", "r")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith(f"twolevel: {said}")
    assert not (here / "r").exists()


TIMES = [
    ("run sample --select first:9", "--overhead 1500000 --latency 5000", "--overhead 1.5ms --latency 5us"),
    ("run sample --select first:9 --coupling pool", "--decision-cost 60", "--decision-cost 1min --timeout 5m"),
    ("run sample --select first:9", "--als fsc:h=1e-6,sigma=0.02", "--als fsc:h=1us,sigma=20ms"),
    ("loop --n 40 --cores 4 --hosts 2", "--overhead 2000 --latency 0", "--overhead 2us --latency 0ms"),
    ("graph cholesky:tiles=3 --hosts 2 --network cm02 --cores 4", "--link-latency 2500", "--link-latency 2.5us"),
]


@pytest.mark.parametrize(("command", "bare", "with_units"), TIMES)
def test_times_are_given_with_a_unit_or_in_that_of_the_option(
    here: Path, command: str, bare: str, with_units: str
) -> None:
    def recorded(words: str, out: str) -> dict[str, object]:
        succeeds(*command.split(), *words.split(), "--out", out)
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
        'overhead = "1.5ms"\nlatency = 5000\ntimeout = "1m"\ncoupling = "pool"\nselect = "first:9"\n'
    )
    succeeds("run", "sample", "--config", "my.toml", "--latency", "6us", "--out", "a")
    found = json.loads((here / "a" / "run.json").read_text())["arguments"]
    assert (found["overhead_ns"], found["latency_ns"], found["timeout_s"]) == (1_500_000, 6000, 60.0)
    (here / "my.toml").write_text('overhead = "soon"\n')
    ran = twolevel("run", "sample", "--config", "my.toml", "--out", "r")
    assert ran.err.startswith("twolevel: my.toml: overhead: 'soon' is no time; allowed: a number and ns, us, ms")
    assert ran.code == 2


def test_a_group_of_commands_alone_prints_its_help() -> None:
    for words in ((), ("workload",)):
        ran = twolevel(*words)
        assert (ran.code, ran.out) == (2, "")
        lines = ran.err.splitlines()
        assert lines[0].startswith("Usage: ")
        assert lines[0].endswith(" ".join(["twolevel", *words, "[OPTIONS] COMMAND [ARGS]..."]))
        assert "Commands:" in lines
        assert len(lines) > 8
