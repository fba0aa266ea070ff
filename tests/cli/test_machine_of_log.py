"""Which machine a run takes where its log names one: what is simulated, what is recorded, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import Ran, twolevel

from bls.machine.platform import parse_platform
from bls.machine.published import PUBLISHED
from bls.power.table import power_table
from bls.workloads import read_workload
from bls.workloads.named_machine import named_machine
from bridge.scenarios.machine import given_platform

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
    found = twolevel("run", "log.swf", "--no-trace", *words, "--force", "--out", "o")
    assert found.code == 0, found.err
    return found


def hosts() -> list[tuple[int, int]]:
    """Number and cores of the hosts of the machine that the latest run has recorded."""
    platform = json.loads(Path("o/run.json").read_text())["platform"]
    return [(group["count"], group["cores"]) for group in platform["hosts"]]


OF_LOG, OF_PAPER = [(4, 167), (2, 166)], [(4, 64)]

OF_PAPER_WORDS = (
    "machine: 256 cores, the two-level paper's, since applications are simulated task by task; "
    "--platform log: the log's 1,000 cores\n"
)
NO_MACHINE = "machine: 256 cores, since the log names none; --platform FILE says which (twolevel platform)\n"


def test_jobs_are_replayed_on_the_log_s_machine_and_applications_computed_on_the_paper_s(log: Path) -> None:
    found = ran("--als", "recorded")
    assert hosts() == OF_LOG
    assert "machine: 1,000 cores on 6 hosts, as the log says; --platform paper: 256 cores\n" in found.err
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
    said = "1 of 10 jobs are wider than 256 cores and left out: --platform log takes the log's 1,000, --oversize clamp"
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
        "left out: --platform FILE describes a larger machine (twolevel platform > FILE), --oversize clamp" in ran().err
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
    assert refused.err.startswith(
        "twolevel: --platform log: log.swf names no machine (MaxProcs in its header); allowed: "
    )
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
    log.write_text(job(1, 8))
    assert twolevel("platform", "--like", "log.swf").code == 2


STUDY = """
[study]
seeds = {seeds}

[[workload]]
file = "log.swf"

[grid]
bls = ["fcfs", "sjf"]
als = {als}
"""


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
    assert "none of its finished cells is one of this study" in refused.err


def test_a_study_says_which_machine(log: Path) -> None:
    Path("log").write_text("no platform")
    Path("s.toml").write_text(STUDY.format(seeds=1, als='["recorded"]') + 'platform = ["log", "paper"]\n')
    found = twolevel("study", "s.toml", "--workers", 1, "--no-figures", "--out", "s")
    assert found.code == 0, found.err
    assert cores_of("s") == {256, 1000}
    grid = "grid log.swf --bls fcfs --als static --variation 0 --platform log --workers 1 --out g"
    assert twolevel(*grid.split()).code == 0
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
    found = twolevel(
        *("run", "sample", "--als", "recorded", "--select", "first:5", "--platform", "demand-response"),
        *("--power", "--no-trace", "--out", "o"),
    )
    assert found.code == 0, found.err
    assert json.loads(Path("o/run.json").read_text())["power"]["full_w"] == 507_360
