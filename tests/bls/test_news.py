"""What policies in Python that keep books of their own are told, and when; and whoever asks for it wrongly is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import bridge
from bls import Rules, SeenJob, View
from bls.allocators import ALLOCATORS
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.seen.news import AnyNews, HostChanged, JobEnded, JobExpected, JobStarted
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.base.errors import PluginError

S = 10**9
MACHINE = Platform((HostGroup(1, 4, 1.0),))

#: Number, submit, run time, cores, estimate: the second waits for the first, the third is not behind it.
JOBS = Workload.from_jobs([(7, 0, 10, 3, 10), (8, 2, 5, 3, 5), (9, 2, 4, 1, 4)])


class Keeps:
    name = "keeps"

    def __init__(self) -> None:
        self.told: list[tuple[int, list[AnyNews]]] = []
        self.calls: list[str] = []

    def __enter__(self) -> None:
        self.calls.append("enter")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        self.calls.append("exit" if kind is None else f"exit {kind.__name__}")

    def decide(self, view: View) -> list[SeenJob]:
        self.told.append((view.now_ns // S, view.news()))
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                chosen.append(job)
        return chosen

    def finish(self, view: View) -> None:
        self.told.append((view.now_ns // S, view.news()))
        self.calls.append("finish")


def simulated(policy: Any, **options: Any) -> bridge.Result:
    return bridge.simulate(JOBS, MACHINE, bls=policy, als="recorded", **options)


def text(news: AnyNews) -> str:
    words = [
        type(news).__name__.removeprefix("Job").lower(),
        str("" if isinstance(news, HostChanged) else news.job.job_id),
    ]
    if isinstance(news, JobStarted):
        words.append(" ".join(f"{lo}-{hi}" for lo, hi in news.cores))
    if isinstance(news, JobEnded):
        words += [f"{news.end_ns // S} s", news.how]
    return " ".join(words)


def test_it_is_told_once_in_the_order_in_which_it_happened() -> None:
    policy = Keeps()
    simulated(policy)
    assert [(at, [text(one) for one in news]) for at, news in policy.told if news] == [
        (0, ["submitted 7"]),
        (2, ["started 7 0-3", "submitted 8", "submitted 9"]),
        (6, ["started 9 3-4", "ended 9 6 s completed"]),
        (10, ["ended 7 10 s completed"]),
        (15, ["started 8 0-3", "ended 8 15 s completed"]),
    ]
    assert policy.calls == ["enter", "finish", "exit"]


def test_it_is_told_how_jobs_end() -> None:
    policy = Keeps()
    short = Workload.from_jobs([(7, 0, 10, 3, 4), (8, 2, 5, 3, 5)])
    bridge.simulate(short, MACHINE, bls=policy, als="recorded", rules=Rules(kill_at_walltime=True))
    ends = [text(one) for _, news in policy.told for one in news if isinstance(one, JobEnded)]
    assert ends == ["ended 7 4 s killed", "ended 8 9 s completed"]


class Without:
    """It has no ``finish``."""

    name = "without"

    def decide(self, view: View) -> list[SeenJob]:
        view.news()
        return []


def test_news_are_for_policies_with_a_finish() -> None:
    message = r"^batch policy without, at 0 ns: news\(\) is for a batch policy with a method finish\(view\)$"
    with pytest.raises(PluginError, match=message):
        simulated(Without())


def test_news_are_not_for_observers() -> None:
    class Curious:
        name = "curious"
        every_ns = S

        def look(self, view: View) -> dict[str, float]:
            return {"news": float(len(view.news()))}

    with pytest.raises(PluginError, match=r"curious.*news"):
        simulated(Keeps(), observers=[Curious()])


@pytest.mark.parametrize(
    ("where", "what", "message"),
    [
        ("finish", lambda: 1 / 0, r"^batch policy keeps: finish\(\) failed: ZeroDivisionError: division by zero"),
        ("decide", lambda: 1 / 0, r"^batch policy keeps, at 0 ns: decide\(\) failed: ZeroDivisionError"),
    ],
)
def test_a_policy_that_fails_is_left_all_the_same(where: str, what: Callable[[], object], message: str) -> None:
    policy = Keeps()
    setattr(policy, where, lambda view: what())
    with pytest.raises(PluginError, match=message):
        simulated(policy)
    assert policy.calls == ["enter", "exit PluginError"]


def test_who_is_woken_is_told_so() -> None:
    class Wakes(Keeps):
        def decide(self, view: View) -> list[SeenJob]:
            self.told.append((view.now_ns // S, view.woken))  # type: ignore[arg-type]
            view.wake_at(3 * S) if view.now_ns < 3 * S else None
            return super().decide(view) if view.now_ns >= 3 * S else []

    policy = Wakes()
    simulated(policy)
    assert [one for one in policy.told if isinstance(one[1], bool)] == [
        (0, False), (2, False), (3, True), (7, False), (13, False), (18, False),
    ]  # fmt: skip


@pytest.mark.parametrize("observed", [False, True])
def test_it_is_told_what_running_jobs_promise_and_when_that_changes(observed: bool) -> None:
    """Job 7 has promised to end at 10 s, until it is told something as job 8 starts: then it will at 30 s."""
    policy = Keeps()
    seen: list[tuple[int, list[int]]] = []

    class Looks:
        name = "looks"
        every_ns = None

        def look(self, view: View) -> None:
            seen.append((view.now_ns // S, [job.expected_end_ns // S for job in view.running]))

    jobs = Workload.from_jobs([(7, 0, 10, 3, 50), (8, 2, 5, 1, 50), (9, 3, 4, 3, 50)])
    rules, looking = Rules(estimates="application"), [Looks()] if observed else []
    batch = BatchSimulator(jobs, MACHINE, policy, ALLOCATORS["first-fit"], rules=rules, observers=looking)
    ends = {7: 10, 8: 7, 9: 34}
    while (status := batch.advance(2**62)) != BatchStatus.DONE:
        assert status == BatchStatus.STARTED
        for row in batch.started():
            assert batch.outcome(row, ends[batch.job_number(row)] * S)
        if batch.now_ns == 2 * S:
            assert batch.take_back(0)
            assert batch.outcome(0, 30 * S)
    told = [
        (at, type(one).__name__, one.job.job_id, one.job.expected_end_ns // S)
        for at, news in policy.told
        for one in news
        if isinstance(one, JobStarted | JobExpected)
    ]
    assert told == [
        (2, "JobStarted", 7, 10), (3, "JobStarted", 8, 7), (3, "JobExpected", 7, 30), (34, "JobStarted", 9, 34),
    ]  # fmt: skip
    assert seen == ([(0, [10]), (2, [30, 7]), (3, [30, 7]), (7, [30]), (30, [34]), (34, [])] if observed else [])
