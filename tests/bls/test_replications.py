"""Windows of a log as replications, and shaken submits, against slow counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads.replications import replication, shaken, window_begins
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9
MACHINE = Platform((HostGroup(1, 4, 1.0),))


def log(*rows: tuple[int, int, int], cores: int = 1) -> Workload:
    """Jobs of (submit, wait, run), s."""
    return Workload.from_jobs(
        {"job_id": k, "submit_s": s, "run_s": r, "cores": cores, "estimate_s": r, "wait_s": w}
        for k, (s, w, r) in enumerate(rows, 1)
    )


ROWS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=20)


@settings(max_examples=100)
@given(ROWS, st.integers(1, 15), st.integers(0, 15))
def test_windows_are_whole_and_have_jobs(rows: list[tuple[int, int, int]], length: int, warm_up: int) -> None:
    submits = sorted(s for s, _, _ in rows)
    begins, at = [], submits[0] + warm_up
    whole = False
    while at + length <= submits[-1]:
        whole = True
        if any(at <= s < at + length for s in submits):
            begins.append(at * NS)
        at += length
    if not whole:
        with pytest.raises(InputError, match=r"^replicate: jobs has submits for .*, too short for a window of"):
            window_begins(log(*rows), length * NS, warm_up * NS)
        return
    assert list(window_begins(log(*rows), length * NS, warm_up * NS)) == begins


@settings(max_examples=100)
@given(ROWS, st.integers(1, 15), st.integers(0, 15), st.booleans())
def test_a_replication_counts_its_jobs(
    rows: list[tuple[int, int, int]], length: int, warm_up: int, preset: bool
) -> None:
    made = log(*rows)
    try:
        begins = window_begins(made, length * NS, warm_up * NS)
    except InputError:
        return
    by_id = dict(enumerate(rows, 1))
    for begin in (ns // NS for ns in begins):
        found = replication(made, begin * NS, length * NS, warm_up * NS, preset=preset)
        zero, end = begin - warm_up, begin + length
        before = {k for k, (s, w, r) in by_id.items() if preset and s < zero < s + w + r}
        warm = {k for k, (s, _, _) in by_id.items() if zero <= s < begin}
        counted = {k for k, (s, _, _) in by_id.items() if begin <= s < end}
        assert set(found.job_id.tolist()) == before | warm | counted
        uncounted = set() if found.uncounted is None else set(found.job_id[found.uncounted].tolist())
        assert uncounted == before | warm
        for k, submit in zip(found.job_id.tolist(), found.submit_ns.tolist(), strict=True):
            assert submit == max(by_id[k][0] - zero, 0) * NS


def test_metrics_of_a_replication_by_hand() -> None:
    """On 4 cores, all jobs with 4: 1 runs 0-20; 2 waits from 2 on; 3 is submitted at 10, the window's start, 4 at 12."""
    made = log((0, 0, 20), (2, 18, 5), (10, 0, 3), (12, 0, 4), (30, 0, 1), cores=4)
    jobs = replication(made, 10 * NS, 10 * NS)
    result = bridge.simulate(jobs, MACHINE, als="recorded")
    # 1 until 10 (preset), 2 until 15, 3 until 18, 4 until 22: of the log's time 20, 25, 28, 32.
    assert (result.jobs.end_ns // NS).tolist() == [10, 15, 18, 22]
    found = result.metrics
    expected = {
        "jobs": 2, "measured_jobs": 2, "mean_wait_ns": (15 + 16) / 2 * NS, "max_wait_ns": 16 * NS, "makespan_ns": 22 * NS,
        "utilisation": 1.0, "why_preset": 0, "state_completed": 2, "completed_core_hours": 4 * 7 / 3600,
        "max_queue_length": 3,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert result.main_metrics["mean_wait_ns"] == found["mean_wait_ns"]
    tasks = [bridge.simulate(one, MACHINE, als="static", tasks_per_core=2).metrics["tasks"] for one in (jobs, made)]
    assert tasks[0] / tasks[1] == pytest.approx(2 / 5, abs=0.1), "of four jobs two are counted"


def test_shaken_submits() -> None:
    made = log(*((10 * k, 0, 5) for k in range(50)))
    assert shaken(made, 0, 60 * NS) is made
    one, again, other = (shaken(made, sample, 60 * NS) for sample in (1, 1, 2))
    assert one.submit_ns.tolist() == again.submit_ns.tolist() != other.submit_ns.tolist()
    later = dict(zip(one.job_id.tolist(), one.submit_ns.tolist(), strict=True))
    assert all(0 <= later[k] - 10 * (k - 1) * NS < 60 * NS for k in later)
    started = replication(made, 2 * NS, 100 * NS)
    assert started.preset.any()
    assert shaken(started, 3, 60 * NS).preset.sum() == started.preset.sum()
    assert shaken(started, 3, 60 * NS).submit_ns[0] == 0
    with pytest.raises(InputError, match=r"^shake: 0 is out of range"):
        shaken(made, 1, 0)


@pytest.mark.parametrize("column", ["cancel_ns", "begin_ns"])
def test_instants_of_a_job_move_with_its_shaken_submit(column: str) -> None:
    made = log(*((10 * k, 0, 5) for k in range(20)))
    instants = np.where(np.arange(20) % 2, made.submit_ns + 7 * NS, -1)
    one = shaken(made.take(np.arange(20), **{column: instants}), 1, 60 * NS)
    expected = np.where(one.job_id % 2 == 0, one.submit_ns + 7 * NS, -1)
    assert getattr(one, column).tolist() == expected.tolist()


WEEKS = log(*((s, s % 3, 1 + s * 7 % 11) for s in range(0, 200, 2)))


def test_a_grid_of_windows_is_paired_by_window() -> None:
    options = bridge.Options(als="recorded")
    grid = bridge.Grid(("fcfs", "sjf"), ("recorded",), (0.0,), options)
    rows = bridge.run_grid(WEEKS, MACHINE, grid, workers=1, replicate="40s", warmup="10s")
    assert [(row["bls"], row["seed"], row["window_begin_ns"] // NS) for row in rows] == [
        (bls, k, 10 + 40 * k) for bls in ("fcfs", "sjf") for k in range(4)
    ]
    assert all(row["jobs"] == 20 for row in rows)
    assert list(rows.frame.columns[:8]) == [
        "workload", "bls", "backfill", "als", "variation", "seed", "window_begin_ns", "error",
    ]  # fmt: skip
    some = bridge.Grid(("fcfs",), ("recorded",), (0.0,), options, seeds=(1, 3))
    few = bridge.run_grid(WEEKS, MACHINE, some, workers=1, replicate="40s", warmup="10s")
    assert [row["mean_wait_ns"] for row in few] == [rows[1]["mean_wait_ns"], rows[3]["mean_wait_ns"]]
    with pytest.raises(InputError, match=r"^seeds: there is no window 9: jobs has 4 windows, numbered from 0"):
        bridge.run_grid(
            WEEKS, MACHINE, bridge.Grid(("fcfs",), ("recorded",), (0.0,), options, seeds=(1, 9)), replicate="40s"
        )
    with pytest.raises(InputError, match=r"^warmup: needs replicate"):
        bridge.run_grid(WEEKS, MACHINE, grid, warmup="1s")
    with pytest.raises(InputError, match=r"^shake: not with replicate"):
        bridge.run_grid(WEEKS, MACHINE, grid, replicate="40s", shake="1s")
