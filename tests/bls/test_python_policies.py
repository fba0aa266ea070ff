"""Policies in Python: they are the compiled ones when they do the same, are woken as they ask, and are named when they err."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import column

import bridge
from bls import BatchSimulator, Platform, Rules, SeenJob, Start, View, allocator, policy
from bls.machine.platform import HostGroup
from bls.policies import AnyPolicy
from bls.workloads.workload import Workload
from tools.bench.engines import FcfsByHand
from traces.base.errors import InputError, PluginError

S = 10**9


class Easy:
    name = "easy-by-hand"

    def decide(self, view: View) -> list[SeenJob]:
        now, free, chosen = view.now_ns, view.free_cores, []
        waiting = sorted(view.waiting, key=lambda job: job.row)
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            chosen.append(waiting.pop(0))
        if not waiting:
            return chosen
        head, behind = waiting[0], waiting[1:]
        # A job that is overdue is expected to end at the next instant.
        ends = [(max(job.expected_end_ns, now + 1), job.cores) for job in view.running]
        ends += [(now + job.estimate_ns, job.cores) for job in chosen]
        shadow, extra = now, free
        for end in sorted({end for end, _ in ends}):
            extra = free + sum(cores for other, cores in ends if other <= end)
            shadow = end
            if extra >= head.cores:
                break
        extra -= head.cores
        for job in behind:
            if job.cores > free:
                continue
            if now + job.estimate_ns > shadow:
                if job.cores > extra:
                    continue
                extra -= job.cores
            free -= job.cores
            chosen.append(job)
        return chosen


def starts(workload: Workload, machine: Platform, order: AnyPolicy, **options: Any) -> list[int]:
    simulator = BatchSimulator(workload, machine, order, allocator("first-fit"), recorded=True, **options)
    while simulator.advance(10**6):
        pass
    found: list[int] = column(simulator.state, "jobs.START")[: simulator.rows].tolist()
    return found


def machine(*hosts: int) -> Platform:
    return Platform(tuple(HostGroup(1, cores, 1.0) for cores in hosts))


rows_of_jobs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 6), st.integers(1, 14)), min_size=1, max_size=14
).map(sorted)


@settings(max_examples=300)
@given(rows=rows_of_jobs)
def test_by_hand_as_compiled(rows: list[tuple[int, int, int, int]]) -> None:
    jobs = Workload.from_jobs([(k, q, p, n, r) for k, (q, p, n, r) in enumerate(rows)])
    assert starts(jobs, machine(4, 2), FcfsByHand()) == starts(jobs, machine(4, 2), policy("fcfs"))
    assert starts(jobs, machine(4, 2), Easy()) == starts(jobs, machine(4, 2), policy("fcfs"), rules=Rules("easy"))


def of_users(seed: int, n: int, widest: int) -> Workload:
    """Jobs of a few users who ask for far more than they need, and mostly need what they needed before: minutes."""
    draw = np.random.default_rng(seed)
    submit, user = np.sort(draw.integers(0, 4 * n, n)), draw.integers(1, 5, n)
    run = np.where(draw.random(n) < 0.7, user * 3, draw.integers(1, 90, n))
    keys = ("job_id", "submit_s", "run_s", "cores", "estimate_s", "user")
    rows = zip(range(n), submit * 60, run * 60, draw.integers(1, widest + 1, n), run * 60 * 4 + 600, user, strict=True)
    return Workload.from_jobs([dict(zip(keys, map(int, row), strict=True)) for row in rows])


@pytest.mark.parametrize(
    ("estimates", "kills"),
    [("last-two", True), ("within:60%", False)],
)
def test_estimates_are_those_that_the_engine_plans_with(estimates: str, kills: bool) -> None:
    """Of jobs that wait and, as they are corrected, of those that run: else EASY by hand would plan otherwise."""
    jobs, hosts = of_users(3, 200, 10), machine(8, 4, 4)
    rules = Rules(estimates=estimates, kill_at_walltime=kills)
    easy = starts(jobs, hosts, policy("fcfs"), rules=replace(rules, backfill="easy"))
    assert easy != starts(jobs, hosts, policy("fcfs"), rules=Rules("easy", kill_at_walltime=kills))
    assert starts(jobs, hosts, Easy(), rules=rules) == easy


JOBS = Workload.from_jobs([(7, 0, 10, 3, 10), (8, 1, 10, 3, 10), (9, 2, 10, 1, 10)])


def always(answer: Callable[[View], Any]) -> AnyPolicy:
    class Mine:
        name = "mine"

        def decide(self, view: View) -> Any:
            return answer(view)

    return Mine()


def boom(view: View) -> Any:
    raise ValueError("no idea")


def quits(view: View) -> Any:
    raise SystemExit(0)


def late(view: View) -> Any:
    yield from FcfsByHand().decide(view)
    if view.n_running:
        raise ValueError("no idea")


def asleep(instant: Any) -> Callable[[View], Any]:
    def answer(view: View) -> Any:
        view.wake_at(instant)
        return []

    return answer


def first(view: View) -> SeenJob:
    return next(iter(view.waiting))


def both(view: View) -> Any:
    view.reject(first(view), "no")
    return [first(view)]


def twice(view: View) -> Any:
    view.reject(first(view), "no")
    view.reject(first(view), "no")


def rejects_running_ones(view: View) -> Any:
    for job in view.running:
        view.reject(job, "too late")
    return [first(view)]


WIDE = "at 1000000000 ns: decide() gave job 8, which does not fit: it asks for 3 cores, and 1 are free"
ANSWERS = "jobs of view.waiting, pairs of one and its cores, or bls.Start(job, cores, because)"
GAVE_7 = f"at 0 ns: decide() gave 7; allowed: {ANSWERS}"
NOT_WAITING = "at 1000000000 ns: decide() gave job 7, which is not waiting"
REASON = "at 0 ns: reject() of job 7: reason: {}; allowed: a text of 1 to 200 characters"
BECAUSE = "at 0 ns: decide() gave job 7 with the reason {}; allowed: a text of 1 to 200 characters"
LONG = f"'{'x' * 58}…"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (boom, "at 0 ns: decide() failed: ValueError: no idea"),
        (quits, "at 0 ns: decide() failed: SystemExit: 0"),
        (late, "at 1000000000 ns: decide() failed: ValueError: no idea"),
        (lambda view: None, "at 0 ns: decide() gave None; allowed: a list of the jobs to start, perhaps empty"),
        (lambda view: [7], GAVE_7),
        (lambda view: [*view.waiting, *view.waiting], "at 0 ns: decide() gave job 7 twice"),
        (lambda view: list(view.waiting), WIDE),
        (lambda view: [*view.waiting, *view.running][:1], WIDE),
        (lambda view: list(view.running) or FcfsByHand().decide(view), NOT_WAITING),
        # Cores and reasons.
        (lambda view: [(first(view), None, "")], BECAUSE.format("''")),
        (lambda view: [Start(first(view), None, "x" * 201)], BECAUSE.format(LONG)),
        (lambda view: [Start(7)], f"at 0 ns: decide() gave Start(job=7, cores=None, because=None); allowed: {ANSWERS}"),
        (
            lambda view: [(first(view), None)],
            "at 0 ns: decide() placed job 7 on None; allowed: the numbers of 3 cores, as [0, 1, 5]",
        ),
        (
            lambda view: [(first(view), [0, 1], "one", 2)],
            f"at 0 ns: decide() gave (<job 7: 3 cores, estimate 10000000000 ns>, [0, 1], 'one', …; allowed: {ANSWERS}",
        ),
        # Rejections.
        (both, "at 0 ns: decide() gave job 7, which it rejects"),
        (twice, "at 0 ns: reject() was given job 7 twice"),
        (
            rejects_running_ones,
            "at 1000000000 ns: reject() was given job 7, which is not waiting; allowed: jobs of view.waiting",
        ),
        (lambda view: view.reject(1, "no"), "at 0 ns: reject() was given 1; allowed: jobs of view.waiting"),
        (lambda view: view.reject(first(view), " \n"), REASON.format("' \\n'")),
        (lambda view: view.reject(first(view), "x" * 201), REASON.format(LONG)),
    ],
)
def test_mistakes_name_the_policy(answer: Callable[[View], Any], message: str) -> None:
    with pytest.raises(PluginError) as caught:
        starts(JOBS, machine(4), always(answer))
    # The line that raised it.
    place = rf" \(.*{Path(__file__).name}:\d+: .*\)" if " failed: " in message else ""
    assert re.fullmatch(re.escape(f"batch policy mine, {message}") + place, str(caught.value))


def test_a_policy_that_starts_nothing_is_noticed() -> None:
    with pytest.raises(PluginError) as caught:
        starts(JOBS, machine(4), always(lambda view: []))
    assert str(caught.value) == (
        "the simulation is stuck at job 7, at 2 s: nothing runs or arrives any more, and batch policy mine does not start "
        "it; 3 jobs wait"
    )


def test_so_is_one_that_has_itself_woken_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from bls import simulator

    monkeypatch.setattr(simulator, "_MAX_IDLE_WAKES", 50)
    with pytest.raises(PluginError, match=r"decide\(\) was woken 50 times in a row, and started nothing; nothing runs"):
        starts(JOBS, machine(4), always(lambda view: asleep(view.now_ns + S)(view)))


def test_so_is_one_that_takes_seconds_for_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    from bls import simulator

    def fits(view: View, after_ns: int) -> list[SeenJob]:
        view.wake_after(after_ns)
        return [job for job in list(view.waiting)[:1] if job.cores <= view.free_cores]

    monkeypatch.setattr(simulator, "_MAX_SOON_WAKES", 50)
    with pytest.raises(PluginError) as caught:
        starts(JOBS, machine(4), always(lambda view: fits(view, 60)))
    assert str(caught.value) == (
        "batch policy mine, at 3120 ns: decide() was woken 50 times in a row, and started nothing, and nothing else "
        "happened; it asks to be woken again 60 ns later: wake-ups are in ns, and a second is 10**9"
    )
    # Far more often than that, but not for so short a time; and for as short a time, but not in a row.
    assert starts(JOBS, machine(4), always(lambda view: fits(view, S // 50))) == [0, 10 * S, 10 * S + S // 50]
    jobs = Workload.from_jobs([(k, 60e-9 * k, 30e-9, 1, 30e-9) for k in range(200)])
    assert len(starts(jobs, machine(4), always(lambda view: fits(view, 20)))) == 200


@pytest.mark.parametrize("backfill", ["easy", "conservative", "3"])
def test_a_policy_that_decides_does_not_backfill(backfill: str) -> None:
    with pytest.raises(
        InputError, match=f"^--backfill {backfill}: batch policy fcfs-by-hand decides itself which jobs"
    ):
        starts(JOBS, machine(4), FcfsByHand(), rules=Rules(backfill))
    with pytest.raises(InputError, match=f"^backfill='?{backfill}'?: "):
        bridge.simulate(JOBS, machine(4), bls=FcfsByHand(), backfill=backfill)


def test_an_interrupt_while_a_policy_decides() -> None:
    def interrupted(view: View) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        starts(JOBS, machine(4), always(interrupted))


MACHINE = Platform((HostGroup(1, 4, 1.0),))


class Asks:
    """Asks for instants at each of its passes, and starts what fits from an instant on."""

    name = "asks"

    def __init__(self, asked: Callable[[View, int], None], from_ns: int = 0) -> None:
        self.asked, self.from_ns = asked, from_ns
        self.called: list[int] = []

    def decide(self, view: View) -> Iterator[Any]:
        self.called.append(view.now_ns)
        self.asked(view, len(self.called))
        free = view.free_cores
        for job in view.waiting:
            if view.now_ns >= self.from_ns and job.cores <= free:
                free -= job.cores
                yield job


def passes(order: Asks, jobs: list[Any], **options: Any) -> list[int]:
    simulator = BatchSimulator(
        Workload.from_jobs(jobs), MACHINE, order, allocator("first-fit"), recorded=True, **options
    )
    simulator.checks = 1
    while simulator.advance(1):
        pass
    return order.called


def test_what_is_beyond_the_last_end_does_not_prolong_the_run() -> None:
    assert passes(Asks(lambda view, n: view.wake_at(10**15)), [(1, 0, 20, 1, 20)]) == [0, 20 * S]


def test_while_the_scheduler_is_busy_it_looks_when_it_is_not() -> None:
    def asked(view: View, n: int) -> None:
        if n == 1:
            view.wake_at(2 * S)
            view.wake_at(3 * S)
            view.wake_at(30 * S)

    rules = Rules(charge_decisions=True, decision_cost_ns=10 * S)
    called = passes(Asks(asked), [(1, 0, 50, 1, 50)], rules=rules)
    assert called == [0, 10 * S, 30 * S, 60 * S]  # and at the last end


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda view: view.wake_after(0), r"wake_after: 0 is out of range; allowed: 1 to \d+"),
        (lambda view: view.wake_after(-5), r"wake_after: -5 is out of range; allowed: 1 to \d+"),
        (lambda view: view.wake_after("1s"), r"wake_after: '1s' is not a whole number; allowed: 1 to \d+"),
        (lambda view: view.wake_after(2**62), rf"wake_after: {2**62} is out of range; allowed: 1 to {2**62 - S}"),
        (lambda view: view.wake_at(S), r"wake_at: 1000000000 is out of range; allowed: 1000000001 to \d+"),
    ],
)  # fmt: skip
def test_no_later_instant(asked: Callable[[View], None], message: str) -> None:
    with pytest.raises(PluginError, match=f"^batch policy asks, at 1000000000 ns: {message}$"):
        passes(Asks(lambda view, n: asked(view)), [(1, 1, 2, 4, 2)])
