"""Lines about a log whose jobs were held, had GPUs that no run counts, or have no memory that --memory swf could count."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import twolevel

HEADER = "JobID|User|AllocTRES|Submit|Eligible|Start|ElapsedRaw|TimelimitRaw|State\n"
PLAIN = "1|ann|cpu=4,mem=4G,node=1|1700000000|1700000000|1700000000|60|10|COMPLETED\n"
HELD = "2|bob|cpu=4,mem=4G,node=1|1700000000|1700003600|1700003600|60|10|COMPLETED\n"
GPUS = "3|eve|cpu=4,gres/gpu:a100=2,mem=4G|1700000000|1700000000|1700000000|60|10|COMPLETED\n"
BARE = "4|eve|cpu=4|1700000000|1700000000|1700000000|60|10|COMPLETED\n"

MACHINE = "[[hosts]]\ncount = 2\ncores = 8\nspeed_gflops = 1.0\nresources = { memory_gb = 64, gpu = 4 }\n"

ONE_HELD = "1 job of the log was held after the submit (begin, Eligible): it starts at that time at the earliest"
ONE_GPU = "1 job of the log requested GPUs. They are not simulated"
NO_MEMORY = "--memory swf: the log records no memory requests, so memory limits no job"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MACHINE)
    (tmp_path / "r.csv").write_text("job_id,gpu\n3,2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("jobs", "options", "said"),
    [
        (PLAIN + HELD + HELD.replace("2|", "5|", 1), (), ["2 jobs of the log were held after the submit"]),
        (PLAIN + GPUS, ("--requests", "r.csv"), []),
        (PLAIN + GPUS + HELD, (), [ONE_HELD, ONE_GPU]),
        (PLAIN, ("--memory", "swf"), []),
        (BARE, ("--memory", "swf"), [NO_MEMORY]),
    ],
)
def test_a_run_and_a_grid_say_it(here: Path, jobs: str, options: tuple[str, ...], said: list[str]) -> None:
    (here / "w.sacct").write_text(HEADER + jobs)
    shared = ("w.sacct", "--platform", "m.toml", "--bls", "fcfs", "--als", "recorded", *options)
    for command in (("run", *shared, "--no-trace", "--out", "o"), ("grid", *shared, "--out", "g", "--workers", "1")):
        lines = twolevel(*command).err.splitlines()
        for words in (ONE_HELD[6:40], ONE_GPU[6:40], NO_MEMORY[:40]):
            found = [line for line in lines if words in line]
            assert len(found) == any(words in one for one in said), (command, words)
        assert all(any(line.startswith(one) for line in lines) for one in said), command


def test_a_description_says_it_and_counts_waits_from_then(here: Path) -> None:
    (here / "w.sacct").write_text(HEADER + HELD.replace("|1700003600|60|", "|1700003690|60|") + GPUS)
    done = twolevel("workload", "info", "w.sacct")
    assert done.err.startswith(ONE_HELD)
    assert ONE_GPU in done.err
    assert (
        "recorded wait              min 0 s            median 45 s           mean 45 s           max 90 s" in done.out
    )


def test_a_stream_says_it_and_writes_the_same_table(here: Path) -> None:
    (here / "w.sacct").write_text(HEADER + HELD + GPUS)
    twolevel("workload", "cut", "w.sacct", "-o", "w.swf")
    assert "; Field 19: begin_ns" in (here / "w.swf").read_text()
    shared = ("w.swf", "--platform", "m.toml", "--als", "recorded", "--no-trace")
    assert ONE_HELD in twolevel("run", *shared, "--stream", "--out", "s").err
    twolevel("run", *shared, "--out", "o")
    assert (here / "s/jobs.parquet").read_bytes() == (here / "o/jobs.parquet").read_bytes()
