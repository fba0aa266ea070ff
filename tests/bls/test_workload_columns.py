"""The optional columns of a workload: their defaults, how readers and Python give them, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows
from test_swf import line, parse

from bls.workloads import READERS, read_workload
from bls.workloads.columns import OPTIONAL
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9


def test_defaults_stand_in_every_row() -> None:
    made = Workload.from_jobs([(1, 0, 5, 2, 9), (2, 1, 5, 2, 9)])
    for name, default in OPTIONAL.items():
        column = getattr(made, name)
        assert column.tolist() == [default, default]
        assert column.dtype == np.int64
        assert not column.flags.writeable
    again = pickle.loads(pickle.dumps(made))
    assert again.qos.tolist() == [-1, -1]


def test_a_column_is_not_shared_with_who_gave_it() -> None:
    column = np.arange(1, 4)
    locked = column.view()
    locked.flags.writeable = False  # the numbers can still be changed through the other
    made = Workload.from_lines([locked] * 6, header=(), rejects={}, source="w", n_lines=3, extra={"user": locked})
    column[:] = 9
    assert made.user.tolist() == made.job_id.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("extras", "message"),
    [
        ({"gpus": np.array([1, 2])}, r"w: column gpus has shape \(2,\); allowed: \(3,\)"),
        ({"gpus": np.array([1.0, 2.0, 3.0])}, "w: column gpus is of type float64; allowed: int64"),
        ({"gpus": np.array([1, 2, 3], np.uint64)}, "w: column gpus is of type uint64"),
        ({"": np.array(1)}, "w: a further column is called ''"),
        ({"a\nb": np.array(1)}, r"w: a further column is called 'a\\nb'; allowed: 1 to 100 printable"),
        ({5: np.array(1)}, "w: a further column is called 5"),
    ],
)
def test_further_columns_are_checked(extras: dict[str, np.ndarray], message: str) -> None:
    column = np.arange(1, 4)
    with pytest.raises(InputError, match=message):
        Workload.from_lines([column] * 6, header=(), rejects={}, source="w", n_lines=3, extras=extras)


def test_further_columns_are_sorted_with_the_jobs_and_lose_the_duplicates() -> None:
    job_id, submit = np.array([1, 2, 1, 3]), np.array([9, 0, 4, 5])
    one = np.ones(4, np.int64)
    made = Workload.from_lines(
        [job_id, submit, one, one, one, np.arange(1, 5)],
        header=(), rejects={}, source="w", n_lines=4, extras={"gpus": np.array([10, 20, 11, 30])},
        extra={"user": np.array([1, 2, 3, 4])},
    )  # fmt: skip
    assert made.user.tolist() == [2, 4, 1]
    assert made.job_id.tolist() == [2, 3, 1]
    assert made.extras["gpus"].tolist() == [20, 30, 10]
    assert made.rejects["duplicate job number"] == 1


def test_memory_is_what_was_asked_for_or_else_what_was_used_rounded_up() -> None:
    fields: tuple[dict[str, str], ...] = (
        {"f7": "100", "f10": "200"},
        {"f7": "100", "f10": "-1"},
        {"f7": "0", "f10": "0.25"},
        {},
    )
    found = parse(*(line(f1=str(k), **changes) for k, changes in enumerate(fields)))
    assert found.memory_kb.tolist() == [200, 100, 1, -1]


@pytest.mark.parametrize("field", ["f3", "f7", "f10", "f11", "f12", "f13", "f14", "f15", "f16", "f17", "f18"])
@pytest.mark.parametrize("value", ["-7", "-0.5", "9" * 40, "-" + "9" * 40, "1.01"])
def test_an_extra_field_that_cannot_be_used_is_unknown_and_never_a_reject(field: str, value: str) -> None:
    if (field, value) in [(whole, "1.01") for whole in ("f3", "f7", "f10", "f18")]:
        return  # these may have fractions
    found = parse(line(**{field: value}, **({} if field == "f11" else {"f11": "-1"})))
    assert sum(found.rejects.values()) == 0
    assert {name: int(getattr(found, name)[0]) for name in OPTIONAL} == dict(OPTIONAL)


# ---------------------------------------------------------------- cancelled before their start

CANCELLED = line(f1="5", f2="100", f3="20", f4="-1", f5="-1", f11="5")


def test_readers_that_know_no_cancelled_jobs(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{tmp_path}/a.swf"
    with open(path, "w") as file:
        file.write(CANCELLED)
    assert len(read_workload(path, cancelled=True)) == 1
    monkeypatch.setitem(READERS, "plain", lambda path: Workload.from_jobs([(1, 0, 5, 3, 9)]))
    assert len(read_workload(path, format="plain")) == 1
    with pytest.raises(InputError, match="reader plain cannot tell jobs that were cancelled"):
        read_workload(path, format="plain", cancelled=True)


@settings(max_examples=200)
@given(st.lists(st.tuples(*[st.integers(-1, 6)] * 18), min_size=1, max_size=8))
def test_cancelled_jobs_only_add_to_what_is_read(rows: list[tuple[int, ...]]) -> None:
    lines = [" ".join(map(str, (k, *row[1:]))) for k, row in enumerate(rows)]
    with_one = [line(f1="99"), *lines]
    plain, more = parse(*with_one), parse(*with_one, cancelled=True)
    known = more.take(~more.run_unknown)
    assert known.job_id.tolist() == plain.job_id.tolist()
    for name in OPTIONAL:
        assert getattr(known, name).tolist() == getattr(plain, name).tolist()
    extra = [
        k for k, row in enumerate(rows)
        if row[1] >= 0 and row[3] <= 0 and row[10] in (0, 5) and row[2] >= 0 and row[8] > 0 and (row[7] > 0 or row[4] > 0)
    ]  # fmt: skip
    assert sorted(more.job_id[more.run_unknown].tolist()) == extra


# ---------------------------------------------------------------- jobs from Python


def test_from_jobs_takes_mappings() -> None:
    made = Workload.from_jobs(
        [
            {"job_id": 1, "submit_s": 0.5, "run_s": 3, "cores": 2, "user": 7, "think_s": 1.5, "preceding": 2},
            (2, 0, 5, 2, 9),
            {"job_id": 3, "submit_s": 1, "run_s": None, "estimate_s": 9, "cores": 2, "cancel_s": 4, "wait_s": 3},
            {"job_id": 4, "submit_s": 1, "run_s": 2, "cores": 2, "cancel_s": 4, "qos": -1, "application": 6},
        ]
    )
    assert made.job_id.tolist() == [2, 1, 3, 4]
    assert made.estimate_ns.tolist() == [9 * NS, 3 * NS, 9 * NS, 2 * NS]
    assert made.user.tolist() == [-1, 7, -1, -1]
    assert made.application.tolist() == [-1, -1, -1, 6]
    assert made.preceding.tolist() == [-1, 2, -1, -1]
    assert made.think_ns.tolist() == [0, 1_500_000_000, 0, 0]
    assert made.cancel_ns.tolist() == [-1, -1, 4 * NS, 4 * NS]
    assert made.run_unknown.tolist() == [False, False, True, False]


def test_a_job_with_a_run_time_is_known_however_it_ends() -> None:
    plain: dict[str, object] = {"submit_s": 1, "cores": 2, "estimate_s": 9, "cancel_s": 4}
    runs: list[dict[str, object]] = [
        {"run_s": 3, "status": 5},
        {"run_s": 1e-9, "status": 1},
        {"run_s": 1e-9},
        {"run_s": None, "status": 0},
    ]
    made = Workload.from_jobs(plain | {"job_id": k} | job for k, job in enumerate(runs))
    assert made.run_unknown.tolist() == [False, False, False, True]


JOB = {"job_id": 1, "submit_s": 2, "run_s": 5, "cores": 1, "estimate_s": 5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *table_rows(__file__, "mappings_are_checked"),
        ({"run_s": None}, "run_s: None needs cancel_s"),
        ({"run_s": None, "cancel_s": 3, "estimate_s": None}, "run_s: None needs estimate_s"),
        ({"run_s": None, "cancel_s": 3, "status": 1}, "status: 1 with run_s None; allowed: 0 or 5"),
    ],
)
def test_mappings_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Workload.from_jobs([JOB | changes])


def test_a_needed_key_is_missed() -> None:
    with pytest.raises(InputError, match=r"jobs\[0\]: cores: missing"):
        Workload.from_jobs([{key: value for key, value in JOB.items() if key != "cores"}])
