"""Words that name jobs: numbers and ranges, Slurm's names, and what the log calls its jobs."""

from __future__ import annotations

import numpy as np
import pytest

from bls.workloads.job_words import JobWords
from traces.base.errors import InputError
from traces.intervals import OPEN

TASK = 9_000_000_000_000

#: Jobs 3, 4 and 7 of ids as Batsim has them, and others that have numbers of each other as names.
NAMED = JobWords.of(np.array([3, 4, 7, 7]), ["a!3", "b 4, c", "4", "4"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", [(7, 8)]),
        ("3-9, 100-", [(3, 10), (100, OPEN)]),
        ("900_2", [(TASK + 2, TASK + 3)]),
        ("900_[1-5,8]", [(TASK + 1, TASK + 6), (TASK + 8, TASK + 9)]),
        ("5 901+0,900_0", [(5, 6), (TASK, TASK + 1), (9_019_000_000_000, 9_019_000_000_001)]),
        ("number:7", [(7, 8)]),
    ],
)
def test_words_of_any_log(text: str, found: list[tuple[int, int]]) -> None:
    assert JobWords().intervals(text, "--jobs") == found


@pytest.mark.parametrize(
    "text", ["", " , ", "x", "1_0_0", "900_x", "９００", "9_[1-", "9_[]", "[1]", "7x", "name:x", "1e3"]
)
def test_words_that_name_no_job(text: str) -> None:
    with pytest.raises(InputError, match=r"^--jobs: .*allowed"):
        JobWords().intervals(text, "--jobs")


@pytest.mark.parametrize(
    ("text", "number"), [("a!3", 3), ("b 4, c", 4), ("3", 3), ("7", 7), ("name:4", 7), ("number:4", 4), ("name:a!3", 3)]
)
def test_names_of_a_log(text: str, number: int) -> None:
    assert NAMED.one(text, "JOB") == number


def test_a_name_of_several_jobs() -> None:
    words = JobWords.of(np.array([1, 2, 5]), ["relax", "other", "relax"])
    assert words.intervals("relax", "--jobs") == [(1, 2), (5, 6)]
    with pytest.raises(InputError, match="'relax' names several jobs: 1 5; allowed: one number"):
        words.one("relax", "JOB")
