"""Additional data: computed as they are read, at most once an instant, in the order in which they are named."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bridge
from bls import AdditionalData, Observer, Platform, SeenJob, View
from bls.machine.platform import HostGroup
from bls.policies import AnyPolicy
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError

S = 10**9
MACHINE = Platform((HostGroup(2, 4, 40.0),))
IDLE_W, BUSY_W = 10.0, 25.0


class Power:
    """Watts: of each core, by whether it computes."""

    name = "power"

    def __init__(self) -> None:
        self.at: list[int] = []

    def value(self, view: View) -> float:
        self.at.append(view.now_ns)
        return IDLE_W * view.free_cores + BUSY_W * (view.n_cores - view.free_cores)


class Headroom:
    name = "headroom"

    def __init__(self, limit_w: float) -> None:
        self.limit_w = limit_w
        self.at: list[int] = []

    def value(self, view: View) -> float:
        self.at.append(view.now_ns)
        return self.limit_w - float(view.data["power"])


class Capped:
    """Starts jobs in the order of arrival as long as the machine stays below its limit of power."""

    name = "capped"

    def decide(self, view: View) -> Iterator[SeenJob]:
        free = view.free_cores
        for job in view.waiting:
            used = (BUSY_W - IDLE_W) * (job.cores + view.free_cores - free)
            if job.cores > free or used > view.data["headroom"]:
                return
            free -= job.cores
            yield job


JOBS = Workload.from_jobs([(k, 0, 10, 2, 10) for k in range(4)])


def starts(order: AnyPolicy, *observers: Observer | AdditionalData, jobs: Workload = JOBS) -> list[int]:
    result = bridge.simulate(jobs, MACHINE, bls=order, als="recorded", observers=observers)
    found: list[int] = result.ledger.jobs.start_ns.tolist()
    return found


def test_a_policy_uses_the_values_of_an_observer() -> None:
    # 80 W where all is idle, 30 W more for each job of two cores: two fit below 140 W.
    assert starts(Capped(), Power(), Headroom(140.0)) == [0, 0, 10 * S, 10 * S]
    assert starts(Capped(), Power(), Headroom(110.0)) == [0, 10 * S, 20 * S, 30 * S]
    assert starts(Capped(), Power(), Headroom(1000.0)) == [0, 0, 0, 0]


def test_each_is_computed_once_an_instant_and_only_where_it_is_read() -> None:
    power, headroom = Power(), Headroom(140.0)
    starts(Capped(), power, headroom)
    # At 20 s the queue is empty, so they are not read.
    assert power.at == headroom.at == [0, 10 * S]


class Reads:
    """Notes some of them at every instant and every second; a field ``value`` makes it no additional data."""

    value = 3

    name = "reads"

    def __init__(self, *names: str, every_ns: int | None = None) -> None:
        self.names, self.every_ns = names, every_ns

    def look(self, view: View) -> dict[str, float]:
        return {name: view.data[name] for name in self.names}


def test_observers_read_them_too() -> None:
    power = Power()
    jobs = Workload.from_jobs([(1, 0, 3, 4, 3)])
    result = bridge.simulate(
        jobs, MACHINE, als="recorded", observers=[Reads("power", every_ns=S), power, Reads("power", every_ns=S)]
    )
    seen = result.observations
    assert seen.power.tolist() == [140.0] * 6 + [80.0] * 2
    assert power.at == [0, S, 2 * S, 3 * S]


def always(answer: Callable[[View], Any]) -> AnyPolicy:
    class Mine:
        name = "mine"
        asked = 0

        def decide(self, view: View) -> Any:
            self.asked += 1
            return answer(view) if self.asked == 1 else []

    return Mine()


def test_they_are_computed_in_the_order_in_which_they_are_named() -> None:
    order: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def value(self, view: View) -> int:
            order.append(self.name)
            return len(order)

    def reads(view: View) -> list[SeenJob]:
        assert (list(view.data), len(view.data), "second" in view.data) == (["first", "second", "third"], 3, True)
        assert order == []
        assert (view.data["second"], view.data["first"], view.data["second"]) == (2, 1, 2)
        assert order == ["first", "second"]
        assert (view.data.get("third"), view.data.get("fourth", 5)) == (3, 5)
        assert dict(view.data) == {"first": 1, "second": 2, "third": 3}
        return list(view.waiting)

    assert starts(always(reads), *map(Named, ("first", "second", "third")), jobs=JOBS.take(JOBS.job_id == 0)) == [0]


class Gives:
    def __init__(self, name: str, what: Callable[[View], Any]) -> None:
        self.name, self.what = name, what

    def value(self, view: View) -> Any:
        return self.what(view)


def reading(name: str) -> AnyPolicy:
    return always(lambda view: [view.data[name]])


def stubborn(view: View) -> Any:
    try:
        return [view.data["power"]]
    except Exception:
        return list(view.waiting)


@pytest.mark.parametrize(
    ("order", "observers", "message"),
    [
        (reading("powr"), [Power(), Headroom(1.0)],
         "batch policy mine, at 0 ns: view.data: unknown additional data 'powr'; known: power, headroom"),
        (reading("power"), [], "batch policy mine, at 0 ns: view.data: unknown additional data 'power'; known: none"),
        (reading("power"), [Gives("power", lambda view: 1 / 0)],
         "observer power, at 0 ns: value() failed: ZeroDivisionError: division by zero"),
        (always(stubborn), [Gives("power", lambda view: 1 / 0)],
         "observer power, at 0 ns: value() failed: ZeroDivisionError: division by zero"),
        (reading("headroom"), [Headroom(1.0), Power()],
         "observer headroom, at 0 ns: view.data: power is computed after headroom; allowed: earlier names, none here"),
        (reading("a"), [Gives("a", lambda view: view.data["b"])],
         "observer a, at 0 ns: view.data: unknown additional data 'b'; known: a"),
        (reading("a"), [Gives("a", lambda view: view.wake_at(5))],
         "observer a, at 0 ns: wake_at() is for a batch policy while it decides"),
        (reading("power"), [Power(), Power()], "observer power: two observers give additional data of this name"),
        ("fcfs", [Reads("power")], "observer reads, at 0 ns: view.data: unknown additional data 'power'; known: none"),
    ],
)  # fmt: skip
def test_mistakes(order: Any, observers: list[Any], message: str) -> None:
    with pytest.raises(PluginError) as caught:
        starts(order, *observers)
    assert re.fullmatch(re.escape(message) + r"( \(.*:\d+: .*\))?", str(caught.value)), caught.value


def test_an_observer_that_is_neither() -> None:
    with pytest.raises(InputError, match=r"^observe: 5; allowed: a name, an Observer or AdditionalData"):
        starts("fcfs", 5)  # type: ignore[arg-type]
