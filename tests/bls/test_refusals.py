"""Inputs of many kinds that are refused, each with one line (``refusals.toml``), and words that name jobs."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bls import Batch, HostGroup, Platform, Rules, Workload
from bls.inputs import check_rules
from bls.machine.host_power import HostPower
from bls.policies import policy
from bls.policies.multifactor.settings import Multifactor
from bls.workloads.generators.accasim import generate_like
from bls.workloads.job_words import JobWords
from traces.base.errors import InputError
from traces.intervals import OPEN

ROWS = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))
THREE = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])
POWERED = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
SETH = Platform((HostGroup(120, 4, 40.0),), name="seth")
#: Jobs 3, 4 and 7 of ids as Batsim has them, and others that have numbers of each other as names.
TASK = 9_000_000_000_000
NAMED = JobWords.of(np.array([3, 4, 7, 7]), ["a!3", "b 4, c", "4", "4"])


def _drawn(text: str, folder: Path) -> object:
    (folder / "power.csv").write_text(text)
    return bridge.simulate(THREE, POWERED, als="recorded", job_power=folder / "power.csv")


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _generated(changes: dict[str, Any], folder: Path) -> object:
    return generate_like(THREE, **({"n_jobs": 10, "seed": 1, "platform": SETH} | _tuples(changes)))


#: What reads each kind, and what its errors begin with.
READERS: dict[str, tuple[Callable[[Any, Path], object], str]] = {
    "expression": (lambda text, folder: policy(f"expr:{text}"), "bls=…: expr: {!r}: "),
    "multifactor": (lambda text, folder: Multifactor.from_text(text), ""),
    "multifactor_file": (lambda text, folder: Multifactor.from_toml(text, "p.toml"), ""),
    "estimates": (lambda text, folder: Rules(estimates=text), ""),
    "job_name": (lambda text, folder: NAMED.one(text, "JOB"), ""),
    "job_power": (_drawn, "power.csv: "),
    "generator": (_generated, ""),
    "rules": (lambda given, folder: check_rules(Batch(**given), policy("fcfs")), ""),
}


@pytest.mark.parametrize(
    ("kind", "given", "words"), [(kind, *row) for kind, table in ROWS.items() for row in table["rows"]]
)
def test_an_input_that_is_refused(kind: str, given: Any, words: str, tmp_path: Path) -> None:
    read, prefix = READERS[kind]
    with pytest.raises(InputError) as caught:
        read(given, tmp_path)
    error = re.sub(r"^bls=('expr.*?'|\"expr.*?\"): ", "bls=…: ", str(caught.value).replace(f"{tmp_path}/", ""))
    assert error.startswith(prefix.format(given) + words)
    assert "\n" not in error


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
