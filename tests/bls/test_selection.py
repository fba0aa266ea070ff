"""Which jobs are simulated, and which of them run or wait at the start; windows as replications, and shaken submits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload
from bls.workloads.header import Calendar
from bls.workloads.reshape import replication, shaken, window_begins
from bls.workloads.selection import busiest_window, check_preset, fit, heaviest_window, select
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS

NS = 10**9


def workload(*submits_s: float, cores: tuple[int, ...] = ()) -> Workload:
    widths = cores or (1,) * len(submits_s)
    return Workload.from_jobs([(k + 1, s, 10, w, 20) for k, (s, w) in enumerate(zip(submits_s, widths, strict=True))])


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 2**61)), min_size=1, max_size=12), st.integers(1, 12))
def test_busiest_and_heaviest_are_the_earliest_windows_with_most(jobs: list[tuple[int, int]], length: int) -> None:
    made = workload(*(s for s, _ in jobs), cores=tuple(cores for _, cores in jobs))
    for name, window, weight in (
        ("busiest", busiest_window, lambda n: 1),
        ("heaviest", heaviest_window, lambda n: 10 * NS * n),
    ):
        sums = {t: sum(weight(n) for s, n in jobs if t <= s < t + length) for t, _ in jobs}
        start = min(t for t in sums if sums[t] == max(sums.values()))
        assert window(made, length * NS) == (start * NS, sums[start])
        found = select(made, f"{name}:{length}s")
        assert found.submit_ns.tolist() == sorted((s - start) * NS for s, _ in jobs if start <= s < start + length)


@pytest.mark.parametrize(("spec", "date_s"), table_rows(__file__, "dates_stay_those_of_the_log"))
def test_dates_stay_those_of_the_log(spec: str, date_s: int) -> None:
    header = ("; UnixStartTime: 1000000", "; TimeZoneString: Europe/Paris")
    log = replace(workload(3, 10, 11, 12), header=header)
    found = select(log, spec)
    assert Calendar.of(found).date_ns == date_s * NS
    assert found.header[1:] == header[1:]
    assert log.header == header


def test_all_and_first_keep_the_log_s_own_times() -> None:
    made = workload(7, 5, 9)
    assert select(made, "all") is made
    assert select(made, "first:2").submit_ns.tolist() == [5 * NS, 7 * NS]
    assert select(made, " first:99 ").job_id.tolist() == [2, 1, 3]


def test_windows_at_the_end_of_time() -> None:
    last_s = MAX_NS // NS
    made = workload(0, 1, last_s)
    assert busiest_window(made, MAX_NS) == (0, 3)
    assert select(made, f"window:{last_s}+{last_s}").submit_ns.tolist() == [0]


@pytest.mark.parametrize("spec", [*table_rows(__file__, "bad_specifications"), "first:" + "9" * 5000])
def test_the_error_of_a_bad_specification_lists_the_allowed_forms(spec: str) -> None:
    with pytest.raises(InputError, match=r"^select=.*: .*allowed: (.* as |up to 7625w)") as caught:
        select(workload(1, 2), spec)
    assert len(str(caught.value)) < 360


def test_fit_rejects_or_clamps_wide_jobs_and_counts_them() -> None:
    made = workload(1, 2, 3, cores=(4, 5, 1))
    found, clamped = fit(made, 4), fit(made, 3, "clamp")
    assert (found.job_id.tolist(), found.rejects[TOO_WIDE]) == ([1, 3], 1)
    assert fit(found, 4) is found
    assert fit(found, 3).rejects[TOO_WIDE] == 2
    assert (clamped.cores.tolist(), clamped.run_ns.tolist()) == ([3, 3, 1], [10 * NS] * 3)
    assert (clamped.clamped, clamped.rejects[TOO_WIDE]) == (2, 0)
    with pytest.raises(InputError, match="none of 2 jobs fits a platform of 2 cores; the narrowest requests 3"):
        fit(workload(1, 2, cores=(4, 3)), 2)
    with pytest.raises(InputError, match=r"oversize='clmp': unknown .* 'clmp'; known: clamp, reject"):
        fit(workload(1), 2, "clmp")


LOG = table_rows(__file__, "log")


def log(rows: list[tuple[int, int, int, int, int]]) -> Workload:
    return Workload.from_jobs(
        {"job_id": job, "submit_s": submit, "run_s": run, "cores": max(job, 1), "estimate_s": estimate, "wait_s": wait}
        for job, submit, wait, run, estimate in rows
    )


def test_waiting_jobs_are_in_the_order_of_lines_and_rewritten_logs_in_that_of_submits(tmp_path: Path) -> None:
    rows = [(1, 50, 0, 5, 5), (2, 40, 30, 5, 5), (3, 20, 40, 5, 5), (4, 30, 40, 5, 5)]
    lines = "".join(
        f"{job} {at} {wait} {run} 1 -1 -1 1 {least} -1 1 1 1 1 1 1 -1 -1\n" for job, at, wait, run, least in rows
    )
    mixed = tmp_path / "mixed.swf"
    mixed.write_text(lines)
    assert read_workload(mixed).reordered == 3
    assert select(read_workload(mixed), "window:50+10", preset=True).job_id.tolist() == [1, 2, 3, 4]
    succeeds("workload", "cut", mixed, "-o", tmp_path / "sorted.swf")
    found = select(read_workload(tmp_path / "sorted.swf"), "window:50+10", preset=True)
    assert found.job_id.tolist() == [3, 4, 2, 1]
    assert found.submit_ns.tolist() == [0] * 4
    assert found.waiting == 3


def test_cancel_instants_move_with_the_window() -> None:
    jobs: list[dict[str, object]] = [
        {"job_id": 1, "submit_s": 0, "run_s": None, "cores": 1, "estimate_s": 99, "wait_s": 5, "cancel_s": 5},
        {"job_id": 2, "submit_s": 0, "run_s": 99, "cores": 1, "wait_s": 5, "cancel_s": 40},
        {"job_id": 3, "submit_s": 0, "run_s": 99, "cores": 1, "wait_s": 5, "cancel_s": 51},
        {"job_id": 4, "submit_s": 55, "run_s": None, "cores": 1, "estimate_s": 9, "wait_s": 5, "cancel_s": 60},
        {"job_id": 5, "submit_s": 30, "run_s": None, "cores": 1, "estimate_s": 9, "wait_s": 27, "cancel_s": 57},
        {"job_id": 6, "submit_s": 30, "run_s": 99, "cores": 1, "wait_s": 30, "cancel_s": 45},
    ]
    found = select(Workload.from_jobs(jobs), "window:50+10", preset=True)
    assert found.job_id.tolist() == [3, 5, 4]
    assert found.cancel_ns.tolist() == [1 * NS, 7 * NS, 10 * NS]
    assert found.run_unknown.tolist() == [False, True, True]
    assert found.preset.tolist() == [1, 0, 0]
    assert found.waiting == 1  # it is in the queue, and leaves it when it did


JOBS = st.tuples(st.integers(0, 30), st.integers(-1, 20), st.integers(1, 30), st.integers(1, 30))


@settings(max_examples=200)
@given(st.lists(JOBS, min_size=1, max_size=10), st.integers(0, 31), st.integers(1, 12))
def test_agrees_with_a_slow_count(jobs: list[tuple[int, int, int, int]], start: int, length: int) -> None:
    rows = [(k, *job) for k, job in enumerate(jobs)]
    expected: list[tuple[int, int, float, float, int]] = []
    inside, waiting = False, 0
    for job, submit, wait, run, estimate in rows:
        begun = submit + wait
        if start <= submit < start + length:
            inside = True
            expected.append((submit - start, job, run, estimate, 0))
        elif submit < start and wait >= 0 and begun <= start < begun + run:
            left = (begun + estimate - start) * NS
            expected.append((0, job, begun + run - start, max(left, 1) / NS, 1))
        elif submit < start and wait >= 0 and begun > start:
            expected.append((0, job, run, estimate, 0))
            waiting += 1
    if all(wait < 0 for _, _, wait, _, _ in rows):
        return
    if not inside:
        with pytest.raises(InputError, match="no job is submitted in"):
            select(log(rows), f"window:{start}+{length}", preset=True)
        return
    found = select(log(rows), f"window:{start}+{length}", preset=True)
    columns = (found.submit_ns, found.job_id, found.run_ns, found.estimate_ns, found.preset)
    times = [(s // NS, j, r // NS, e / NS, p) for s, j, r, e, p in zip(*(c.tolist() for c in columns), strict=True)]
    assert times == sorted(expected, key=lambda row: row[:2])
    assert found.waiting == waiting


def test_jobs_running_at_the_start_need_a_window_waits_and_room() -> None:
    for spec in ("all", "first:3"):
        words = r"^select='.*': '.*' has no start .* preset=True needs busiest:, heaviest: or window:"
        with pytest.raises(InputError, match=words):
            select(log(LOG), spec, preset=True)
    with pytest.raises(InputError, match=r"select=.*: preset=True needs recorded waits; jobs has none"):
        select(Workload.from_jobs([(1, 0, 5, 1, 5)]), "window:0+5", preset=True)
    found = select(log(LOG), "window:50+10", preset=True)
    check_preset(found, 11)
    with pytest.raises(InputError, match="11 cores run jobs at the selection's start; the platform has 10"):
        check_preset(found, 10)
    assert found.selected_text == "6 jobs selected, including 3 running and 1 queued at the start"
    assert select(log(LOG), "window:50+10", preset=False).selected_text == "2 jobs selected"


LOGS = {
    "log": log(LOG),
    "heavy": log([*LOG, (50, 46, 0, 100, 100)]),
    "no waits": Workload.from_jobs([(1, 0, 60, 1, 60), (2, 50, 5, 1, 5)]),
}


@pytest.mark.parametrize(
    ("name", "spec", "running", "waiting", "words", "preset", "n_cores"), table_rows(__file__, "how_a_window_starts")
)
def test_a_window_starts_with_the_jobs_that_the_log_records(
    name: str, spec: str, running: int, waiting: int, words: str, preset: bool | None, n_cores: int | None
) -> None:
    found = select(LOGS[name], spec, preset=preset, n_cores=n_cores)
    assert (found.preset.sum(), found.waiting) == (running, waiting)
    assert found.window_text == f"window: starts with {words}"


def test_jobs_too_wide_for_the_platform_need_room_at_the_start_too() -> None:
    whole = log([*LOG, (100, 1, 0, 100, 100)])
    fitting = fit(whole, 20)
    assert fitting.window_text == select(fitting, "first:2").window_text == ""
    assert select(fitting, "window:50+10", n_cores=20).preset.any()
    found = select(fitting, "window:50+10", n_cores=20, whole=whole)
    assert found.window_text.endswith("the log's running jobs hold 111 cores then, and the platform has 20")
    assert not found.preset.any()


MACHINE = Platform((HostGroup(1, 4, 1.0),))


def log_rep(*rows: tuple[int, int, int], cores: int = 1) -> Workload:
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
            window_begins(log_rep(*rows), length * NS, warm_up * NS)
        return
    assert list(window_begins(log_rep(*rows), length * NS, warm_up * NS)) == begins


@settings(max_examples=100)
@given(ROWS, st.integers(1, 15), st.integers(0, 15), st.booleans())
def test_a_replication_counts_its_jobs(
    rows: list[tuple[int, int, int]], length: int, warm_up: int, preset: bool
) -> None:
    made = log_rep(*rows)
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
    made = log_rep((0, 0, 20), (2, 18, 5), (10, 0, 3), (12, 0, 4), (30, 0, 1), cores=4)
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
    made = log_rep(*((10 * k, 0, 5) for k in range(50)))
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
    made = log_rep(*((10 * k, 0, 5) for k in range(20)))
    instants = np.where(np.arange(20) % 2, made.submit_ns + 7 * NS, -1)
    one = shaken(made.take(np.arange(20), **{column: instants}), 1, 60 * NS)
    expected = np.where(one.job_id % 2 == 0, one.submit_ns + 7 * NS, -1)
    assert getattr(one, column).tolist() == expected.tolist()


WEEKS = log_rep(*((s, s % 3, 1 + s * 7 % 11) for s in range(0, 200, 2)))


def test_a_grid_of_windows_is_paired_by_window() -> None:
    options = bridge.Scenario.flat(als="recorded")
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
