"""Predictions by the names of jobs: each rule by hand, and where names come from."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

import bridge
from bls import Platform, Surroundings, View
from bls.estimates.contract import alike_in, name_prefix
from bls.machine.platform import HostGroup
from bls.workloads.merge import merge
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import NS_PER_S

WIDE = Platform((HostGroup(16, 64, 64.0, {"gpu": 4}),))  # type: ignore[arg-type]
ALIKE = {"user": 1, "name": "relax_7", "queue": 2, "partition": 3, "cores": 4, "estimate_s": 500}


def log(*rows: Mapping[str, Any]) -> Workload:
    return Workload.from_jobs([{"job_id": number, **row} for number, row in enumerate(rows, 1)])


def planned_s(workload: Workload, estimates: Any = "data-driven", **options: Any) -> list[float]:
    result = bridge.simulate(workload, WIDE, als="recorded", estimates=estimates, **options)
    return (result.jobs.planned_ns / NS_PER_S).tolist()


# ---- the rules ----


@pytest.mark.parametrize(
    ("other", "planned"),
    [
        ({}, 50),  # the same again
        ({"name": "relax_8"}, 50),  # the same but for the number at the name's end
        ({"name": "relax"}, 50),
        ({"cores": 3}, 50),  # other resources
        ({"memory_kb": 9}, 50),
        ({"name": "relax_8", "cores": 3}, 50),
        ({"estimate_s": 400}, 50),  # nothing but the name
        ({"queue": 5, "cores": 2}, 50),
        ({"partition": -1, "name": "relax_8"}, 50),  # nothing but its prefix
        ({"name": "relaxed_7"}, 500),
        ({"name": "7"}, 500),
        ({"name": None}, 500),
        ({"user": 2}, 500),
        ({"user": -1}, 500),
        ({"estimate_s": 20}, 20),  # at most the request
    ],
)
def test_it_goes_from_what_is_closest(other: dict[str, Any], planned: int) -> None:
    first = {**ALIKE, "submit_s": 0, "run_s": 50}
    assert planned_s(log(first, {**ALIKE, "submit_s": 100, "run_s": 1, **other}))[1] == planned


@pytest.mark.parametrize(("name", "prefix"), table_rows(__file__, "prefixes"))
def test_prefixes(name: str, prefix: str) -> None:
    assert name_prefix(name) == prefix


def test_resources_are_what_a_job_asks_for(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("job_id,unit_cores,gpu\n1,2,1\n2,2,1\n3,2,2\n4,4,1\n5,2,1\n")
    rows = [{**ALIKE, "submit_s": 0, "run_s": 10}] * 4 + [{**ALIKE, "submit_s": 0, "run_s": 10, "cores": 2}]
    around = Surroundings(requests=str(tmp_path / "r.csv"))
    scenario = bridge.Scenario.of(log(*rows), WIDE, bridge.Options(als="recorded", around=around))
    for asked, same in ((scenario.circumstances.requests, (0, 1)), (None, (0, 1, 2, 3))):
        numbers = alike_in("resources", scenario.workload, asked).tolist()
        assert tuple(k for k, number in enumerate(numbers) if number == numbers[0]) == same


# ---- names ----


def test_names_go_with_their_jobs() -> None:
    rows = [{**ALIKE, "submit_s": k, "run_s": 5, "name": name} for k, name in enumerate(["b", "a", None, "b"])]
    workload = log(*rows)
    assert workload.application.tolist() == [1, 2, -1, 1]
    assert workload.names == {1: "b", 2: "a"}
    again = pickle.loads(pickle.dumps(workload.take(np.array([1, 3]))))
    assert [again.job_name(row) for row in range(2)] == ["a", "b"]
    both = merge([workload, log({"submit_s": 0, "run_s": 5, "cores": 1, "name": "b"})], align="start")
    assert sorted((int(number), both.names[number]) for number in both.application.tolist() if number >= 0) == [
        (1, "b"), (1, "b"), (1, "b"), (2, "a"),
    ]  # fmt: skip
    assert len({both.names[number] for number in both.names}) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"name": "a", "application": 2}, "jobs[0]: name: beside application; allowed: one of them"),
        ({"name": ""}, "jobs[0]: name: ''; allowed: a text"),
        ({"name": 7}, "jobs[0]: name: 7; allowed: a text"),
    ],
)
def test_wrong_names(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        log({"submit_s": 0, "run_s": 5, "cores": 1, **row})
    assert str(caught.value) == message


def test_a_policy_and_the_table_of_jobs_have_the_name() -> None:
    seen: list[Any] = []

    class Looks:
        name = "looks"

        def decide(self, view: View) -> Any:
            seen.extend(job.name for job in view.waiting)
            return list(view.waiting)

    rows = [{"submit_s": k, "run_s": 5, "cores": 1, "name": name} for k, name in enumerate(["x", None])]
    assert bridge.simulate(log(*rows), WIDE, bls=Looks(), als="recorded").jobs.name.tolist() == ["x", ""]
    assert seen == ["x", None]
    assert "name" not in bridge.simulate(log({"submit_s": 0, "run_s": 5, "cores": 1}), WIDE, als="recorded").jobs
