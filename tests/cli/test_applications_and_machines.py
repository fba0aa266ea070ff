"""``run`` and ``grid``: the options of the application level, and which machine is simulated where the log names one."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from command_line import Ran, succeeds, twolevel
from tables import table_text

import bridge
from bls import sample_path
from bls.machine.platform import PUBLISHED, parse_platform
from bls.power.table import power_table
from bls.workloads import read_workload
from bls.workloads.header import named_machine
from bridge.scenarios.remarks import balance_words
from bridge.scenarios.scenario import Scenario, given_platform
from bridge.standard_error import on_command_line

APPLICATIONS = table_text(__file__, "applications")

SPEEDS = ("square:period=10m,low=0.5,cores=0-63", "late:cores=100,at=1h")


def run(*words: object, command: str = "run") -> Ran:
    return succeeds(command, "sample", "--select", "first:40", *words)


def shown(ran: Ran) -> dict[str, str]:
    """The summary's rows by name."""
    return dict(re.split(r"  +", line, maxsplit=1) for line in ran.out.splitlines())


def record(folder: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "run.json").read_text())
    return found


def test_every_option_does_what_the_same_one_in_python_does(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    ran = run(
        *("--als", "fac", "--variation", 0.3, "--lengths", "lognormal", "--overhead", 10**6, "--latency", 500),
        *("--assignment", "master", "--applications", "apps.toml", "--speeds", SPEEDS[0], "--speeds", SPEEDS[1]),
        *("--seed", 3, "--tasks", "--trace", "none", "--out", "r"),
    )
    level = {"lengths": "lognormal", "latency_ns": 500, "assignment": "master", "applications": "apps.toml"}
    words = {"als": "fac", "variation": 0.3, "overhead_ns": 10**6, "seed": 3, "select": "first:40", "speeds": SPEEDS}
    result = bridge.simulate(sample_path(), **level, **words)
    stored = pd.read_parquet("r/jobs.parquet")
    pd.testing.assert_frame_equal(stored, result.jobs[list(stored.columns)])
    pd.testing.assert_frame_equal(pd.read_parquet("r/tasks.parquet"), result.tasks)
    found = record("r")
    assert found["metrics"] == json.loads(json.dumps(dict(result.metrics)))
    assert ran.out.splitlines() == [f"{name.ljust(22)}  {text}" for name, text in result.summary()]


def test_the_summary_says_of_the_application_level_what_was_given(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    plain = shown(run("--trace", "none", "--out", "a"))
    further = {"task lengths", "costs", "applications", "core speeds", "chosen"}
    assert set(plain) & further == set()
    ran = shown(run("--lengths", "gamma:cov=1", "--latency", 500, "--trace", "none", "--out", "b"))
    assert {name: ran[name] for name in set(ran) & further} == {
        "task lengths": "gamma:cov=1",
        "costs": "overhead 0 ns, latency 500 ns",
    }
    ran = shown(
        run("--assignment", "master", "--speeds", SPEEDS[0], "--speeds", SPEEDS[1], "--trace", "none", "--out", "c")
    )
    assert ran["costs"] == "overhead 0 ns, latency 0 ns, a master"
    planned = shown(run("--als", "heft", "--latency", 500, "--trace", "none", "--out", "planned"))
    assert "costs" not in planned  # nobody requests anything
    assert ran["core speeds"] == ", ".join(SPEEDS)
    ran = shown(run("--applications", "apps.toml", "--trace", "none", "--out", "d"))
    counts = pd.read_parquet("d/jobs.parquet").application.value_counts().to_dict()
    named = [f"{name} {counts.get(name, 0)}" for name in ("narrow", "nobody's", "chosen", "default")]
    assert ran["applications"] == f"apps.toml: {', '.join(named)}"
    assert re.fullmatch(r"(gss|fac) \d+(, fac \d+)?", ran["chosen"])


def test_the_record_counts_applications_and_choices(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    run("--als", "ss", "--variation", 0.25, "--applications", "apps.toml", "--trace", "none", "--out", "r")
    found, jobs = record("r"), pd.read_parquet("r/jobs.parquet")
    assert found["arguments"]["applications"] == "apps.toml"  # type: ignore[index]
    cores = jobs.cores
    by_hand = {"narrow": int((cores <= 8).sum()), "nobody's": 0, "chosen": int((cores == 32).sum())}
    assert found["applications"] == {**by_hand, "default": 40 - sum(by_hand.values())}
    assert by_hand["narrow"] > 0 < by_hand["chosen"]
    of_choice = jobs[jobs.application == "chosen"]
    assert found["chosen"] == of_choice.chosen.value_counts().sort_index(ascending=False).to_dict()
    assert sum(found["chosen"].values()) == by_hand["chosen"]  # type: ignore[attr-defined]
    assert found["ahead_chunks"] == of_choice.ahead_chunks.sum() > 0
    assert set(jobs[jobs.application != "chosen"].chosen) == {""}
    distribution = found["metrics"]["distribution"]  # type: ignore[index]
    assert distribution["efficiency"]["mean"] == pytest.approx(jobs.efficiency.mean())
    assert distribution["scheduling_ns"]["max"] == 0
    run("--als", "recorded", "--trace", "none", "--out", "none")
    found = record("none")
    assert (found["applications"], found["chosen"], found["ahead_chunks"]) == ({}, {}, 0)
    assert found["metrics"]["distribution"]["efficiency"]["mean"] is None  # type: ignore[index]


def test_run_and_grid_say_that_one_task_per_core_leaves_nothing_to_balance(here: Path) -> None:
    line = on_command_line(balance_words([Scenario.flat(als="gss", variation=0.25)]))
    assert "no technique can balance" in line
    assert run("--als", "gss", "--variation", "0.25", "--trace", "none", "--out", "one").err.count(line) == 1
    run("--als", "static", "--variation", "0.25", "--trace", "none", "--out", "other")
    one, other = (pd.read_parquet(Path(folder, "jobs.parquet")) for folder in ("one", "other"))
    assert one.end_ns.equals(other.end_ns), "all techniques give the same schedule"
    assert (
        run(
            "--bls", "fcfs", "--als", "gss", "--variation", "0,0.25", "--workers", 1, "--out", "grid", command="grid"
        ).err.count(line)
        == 1
    )


def test_requests_of_applications_without_effect_are_reported(here: Path) -> None:
    (here / "apps.toml").write_text('[default]\nphases = [{ kind = "loop", cores = 0.5 }]\n')
    wishing = ("--applications", "apps.toml", "--trace", "none", "--force", "--out", "o")
    unheard = "applications request cores without effect: --resize evolve grants them"
    assert unheard in run(*wishing).err
    assert unheard in run(*wishing, "--malleable", "1").err
    evolving = ("--malleable", "1", "--resize", "evolve")
    assert "wish" not in run(*wishing, *evolving).err
    assert (pd.read_parquet("o/widths.parquet")["change"] == 0).any()
    nothing = "--resize evolve: no application requests cores"
    assert nothing in run(*evolving, "--trace", "none", "--out", "p").err


def test_a_job_that_a_host_cut_is_counted_once(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    (here / "outages.csv").write_text("host,down_s,up_s\n0,5400,7200\n1,9000,9600\n")
    run("--als", "ss", "--applications", "apps.toml", "--failures", "outages.csv", "--trace", "none", "--out", "r")
    assert len(pd.read_parquet("r/jobs.parquet")) > 40
    assert sum(record("r")["applications"].values()) == 40  # type: ignore[attr-defined]


def test_a_grid_of_techniques_with_commas_in_their_names(here: Path) -> None:
    (here / "mine.py").write_text("class Mine:\n    def chunk(self, ask): return 1\n")
    names = ["ss", "fsc:h=1e-6,sigma=0.2", "select:gss,mine.py:Mine", "mine.py:Mine", "wf"]
    words = (
        "--bls",
        "fcfs",
        "--als",
        ",".join(names).replace(names[2], "select:(gss, mine.py:Mine)"),
        "--variation",
        "0.25",
        "--tasks-per-core",
        4,
    )
    ran = run(*words, "--lengths", "gamma", "--workers", 1, "--out", "g", command="grid")
    assert [line.split()[2] for line in ran.out.splitlines() if line.startswith("fcfs × ")] == names
    table = pd.read_parquet("g/results.parquet")
    assert table["als"].tolist() == names
    assert table.makespan_ns[0] == table.makespan_ns[3]
    assert set(os.listdir("g/cells")) == {
        f"fcfs-{name}-0.25" for name in ("ss", "fsc:h=1e-6,sigma=0.2", "select:gss,Mine", "Mine", "wf")
    }
    assert 'lengths = "gamma"' in json.loads(Path("g/study.json").read_text())["study"]
    assert "chosen" not in table.columns
    assert "chosen" in pd.read_parquet("g/cells/fcfs-select:gss,Mine-0.25/seed-0/jobs.parquet").columns


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ((999, 998), "--applications: no job matches a, b; all jobs run the default"),
        ((999, "0-"), "--applications: no job matches a"),
        (("0-", "0-"), "--applications: no job matches b"),
    ],
)
def test_applications_that_no_job_has_are_named(here: Path, users: tuple[object, object], said: str) -> None:
    tables = (
        f'[[application]]\nname = "{name}"\nmatch = {{ user = {user!r} }}\nals = "gss"\n'
        for name, user in zip("ab", users, strict=True)
    )
    Path("map.toml").write_text("".join(tables), encoding="utf-8")
    ran = succeeds(
        "run", "sample", "--select", "first:5", "--applications", "map.toml", "--trace", "none", "--out", "r"
    )
    assert said in ran.err.splitlines()


SIZE = "; MaxNodes: 6\n; MaxProcs: 1000\n"


def job(number: int, cores: int) -> str:
    """A line of a job that is submitted at ``number`` s and runs for a minute."""
    return f"{number} {number} 0 60 {cores} -1 -1 {cores} 120 -1 1 1 1 -1 1 1 -1 -1\n"


@pytest.fixture
def log(here: Path) -> Path:
    """Ten jobs of a machine of 1,000 cores on 6 nodes, one of them with 500 cores."""
    path = here / "log.swf"
    path.write_text(SIZE + "".join(job(number, 500 if number == 3 else 8) for number in range(1, 11)))
    return path


def ran(*words: object) -> Ran:
    return succeeds("run", "log.swf", "--trace", "none", *words, "--force", "--out", "o")


def hosts() -> list[tuple[int, int]]:
    """Number and cores of the hosts of the machine that the latest run has recorded."""
    platform = json.loads(Path("o/run.json").read_text())["platform"]
    return [(group["count"], group["cores"]) for group in platform["hosts"]]


OF_LOG, OF_PAPER = [(4, 167), (2, 166)], [(4, 64)]

OF_PAPER_WORDS = (
    "machine: 256 cores, the two-level paper's, since applications are simulated task by task; "
    "--platform log: the log's 1,000 cores\n"
)
NO_MACHINE = "machine: 256 cores, since the log describes none; --platform FILE describes another (twolevel platform)\n"


def test_jobs_are_replayed_on_the_log_s_machine_and_applications_computed_on_the_paper_s(log: Path) -> None:
    found = ran("--als", "recorded")
    assert hosts() == OF_LOG
    assert "machine: 1,000 cores on 6 hosts, as in the log; --platform paper: 256 cores\n" in found.err
    assert "warning" not in found.err
    jobs = pd.read_parquet("o/jobs.parquet")
    assert len(jobs) == 10
    assert set(jobs["end_ns"] - jobs["start_ns"]) == {60 * 10**9}
    found = ran("--als", "gss")
    assert hosts() == OF_PAPER
    assert OF_PAPER_WORDS in found.err
    # Either can be asked for.
    found = ran("--als", "gss", "--platform", "log")
    assert hosts() == OF_LOG
    assert "machine" not in found.err
    found = ran("--als", "recorded", "--platform", "paper")
    assert hosts() == OF_PAPER
    assert "machine:" not in found.err


def test_many_jobs_that_do_not_fit_are_warned_of(log: Path) -> None:
    found = ran("--als", "recorded", "--platform", "paper")
    said = "1 of 10 jobs are wider than 256 cores and omitted: --platform log has the log's 1,000, --oversize clamp"
    assert f"warning: {said} gives each of them all cores\n" in found.err
    assert "warning" not in ran("--als", "recorded", "--platform", "paper", "--oversize", "clamp").err
    log.write_text(SIZE + "".join(job(number, 500 if number == 3 else 8) for number in range(1, 101)))
    assert "warning" not in ran("--als", "recorded", "--platform", "paper").err  # one of a hundred
    # Lines that are no jobs do not count: one of 99.
    unknown = "".join(job(number, 8).replace(" 0 60 ", " 0 -1 ") for number in range(100, 200))
    log.write_text(SIZE + "".join(job(number, 500 if number == 3 else 8) for number in range(1, 100)) + unknown)
    assert "warning: 1 of 99 jobs are wider" in ran("--als", "recorded", "--platform", "paper").err
    log.write_text(job(1, 8) + job(2, 500))
    assert (
        "omitted: --platform FILE describes a larger machine (twolevel platform > FILE), --oversize clamp" in ran().err
    )


def test_a_log_that_names_no_machine(log: Path) -> None:
    log.write_text(job(1, 8))
    found = ran("--als", "recorded")
    assert hosts() == OF_PAPER
    assert NO_MACHINE in found.err
    assert NO_MACHINE in ran("--als", "gss").err
    assert "machine" not in ran("--als", "gss", "--platform", "paper").err
    refused = twolevel("run", "log.swf", "--platform", "log", "--out", "p")
    assert refused.code == 2
    assert refused.err.startswith("twolevel: --platform log: log.swf names no machine (MaxProcs in its header, ")
    assert refused.err.count("\n") == 1


def test_a_file_that_is_called_log(log: Path) -> None:
    Path("log").write_text("[[hosts]]\ncount = 1\ncores = 700\nspeed_gflops = 700.0\n")
    ran("--als", "recorded", "--platform", "./log")
    assert hosts() == [(1, 700)]
    ran("--als", "recorded", "--platform", "log")
    assert hosts() == OF_LOG
    Path("o.toml").write_text('als = "recorded"\nplatform = "log"\n')
    ran("--config", "o.toml")
    assert hosts() == OF_LOG


def test_platform_like(log: Path) -> None:
    printed = twolevel("platform", "--like", "log.swf").out
    assert parse_platform(printed) == named_machine(read_workload(log))
    assert twolevel("platform", "--like", "sample").out == twolevel("platform").out
    lines = log.read_text().splitlines()
    jobs = [f"{line} {4 if number == 2 else 0}" for number, line in enumerate(line for line in lines if line[0] != ";")]
    log.write_text("\n".join([line for line in lines if line[0] == ";"] + ["; Field 19: gpus", *jobs]) + "\n")
    assert [one.gpus for one in parse_platform(twolevel("platform", "--like", "log.swf").out).hosts][:2] == [4, 0]
    log.write_text(job(1, 8))
    assert twolevel("platform", "--like", "log.swf").err.startswith("twolevel: --like: log.swf names no machine (")


STUDY = table_text(__file__, "study")


def cores_of(folder: str) -> set[int]:
    """How many cores the makespan and the utilisation of a study's cells are of."""
    table = pd.read_parquet(Path(folder) / "results.parquet")
    work = table["utilisation"] * table["makespan_ns"] / 1e9
    jobs = {256: 9 * 8 * 60, 1000: 9 * 8 * 60 + 500 * 60}
    return {cores for cores, held in jobs.items() for one in work if round(one * cores) == held}


def test_a_cell_that_is_replayed_beside_techniques_is_another_one(log: Path) -> None:
    Path("s.toml").write_text(STUDY.format(seeds=1, als='["recorded", "static"]'))
    found = twolevel("study", "s.toml", "--workers", 1, "--no-figures", "--out", "s")
    assert found.err.count(OF_PAPER_WORDS) == 1
    assert cores_of("s") == {256}
    # Alone it is on the log's machine: what is there is not taken for it.
    Path("s.toml").write_text(STUDY.format(seeds=1, als='["recorded"]'))
    refused = twolevel("study", "s.toml", "--workers", 1, "--no-figures", "--out", "s")
    assert refused.code == 2
    assert "none of its finished cells belongs to this study" in refused.err


def test_a_study_says_which_machine(log: Path) -> None:
    Path("log").write_text("no platform")
    Path("s.toml").write_text(STUDY.format(seeds=1, als='["recorded"]') + 'platform = ["log", "paper"]\n')
    succeeds("study", "s.toml", "--workers", 1, "--no-figures", "--out", "s")
    assert cores_of("s") == {256, 1000}
    grid = "grid log.swf --bls fcfs --als static --variation 0 --platform log --workers 1 --out g"
    succeeds(*grid.split())
    assert cores_of("g") == {1000}


def test_the_machine_of_the_demand_response_paper(here: Path) -> None:
    """By its word, in Python, and as TOML, which says what it draws; a file that is called so is given with its folder."""
    shown = twolevel("platform", "--like", "demand-response").out
    machine = parse_platform(shown, "shown")
    assert machine == PUBLISHED["demand-response"]() == given_platform("demand-response")
    table = power_table(machine, "--power")
    assert (table.idle_total_mw, table.full_total_mw) == (139_524_000, 507_360_000)
    (here / "demand-response").write_text(twolevel("platform").out)
    assert given_platform("demand-response") == machine
    assert given_platform("./demand-response") == given_platform("paper")
    succeeds(
        *("run", "sample", "--als", "recorded", "--select", "first:5", "--platform", "demand-response"),
        *("--power", "--trace", "none", "--out", "o"),
    )
    assert json.loads(Path("o/run.json").read_text())["power"]["full_w"] == 507_360
