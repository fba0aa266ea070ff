"""Dispatches whose optima are known by exhaustive search of somebody else's: the three models find them, and prove them."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bls.cp import Instance, Parameters, Queue, RunningUnits
from bls.cp.dispatch import plan
from bls.cp.problem import problem_of, select

CASES = (
    "1-serial", "2-running", "3-pool-lies", "4-contiguous", "5-gpu", "6-parallel", "7-overdue", "8-now",
)  # fmt: skip

#: The models by the names of their sets of plans.
SETS = {"pool": "hcp19", "nodes": "pcp19", "boxes": "pcp20"}


def instance(case: dict[str, Any]) -> Instance:
    running, queue = case["running"], case["queue"]
    places = [(k, int(node), units) for k, job in enumerate(running) for node, units in job["units_on_node"].items()]

    def column(values: list[int]) -> np.ndarray[Any, Any]:
        return np.array(values, np.int64)

    def table(rows: list[list[int]]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.int64).reshape(len(rows), len(case["resources"]))

    return Instance(
        tuple(case["resources"]),
        table(case["capacity_per_node"]),
        RunningUnits(
            column([job["left"] for job in running]),
            table([job["per_unit"] for job in running]),
            *(column([place[k] for place in places]) for k in range(3)),
        ),
        Queue(
            column([job["id"] for job in queue]),
            column([-job["submit"] for job in queue]),
            column([job["duration"] for job in queue]),
            column([job["units"] for job in queue]),
            table([job["per_unit"] for job in queue]),
        ),
    )


@pytest.mark.parametrize("which", ["all", "fits"])
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", CASES)
def test_optima(name: str, kind: str, which: str, shared: Path) -> None:
    case = json.loads((shared / "oracles" / "cp-dispatch" / f"{name}.json").read_text(encoding="utf-8"))
    made = instance(case)
    chosen = select(made, 100, which)
    if which == "fits":
        assert made.queue.row[chosen].tolist() == case["fit_now_one_by_one"]
        if not case["fit_now_one_by_one"]:
            return
    wanted = case["optimum"][kind]["objective"] if which == "all" else case["optimum_of_these"][kind]
    found = plan(problem_of(made, chosen), SETS[kind], Parameters(limit_s=5.0), row=made.queue.row)
    assert (found.value, found.bound, found.status) == (Fraction(wanted), Fraction(wanted), "optimal")
