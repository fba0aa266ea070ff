"""Policies in Python: as compiled ones that do the same; woken as they ask; they may name cores; their mistakes name them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import column
from tables import table_rows

from bls import (
    BatchSimulator,
    ConstraintOptions,
    Partition,
    Platform,
    Rules,
    SeenJob,
    Start,
    View,
    allocator,
    policy,
    simulator,
)
from bls.constraints.job_constraints import constrain
from bls.machine.partitions import Switch
from bls.machine.platform import HostGroup
from bls.policies import AnyPolicy
from bls.workloads.workload import Workload
from tools.bench.engines import FcfsByHand
from traces.base.errors import PluginError
from traces.intervals import intervals_text

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
        head, others = waiting[0], waiting[1:]
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
        for job in others:
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
    found: list[int] = column(simulator.state, "jobs.start_ns")[: simulator.rows].tolist()
    return found


def machine(*hosts: int, **more: Any) -> Platform:
    return Platform(tuple(HostGroup(1, cores, 1.0) for cores in hosts), **more)


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
    """Jobs of a few users who request far more than they need, with similar run times in succession: minutes."""
    draw = np.random.default_rng(seed)
    submit, user = np.sort(draw.integers(0, 4 * n, n)), draw.integers(1, 5, n)
    run = np.where(draw.random(n) < 0.7, user * 3, draw.integers(1, 90, n))
    keys = ("job_id", "submit_s", "run_s", "cores", "estimate_s", "user")
    rows = zip(range(n), submit * 60, run * 60, draw.integers(1, widest + 1, n), run * 60 * 4 + 600, user, strict=True)
    return Workload.from_jobs([dict(zip(keys, map(int, row), strict=True)) for row in rows])


@pytest.mark.parametrize(("estimates", "kills"), [("last-two", True), ("within:60%", False)])
def test_estimates_are_those_that_the_engine_plans_with(estimates: str, kills: bool) -> None:
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


def raising(error: BaseException) -> Callable[[View], Any]:
    def answer(view: View) -> Any:
        raise error

    return answer


def late(view: View) -> Any:
    yield from FcfsByHand().decide(view)
    if view.n_running:
        raise ValueError("no idea")


def asleep(view: View) -> list[Any]:
    view.wake_at(view.now_ns + S)
    return []


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


WIDE = "at 1000000000 ns: decide() gave job 8, which does not fit: it requests 3 cores, and 1 are free"
ANSWERS = "jobs of view.waiting, pairs of one and its cores, or bls.Start(job, cores, because)"
GAVE_7 = f"at 0 ns: decide() gave 7; allowed: {ANSWERS}"
NOT_WAITING = "at 1000000000 ns: decide() gave job 7, which is not waiting"
REASON = "at 0 ns: reject() of job 7: reason: {}; allowed: a text of 1 to 200 characters"
BECAUSE = "at 0 ns: decide() gave job 7 with the reason {}; allowed: a text of 1 to 200 characters"
LONG = f"'{'x' * 58}…"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raising(ValueError("no idea")), "at 0 ns: decide() failed: ValueError: no idea"),
        (raising(SystemExit(0)), "at 0 ns: decide() failed: SystemExit: 0"),
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
    monkeypatch.setattr(simulator, "_MAX_IDLE_WAKES", 50)
    with pytest.raises(PluginError, match=r"decide\(\) was woken 50 times in a row, and started nothing; nothing runs"):
        starts(JOBS, machine(4), always(asleep))


def test_so_is_one_that_takes_seconds_for_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_an_interrupt_while_a_policy_decides() -> None:
    with pytest.raises(KeyboardInterrupt):
        starts(JOBS, machine(4), always(raising(KeyboardInterrupt())))


class Asks:
    """Asks for instants at each of its passes, and starts what fits."""

    name = "asks"

    def __init__(self, asked: Callable[[View, int], None]) -> None:
        self.asked, self.called = asked, list[int]()

    def decide(self, view: View) -> Iterator[Any]:
        self.called.append(view.now_ns)
        self.asked(view, len(self.called))
        free = view.free_cores
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield job


def passes(order: Asks, jobs: list[Any], **options: Any) -> list[int]:
    simulator = BatchSimulator(
        Workload.from_jobs(jobs), machine(4), order, allocator("first-fit"), recorded=True, **options
    )
    simulator.checks = 1
    while simulator.advance(1):
        pass
    return order.called


class Holder:
    """Holds jobs for a while as they come, and starts whatever else fits."""

    name = "holder"

    def __init__(self, held_for: list[int]) -> None:
        self.held_for = held_for  # by row, ns; 0: never

    def decide(self, view: View) -> Iterator[SeenJob]:
        free = view.free_cores
        for job in view.waiting:
            due = job.submit_ns + self.held_for[job.row]
            if job.submit_ns == view.now_ns < due:
                view.hold(job)
                view.wake_at(due)
            elif job in view.on_hold and view.now_ns >= due:
                view.release_hold(job)
            if job in view.on_hold:
                assert view.trial().place(job) is None
            elif job.cores <= free:
                free -= job.cores
                yield job


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 4), st.integers(0, 20)), min_size=1, max_size=8
    )
)
def test_holds_as_the_slow_way(rows: list[tuple[int, int, int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    jobs = [(k + 1, submit, run, cores, run) for k, (submit, run, cores, _) in enumerate(rows)]
    order = Holder([S * hold for *_, hold in rows])
    simulator = BatchSimulator(Workload.from_jobs(jobs), machine(4), order, allocator("first-fit"), recorded=True)
    simulator.checks = 1
    while simulator.advance(1):
        pass
    # Second by second: jobs that may start and fit do so, in the order of submits.
    start, now = [-1] * len(rows), 0
    while min(start) < 0:
        free = 4 - sum(row[2] for row, at in zip(rows, start, strict=True) if 0 <= at <= now < at + row[1])
        for k, (submit, _, cores, hold) in enumerate(rows):
            if start[k] < 0 and submit + hold <= now and cores <= free:
                start[k], free = now, free - cores
        now += 1
    assert simulator.column("start_ns").tolist() == [S * at for at in start]
    for row, (submit, _, _, hold) in enumerate(rows):
        said = f"held by the policy from {submit} s to {submit + hold} s" if hold else None
        assert simulator.start_reasons.get(row) == said


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda view: view.hold(first(view)), "the simulation is stuck at job 7, at 2 s: nothing runs or arrives any more, "
         "and the batch policy has held it since 0 s; 3 jobs wait"),
        (lambda view: [view.hold(first(view)), first(view)][1:],
         "batch policy mine, at 0 ns: decide() gave job 7, which it holds; allowed: release_hold() before"),
        (lambda view: view.release_hold(first(view)),
         "batch policy mine, at 0 ns: release_hold() was given job 7, which is not held"),
        (lambda view: view.hold(7), "batch policy mine, at 0 ns: hold() was given 7; allowed: jobs of view.waiting"),
    ],
)  # fmt: skip
def test_holds_that_cannot_be(answer: Callable[[View], Any], message: str) -> None:
    def once(view: View) -> Any:
        return (answer(view) if view.now_ns == 0 else None) or []

    with pytest.raises(PluginError) as caught:
        starts(JOBS, machine(4), always(once))
    assert str(caught.value).startswith(message)


def test_a_view_neither_advances_nor_answers_its_run() -> None:
    simulator = BatchSimulator(JOBS, machine(4), policy("fcfs"), allocator("first-fit"), recorded=True)
    seen = simulator.run_view()
    assert not {"advance", "finish", "release", "take_back", "interrupted"} & {*dir(seen)}
    for name in ("state", "rules", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(seen, name, None)


def test_events_after_the_last_end_do_not_prolong_the_run() -> None:
    assert passes(Asks(lambda view, n: view.wake_at(10**15)), [(1, 0, 20, 1, 20)]) == [0, 20 * S]


def test_a_busy_scheduler_decides_when_it_is_free() -> None:
    def asked(view: View, n: int) -> None:
        if n == 1:
            view.wake_at(2 * S)
            view.wake_at(3 * S)
            view.wake_at(30 * S)

    rules = Rules(decision_cost_ns=10 * S)
    called = passes(Asks(asked), [(1, 0, 50, 1, 50)], rules=rules)
    assert called == [0, 10 * S, 30 * S, 60 * S]  # and at the last end


@pytest.mark.parametrize(("asks", "when", "message"), table_rows(__file__, "no_later_instant"))
def test_no_later_instant(asks: str, when: Any, message: str) -> None:
    with pytest.raises(PluginError, match=f"^batch policy asks, at 1000000000 ns: {message}$"):
        passes(Asks(lambda view, n: getattr(view, asks)(when)), [(1, 1, 2, 4, 2)])


def placed_by(
    workload: Workload, platform: Platform, order: AnyPolicy, placed: str, said: Any = None, **options: Any
) -> list[tuple[int, str]]:
    workload, constraints = constrain(workload, platform, said or ConstraintOptions())
    options |= {"recorded": True, "constraints": constraints}
    simulator = BatchSimulator(workload, platform, order, allocator(placed), **options)
    simulator.checks = 1
    while simulator.advance(1):
        pass
    found = column(simulator.state, "jobs.start_ns")[: simulator.rows].tolist()
    return [(start, intervals_text(simulator.allocation(row))) for row, start in enumerate(found)]


def places(cores: dict[int, Iterable[int] | None]) -> AnyPolicy:
    """Starts each job as it comes on these cores, or where the allocator says."""

    def answer(view: View) -> Iterator[Any]:
        for job in list(view.waiting):
            where = cores[job.job_id]
            yield job if where is None else (job, where)

    return always(answer)


def test_known_answers() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 2, 10), (3, 0, 10, 2, 10), (4, 20, 1, 7, 1)])
    cores: dict[int, Iterable[int] | None] = {1: [6, 0, 3], 2: None, 3: np.array([5, 4]), 4: range(7)}
    found = placed_by(jobs, machine(4, 3), places(cores), "first-fit")
    # Job 2 is placed by the allocator among what job 1 has left.
    assert found == [(0, "0 3 6"), (0, "1-2"), (0, "4-5"), (20 * S, "0-6")]

    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    for cores in ((1, 3), {3, 1}, np.array([3, 1], np.int8), iter([3, np.uint64(1)]), (k for k in (1, 3))):
        assert placed_by(jobs, machine(4), places({1: cores}), "first-fit") == [(0, "1 3")]


NAMED_JOBS = [(7, 0, 10, 3, 10), (8, 0, 10, 2, 10), (9, 1, 10, 1, 10)]
FREE: dict[int, Iterable[int] | None] = {7: [0, 1, 2], 8: [3, 4], 9: [5]}
GPUS = Platform((HostGroup(2, 4, 1.0, (("gpu", 2),)),), licences=(("solver", 1),))
HALVES = (Partition("low", hosts="0", default=True), Partition("high", hosts="1", swf_queues=(1,)))
LEAVES = (Switch("a", hosts="0-1"), Switch("b", hosts="2"), Switch("top", switches=("a", "b")))
WINDOWS = Path(__file__).with_name("tables").joinpath("named_cores_windows.toml").read_text("utf-8")

#: Machines, the allocator, and an option with the text of its file, or what it says.
MACHINES: dict[str, tuple[Platform, str, dict[str, str]]] = {
    "4+2": (machine(4, 2), "first-fit", {}),
    "failing": (machine(6, 2), "first-fit", {"failures": "host,down_s,up_s\n1,1,8\n"}),
    "halves": (machine(5, 2, partitions=HALVES), "first-fit", {}),
    "limited": (machine(4, 2, partitions=(Partition("one", default=True, max_running_jobs=1),)), "first-fit", {}),
    "cards": (GPUS, "first-fit", {"requests": "job_id,unit_cores,gpu,solver\n7,1,0,1\n8,2,1,0\n9,1,2,1\n"}),
    "whole": (machine(4, 2), "whole-host", {}),
    "switches": (Platform((HostGroup(3, 2, 1.0),), switches=LEAVES), "topology", {"switches": "1"}),
    "windows": (machine(4, 2), "first-fit", {"windows": WINDOWS}),
}


@pytest.mark.parametrize(("name", "named", "now_ns", "message", "jobs"), table_rows(__file__, "cores_that_cannot_be"))
def test_cores_that_cannot_be(
    name: str, named: dict[str, Any], now_ns: int, message: str, jobs: list[Any] | None, tmp_path: Path
) -> None:
    platform, placed, options = MACHINES[name]
    said = dict(options)
    for option, text in options.items():
        if "\n" in text:
            (tmp_path / option).write_text(text)
            said[option] = str(tmp_path / option)
    cores = FREE | {int(job): None if where == "anywhere" else where for job, where in named.items()}
    with pytest.raises(PluginError) as caught:
        placed_by(Workload.from_jobs(jobs or NAMED_JOBS), platform, places(cores), placed, ConstraintOptions(**said))  # type: ignore[arg-type]
    assert re.fullmatch(rf"batch policy mine, at {now_ns} ns: decide\(\) {message}", str(caught.value)), caught.value


def test_high_cores_of_a_host_that_has_room_for_few_units(tmp_path: Path) -> None:
    # The allocator would be offered the lowest ones only.
    path = tmp_path / "r.csv"
    path.write_text("job_id,gpu\n1,1\n")
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    assert placed_by(jobs, GPUS, places({1: [2, 3]}), "first-fit", ConstraintOptions(requests=str(path))) == [
        (0, "2-3")
    ]
    assert placed_by(jobs, GPUS, places({1: None}), "first-fit", ConstraintOptions(requests=str(path))) == [(0, "0-1")]


def test_whole_hosts_are_named_whole() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 5, 10)])
    cores: dict[int, Iterable[int] | None] = {1: range(6, 10), 2: range(6)}
    assert placed_by(jobs, machine(4, 2, 4), places(cores), "whole-host") == [(0, "6-9"), (0, "0-5")]


def test_switches() -> None:
    platform, _, _ = MACHINES["switches"]
    jobs, said = [(7, 0, 10, 2, 10)], ConstraintOptions(switches="1")
    for cores in ([0, 3], [4, 5]):
        named = places({7: cores})
        assert placed_by(Workload.from_jobs(jobs), platform, named, "topology", said)[0][0] == 0

    def patient(view: View) -> Iterator[Any]:
        for job in view.waiting:
            if view.now_ns >= 5 * S:
                yield job, [0, 4]
            view.wake_after(1 * S)

    # Once it has waited for long enough, it accepts any number.
    rules = Rules(switch_wait_ns=5 * S)
    found = placed_by(Workload.from_jobs(jobs), platform, always(patient), "topology", said, rules=rules)
    assert found == [(5 * S, "0 4")]


def test_a_job_that_waits_for_another_cannot_be_placed(tmp_path: Path) -> None:
    plain = {"submit_s": 0, "run_s": 10, "cores": 1}
    jobs = Workload.from_jobs([{"job_id": 1, **plain}, {"job_id": 2, **plain, "preceding": 1}])

    def answer(view: View) -> Any:
        return [(job, [job.job_id]) for job in (*view.waiting, *view.held)]

    with pytest.raises(PluginError, match=r"at 0 ns: decide\(\) gave job 2, which waits for job 1$"):
        placed_by(jobs, machine(4), always(answer), "first-fit", ConstraintOptions(dependencies=True))
