"""A packed timeline contains the tables: read back as the page reads it, in plain Python."""

from __future__ import annotations

import base64
import io
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import table_rows, table_text

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from bridge.runs.page import parts_of_result, timeline_of
from traces.base.errors import InputError
from traces.holdings import HeldGpus
from traces.timeline import TimelineTables, coded, timeline_text

INT64 = st.integers(-(2**63), 2**63 - 1)


def decoded(planes: np.ndarray[Any, Any], how: dict[str, Any]) -> list[int]:
    rows, width = how["rows"], how["width"]
    assert len(planes) == rows * width
    numbers = []
    before = 0
    for row in range(rows):
        number = sum(int(planes[plane * rows + row]) << (8 * plane) for plane in range(width))
        if how["signed"]:
            number = -(number // 2) - 1 if number % 2 else number // 2
        if how["differences"]:
            number = (before + number + 2**63) % 2**64 - 2**63
        before = number
        numbers.append(number)
    return numbers


@given(st.lists(INT64, max_size=20), st.booleans())
@example([0, -1, 7], False)
def test_numbers_come_back(numbers: list[int], differences: bool) -> None:
    planes, how = coded(np.array(numbers, np.int64), differences=differences)
    assert decoded(planes, how) == numbers


@pytest.mark.parametrize(("numbers", "differences", "width"), table_rows(__file__, "no_more_bytes_than_needed"))
def test_no_more_bytes_than_needed(numbers: list[int], differences: bool, width: int) -> None:
    assert coded(np.array(numbers, np.int64), differences=differences)[1]["width"] == width


#: Beyond what a float knows exactly.
_BASE = 2**60 + 1


JOBS = table_text(__file__, "jobs")
TASKS = table_text(__file__, "tasks")


def frame(text: str) -> pd.DataFrame:
    """A table whose instants count from the base; -1 is no instant."""
    words = dict.fromkeys(("allocation", "why", "state", "name"), str)
    found = pd.read_csv(io.StringIO(text), sep=" ", dtype=words, keep_default_na=False, na_values={"imbalance": "nan"})
    for name in found.columns[found.columns.str.endswith("_ns")]:
        found[name] = found[name].where(found[name] < 0, found[name] + _BASE)
    return found


def tables() -> TimelineTables:
    """Two jobs; the first gives core 1 back early and is tried again, and the third never starts."""
    releases = pd.DataFrame({"row": [0], "core": [1], "released_ns": [_BASE + 55]})
    machine: dict[str, Any] = {"first_core": np.array([0, 2, 5]), "host_names": ["a", "b"]}
    return TimelineTables(jobs=frame(JOBS), tasks=frame(TASKS), releases=releases, technique="gss", **machine)


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    data = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(data[8:12], "little")
    header = json.loads(data[12 : 12 + length])
    begin = (12 + length + 7) & ~7
    about, columns = header["about"], {}
    for entry in header["columns"]:
        column = np.frombuffer(data, "<" + entry["type"], entry["rows"], begin + entry["offset"])
        how = about["coded"].get(entry["name"])
        columns[entry["name"]] = decoded(column, how) if how else column.tolist()
    return about, columns


def test_jobs_come_back_exactly() -> None:
    made = tables()
    about, columns = unpacked(timeline_text(made))
    base = int(about["base_ns"])
    assert base == _BASE
    assert columns["job_id"] == [7, 3, 9, 7]
    submit = np.array(columns["submit"]) + base
    eligible = submit + columns["eligible_after"]
    start = eligible + columns["wait"]
    ran = np.array(columns["started"], bool)
    assert submit.tolist() == made.jobs["submit_ns"].tolist()
    assert eligible.tolist() == made.jobs["eligible_ns"].tolist()
    assert start[ran].tolist() == made.jobs["start_ns"][ran].tolist()
    assert (start + columns["run"])[ran].tolist() == made.jobs["end_ns"][ran].tolist()
    for name in ("why", "state", "name"):
        assert [about["texts"][name][code] for code in columns[f"{name}_code"]] == made.jobs[name].tolist()
    assert about["texts"]["technique"] == ["gss"]


def test_tasks_come_back_by_core_and_time() -> None:
    made = tables()
    about, columns = unpacked(timeline_text(made))
    found = []
    row = 0
    for core, count in enumerate(columns["core_tasks"]):
        at = int(about["base_ns"])
        for _ in range(count):
            begin = at + columns["task_gap"][row]
            at = begin + columns["task_run"][row]
            job = columns["job_id"][columns["task_job"][row]]
            found.append((core, job, columns["task_number"][row], columns["task_chunk"][row], begin, at))
            row += 1
    assert made.tasks is not None
    names = ["core", "job_id", "task", "chunk", "start_ns", "end_ns"]
    assert found == sorted(made.tasks[names].itertuples(index=False, name=None), key=lambda task: (task[0], task[4]))


def test_held_intervals_end_at_releases() -> None:
    _, columns = unpacked(timeline_text(tables()))
    names = ("hold_job", "hold_lo", "hold_cores", "hold_late", "hold_early")
    assert list(zip(*(columns[name] for name in names), strict=True)) == [
        (0, 0, 1, 0, 0),
        (0, 1, 1, 0, 45),
        (0, 4, 1, 0, 0),
        (1, 1, 1, 0, 0),
        (3, 2, 2, 0, 0),
    ]
    assert list(zip(columns["busy_at"], columns["busy"], strict=True)) == [
        (10, 3), (55, 2), (60, 3), (90, 2), (100, 0), (200, 2), (333, 0),
    ]  # fmt: skip
    assert list(zip(columns["queue_at"], columns["queue"], strict=True)) == [
        (0, 1), (7, 2), (10, 1), (60, 0), (100, 1), (200, 0),
    ]  # fmt: skip


def test_gpus_come_back_exactly() -> None:
    made = tables()
    held = [(0, 7, 1, 500, 10, 60), (0, 7, 2, 1000, 10, 100), (1, 3, 1, 600, 60, 90), (3, 7, 1, 250, 200, 333)]
    job, job_id, gpu, milli, start, end = np.array(held, np.int64).T
    times = (start + _BASE, end + _BASE)
    kinds = ("", "t4")
    without, plain = timeline_text(made), unpacked(timeline_text(made))
    assert not {"gpus", "gpu_kinds"} & ({*plain[0]} | {*plain[1]})
    gpus = HeldGpus(job, job_id, gpu, milli, *times, np.array([0, 1, 3]), kinds)
    about, columns = unpacked(timeline_text(replace(made, gpus=gpus)))
    assert about["gpu_kinds"] == ["", "t4"]
    assert (columns["host_gpus"], columns["gpu_lanes"]) == ([1, 2], [1, 1, 1])
    ends = made.jobs["end_ns"].to_numpy()[job] - columns["gpu_early"] - _BASE
    assert list(zip(columns["gpu_job"], columns["gpu_lane"], columns["gpu_milli"], ends, strict=True)) == [
        (row, number, part, until) for row, _, number, part, _, until in held
    ]
    busy = [(10, 1500), (60, 1600), (90, 1000), (100, 0), (200, 250), (333, 0)]
    assert list(zip(columns["gpus_at"], columns["gpus"], strict=True)) == busy
    assert timeline_text(replace(made, gpus=None)) == without


def test_the_gpus_of_a_run_are_those_of_its_table(tmp_path: Path) -> None:
    """Some hosts are left early."""
    requests = tmp_path / "requests.csv"
    requests.write_text("job_id,gpus_per_task,gpu_milli\n1,1,250\n2,2,\n3,1,500\n4,1,250\n5,1,\n")
    log = Workload.from_jobs([(k, k // 3, 40 + k, 1 + k % 4, 400) for k in range(1, 13)])
    groups = HostGroup(1, 4, 4.0), HostGroup(1, 4, 4.0, gpus=2, gpu="a100"), HostGroup(1, 4, 4.0, gpus=3, gpu="t4")
    options: dict[str, Any] = {"als": "static", "variation": 0.5, "rules": Rules(coordination="release:host")}
    asked = ConstraintOptions(requests=str(requests))
    result = bridge.simulate(log, platform=Platform(groups), constraints=asked, **options)
    about, columns = unpacked(timeline_text(timeline_of(parts_of_result(result))))
    assert (about["gpu_kinds"], columns["host_gpus"]) == (["", "a100", "t4"], [0, 2, 3])
    gpu_of_lane = np.repeat(np.arange(5), columns["gpu_lanes"])
    texts: list[list[str]] = [[] for _ in range(len(result.jobs))]
    for row, lane, milli in zip(columns["gpu_job"], columns["gpu_lane"], columns["gpu_milli"], strict=True):
        texts[row].append(f"{gpu_of_lane[lane]}" + f":{milli}" * (milli < 1000))
    assert texts == [[one for word in text.split() for one in whole(word)] for text in result.jobs["gpu_allocation"]]
    assert any(":250" in word for text in texts for word in text)
    assert min(columns["gpu_early"]) == 0 < max(columns["gpu_early"])


def whole(word: str) -> list[str]:
    lo, _, hi = word.partition("-")
    return [word] if not hi else [str(gpu) for gpu in range(int(lo), int(hi) + 1)]


def test_causes_of_a_comparison_are_rows() -> None:
    causes = pd.DataFrame(
        {
            "job_id": [3, 7, 99],
            "attempt": [0, 1, 0],
            "cause": ["release", "retry", "submit"],
            "cause_job": [7, 7, -1],
            "cause_attempt": [0, 0, -1],
        }
    )
    about, columns = unpacked(timeline_text(replace(tables(), causes=causes)))
    assert columns["cause_job"] == [-1, 0, -1, 0]
    assert [about["texts"]["cause"][code] for code in columns["cause_code"]] == ["", "release", "", "retry"]


def test_power_is_there_where_it_is_known() -> None:
    power = pd.DataFrame({"instant_ns": [_BASE, _BASE + 9], "power_mw": [5, 2**40], "limit_mw": [-1, 7]})
    _, columns = unpacked(timeline_text(replace(tables(), power=power)))
    assert (columns["power_at"], columns["power"], columns["limit"]) == ([0, 9], [5, 2**40], [-1, 7])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda made: replace(made, tasks=made.tasks[1:]), "not of one run"),
        (lambda made: replace(made, first_core=np.array([0, 2, 3])), "has a core 4; the machine has 3"),
        (lambda made: replace(made, jobs=made.jobs.drop(columns="why").drop(columns="chunks")), "no column chunks"),
        (lambda made: replace(made, users=["ann"]), "1 users for 4 rows"),
    ],
)
def test_tables_that_do_not_fit(change: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        timeline_text(change(tables()))
