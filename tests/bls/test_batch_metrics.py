"""Batch metrics, and the machine, its hosts and its queue over time: by hand, and against literal definitions."""

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT

from bls.metrics.batch import (
    UNFAIRNESS,
    batch_metrics,
    schedule_metrics,
    started_and_finished,
    unfairness,
    utilisation_within,
)
from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles, exact_sum
from bls.metrics.gpus import FRAGMENTATION, METRICS
from bls.metrics.node_states import HOST_STATES, HostStates, core_windows, host_states, host_windows
from bls.metrics.occupancy import free_blocks, occupancy
from bls.metrics.schedule import Allocations, Downtime, Schedule
from traces.ledger import STATES, WHY


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Row:
    """One attempt; ``held`` are core numbers."""

    submit: int
    eligible: int
    start: int
    end: int
    asked: int
    held: tuple[int, ...]
    why: str = "head"
    state: str = "completed"
    left: int = -1

    @property
    def gone(self) -> int:
        return self.start if self.start >= 0 else self.left


@dataclass(frozen=True)
class Small:
    """Rows on hosts with the given cores, and outages of hosts: (host, from, to)."""

    sizes: tuple[int, ...]
    rows: tuple[Row, ...]
    downs: tuple[tuple[int, int, int], ...] = ()

    @property
    def host_first(self) -> np.ndarray:
        return np.cumsum((0, *self.sizes))

    @property
    def n_cores(self) -> int:
        return sum(self.sizes)

    def host_cores(self, host: int) -> set[int]:
        return set(range(int(self.host_first[host]), int(self.host_first[host + 1])))

    def schedule(self, unit: int = 1) -> Schedule:
        """Its columns, with instants in multiples of the given ns."""

        def instants(name: str) -> np.ndarray:
            return column(*(value * unit if (value := getattr(row, name)) >= 0 else -1 for row in self.rows))

        return Schedule(
            submit_ns=instants("submit"),
            start_ns=instants("start"),
            end_ns=instants("end"),
            cores=column(*(row.asked for row in self.rows)),
            n_cores=self.n_cores,
            held_cores=column(*(len(row.held) for row in self.rows)),
            why=column(*(WHY.index(row.why) for row in self.rows)),
            state=column(*(STATES.index(row.state) for row in self.rows)),
            eligible_ns=instants("eligible"),
            left_ns=instants("left"),
        )

    def allocations(self) -> Allocations:
        """Every core an interval of its own, which is as good as any."""
        first = np.cumsum([0, *(len(row.held) for row in self.rows)])
        lo = column(*(core for row in self.rows for core in row.held))
        return Allocations(first, lo, lo + 1)

    def downtime(self, unit: int = 1) -> Downtime:
        host = column(*(down[0] for down in self.downs))
        sizes = column(*self.sizes)
        return Downtime(host, sizes[host], *(column(*(down[k] for down in self.downs)) * unit for k in (1, 2)))

    def started(self) -> list[Row]:
        return [row for row in self.rows if row.start >= 0]

    def span(self) -> tuple[int, int]:
        ran = self.started()
        return (min(row.submit for row in ran), max(row.end for row in ran)) if ran else (0, 0)

    # At an instant t of whole numbers, which stands for [t, t + 1).

    def waiting(self, t: int) -> list[Row]:
        return [row for row in self.rows if 0 <= row.eligible <= t < row.gone]

    def busy(self, t: int) -> set[int]:
        return {core for row in self.rows if row.start <= t < row.end for core in row.held}

    def down(self, t: int) -> set[int]:
        return {core for host, begin, end in self.downs if begin <= t < end for core in self.host_cores(host)}

    def free(self, t: int) -> set[int]:
        return set(range(self.n_cores)) - self.busy(t) - self.down(t)


@st.composite
def small_schedules(draw: st.DrawFn) -> Small:
    """No core is held twice, or while its host is down; hosts may be down twice over."""
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n_cores = sum(sizes)
    free_at = [0] * n_cores
    rows: list[Row] = []
    downs: list[tuple[int, int, int]] = []
    few = st.integers(0, 4)
    for what in draw(st.lists(st.sampled_from(("run", "run", "run", "preset", "never", "down")), max_size=7)):
        submit = draw(few)
        eligible = submit + draw(few)
        held = tuple(sorted(draw(st.sets(st.integers(0, n_cores - 1), min_size=1))))
        if what == "never":
            left = draw(st.sampled_from((-1, eligible + draw(few))))
            if left >= 0 and draw(st.booleans()):
                eligible = -1  # withdrawn before it was
            rows.append(Row(submit, eligible, -1, -1, len(held), (), "never", "cancelled", left))
        elif what == "down":
            host = draw(st.integers(0, len(sizes) - 1))
            first = sum(sizes[:host])
            cores = range(first, first + sizes[host])
            begin = max(eligible, *(free_at[core] for core in cores))
            end = begin + draw(st.integers(1, 4))
            downs += [(host, begin, end), (host, begin + draw(few), end)]
            for core in cores:
                free_at[core] = end
        else:
            start = max(eligible, *(free_at[core] for core in held))
            why = draw(st.sampled_from(("head", "backfill", "reserved")))
            state = draw(st.sampled_from(STATES))
            if what == "preset" and not any(free_at[core] for core in held):
                submit = eligible = start = 0
                why = "preset"
            end = start + draw(few)
            rows.append(Row(submit, eligible, start, end, draw(st.integers(1, len(held))), held, why, state))
            for core in held:
                free_at[core] = end
    return Small(sizes, tuple(rows), tuple(downs))


S = 10**9


# Four jobs on four cores, in seconds. A was running when the window began. B waits for all four and is cut at 20 by
# an outage of host 1 (cores 2, 3); its second attempt starts at 30. C is cancelled at 12, before it could start. D became
# eligible at 6, runs on two of the cores, holding both of host 0, and is killed.
SMALL = Small(
    (2, 2),
    (
        Row(0, 0, 0, 10, 3, (0, 1, 2), "preset"),
        Row(2, 2, 10, 20, 4, (0, 1, 2, 3), "head", "requeued"),
        Row(2, 20, 30, 40, 4, (0, 1, 2, 3), "reserved"),
        Row(4, 4, -1, -1, 2, (), "never", "cancelled", 12),
        Row(5, 6, 20, 26, 1, (0, 1), "backfill", "killed"),
    ),
    ((1, 20, 30),),
)


def test_quantiles_by_hand() -> None:
    """B's second attempt waits 28 s, responds in 38, runs 10 on 4 cores; D waits 15, responds in 21, runs 6 on 1."""
    figures = schedule_metrics(SMALL.schedule(S))
    assert figures["measured_jobs"] == 2
    for word, share in (("median", Fraction(1, 2)), ("p95", Fraction(95, 100)), ("p99", Fraction(99, 100))):
        assert figures[f"{word}_wait_ns"] == float(S * (15 + share * 13))
        assert figures[f"{word}_response_ns"] == float(S * (21 + share * 17))
        assert figures[f"{word}_bounded_slowdown"] == pytest.approx(float(Fraction(21, 10) + share * Fraction(17, 10)))
    assert (figures["median_slowdown"], figures["median_per_processor_slowdown"]) == pytest.approx((3.65, 1.55))


def test_the_reported_metrics_are_among_all() -> None:
    three = {"submit_ns": column(0, 3, 4), "start_ns": column(1, 8, -1), "end_ns": column(8, 9, -1)}
    few = batch_metrics(**three, cores=column(1, 2, 1), n_cores=2)
    every = schedule_metrics(Schedule(**three, cores=column(1, 2, 1), n_cores=2))
    assert few == {name: every[name] for name in few}
    assert list(few) == list(every)[: len(few)]
    assert (len(few), few["jobs"], few["makespan_ns"], few["mean_wait_ns"]) == (13, 2, 9, 3.0)


def test_a_window_of_your_own() -> None:
    """RM-Replay's utilisation and throughput: jobs [0, 10) on 3, [10, 20) and [30, 40) on 4, [20, 26) on 2 of 4 cores."""
    schedule = SMALL.schedule()
    assert utilisation_within(schedule, 5, 15) == (5 * 3 + 5 * 4) / 40
    assert utilisation_within(schedule, 15, 25, SMALL.downtime()) == (5 * 4 + 5 * 2) / (40 - 5 * 2)
    assert utilisation_within(schedule, 7, 7) == 0.0
    # The attempt that was requeued is no job.
    assert [started_and_finished(schedule, *window) for window in ((0, 40), (0, 26), (1, 25))] == [3, 2, 0]
    with pytest.raises(ValueError, match="host_first"):
        schedule_metrics(SMALL.schedule(), allocations=SMALL.allocations(), downtime=SMALL.downtime())


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="cores has the shape"):
        Schedule(submit_ns=column(1), start_ns=column(1), end_ns=column(2), cores=column(1, 1), n_cores=1)


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2**62)] * 3), max_size=20),
    percent=st.sampled_from((0, 5, 50, 95, 99, 100)),
)
def test_exact_sums(rows: list[tuple[int, int, int]], percent: int) -> None:
    a, b, c = (column(*(row[k] for row in rows)) for k in range(3))
    total = sum(row[0] for row in rows)
    assert (exact_sum(a), exact_sum(-a)) == (total, -total)
    assert exact_product_sum(a, b) == sum(x * y for x, y, _ in rows)
    assert exact_product_sum(a, -b, c) == -sum(x * y * z for x, y, z in rows)
    if rows:
        assert exact_mean(a) == float(Fraction(total, len(rows)))
        small = a >> 20  # where numpy's own floats are good enough
        assert exact_quantiles(small, percent)[0] == pytest.approx(float(np.percentile(small, percent)), rel=1e-12)
    else:
        assert (exact_mean(a), exact_quantiles(a, percent)[0]) == (None, None)


@settings(max_examples=400)
@given(small=small_schedules(), unit=st.sampled_from((1, S, 2**55)), data=st.data())
def test_as_the_definitions_say(small: Small, unit: int, data: st.DataObject) -> None:
    """Every metric again, literally, in fractions and instant by instant."""
    fair = [data.draw(st.integers(-1, 12)) for _ in small.rows]
    figures = schedule_metrics(
        small.schedule(unit),
        allocations=small.allocations(),
        host_first=small.host_first,
        downtime=small.downtime(unit),
    )
    figures |= unfairness(small.schedule(unit), column(*(value * unit if value >= 0 else -1 for value in fair)))
    expected: dict[str, Fraction | int | None] = {}

    def mean(name: str, values: list[Fraction]) -> None:
        expected[f"mean_{name}"] = sum(values, Fraction(0)) / len(values) if values else None
        expected[f"max_{name}"] = max(values) if values else None

    started = small.started()
    ran = [row for row in started if row.state != "requeued"]
    measured = [row for row in ran if row.why != "preset"]
    tau = Fraction(10 * S, unit)
    wait = [Fraction(row.start - row.submit) for row in measured]
    response = [Fraction(row.end - row.submit) for row in measured]
    run = [row.end - row.start for row in measured]
    mean("wait_ns", [unit * value for value in wait])
    mean("response_ns", [unit * value for value in response])
    mean("wait_since_eligible_ns", [unit * Fraction(row.start - row.eligible) for row in measured])
    mean("slowdown", [f / p for f, p in zip(response, run, strict=True) if p])
    mean("bounded_slowdown", [max(Fraction(1), f / max(p, tau)) for f, p in zip(response, run, strict=True)])
    mean(
        "per_processor_slowdown",
        [max(Fraction(1), f / (row.asked * max(p, tau))) for f, p, row in zip(response, run, measured, strict=True)],
    )
    area = [row.asked * p for row, p in zip(measured, run, strict=True)]
    for name, values in (("awrt_ns", response), ("awwt_ns", wait)):
        weighted = sum(a * value for a, value in zip(area, values, strict=True))
        expected[name] = unit * weighted / sum(area) if sum(area) else None
    cubes, fourths = (
        sum(row.asked * (f**k - w**k) for row, f, w in zip(measured, response, wait, strict=True)) for k in (3, 4)
    )
    expected["psf_ns"] = unit * 3 * fourths / (4 * cubes) if cubes else None

    begin, end = small.span()
    span, instants = end - begin, range(begin, end)
    expected["makespan_ns"] = unit * span
    expected["makespan_rm_replay_ns"] = unit * (end - min((row.start for row in started), default=end))
    down = sum(len(small.down(t)) for t in instants)
    busy = sum(len(small.busy(t)) for t in instants)
    capacity = small.n_cores * span

    def share(above: int, below: int) -> Fraction:
        return Fraction(above, below) if below else Fraction(0)

    expected["utilisation"] = share(busy, capacity)
    expected["utilisation_of_up_capacity"] = share(busy, capacity - down)
    expected["throughput_jobs_per_s"] = share(len(ran) * S, span * unit)
    completed = [row for row in started if row.state == "completed"]
    expected["completed_throughput_jobs_per_s"] = share(len(completed) * S, span * unit)
    lost = lost_cobalt = 0
    fragmentation = []
    for t in instants:
        free = small.free(t)
        asked = [row.asked for row in small.waiting(t)]
        lost += len(free) if any(n <= len(free) for n in asked) else 0
        lost_cobalt += len(free) if any(n < len(free) for n in asked) else 0
        text = "".join("." if core in free else " " for core in range(small.n_cores)).split()
        if free:
            fragmentation.append(1 - Fraction(sum(len(block) ** 2 for block in text), len(free) ** 2))
    expected["loss_of_capacity"] = share(lost, capacity)
    expected["loss_of_capacity_cobalt"] = share(lost_cobalt, capacity)
    expected["mean_fragmentation"] = sum(fragmentation) / len(fragmentation) if fragmentation else None
    for name, values in (
        ("queue_length", [len(small.waiting(t)) for t in instants]),
        ("queued_cores", [sum(row.asked for row in small.waiting(t)) for t in instants]),
    ):
        expected[f"mean_{name}"] = share(sum(values), span)
        expected[f"max_{name}"] = max(values, default=0)
    hour = 3600 * S
    core_ns = {
        state: unit * sum(len(row.held) * (row.end - row.start) for row in started if row.state == state)
        for state in STATES
    }
    for state in STATES:
        expected[f"state_{state}"] = sum(row.state == state for row in small.rows)
        if state != "rejected":  # such a job never holds anything
            expected[f"{state}_core_hours"] = Fraction(core_ns[state], hour)
    expected["lost_core_hours"] = Fraction(core_ns["failed"] + core_ns["requeued"], hour)
    expected["down_core_hours"] = Fraction(unit * down, hour)
    for why in WHY:
        expected[f"why_{why}"] = sum(row.why == why for row in small.rows)
    expected["jobs"], expected["measured_jobs"] = len(ran), len(measured)
    late = [
        Fraction(max(0, row.start - value) * unit)
        for row, value in zip(small.rows, fair, strict=True)
        if row in measured and value >= 0
    ]
    mean("unfairness_ns", late)
    expected["unfair_share"] = Fraction(sum(value > 0 for value in late), len(late)) if late else None

    left = {name for name in figures if name.startswith(("median_", "p95_", "p99_"))} | {"utilisation_span_ns"}
    assert figures["utilisation_span_ns"] == [begin * unit, end * unit]
    assert set(expected) | left == set(figures)
    for name, value in expected.items():
        if value is None or isinstance(value, int):
            assert figures[name] == value, name
        else:
            assert figures[name] == pytest.approx(float(value), rel=1e-12, abs=1e-15), name


def test_the_page_defines_every_metric() -> None:
    page = (ROOT / "docs" / "reference/metrics.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"\w+", cell)]
    assert len(named) == len(set(named))
    # The application level measures the computing time of cores; fair start times are computed from a finished run.
    assert set(named) == {
        *schedule_metrics(SMALL.schedule()),
        *METRICS,
        *FRAGMENTATION,
        *UNFAIRNESS,
        "computing_utilisation",
    }


def test_metrics_without_jobs() -> None:
    no_jobs = Schedule(submit_ns=column(), start_ns=column(), end_ns=column(), cores=column(), n_cores=3)
    assert len(occupancy(no_jobs).instant_ns) == 0
    blocks = free_blocks(no_jobs, Allocations(column(0), column(), column()), column(0, 3))
    assert (blocks.instant_ns.tolist(), blocks.cores.tolist(), blocks.squares.tolist()) == ([0], [3], [9])


def test_a_host_is_down_once_and_to_the_end_if_it_is_never_repaired() -> None:
    downtime = Downtime(column(1, 0, 1, 0), column(2, 3, 2, 3), column(4, 2, 6, 1), column(-1, 3, 7, 2))
    within = downtime.within(0, 10)
    assert within.host.tolist() == [0, 1]
    assert within.cores.tolist() == [3, 2]
    assert within.down_ns.tolist() == [1, 4]
    assert within.up_ns.tolist() == [3, 10]
    assert len(downtime.within(3, 4).host) == 0


def rows(states: HostStates) -> list[tuple[int, int, int, str]]:
    return [
        (host, begin, end, HOST_STATES[state])
        for host, begin, end, state in zip(
            *(values.tolist() for values in (states.host, states.begin_ns, states.end_ns, states.state)), strict=True
        )
    ]


def literally(small: Small, windows: list[tuple[str, int, int, int, int]], host: int, t: int) -> str:
    cores = small.host_cores(host)
    lasting = {kind for kind, lo, hi, begin, end in windows if begin <= t < end and cores & set(range(lo, hi))}
    if cores & small.down(t):
        return "down"
    if "maintenance" in lasting:
        return "maintenance"
    held = len(cores & small.busy(t))
    if held:
        return "allocated" if held == len(cores) else "mixed"
    return "reserved" if "reserved" in lasting else "idle"


@settings(max_examples=400)
@given(small=small_schedules(), data=st.data(), unit=st.sampled_from((1, 2**55)))
def test_states_are_as_they_are_at_every_instant(small: Small, data: st.DataObject, unit: int) -> None:
    windows = []
    for _ in range(data.draw(st.integers(0, 3))):
        kind = data.draw(st.sampled_from(("maintenance", "reserved")))
        lo = data.draw(st.integers(0, small.n_cores - 1))
        hi = data.draw(st.integers(lo + 1, small.n_cores))
        if kind == "maintenance":  # of whole hosts
            host = int(np.searchsorted(small.host_first, lo, side="right")) - 1
            lo, hi = (int(border) for border in small.host_first[host : host + 2])
        begin = data.draw(st.integers(0, 9))
        windows.append((kind, lo, hi, begin, begin + data.draw(st.integers(0, 6))))

    def of_kind(kind: str) -> list[np.ndarray]:
        found = np.array([window[1:] for window in windows if window[0] == kind], np.int64).reshape(-1, 4)
        return [found[:, 0], found[:, 1], found[:, 2] * unit, found[:, 3] * unit]

    schedule, downs = small.schedule(unit), small.downtime(unit)
    begin, until = data.draw(st.integers(0, 3)), data.draw(st.integers(3, 15))
    states = host_states(
        host_first=small.host_first,
        start_ns=schedule.start_ns,
        end_ns=schedule.end_ns,
        allocations=small.allocations(),
        begin_ns=begin * unit,
        until_ns=until * unit,
        outages=host_windows(small.host_first, downs.host, downs.down_ns, downs.up_ns),
        maintenance=core_windows(*of_kind("maintenance")),
        reservations=core_windows(*of_kind("reserved")),
    )
    expected: list[tuple[int, int, int, str]] = []
    for host in range(len(small.sizes)):
        for t in range(begin, until):
            state = literally(small, windows, host, t)
            if expected and expected[-1][0] == host and expected[-1][3] == state:
                expected[-1] = (host, expected[-1][1], (t + 1) * unit, state)
            else:
                expected.append((host, t * unit, (t + 1) * unit, state))
    assert rows(states) == expected
    assert exact_sum(states.end_ns - states.begin_ns) == len(small.sizes) * (until - begin) * unit
