"""Applications whose width changes while they run: by hand, and against the slow reference."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from applications import ran
from reference.application import AllLost, Ran, Resize, Run, TasksLeft, run

from als.application import Application
from als.techniques import TECHNIQUES, technique
from traces.base.errors import InputError, PluginError

SS, STATIC, GSS = TECHNIQUES["ss"], TECHNIQUES["static"], TECHNIQUES["gss"]
TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s


def applied(application: Application, decided: Resize[float]) -> None:
    """Tell the application of a decision, if it is none that is void."""
    try:
        application.resize(decided.given, sorted(decided.taken), cost_ns=decided.cost)
    except InputError as error:
        if not str(error).startswith("taken: "):
            raise


def driven(application: Application, start: int, case: dict[str, Any], pauses: list[int]) -> str:
    """Run it to its end, or to its stop; "" or why it had none."""
    stop, resizes, hints, changes = case["stop"], case["resizes"], case["hints"], case["changes"]
    told = {one.at + 1 for one in resizes} | {at + 1 for at, _ in hints}
    instants = {at for at, _, _ in changes} | told | {start + one for one in pauses}
    try:
        for now in sorted(at for at in instants if stop is None or at < stop):
            application.advance(now)
            for one in resizes:
                if one.at + 1 == now:
                    applied(application, one)
            for at, cores in hints:
                if at + 1 == now:
                    application.hint([core for core in cores if core < len(application.state.speed)])
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


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """An application, in the words of both; and what happens to it."""
    chance = random.Random(seed)
    n_cores, start = chance.randint(1, 5), chance.choice((0, 1000))
    names = [*sorted(TECHNIQUES), "ss", "static", "gss"]
    phases = [
        chance.choice([*names, None, None]) if chance.random() < 0.9 else None for _ in range(chance.randint(1, 3))
    ]
    steps = chance.randint(1, 2)
    parts = [1 if phase is None else chance.randint(1, 14) for _ in range(steps) for phase in phases]
    moments = [start + chance.randint(0, 150) for _ in range(8)]
    label = iter(range(100, 200))
    resizes: list[Resize[float]] = []
    for at in sorted(set(moments[: chance.randint(1, 4)])):
        labels = {
            chance.randrange(n_cores) if chance.random() < 0.3 else next(label)
            for _ in range(chance.choice((0, 1, 1, 2)))
        }
        given = tuple(
            (one, chance.choice((0.5, 1.0, 2.0, 0.0 if chance.random() < 0.2 else 1.0)), chance.choice((0, 3)))
            for one in sorted(labels)
        )
        taken = frozenset(chance.randint(0, n_cores + 1) for _ in range(chance.choice((0, 1, 1, 2))))
        resizes.append(Resize(at, given, taken, chance.choice((0, 0, 7))))
    changes = []
    if chance.random() < 0.4:
        changes = sorted(
            (start + chance.randint(0, 150), chance.randrange(n_cores), chance.choice((0.0, 0.5, 1.0)))
            for _ in range(chance.randint(1, 4))
        )
        changes = list({(at, core): (at, core, speed) for at, core, speed in changes}.values())
    hints = []
    if chance.random() < 0.3:
        hints = [(start + chance.randint(0, 120), frozenset({chance.randrange(n_cores)}))]
    happens = {
        "resizes": resizes,
        "changes": changes,
        "hints": hints,
        "stop": start + chance.randint(30, 200) if chance.random() < 0.2 else None,
    }
    wishes = [chance.choice((0, 1, 2, n_cores, 6)) for _ in phases] if chance.random() < 0.5 else []
    what = {
        "lengths": [chance.choice((1, 1, 2, 3)) * TEN * chance.choice((0.7, 1.0)) for _ in range(sum(parts))],
        "speeds": [chance.choice((0.5, 1.0, 2.0)) for _ in range(n_cores)],
        "start": start,
        "overhead": chance.choice((0, 2)),
        "latency": [chance.choice((0, 4)) for _ in range(n_cores)] if chance.random() < 0.4 else [0] * n_cores,
        "master": chance.random() < 0.3,
        "phases": phases,
        "part_tasks": parts,
        "seed": seed,
        "releases": chance.random() < 0.5,
        "wishes": wishes,
    }
    return what, happens


def expected(what: dict[str, Any], happens: dict[str, Any]) -> Run | str:
    try:
        return run(**what, **happens)
    except TasksLeft:
        return "tasks left"
    except AllLost:
        return "all lost"


def engine(what: dict[str, Any]) -> Application:
    return Application(
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
        max_cores=len(what["speeds"]) + 12,
        wishes=what["wishes"] or None,
    )


def choosing(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same with choices among techniques."""
    what, happens = drawn(seed)
    chance = random.Random(seed)
    for place, phase in enumerate(what["phases"]):
        if phase is not None and chance.random() < 0.8:
            names = chance.sample(sorted(TECHNIQUES), chance.randint(2, 4))
            every = chance.choice(("", "", ",every=1ns", ",every=10ns", ",every=40ns"))
            what["phases"][place] = f"select:{','.join(names)}{every}"
    return what, happens


def differs(seed: int, case: Callable[[int], tuple[dict[str, Any], dict[str, Any]]] = drawn) -> str:
    """Why engine and reference differ, "" if they do not."""
    what, happens = case(seed)
    wanted = expected(what, happens)
    pauses = [random.Random(seed + 1).randint(0, 200) for _ in range(seed % 3)]
    application = engine(what)
    how = driven(application, what["start"], happens, pauses)
    if isinstance(wanted, str) or how:
        return "" if how == wanted else f"{how!r}, and not {wanted!r}"
    found = ran(application)
    if application.wishes != wanted.wishes:
        return f"{application.wishes}, and not {wanted.wishes}"
    return "" if found == wanted else f"{found}, and not {wanted}"


@pytest.mark.parametrize("part", range(4))
def test_as_the_reference(part: int) -> None:
    for seed in range(part, 1200, 4):
        assert differs(seed) == "", seed


@pytest.mark.parametrize("part", range(2))
def test_choices_as_the_reference(part: int) -> None:
    for seed in range(part, 400, 2):
        assert differs(seed, choosing) == "", seed


def test_a_core_that_comes_helps_at_once() -> None:
    """One core has six tasks of 10 ns; another comes behind the instant 15: at 16 it begins the third."""
    application = Application([TEN] * 6, [1.0], SS, max_cores=2)
    application.advance(16)
    application.resize([(7, 1.0, 0)])
    assert application.advance()
    assert application.state.core.tolist() == [0, 0, 7, 0, 7, 0]
    assert application.state.start_ns.tolist() == [0, 10, 16, 20, 26, 30]
    assert application.end_ns == 40


def test_a_core_that_is_to_leave_ends_its_chunk() -> None:
    application = Application([TEN] * 6, [1.0, 1.0], SS)
    application.advance(16)
    application.resize(taken=[1])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 0, 1, 0, 0]
    assert application.released_ns[1] == 20
    assert application.end_ns == 40


def test_with_static_it_leaves_late() -> None:
    """It has its half of the tasks from the first, and a core that comes finds none."""
    application = Application([TEN] * 6, [1.0, 2.0], STATIC, max_cores=3)
    application.advance(6)
    application.resize([(7, 1.0, 0)], [1])
    assert application.advance()
    assert application.state.core.tolist() == [0, 0, 0, 1, 1, 1]
    assert application.released_ns[1] == 15
    assert application.end_ns == 30


def test_the_technique_begins_anew_for_those_who_stay() -> None:
    """GSS on two cores: 4 of 8 and 2 of 4 tasks; as two more come, 2 are left: one for each of them."""
    application = Application([TEN] * 8, [1.0, 1.0], GSS, max_cores=4)
    application.advance(5)
    application.resize([(5, 1.0, 0), (6, 1.0, 0)])
    assert application.advance()
    assert application.state.core.tolist() == [0, 0, 0, 0, 1, 1, 5, 6]


def test_each_core_pays_once_for_a_change() -> None:
    application = Application([TEN] * 6, [1.0], SS, max_cores=2)
    application.advance(16)
    application.resize([(7, 1.0, 0)], cost_ns=3)
    assert application.advance()
    assert application.state.start_ns.tolist() == [0, 10, 19, 23, 29, 33]
    assert application.scheduling_ns == 6


def test_a_core_that_comes_has_the_place_of_one_that_left() -> None:
    application = Application([TEN] * 8, [1.0, 1.0], SS)
    application.advance(6)
    application.resize(taken=[0])
    application.advance(12)
    application.resize([(9, 2.0, 0)])
    assert application.advance()
    assert application.state.core_number.tolist() == [9, 1]
    assert ran(application).tasks[2] == Ran(2, 1, 10, 20)
    assert application.state.core.tolist() == [0, 1, 1, 9, 9, 1, 9, 9]


def test_the_last_core_stays() -> None:
    """Core 1 is to leave; core 0 is lost for good meanwhile."""
    application = Application([TEN] * 4, [1.0, 1.0], SS)
    application.advance(6)
    application.resize(taken=[1])
    application.lose(0)
    assert application.advance()
    assert application.state.core.tolist() == [1, 1, 1, 1]
    assert application.state.end_ns.tolist() == [20, 10, 30, 40]


def test_a_part_that_wishes_begins_as_it_has_its_answer() -> None:
    """Two loops of four tasks on two cores. The second wishes for one at 20, and core 1 goes before it has got anything."""
    application = Application([TEN] * 8, [1.0, 1.0], phases=[STATIC] * 2, part_tasks=[4, 4], wishes=[2, 1])
    assert not application.advance(20)
    assert application.wishes == []
    assert not application.advance(21)
    assert application.wishes == [(20, 1)]
    application.resize(taken=[1])
    assert application.advance()
    assert application.released_ns[1] == 21
    assert application.state.start_ns.tolist() == [0, 10, 0, 10, 21, 31, 41, 51]
    assert application.end_ns == 61


def test_cores_that_come_at_once_share_in_the_part() -> None:
    """The first loop wishes for four: with STATIC each of them has its task, as they are there when it begins."""
    application = Application(
        [TEN] * 4, [1.0, 1.0], phases=[STATIC], part_tasks=[4], wishes=[4], start_ns=100, max_cores=4
    )
    application.advance(101)
    assert application.wishes == [(100, 4)]
    application.resize([(7, 1.0, 0), (8, 1.0, 0)])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 7, 8]
    assert application.state.start_ns.tolist() == [101] * 4


def test_a_wish_for_as_many_as_before_is_none() -> None:
    """Nobody answers, and each part that wishes for another number than the one before begins 1 ns late."""
    application = Application([TEN] * 8, [1.0, 1.0], phases=[SS, SS], part_tasks=[2, 2, 2, 2], wishes=[3, 3])
    assert application.advance()
    assert application.wishes == [(0, 3)]
    assert application.end_ns == 41
    other = Application([TEN] * 8, [1.0, 1.0], phases=[SS, SS], part_tasks=[2, 2, 2, 2], wishes=[2, 3])
    assert other.advance()
    assert other.wishes == [(10, 3), (21, 2), (32, 3)]
    assert other.end_ns == 43


def test_there_is_a_wish_for_each_phase() -> None:
    with pytest.raises(InputError, match="wishes: 1 numbers; allowed: one for each of 2 phases"):
        Application([TEN] * 4, [1.0], phases=[SS, SS], part_tasks=[2, 2], wishes=[1])
    with pytest.raises(InputError, match=r"wishes\[0\]: -1"):
        Application([TEN] * 4, [1.0], phases=[SS], part_tasks=[4], wishes=[-1])


@pytest.mark.parametrize(
    ("given", "taken", "message"),
    [
        ([], [0, 1], r"taken: \[0, 1\]; allowed: some, not all, of \[0, 1\], none twice"),
        ([], [2], r"taken: \[2\]; allowed: some, not all, of \[0, 1\]"),
        ([], [0, 0], r"taken: \[0, 0\]; allowed: some"),
        ([(3, 1.0, 0)], [], "given: 1 cores; allowed: 0, as max_cores is 2"),
        ([(3, -1.0, 0)], [], "given: core 3: speed -1.0, latency 0; allowed: from 0 on"),
    ],
)
def test_what_cannot_be_is_refused(given: list[tuple[int, float, int]], taken: list[int], message: str) -> None:
    application = Application([TEN] * 4, [1.0, 1.0], SS)
    with pytest.raises(InputError, match=message):
        application.resize(given, taken)


def test_a_choice_among_techniques_is_made_anew() -> None:
    """Tasks of 10 ns on one core: all are as good; STATIC is the first. As another comes, STATIC has left it nothing; in the
    next loop, as that is slower, SS is better."""
    application = Application([TEN] * 12, [1.0], phases=[technique("select:static,ss")], part_tasks=[6, 6], max_cores=2)
    application.advance(6)
    application.resize([(7, 0.5, 0)])
    assert application.advance()
    assert application.chosen == {"static": 1, "ss": 1}
    assert application.state.core.tolist() == [0] * 6 + [0, 7, 0, 0, 7, 0]
