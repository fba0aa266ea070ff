"""Workloads made like a given one, and by the model of Lublin and Feitelson: arrivals, sizes, run times, likeness."""

import math
from collections.abc import Callable
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.analysis.likeness import (
    CYCLES,
    QUANTITIES,
    _line,
    _round,
    distributions,
    gflop,
    halves,
    likeness,
    likeness_table,
)
from bls.machine.platform import HostGroup, Platform
from bls.options import METHOD
from bls.workloads.generators import lublin
from bls.workloads.generators.accasim import EqualNodes, generate_like, machine_of
from bls.workloads.generators.arrivals import HalfHours, accasim_arrivals, calendar_arrivals, fitted_weights, slots
from bls.workloads.generators.lublin import (
    BATCH,
    INTERACTIVE,
    TYPELESS,
    Lublin,
    LublinJobs,
    _arrivals_s,
    _run_s,
    gamma_cdf,
    generate_lublin,
    stream,
)
from bls.workloads.header import Calendar, header_facts
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.workload.likeness import PANELS

S = 10**9
DAY_S = 86_400
MONDAY = 1_704_067_200  # 1 January 2024, 00:00 UTC
SETH = Platform((HostGroup(120, 4, 40.0),), name="seth")


def log(
    submits_s: list[int] | Array, *, cores: Any = 1, run_s: Any = 60, start: int | None = MONDAY, **columns: Any
) -> Workload:
    n = len(submits_s)
    number = np.arange(1, n + 1)
    ones = np.ones(n, np.int64)
    submit = np.sort(np.asarray(submits_s, np.int64)) * S
    estimate = columns.pop("estimate_s", 2 * np.asarray(run_s))
    return Workload.from_lines(
        (number, submit, ones * run_s * S, ones * cores, ones * estimate * S, number),
        header=() if start is None else (f"; UnixStartTime: {start}",),
        rejects={},
        source="log.swf",
        n_lines=n,
        extra={name: ones * value for name, value in columns.items()},
    )


def office(weeks: int = 4) -> Workload:
    """Jobs on Mondays from 10:00 to 10:30 and, twice as many, on Thursdays from 14:30 to 15:00."""
    times = []
    for week in range(weeks):
        monday, thursday = week * 7 * DAY_S + 36_000, (week * 7 + 3) * DAY_S + 52_200
        times += [monday + 100 * k for k in range(18)] + [thursday + 50 * k for k in range(36)]
    return log([0, *times, weeks * 7 * DAY_S - 1])


def busy(n: int = 400) -> Workload:
    draw = np.random.default_rng(5)
    return log(
        np.cumsum(draw.geometric(0.002, n)),
        cores=2 ** draw.integers(0, 7, n),
        run_s=(run := draw.integers(1, 50_000, n)),
        estimate_s=run + 60,
        user=draw.integers(0, 9, n),
        memory_kb=1000,
    )


@pytest.mark.parametrize("method", METHOD.choices)
def test_arrivals_keep_to_the_half_hours_of_the_day_or_the_week(method: str) -> None:
    made = generate_like(office(), 5000, seed=1, method=method)
    calendar = Calendar.of(made)
    weekday, half_hour = calendar.weekday(made.submit_ns), calendar.half_hour(made.submit_ns)
    if method == "calendar":
        counts = np.bincount(weekday * 48 + half_hour, minlength=336)
        monday, thursday = counts[20], counts[3 * 48 + 29]
        assert monday + thursday > 4800
        assert thursday / monday == pytest.approx(2.0, rel=0.1)
    else:  # the paper's form knows the hour but not the weekday
        counts = np.bincount(half_hour, minlength=48)
        assert counts[20] + counts[29] > 4800
        assert np.count_nonzero(np.bincount(weekday, minlength=7)) == 7


def test_the_rate_is_the_sources_and_the_first_job_comes_with_its_first() -> None:
    source = busy(5000)
    made = generate_like(source, 5000, seed=3)
    assert made.submit_ns[0] == source.submit_ns[0]
    assert made.submit_ns[-1] == pytest.approx(source.submit_ns[-1], rel=0.1)
    # Over decades there are slots enough.
    rare = log([0, DAY_S * 30, DAY_S * 70])
    submits = calendar_arrivals(rare, 300, Calendar.of(rare), np.random.default_rng(1))
    assert submits[-1] > 20 * 365 * DAY_S * S
    assert np.all(np.diff(submits) > 0)


def test_fitted_weights_are_a_rate_of_the_week_times_a_factor_of_the_month() -> None:
    # A year, with mornings three times as busy as afternoons, and June twice as busy as other months.
    year = slots(Calendar.of(log([0])), 0, 366 * 48)
    truth = 60 * np.where(year.half_hour < 24, 3.0, 1.0) * np.where(year.month == 5, 2.0, 1.0)
    week, month = fitted_weights(year, truth.astype(np.int64))
    assert np.ptp(week.reshape(7, 2, 24), axis=(0, 2)).max() < 1e-6 * week.max()
    assert (week[0] / week[47], month[5] / month[0]) == pytest.approx((3.0, 2.0))
    np.testing.assert_allclose(week[year.weekday * 48 + year.half_hour] * month[year.month], truth)
    # Two days in January: nothing is known of other weekdays or months.
    found = HalfHours(0, np.tile(np.arange(48), 2), np.repeat([0, 1], 48), np.zeros(96, np.int64))
    week, month = fitted_weights(found, np.repeat([1, 3], 48))
    np.testing.assert_allclose(week.reshape(7, 48), np.repeat([1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0], 48).reshape(7, 48))
    np.testing.assert_allclose(month, 1.0)


def slow_accasim(source: Workload, uniform: list[float], start: int) -> list[float]:
    """The paper's words, one job after the other: v in days, weights that sum to 1 over a day; seconds since time 0."""
    times = [int(ns) / S for ns in source.submit_ns]

    def clock(at: float) -> datetime:
        return datetime.fromtimestamp(start, UTC) + timedelta(seconds=at)

    def slot_of(at: float) -> int:
        return clock(at).hour * 2 + clock(at).minute // 30

    n_source, n = len(times), len(uniform)
    weight = [sum(slot_of(t) == k for t in times) / n_source for k in range(48)]
    parts: list[Callable[[datetime], int]] = [lambda at: at.hour, datetime.weekday, lambda at: at.month]
    kinds = [lambda at, part=part: part(clock(at)) for part in parts]
    shares = [{value: sum(kind(t) == value for t in times) / n_source for value in range(25)} for kind in kinds]
    gaps = sorted((b - a) / DAY_S for a, b in pairwise(times))
    found = [times[0]]
    begin = times[0] - (clock(times[0]).minute % 30) * 60 - clock(times[0]).second
    left = (times[0] - begin) / 1800 * weight[slot_of(begin)]
    while len(found) < n:
        progress = 1.0
        for kind, share in zip(kinds, shares, strict=True):
            value = kind(begin)
            made = sum(kind(at) == value for at in found) / n
            if share[value] > 0:
                progress *= min(1.0, made / share[value])
        v_max = gaps[-1] - (gaps[-1] - 1 / 48) * (1 - progress)
        usable = [gap for gap in gaps if gap <= v_max] or gaps[:1]
        v = left + usable[int(uniform[len(found)] * len(usable))]
        while v >= weight[slot_of(begin)]:
            v -= weight[slot_of(begin)]
            begin += 1800
        left = v
        found.append(begin + left / weight[slot_of(begin)] * 1800)
    return found


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 40))
def test_the_papers_form_against_a_slow_one(seed: int, n_source: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    # Steps of half a minute up to days; the last 48 jobs see to it that every slot has a weight.
    steps = np.rint(30 * np.exp(draw.uniform(0, 9, n_source))).astype(np.int64)
    first = np.cumsum(steps)
    source = log(np.concatenate([first, first[-1] + 1800 * np.arange(1, 49)]))
    made = accasim_arrivals(source, n, Calendar.of(source), np.random.default_rng(seed))
    expected = slow_accasim(source, np.random.default_rng(seed).random(n).tolist(), MONDAY)
    # Equal but for rounding: to whole seconds here, of sums there.
    np.testing.assert_allclose(made / S, expected, atol=1.1)


def test_the_calendar_method_takes_jobs_whole() -> None:
    source = busy()
    made = generate_like(source, 3000, seed=2)
    kinds = {
        tuple(row)
        for row in np.column_stack([source.cores, source.run_ns, source.estimate_ns, source.user, source.memory_kb])
    }
    rows = np.column_stack([made.cores, made.run_ns, made.estimate_ns, made.user, made.memory_kb])
    found = {tuple(row) for row in rows}
    assert found <= kinds
    assert len(found) > 0.95 * len(kinds)
    assert made.status.tolist() == [-1] * 3000
    assert made.job_id.tolist() == list(range(1, 3001))


def test_faster_cores_make_jobs_shorter() -> None:
    source = busy()
    plain, fast = (generate_like(source, 500, seed=2, speed_factor=factor) for factor in (1.0, 1.5))
    for name in ("submit_ns", "cores"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(fast, name))
    np.testing.assert_array_equal(fast.run_ns // S, np.maximum(np.rint(plain.run_ns / S / 1.5), 1))
    # Users are as far off as before, in whole seconds.
    off = fast.estimate_ns / fast.run_ns - plain.estimate_ns / plain.run_ns
    assert np.all((off > -1e-9) & (off * fast.run_ns < 1.000001 * S))
    # What does not change is kept to the nanosecond; 7 s at 1.4 are 5 s.
    jobs = [{"job_id": k, "submit_s": 100 * k, "run_s": 7, "cores": 1, "estimate_s": 90.25} for k in range(20)]
    for factor, estimate_ns in ((1.0, 90_250_000_000), (1.4, 65 * S)):
        made = generate_like(Workload.from_jobs(jobs), 50, seed=1, speed_factor=factor)
        assert set(made.estimate_ns.tolist()) == {estimate_ns}


def test_more_nodes_widen_the_jobs_of_several_nodes() -> None:
    source = busy()
    plain, wide = (
        generate_like(source, 500, seed=2, platform=SETH, nodes_factor=factor, method="calendar")
        for factor in (1.0, 2.0)
    )
    several = plain.cores > 4
    np.testing.assert_array_equal(wide.cores, np.where(several, 2 * plain.cores, plain.cores))
    work = plain.cores * (plain.run_ns / S)
    np.testing.assert_allclose(wide.cores * (wide.run_ns / S), work, atol=0.5 * wide.cores.max() + 1)
    facts = header_facts(wide.header)
    assert (facts["MaxNodes"], facts["MaxProcs"]) == ("240", "960")


@pytest.mark.parametrize("method", METHOD.choices)
def test_requests_stay_within_the_limits(method: str) -> None:
    limits = {"cores": (2, 3), "gpus": (1, 1), "memory_kb": (600, 900)}
    made = generate_like(
        busy(), 2000, seed=7, platform=SETH, gpus=(0.25, 2, 933.0), limits=limits, method=method, speed_factor=1.5
    )
    unit, gpu = made.extras["unit_cores"], made.extras["gpu"]
    assert set(unit.tolist()) == {2, 3}
    assert np.all(made.cores % unit == 0)
    assert set(gpu.tolist()) == {0, 1}
    assert np.all(made.cores[gpu > 0] // unit[gpu > 0] <= 30)
    assert np.mean(gpu[made.cores // unit > 1]) == pytest.approx(0.25, abs=0.04)
    assert made.memory_kb.min() >= 600 // 3
    assert made.memory_kb.max() <= 900 // 2
    assert len(set(made.memory_kb.tolist())) > 100


def test_the_machine_of_a_log() -> None:
    assert machine_of(busy(), SETH) == EqualNodes(120, 480, 10.0)
    with_memory = Platform((HostGroup(2, 4, 4.0, (("memory", 700),)), HostGroup(2, 2, 4.0, (("memory", 500),))))
    found = machine_of(busy(), with_memory)
    assert (found.nodes, found.cores, found.node_memory_kb) == (4, 12, 500)
    assert found.core_gflops == pytest.approx((8 * 1.0 + 4 * 2.0) / 12)
    source, widest = log([0, 5], cores=6), EqualNodes(6, 6, 46.875)
    for header, machine in (
        (("; MaxProcs: 100", "; MaxNodes: 25"), EqualNodes(25, 100, 46.875)),
        (("; MaxProcs: many", "; MaxNodes: 25"), widest),
        ((), widest),
    ):
        assert machine_of(source.take(np.arange(2), header=header), None) == machine
    assert machine_of(source.take(np.arange(2), header=("; MaxProcs: 4",)), None).cores == 6, "its widest job's"


def test_jobs_without_a_known_run_time_are_not_drawn() -> None:
    jobs: list[dict[str, Any]] = [{"job_id": k, "submit_s": 100 * k, "run_s": 7, "cores": 1} for k in range(20)]
    jobs += [
        {"job_id": k, "submit_s": 100 * k, "run_s": None, "cores": 3, "estimate_s": 9, "cancel_s": 9000}
        for k in range(20, 40)
    ]
    made = generate_like(Workload.from_jobs(jobs), 200, seed=1)
    assert set(made.cores.tolist()) == {1}
    with pytest.raises(InputError, match="no run time of any job is known"):
        generate_like(Workload.from_jobs(jobs[20:]), 200, seed=1)


def test_the_header_says_how_it_was_made() -> None:
    source, start = busy(), "; UnixStartTime: 1704067200"
    named = source.take(
        np.arange(len(source)), source="/some/where/log.swf.gz", header=(start, "; TimeZoneString: Europe/Paris")
    )
    made = generate_like(named, 10, seed=11, platform=SETH, gpus=(0.5, 2, 933.0), speed_factor=1.5)
    words = "UnixStartTime=1704067200 TimeZoneString=Europe/Paris MaxNodes=120 MaxProcs=480 MaxJobs=10 CoreGflops=15.0"
    words += " SourceCoreGflops=10.0 GpuNodes=60 GpusPerNode=2 GpuGflops=933.0"
    expected = dict(word.split("=") for word in words.split())
    expected["Generator"] = "twolevel, like log.swf.gz, method calendar, seed 11"
    facts = header_facts(made.header)
    assert {name: facts[name] for name in expected} == expected
    assert not any("/some" in line for line in made.header)
    offset = source.take(np.arange(len(source)), header=(start, "; TimeZone: 3600"))
    assert header_facts(generate_like(offset, 10, seed=1).header)["TimeZone"] == "3600"
    assert "UnixStartTime" not in header_facts(generate_like(log([0, 9], start=None), 10, seed=1).header)


@pytest.mark.parametrize("method", METHOD.choices)
def test_the_same_seed_gives_the_same_jobs(method: str) -> None:
    options: dict[str, Any] = {"platform": SETH, "gpus": (0.5, 2, 9.0), "limits": {"cores": (1, 2)}, "method": method}
    one, same, other = (generate_like(busy(), 300, seed=seed, **options) for seed in (8, 8, 9))
    for name in ("submit_ns", "run_ns", "cores", "estimate_ns", "user"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
        assert np.any(getattr(one, name) != getattr(other, name))
    np.testing.assert_array_equal(one.extras["gpu"], same.extras["gpu"])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"n_jobs": 10**7}, "n_jobs: 10000000 jobs that arrive as those of log.swf would last for more than 100 years"),
    ({"source": log([5])}, "log.swf: its only job submitted at one instant; a generator needs a source with a span"),
    ({"source": log([5, 5, 5])}, "log.swf: all of its 3 jobs submitted at one instant"),
    ({"source": log([5, 9], cores=481)}, "log.swf: none of 2 jobs fits a platform of 480 cores"),
    ({"source": log([5, 9], run_s=10**7), "speed_factor": 1e-6}, "speed_factor: cores of 1e-05 GFLOP/s would need"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_impossible_parameters_are_errors_of_one_line(changes: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"source": busy(), "n_jobs": 10, "seed": 1, "platform": SETH} | changes
    with pytest.raises(InputError, match=f"^{message}"):
        generate_like(options.pop("source"), options.pop("n_jobs"), **options)


def weeks_of(jobs: list[tuple[int, int, int]], *header: str, **columns: Any) -> Workload:
    """Jobs of (submit in s, cores, run time in s), from a Monday on."""
    rows: list[Any] = [
        {"job_id": k, "submit_s": submit, "run_s": run, "cores": cores} for k, (submit, cores, run) in enumerate(jobs)
    ]
    made = Workload.from_jobs(rows)
    return made.take(np.arange(len(made)), header=(f"; UnixStartTime: {MONDAY}", *header), **columns)


def row(rows: list[dict[str, Any]], quantity: str) -> dict[str, Any]:
    return next(one for one in rows if one["quantity"] == quantity)


SHARES = st.lists(st.integers(0, 50), min_size=7, max_size=7).filter(any)


@given(SHARES, SHARES, st.integers(0, 6))
def test_periodic_statistics(first: list[int], second: list[int], turn: int) -> None:
    a, b = (np.array(counts) / sum(counts) for counts in (first, second))
    ks, kuiper, wasserstein = _round(a, b)
    assert ks == pytest.approx(np.abs(np.cumsum(a) - np.cumsum(b)).max())
    # The smallest over all places where the circle may be cut into a line.
    lines = [np.abs(np.cumsum(np.roll(a, k)) - np.cumsum(np.roll(b, k))).sum() for k in range(7)]
    assert wasserstein == pytest.approx(min(lines), abs=1e-12)
    turned = _round(np.roll(a, turn), np.roll(b, turn))
    assert turned[1:] == pytest.approx((kuiper, wasserstein), abs=1e-12)
    assert ks <= kuiper + 1e-12
    assert kuiper <= 2 * ks + 1e-12
    evening, midnight = np.eye(24)[[23, 0]]
    assert _round(evening, midnight) == (1.0, 1.0, 1.0), "from the last hour to the first is one step"


SAMPLE = st.lists(st.integers(-20, 20), min_size=1, max_size=12)


@given(SAMPLE, SAMPLE)
def test_samples_on_a_line(first: list[int], second: list[int]) -> None:
    a, b = np.sort(np.array(first, float)), np.sort(np.array(second, float))
    ks, kuiper, wasserstein = _line(a, b)
    assert math.isnan(kuiper)
    assert ks == pytest.approx(max(abs(np.mean(a <= x) - np.mean(b <= x)) for x in (*first, *second)))
    # Quantile by quantile, of samples repeated until they are of one length.
    moved = np.abs(np.repeat(a, len(b)) - np.repeat(b, len(a))).mean()
    assert wasserstein == pytest.approx(moved, abs=1e-12)


def test_halves_are_alternate_weeks() -> None:
    week = 7 * DAY_S
    # Even weeks have jobs of 1 core at 9:00 on Mondays, odd ones of 5 cores at 10:00 on Tuesdays. Weeks of the calendar
    # are counted from a Monday on, whatever the log begins with.
    jobs = [
        (k * week + (k % 2) * (DAY_S + 3600) + 9 * 3600 + at, 1 + 4 * (k % 2), 60) for k in range(6) for at in (0, 5)
    ]
    found = halves(weeks_of(jobs))
    assert row(found, "hour")["wasserstein"] == pytest.approx(1.0)
    assert row(found, "weekday")["wasserstein"] == pytest.approx(1.0)
    assert row(found, "cores")["ks"] == 1.0
    # Only the 5 s between jobs of one week count.
    assert row(found, "interarrival")["ks"] == 0.0
    # A week ends with its Sunday.
    ends = [(k * week + (6 - 6 * (k % 2)) * DAY_S + at, 1 + 4 * (k % 2), 60) for k in range(6) for at in (0, 5)]
    assert row(halves(weeks_of(ends)), "cores")["ks"] == 1.0
    later = weeks_of([(t + 3 * DAY_S, cores, run) for t, cores, run in jobs])
    shifted = later.take(np.arange(len(later)), header=(f"; UnixStartTime: {MONDAY - 3 * DAY_S}",))
    assert [one["ks"] for one in halves(shifted)] == [one["ks"] for one in found]


def test_the_table_has_both() -> None:
    source = weeks_of([(k * 9999, 1 + k % 5, 1 + k % 11) for k in range(300)])
    made = weeks_of([(k * 8888, 2 + k % 5, 1 + k % 11) for k in range(300)])
    assert {(one["ks"], one["wasserstein"]) for one in likeness(source, source)} == {(0.0, 0.0)}
    names = ("ks", "kuiper", "wasserstein")
    for one, apart, half in zip(likeness_table(source, made), likeness(source, made), halves(source), strict=True):
        assert {name: one[name] for name in names[::2]} == {name: apart[name] for name in names[::2]}
        assert {name: one[f"{name}_halves"] for name in names[::2]} == {name: half[name] for name in names[::2]}
        assert set(one) == {"quantity", "unit", *names, *(f"{name}_halves" for name in names)}


def test_work_is_counted_by_the_speeds_of_the_header() -> None:
    jobs = [(0, 4, 10), (5, 8, 20)]
    plain = weeks_of(jobs)
    assert gflop(plain).tolist() == [40.0, 160.0]
    assert gflop(plain, 2.5).tolist() == [100.0, 400.0]
    said = weeks_of(jobs, "; CoreGflops: 3.0", "; GpuGflops: 100.0")
    assert gflop(said, 2.5).tolist() == [120.0, 480.0]
    cards = {"gpu": np.array([0, 2]), "unit_cores": np.array([1, 4])}
    assert gflop(weeks_of(jobs, "; CoreGflops: 3.0", "; GpuGflops: 100.0", extras=cards)).tolist() == [120.0, 8480.0]
    for odd in ("nan", "-1", "fast", "inf"):
        assert gflop(weeks_of(jobs, f"; CoreGflops: {odd}")).tolist() == [40.0, 160.0]
    # The source's own speed, else what the generated workload says of it.
    made = weeks_of([(0, 4, 5), (5, 8, 10)], "; CoreGflops: 6.0", "; SourceCoreGflops: 3.0")
    assert row(likeness(plain, made), "work")["ks"] == 0.0
    assert row(likeness(said, made), "work")["ks"] == 0.0
    assert row(likeness(weeks_of(jobs, "; CoreGflops: 4.0"), made), "work")["ks"] == 0.5


def test_distributions_are_shares() -> None:
    source = weeks_of([(k * 9999, 1 + k % 5, 1 + k % 11) for k in range(300)])
    made = weeks_of([(k * 8888, 2 + k % 5, 1 + k % 11) for k in range(200)])
    table = distributions(source, made)
    assert [one["panel"] for one in table[:24]] == ["hour"] * 24
    for panel in PANELS:
        rows = [one for one in table if one["panel"] == panel]
        for name in ("source", "generated"):
            assert sum(one[name] for one in rows) == pytest.approx(1.0)
        assert len(rows) == CYCLES.get(panel, 36)
    assert [one["at"] for one in table if one["panel"] == "month"] == list(range(1, 13))
    work = [one["at"] for one in table if one["panel"] == "work"]
    assert 0.0 < work[0] < work[-1] < math.log10(6 * 11)
    alike = distributions(weeks_of([(0, 1, 5), (9, 1, 5)]), weeks_of([(0, 1, 5), (9, 1, 5)]))
    assert sum(one["source"] for one in alike if one["panel"] == "work") == 1.0


def test_impossible_comparisons_are_refused() -> None:
    one, two = weeks_of([(5, 1, 1)]), weeks_of([(5, 1, 1), (9, 1, 1)])
    for pair in ((one, two), (two, one)):
        with pytest.raises(InputError, match=r"^jobs: a single job has no distributions; allowed: at least 2 jobs"):
            likeness(*pair)
    with pytest.raises(InputError, match=r"^jobs: too short to be halved; allowed: jobs in an even and in an odd week"):
        halves(two)
    table = likeness_table(two, two)
    assert [one["ks"] for one in table] == [0.0] * len(QUANTITIES)
    assert all(math.isnan(one["ks_halves"]) for one in table)


TYPES = (BATCH, INTERACTIVE, TYPELESS)


@given(st.integers(1, 12), st.floats(0.0, 60.0))
def test_the_gamma_distribution_of_a_whole_shape(shape: int, x: float) -> None:
    erlang = 1.0 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(shape))
    assert gamma_cdf(x, float(shape)) == pytest.approx(erlang, abs=1e-12)


class Given:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def gamma(self, shape: Array, scale: Array) -> Array:
        taken, self.values = self.values[: len(shape)], self.values[len(shape) :]
        return np.array(taken)


@given(st.lists(st.floats(0.0, 13.0), min_size=1, max_size=60), st.sampled_from(TYPES))
def test_arrivals_against_the_walk_over_half_hours(log_s: list[float], jobs: LublinJobs) -> None:
    weights = jobs.day_weights().tolist()
    points, bucket, expected = 0.0, 0, []
    for value in log_s:
        points += math.exp(value) / 1800
        while points > weights[bucket % 48]:
            points -= weights[bucket % 48]
            bucket += 1
        expected.append((bucket + points / weights[bucket % 48]) * 1800)
    found = _arrivals_s(len(log_s), jobs, 13.0, Given(list(log_s)))  # type: ignore[arg-type]
    np.testing.assert_allclose(found, np.floor(expected), atol=1.0)


@pytest.mark.parametrize("jobs", TYPES)
def test_run_times_are_hyper_gamma(jobs: LublinJobs) -> None:
    chance = np.random.default_rng(3)
    for size in (1, 60):
        p = min(1.0, max(0.0, jobs.pa * size + jobs.pb))
        run_s = _run_s(np.full(40_000, size), jobs, 12.0, chance)
        assert run_s.min() >= 1
        assert run_s.max() <= math.exp(12)
        for log_s in (3.0, 6.0, 9.0, 11.0):
            # P(log ≤ x | log ≤ 12), of the two gammas each for itself, as each is drawn again for itself.
            first, second = (
                gamma_cdf(log_s / b, a) / gamma_cdf(12.0 / b, a) for a, b in ((jobs.a1, jobs.b1), (jobs.a2, jobs.b2))
            )
            assert np.mean(run_s <= math.exp(log_s)) == pytest.approx(p * first + (1 - p) * second, abs=0.012)


@pytest.mark.parametrize("jobs", TYPES)
def test_sizes_are_two_stage_uniform(jobs: LublinJobs) -> None:
    sizes = jobs.sizes
    drawn = sizes.drawn(100_000, 128, np.random.default_rng(1))
    assert drawn.max() <= 128

    def below(log2: float) -> float:
        first = min(1.0, max(0.0, (log2 - sizes.low) / (sizes.middle - sizes.low)))
        second = min(1.0, max(0.0, (log2 - sizes.middle) / (sizes.high - sizes.middle)))
        return sizes.first * first + (1 - sizes.first) * second

    rest = 1 - sizes.serial - sizes.power_of_two
    for size in (1, 2, 5, 8, 20, 40, 100, 127):
        rounded = below(math.floor(math.log2(size)) + 0.5)  # to a power of two
        expected = sizes.serial + sizes.power_of_two * rounded + rest * below(math.log2(size + 0.5))
        assert np.mean(drawn <= size) == pytest.approx(expected, abs=0.006)


def test_a_workload() -> None:
    made = generate_lublin(20_000, seed=1, n_cores=128)
    assert len(made) == 20_000
    assert set(made.queue.tolist()) == {0, 1}
    # Batch jobs arrive less often, run longer and request more cores.
    batch = made.queue == 1
    assert 0.1 < batch.mean() < 0.2
    assert made.run_ns[batch].mean() > 5 * made.run_ns[~batch].mean()
    assert made.cores[batch].mean() > made.cores[~batch].mean()
    np.testing.assert_array_equal(made.run_ns, made.estimate_ns)
    assert np.all(made.run_ns % S == 0)
    hours = np.bincount(Calendar.of(made).hour(made.submit_ns), minlength=24)
    assert 12 <= int(np.argmax(hours)) <= 16
    assert hours.max() > 8 * hours.min()
    facts = header_facts(made.header)
    assert facts["MaxProcs"] == "128"
    assert facts["Generator"] == "twolevel, model lublin, seed 1"
    assert Calendar.of(made).weekday(np.zeros(1, np.int64)).tolist() == [0]


def test_types_are_independent_and_seeds_repeat() -> None:
    one, same, other = (generate_lublin(500, seed=seed, n_cores=64) for seed in (4, 4, 5))
    for name in ("submit_ns", "run_ns", "cores"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
        assert np.any(getattr(one, name) != getattr(other, name))
    alone = generate_lublin(500, seed=4, n_cores=64, parameters=Lublin(batch=None))
    assert set(alone.queue.tolist()) == {0}
    active = one.queue == 0
    np.testing.assert_array_equal(one.submit_ns[active], alone.submit_ns[: active.sum()])
    assert len(generate_lublin(50, seed=4, n_cores=64, parameters=Lublin(TYPELESS, None))) == 50


def test_no_two_things_are_drawn_from_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(lublin, "stream", lambda seed, name: (names.append(name), stream(seed, name))[1])
    generate_lublin(50, seed=4, n_cores=64)
    assert len(names) == 6
    assert len(set(names)) == 6


FAR = Lublin(replace(INTERACTIVE, a_arrival=200.0, b_arrival=0.1), None, farthest_log_s=20.0)
SHORT = Lublin(batch=BATCH, interactive=None, longest_log_s=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generate_lublin(0, seed=1, n_cores=8), r"^n_jobs: 0 is out of range; allowed: 1 to 20000000"),
        (lambda: generate_lublin(9, seed=1, n_cores=0), r"^n_cores: 0 is out of range; allowed: 1 to 16777216"),
        (lambda: generate_lublin(9, seed=2**64, n_cores=8), r"^seed: 18446744073709551616 is out of range"),
        (lambda: replace(BATCH, a1=-1.0), r"^a1: -1\.0 is out of range"),
        (lambda: replace(BATCH, pa=10000), r"^pa: 10000 is out of range"),
        (lambda: replace(BATCH.sizes, serial=1.5), r"^serial: 1\.5 is out of range; allowed: 0 to 1"),
        (lambda: replace(BATCH.sizes, serial=0.5), r"^power_of_two: 0\.6686 and serial 0\.5 are more than 1 together"),
        (lambda: replace(BATCH.sizes, middle=9.0), r"^middle: 9 is not from low 1\.2 to high 7"),
        (lambda: Lublin(None, None), r"^interactive: None and batch None"),
        (lambda: Lublin(longest_log_s=99), r"^longest_log_s: 99 is out of range"),
        (lambda: generate_lublin(5, seed=1, n_cores=8, parameters=SHORT), r"hardly ever is below 0\.1"),
        (lambda: generate_lublin(30, seed=1, n_cores=8, parameters=FAR), r"^n_jobs: 30 jobs .* longer than 146 years"),
    ],
)
def test_parameters_that_cannot_be_used(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_the_constants_are_the_published_ones() -> None:
    assert all(jobs.sizes.shifted(0.0) == jobs.sizes for jobs in TYPES), "on 128 cores"
    assert BATCH.sizes.shifted(3.0) == replace(BATCH.sizes, middle=8.0, high=10.0)
    # As the authors' m_lublin99.c has them: sizes, run times, arrivals.
    assert [(*astuple(jobs.sizes), *astuple(jobs)[1:7]) for jobs in TYPES] == [
        (0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875, 6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        (0.1541, 0.625, 1.0, 3.0, 5.5, 0.705, 3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        (0.244, 0.576, 0.8, 4.5, 7.0, 0.86, 4.2, 0.94, 312.0, 0.03, -0.0054, 0.78),
    ]
    assert [astuple(jobs)[7:] for jobs in TYPES] == [
        (6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
        (6.5510, 0.6621, 8.9186, 3.6680, 0.9797),
        (10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
    ]
