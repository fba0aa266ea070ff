"""Speeds that the batch level scales while an application runs: by hand, and against the slow reference."""

from __future__ import annotations

import random
from typing import Any

import pytest
from applications import ran
from reference.application import AllLost, Run, TasksLeft, run

from als.application import Application
from als.techniques import TECHNIQUES, technique
from traces.base.errors import InputError, PluginError

SS, STATIC, GSS = TECHNIQUES["ss"], TECHNIQUES["static"], TECHNIQUES["gss"]
TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s

#: What happens: at an instant a core's own speed changes; and behind all else of an instant some cores, or all, are scaled.
Scale = tuple[int, frozenset[int] | None, float]


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any], list[Scale]]:
    """An application, in the words of both; what else happens to it; and how its speeds are scaled."""
    chance = random.Random(seed)
    n_cores, start = chance.randint(1, 5), chance.choice((0, 1000))
    names = [*sorted(TECHNIQUES), "ss", "static", "gss", "select:ss,gss,static"]
    phases = [
        chance.choice([*names, None, None]) if chance.random() < 0.9 else None for _ in range(chance.randint(1, 3))
    ]
    parts = [1 if phase is None else chance.randint(1, 14) for _ in range(chance.randint(1, 2)) for phase in phases]
    changes = []
    if chance.random() < 0.4:
        found = {
            (start + chance.randint(0, 150), chance.randrange(n_cores)): chance.choice((0.0, 0.5, 1.0))
            for _ in range(chance.randint(1, 4))
        }
        changes = [(at, core, speed) for (at, core), speed in sorted(found.items())]
    moments = sorted({start + 10 * chance.randint(0, 15) + chance.choice((0, 0, 1, 5)) for _ in range(5)})
    scales: list[Scale] = []
    for at in moments[: chance.randint(1, 5)]:
        some = frozenset(chance.sample(range(n_cores), chance.randint(1, n_cores)))
        scales.append((at, chance.choice((None, None, some)), chance.choice((0.5, 0.75, 1.0, 2.0, 0.3, 1 / 3))))
    happens = {
        "changes": changes,
        "hints": [(start + chance.randint(0, 120), frozenset({chance.randrange(n_cores)}))]
        if chance.random() < 0.3
        else [],
        "stop": start + chance.randint(30, 200) if chance.random() < 0.2 else None,
    }
    what = {
        "lengths": [chance.choice((1, 1, 2, 3)) * TEN * chance.choice((0.7, 1.0)) for _ in range(sum(parts))],
        "speeds": [chance.choice((0.5, 1.0, 1.0, 2.0)) for _ in range(n_cores)],
        "start": start,
        "overhead": chance.choice((0, 2)),
        "latency": [chance.choice((0, 4)) for _ in range(n_cores)] if chance.random() < 0.4 else [0] * n_cores,
        "master": chance.random() < 0.3,
        "phases": phases,
        "part_tasks": parts,
        "seed": seed,
        "releases": chance.random() < 0.5,
    }
    return what, happens, scales


def as_changes(what: dict[str, Any], changes: list[Any], scales: list[Scale]) -> tuple[list[Any], list[Any]]:
    """The same as plain changes of speed, and those that are known behind all else of their instants."""
    own, factor = list(what["speeds"]), [1.0] * len(what["speeds"])
    plain, later = [], []
    events = [(at, 0, one) for one in changes for at in one[:1]] + [(one[0], 1, one) for one in scales]
    for at, behind, one in sorted(events, key=lambda event: event[:2]):
        if not behind:
            own[one[1]] = one[2]
            plain.append((at, one[1], one[2] * factor[one[1]]))
            continue
        for core in range(len(own)) if one[1] is None else sorted(one[1]):
            before, factor[core] = factor[core], round(one[2] * 10**9) / 10**9
            if own[core] * before != own[core] * factor[core]:  # else nothing is changed, and nothing rounded
                later.append((at, core, own[core] * factor[core]))
    return plain, later


def expected(what: dict[str, Any], happens: dict[str, Any], scales: list[Scale]) -> Run | str:
    plain, later = as_changes(what, happens["changes"], scales)
    try:
        return run(**what, **(happens | {"changes": plain}), later=later)
    except TasksLeft:
        return "tasks left"
    except AllLost:
        return "all lost"


def driven(application: Application, start: int, happens: dict[str, Any], scales: list[Scale], pauses: set[int]) -> str:
    """Run it to its end, or to its stop; "" or why it had none."""
    stop, changes, hints = happens["stop"], happens["changes"], happens["hints"]
    instants = {at for at, _, _ in changes} | {at + 1 for at, *_ in (*scales, *hints)} | {start + at for at in pauses}
    try:
        for now in sorted(at for at in instants if stop is None or at < stop + 1):
            if stop is not None and now >= stop and not any(at + 1 == now for at, *_ in scales):
                continue
            application.advance(now)
            for at, cores, factor in scales:
                if at + 1 == now and not application.finished:
                    application.scale(factor, cores, at_ns=at)
            application.advance(now)  # a scale that was told has turned its clock back
            for at, wanted in hints:
                if at + 1 == now:
                    application.hint(wanted)
            for at, core, speed in changes:
                if at == now:
                    application.set_speed(speed, core)
            application.validate()
        if stop is None:
            application.advance()
        else:
            application.run_to_stop(stop)
        application.validate()
    except PluginError as error:
        if "sent every core away" not in str(error):
            raise
        return "tasks left"
    except InputError as error:
        if "all cores are lost" not in str(error):
            raise
        return "all lost"
    return ""


def differs(seed: int) -> str:
    """Why engine and reference differ, "" if they do not."""
    what, happens, scales = drawn(seed)
    wanted = expected(what, happens, scales)
    chance = random.Random(seed + 1)
    application = Application(
        what["lengths"],
        what["speeds"],
        start_ns=what["start"],
        overhead_ns=what["overhead"],
        latency_ns=what["latency"],
        master=what["master"],
        phases=[None if name is None else technique(name) for name in what["phases"]],
        part_tasks=what["part_tasks"],
        seed=what["seed"],
        releases=what["releases"],
    )
    how = driven(application, what["start"], happens, scales, {chance.randint(0, 200) for _ in range(seed % 3)})
    if isinstance(wanted, str) or how:
        return "" if how == wanted else f"{how!r}, and not {wanted!r}"
    found = ran(application)
    return "" if found == wanted else f"{found}, and not {wanted}"


@pytest.mark.parametrize("part", range(4))
def test_as_the_reference(part: int) -> None:
    for seed in range(part, 800, 4):
        assert differs(seed) == "", seed


@pytest.mark.parametrize(("name", "end"), [("ss", 21), ("static", 19)])
def test_at_half_the_speed_for_a_while(name: str, end: int) -> None:
    """Two cores; tasks of 4, 6, 4, 2, 8 and 2 s, which run at half the speed from 5 s to 15 s. With SS both ask at 11 s, and
    the lower core gets the long task; at full speed it would be over at 16 s, STATIC at 14."""
    application = Application([4.0, 6.0, 4.0, 2.0, 8.0, 2.0], [1.0, 1.0], TECHNIQUES[name])
    for at, factor in ((5, 0.5), (15, 1.0)):
        application.advance(at * 10**9 + 1)
        application.scale(factor, at_ns=at * 10**9)
        application.validate()
    assert application.advance()
    assert application.end_ns == end * 10**9


def test_some_cores_and_those_that_come() -> None:
    """Core 1 runs at half its speed from 10 ns on; then all at a quarter, also the one that comes at 31 ns."""
    application = Application([TEN] * 8, [1.0, 1.0], SS, max_cores=3)
    application.advance(11)
    application.scale(0.5, [1], at_ns=10)
    application.advance(31)
    application.scale(0.25, at_ns=30)
    application.advance(31)
    assert application.resize([(2, 2.0, 0)]) == [2]
    assert application.advance()
    assert application.state.start_ns.tolist() == [0, 0, 10, 10, 20, 30, 30, 31]
    assert application.state.end_ns.tolist() == [10, 10, 20, 30, 30, 70, 70, 51]


def test_a_scale_that_stays_changes_nothing() -> None:
    application = Application([TEN] * 5, [1.0, 3.0], GSS)
    application.advance(4)
    application.scale(1.0)
    assert application.advance()
    again = Application([TEN] * 5, [1.0, 3.0], GSS)
    assert again.advance()
    assert ran(application) == ran(again)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"factor": 0.0}, "factor: 0.0 is out of range; allowed: 0.001 to 2"),
        ({"factor": 2.1}, "factor: 2.1 is out of range"),
        ({"factor": float("nan")}, "factor: nan is out of range"),
        ({"factor": 0.5, "cores": [2]}, "core: 2; allowed: 0 to 1"),
        ({"factor": 0.5, "at_ns": 3}, "at_ns: 3; allowed: 5, or one ns before"),
        ({"factor": 0.5, "at_ns": 6}, "at_ns: 6; allowed: 5"),
    ],
)
def test_what_cannot_be_scaled(given: dict[str, Any], message: str) -> None:
    application = Application([TEN] * 5, [1.0, 1.0], SS)
    application.advance(5)
    with pytest.raises(InputError, match=message):
        application.scale(**given)
