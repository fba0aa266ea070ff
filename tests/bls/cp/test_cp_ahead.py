"""Plans of jobs that come later: against all orders, and that nobody starts before he comes."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from dispatch_cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Case, violations
from tables import table_rows

from bls.cp import plan_ahead
from traces.base.errors import InputError, PluginError


def planned(case: Case, submit: list[int], **more: Any) -> Any:
    return plan_ahead(
        np.array(case.capacity),
        submit_s=np.array(submit),
        duration_s=np.array([job.duration for job in case.waiting]),
        units=np.array([job.units for job in case.waiting]),
        per_unit=np.array([job.per_unit for job in case.waiting]),
        **more,
    )


def least(case: Case, submit: list[int]) -> Fraction:
    """The least Σ (s - q + d) / d in the pool: of all orders, job by job at the first second at which it fits."""
    jobs, total = range(len(submit)), [sum(has) for has in zip(*case.capacity, strict=True)]

    def fits(starts: dict[int, int], job: int, begin: int) -> bool:
        for second in range(begin, begin + case.waiting[job].duration):
            there = [k for k, at in starts.items() if at <= second < at + case.waiting[k].duration] + [job]
            for kind, has in enumerate(total):
                if sum(case.waiting[k].units * case.waiting[k].per_unit[kind] for k in there) > has:
                    return False
        return True

    found = []
    for order in permutations(jobs):
        starts: dict[int, int] = {}
        for job in order:
            second = submit[job]
            while not fits(starts, job, second):
                second += 1
            starts[job] = second
        found.append(
            sum(Fraction(starts[k] - submit[k] + case.waiting[k].duration, case.waiting[k].duration) for k in jobs)
        )
    return min(found)


@settings(max_examples=60)
@given(cases(nodes=2, jobs=4), st.data())
def test_on_a_pool_no_plan_of_all_orders_is_better(case: Case, data: st.DataObject) -> None:
    submit = [data.draw(st.integers(5, 15)) for _ in case.waiting]
    found = planned(case, submit, pooled=True, lists=300)
    assert found.value == least(case, submit) <= found.list_value


@settings(max_examples=60)
@given(cases(nodes=3, jobs=6), st.data(), st.booleans())
def test_plans_obey_and_are_repeatable(case: Case, data: st.DataObject, pooled: bool) -> None:
    submit = [data.draw(st.integers(-5, 15)) for _ in case.waiting]
    found, again = (planned(case, submit, pooled=pooled, lists=20, seed=3) for _ in range(2))
    starts = found.start_s.tolist()
    assert starts == again.start_s.tolist()
    assert all(start >= come for start, come in zip(starts, submit, strict=True))
    empty = Case(case.capacity, (), case.waiting)
    nodes = [found.unit_node[a:b].tolist() for a, b in zip(found.first_unit, found.first_unit[1:], strict=False)]
    since = [start - min(submit) for start in starts]
    assert violations(empty, "pool" if pooled else "nodes", list(range(len(starts))), since, nodes, []) == []
    waits = zip(starts, submit, case.waiting, strict=True)
    assert found.value == sum(Fraction(s - q + job.duration, job.duration) for s, q, job in waits) <= found.list_value
    if pooled:
        known = planned(case, submit, pooled=True, lists=0, known_s=found.start_s)
        assert known.value <= found.value


def test_who_knows_what_comes_leaves_cores_idle_for_it() -> None:
    """Two jobs of all cores, of 100 s and, a second later, of one second: every policy starts the first one at once."""
    columns = {"submit_s": [10, 11], "duration_s": [100, 1], "units": [1, 1], "per_unit": [[4], [4]]}
    found = plan_ahead(np.array([[4]]), **{name: np.array(column) for name, column in columns.items()})
    assert (found.start_s.tolist(), found.value) == ([12, 11], Fraction(102, 100) + 1)
    assert found.unit_node.tolist() == [0, 0]


def test_what_cannot_be_planned_is_said_in_one_line() -> None:
    good = {"submit_s": np.array([0]), "duration_s": np.array([5]), "units": np.array([1]), "per_unit": np.array([[3]])}
    for wrong, said in (
        ({"per_unit": np.array([[5]])}, "plan ahead: job 0 (from 0) does not fit the empty machine"),
        ({"goal": "energy"}, "plan ahead: goal: unknown goal"),
        ({"lists": -1}, "plan ahead: lists: -1"),
        ({"seed": -1}, "plan ahead: seed: -1"),
        ({"duration_s": np.array([0])}, "plan ahead: duration_s: 0; allowed: 1 or more"),
        ({"units": np.array([0])}, "plan ahead: units: 0; allowed: 1 or more"),
        ({"per_unit": np.array([[0]])}, "plan ahead: per_unit: 0; allowed: 1 or more of some resource"),
    ):
        with pytest.raises(InputError) as error:
            plan_ahead(np.array([[4]]), **{**good, **wrong})  # type: ignore[arg-type]
        assert said in str(error.value)
        assert "\n" not in str(error.value)
    nobody = {name: column[:0] for name, column in good.items()}
    assert plan_ahead(np.array([[4]]), **nobody).value == 0


@pytest.mark.parametrize(
    ("name", "values", "kind", "of", "allowed"), table_rows(__file__, "columns_that_do_not_belong_together")
)
def test_columns_that_do_not_belong_together(name: str, values: list[Any], kind: str, of: str, allowed: str) -> None:
    good = {"submit_s": [0, 0], "duration_s": [9, 1], "units": [1, 1], "per_unit": [[1], [4]], "known_s": [0, 9]}
    columns = {"capacity": np.array([[4]]), **{one: np.array(column) for one, column in good.items()}}
    columns[name] = np.array(values, kind)
    with pytest.raises(PluginError) as error:
        plan_ahead(columns.pop("capacity"), **columns)  # type: ignore[arg-type]
    said = f"plan ahead: {name}: {kind} of shape {of}; allowed: whole numbers (int64) of shape {allowed}"
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_other_whole_numbers_and_lists_are_taken() -> None:
    columns = {"submit_s": [0, 0], "duration_s": [9, 1], "units": [1, 1], "per_unit": [[1], [4]]}
    small = {name: np.array(column, np.int32) for name, column in columns.items()}
    for one in (small, columns, columns | {"known_s": [0, 9]}):
        assert plan_ahead(np.array([[4]], np.uint8), **one).start_s.tolist() == [1, 0], one  # type: ignore[arg-type]
