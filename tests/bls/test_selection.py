"""Which jobs are simulated: the window rules against a slow count, and what a specification may say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.workloads.calendar import Calendar
from bls.workloads.selection import busiest_window, fit, heaviest_window, select
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS

NS = 10**9


def workload(*submits_s: float, cores: tuple[int, ...] = ()) -> Workload:
    widths = cores or (1,) * len(submits_s)
    return Workload.from_jobs([(k + 1, s, 10, w, 20) for k, (s, w) in enumerate(zip(submits_s, widths, strict=True))])


@settings(max_examples=150)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 12))
def test_busiest_is_the_earliest_of_the_fullest_windows(submits: list[int], length: int) -> None:
    counts = {t: sum(t <= s < t + length for s in submits) for t in submits}
    most = max(counts.values())
    start = min(t for t in submits if counts[t] == most)
    made = workload(*submits)
    assert busiest_window(made, length * NS) == (start * NS, most)
    found = select(made, f"busiest:{length}s")
    assert found.submit_ns.tolist() == sorted((s - start) * NS for s in submits if start <= s < start + length)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 2**61)), min_size=1, max_size=12), st.integers(1, 12))
def test_heaviest_is_the_earliest_of_those_with_most_work(jobs: list[tuple[int, int]], length: int) -> None:
    work = {t: sum(10 * NS * cores for s, cores in jobs if t <= s < t + length) for t, _ in jobs}
    most = max(work.values())
    start = min(t for t in work if work[t] == most)
    made = workload(*(s for s, _ in jobs), cores=tuple(cores for _, cores in jobs))
    assert heaviest_window(made, length * NS) == (start * NS, most)
    found = select(made, f"heaviest:{length}s")
    assert found.submit_ns.tolist() == sorted((s - start) * NS for s, _ in jobs if start <= s < start + length)


@pytest.mark.parametrize(
    ("spec", "date_s"),
    [("window:7.5s+10", 1_000_007), ("busiest:5s", 1_000_010), ("first:2", 1_000_000), ("all", 1_000_000)],
)
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


def test_durations_have_units() -> None:
    made = workload(0, 1800, 3600, 5400, 90000)
    assert len(select(made, "window:0.5h+60m")) == 2
    assert len(select(made, "window:0m+1h")) == 2
    assert select(made, "window:1d+2h").submit_ns.tolist() == [3600 * NS]


def test_a_selection_keeps_what_is_known_of_the_file() -> None:
    made = fit(workload(3, 2, 1, cores=(1, 9, 1)), 4)
    found = select(made, "first:1")
    assert found.rejects == made.rejects
    assert (found.reordered, found.n_lines, found.source) == (2, 3, "jobs")


def test_windows_at_the_end_of_time() -> None:
    last_s = MAX_NS // NS
    made = workload(0, 1, last_s)
    assert busiest_window(made, MAX_NS) == (0, 3)
    assert select(made, f"window:{last_s}+{last_s}").submit_ns.tolist() == [0]


@pytest.mark.parametrize("spec", [*table_rows(__file__, "bad_specifications"), "first:" + "9" * 5000])
def test_a_bad_specification_shows_what_is_allowed(spec: str) -> None:
    with pytest.raises(InputError, match=r"^--select: .*allowed: (.* as |up to 7625w)") as caught:
        select(workload(1, 2), spec)
    assert len(str(caught.value)) < 320


def test_fit_rejects_wide_jobs_and_counts_them() -> None:
    made = workload(1, 2, 3, cores=(4, 5, 1))
    found = fit(made, 4)
    assert found.job_id.tolist() == [1, 3]
    assert found.rejects[TOO_WIDE] == 1
    assert fit(found, 4) is found
    assert fit(found, 3).rejects[TOO_WIDE] == 2


def test_fit_clamps_wide_jobs_and_counts_them() -> None:
    found = fit(workload(1, 2, 3, cores=(4, 5, 1)), 3, "clamp")
    assert found.cores.tolist() == [3, 3, 1]
    assert (found.clamped, found.rejects[TOO_WIDE]) == (2, 0)
    np.testing.assert_array_equal(found.run_ns, [10 * NS] * 3)


def test_fit_refuses_a_platform_that_no_job_fits() -> None:
    with pytest.raises(InputError, match="none of 2 jobs fits a platform of 2 cores; the narrowest asks for 3"):
        fit(workload(1, 2, cores=(4, 3)), 2)


def test_fit_refuses_another_treatment() -> None:
    with pytest.raises(InputError, match=r"--oversize: unknown .* 'clmp'; known: clamp, reject"):
        fit(workload(1), 2, "clmp")
