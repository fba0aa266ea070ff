"""What a replay does at the edges of what Slurm can be told: early dates, long requests, jobs that were never submitted."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from slurm_here import machine, needs_slurm, replayed

from bls.workloads.workload import Workload
from bridge.replay.asking import Asking
from bridge.replay.configuration import of_machine
from bridge.replay.installed import installed_slurm
from bridge.replay.native import requests_program

S = 10**9


@needs_slurm
def test_a_date_that_slurm_cannot_have_is_taken_as_unknown_and_colleagues_may_read_its_log(tmp_path: Path) -> None:
    jobs = Workload.from_jobs([(1, 0, 60, 1, 120), (2, 5, 60, 2, 120)])
    starts = []
    for date, name in ((None, "no"), (0, "zero"), (86_400 + 75, "early"), (86_400 + 76, "least")):
        header = () if date is None else (f"; UnixStartTime: {date}",)
        done = replayed(jobs.take(np.arange(2), header=header), machine(2, 1), tmp_path / name)
        starts.append(done.result.jobs["start_ns"].tolist())
        said = "the log's date, 1970-01-0{}, is too early for Slurm; its time 0 is 2001-01-01"
        assert done.notes == {"zero": (said.format(1),), "early": (said.format(2),)}.get(name, ())
    assert starts[0] == starts[1] == starts[2]
    modes = [stat.S_IMODE((tmp_path / "no" / name).stat().st_mode) for name in ("", "slurm.conf", "slurmctld.log")]
    (tmp_path / "by_hand").mkdir()
    assert modes[0] == stat.S_IMODE((tmp_path / "by_hand").stat().st_mode)
    assert modes[1] == modes[2]


@needs_slurm
def test_a_request_with_too_many_fields_or_too_long_a_line_is_refused_and_the_next_one_is_heard(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(of_machine({}, machine(1, 1)).text(1))
    program = requests_program(installed_slurm().release, tmp_path)
    asked = ["\t".join(["submit", *["name=1"] * 40]), f"submit\tname={'1' * (1 << 20)}", "so\tso"]
    said = subprocess.run(
        [program],
        input="\n".join([*asked, ""]),
        env={"SLURM_CONF": str(tmp_path / "slurm.conf")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout
    assert said.splitlines()[1:] == [
        "error -1 too many fields",
        "error -1 a line is too long",
        "error -1 no such request",
    ]


def test_why_a_job_does_not_start_is_not_asked_of_slurm_if_it_was_not_submitted() -> None:
    asking = Asking.__new__(Asking)
    asking._book = SimpleNamespace(number={})  # type: ignore[assignment]
    assert asking.why_not(3) == "it was not submitted, as the job that it waits for was not"
