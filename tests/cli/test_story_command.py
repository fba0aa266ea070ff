"""``twolevel story``: what happened to one job of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import twolevel

import bridge
from bls import Rules, sample_path
from traces import InputError

OPTIONS = ("run", "sample", "--als", "gss", "--variation", "0.25", "--backfill", "easy", "--no-trace")


def test_the_story_of_jobs(here: Path) -> None:
    assert twolevel(*OPTIONS, "--decisions", "--out", "r").code == 0
    assert twolevel("story", "r", "1").out.splitlines() == [
        "job 1",
        "  0:05:23  submitted: asks for 1 core for 30 min 00 s",
        "  0:05:23  eligible: 256 of 256 cores are free, 0 jobs that came before it wait",
        "  0:05:23  started in its turn: in that pass no job before it in the order had to wait; scheduling pass 0 "
        "starts 1 of 1 waiting job; on core 0",
        "  0:32:15  completed, after 26 min 52 s; 1 task in 1 chunk, imbalance 0",
    ]
    lines = twolevel("story", "r", "100").out.splitlines()
    assert (
        "waited 12 h 08 min: 256 cores asked for, 12 free as it became eligible; 163 jobs that came later" in lines[3]
    )
    assert "23:08:20.368035011  started in its turn, after it had been given a reservation" in lines[4]
    assert "job 227 gives back 100 cores at this instant" in lines[4]
    result = bridge.simulate(
        sample_path(), als="gss", variation=0.25, rules=Rules(backfill="easy", keep_decisions=True), keep_tasks=False
    )
    assert result.story(100) + "\n" == twolevel("story", "r", "100").out


def test_a_job_that_is_not_there_and_results_that_are_none(here: Path) -> None:
    assert twolevel(*OPTIONS, "--select", "first:9", "--out", "r").code == 0
    ran = twolevel("story", "r", "99")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "twolevel: job 99: there is none in these results; allowed: 1-9\n"
    assert twolevel("story", "nowhere", "1").code == 2
    assert twolevel("story", "r", "abc").err == (
        "twolevel: JOB: 'abc'; allowed: a whole number (The job's number in the workload)\n"
    )
    ran = twolevel("story", "r/jobs.parquet", "1")
    assert ran.err == "twolevel: r/jobs.parquet is a file; allowed: the folder that twolevel run has written\n"
    result = bridge.simulate(sample_path(), als="recorded", select="first:9")
    with pytest.raises(InputError, match=r"allowed: 1-9$"):
        result.story(0)
    assert "scheduling pass" not in result.story(9)
