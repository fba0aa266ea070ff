"""Small dumps of sacct that others have met, with the right values beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bls.workloads import read_workload
from traces.base.errors import InputError


@pytest.fixture
def cases(shared: Path) -> Path:
    folder = shared / "cases"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


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


def test_held_jobs(cases: Path) -> None:
    found = read_workload(cases / "sacct-eligible/jobs.sacct")
    assert (found.earliest_ns // 10**9).tolist() == [0, 7210]


@pytest.mark.parametrize(("name", "words"), [("fixed-width.sacct", "--parsable2"), ("noheader.sacct", "--noheader")])
def test_dumps_that_are_refused(cases: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_workload(cases / "sacct-header-words" / name)


def test_json(cases: Path) -> None:
    found = read_workload(cases / "sacct-header-words/sacct.json")
    assert (found.job_id.tolist(), found.cores.tolist(), (found.wait_ns // 10**9).tolist()) == ([12], [4], [5])
