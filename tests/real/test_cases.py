"""Small inputs that users met with their own logs and files; each folder has a README with the right value."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import Ran, succeeds

from bls.workloads import read_workload
from traces.base.errors import InputError


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


def performed(*words: object) -> Ran:
    """A command that must succeed."""
    return succeeds(*words)


def run(folder: Path, file: str, out: Path, *words: object) -> pd.DataFrame:
    """The table of jobs of a run of recorded jobs."""
    performed("run", folder / file, "--als", "recorded", "--trace", "none", "--out", out, *words)
    return pd.read_parquet(out / "jobs.parquet")


def test_memory(cases: Path) -> None:
    found = read_workload(cases / "sacct-reqmem-flag/jobs.sacct")
    assert found.memory_kb.tolist() == [4096000, 2867200, 2097152, 131072000]


def test_gpus(cases: Path) -> None:
    assert read_workload(cases / "sacct-typed-gpus/jobs.sacct").extras["gpus"].tolist() == [2, 2, 1, 3]


def test_names_of_jobs(cases: Path) -> None:
    found = read_workload(cases / "sacct-jobname-delimiter/jobs.sacct")
    assert found.job_id.tolist() == [101, 102, 103, 104]
    assert [found.job_name(row) for row in range(4)] == ["plain", "two\nlines", "crazy|name", "last"]
    assert not any(found.rejects.values())


@pytest.mark.parametrize(("name", "words"), [("fixed-width.sacct", "--parsable2"), ("noheader.sacct", "--noheader")])
def test_dumps_that_are_refused(cases: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_workload(cases / "sacct-header-words" / name)


def test_json(cases: Path) -> None:
    found = read_workload(cases / "sacct-header-words/sacct.json")
    assert (found.job_id.tolist(), found.cores.tolist(), (found.wait_ns // 10**9).tolist()) == ([12], [4], [5])


def test_held_jobs_start_when_they_may(cases: Path, tmp_path: Path) -> None:
    folder = cases / "sacct-eligible"
    jobs = run(folder, "jobs.sacct", tmp_path / "r", "--platform", folder / "machine.toml")
    assert (jobs.start_ns // 10**9).tolist() == [0, 7210]
    assert json.loads((tmp_path / "r/run.json").read_text())["metrics"]["max_wait_ns"] == 0
    assert "max 90 s" in performed("workload", "info", folder / "jobs.sacct").out


def test_memory_fits_the_hosts(cases: Path, tmp_path: Path) -> None:
    folder = cases / "sacct-reqmem-flag"
    jobs = run(folder, "jobs.sacct", tmp_path / "r", "--platform", folder / "machine.toml", "--memory", "swf")
    assert jobs.state.tolist() == ["completed"] * 4
    assert jobs.allocation[3].count(" ") == 3  # 125 GB per core: one core on each of four hosts of 128 GB


def test_partitions_and_users_are_merged_by_name(cases: Path, tmp_path: Path) -> None:
    files = [cases / "merge-partitions" / name for name in ("jan.sacct", "feb.sacct")]
    performed("workload", "merge", *files, "-o", tmp_path / "m.swf")
    merged = read_workload(tmp_path / "m.swf")
    assert merged.partition.tolist() == [1, 2, 2, 1]
    assert merged.user.tolist() == [1, 2, 2, 1]
    assert {"; Partition: 1 gpu", "; Partition: 2 cpu"} <= set(merged.header)


@pytest.mark.parametrize(("schedule", "makespan_s"), [("static,4", 180), ("static:chunk=4", 180), ("static,1", 144)])
def test_chunks_of_static_are_dealt_in_turn(cases: Path, tmp_path: Path, schedule: str, makespan_s: int) -> None:
    lengths = cases / "openmp-static-chunk/lengths.txt"
    words = ("--cores", 4, "--core-speed", 1, "--als", schedule, "--out", tmp_path / "l")
    assert f"({makespan_s}000000000 ns)" in performed("loop", lengths, *words).out


@pytest.mark.parametrize(
    ("name", "words", "cores"), [("slurm-conf-procs", (), 48), ("topology-gaps", ("--switches", 1), 24)]
)
def test_slurms_files_are_taken(cases: Path, tmp_path: Path, name: str, words: tuple[object, ...], cores: int) -> None:
    folder = cases / name
    performed("replay", folder / "jobs.swf", "--slurm-conf", folder / "slurm.conf", *words, "--out", tmp_path / "r")
    assert json.loads((tmp_path / "r/run.json").read_text())["machine"]["first_core"][-1] == cores
