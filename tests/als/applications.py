"""Random applications, what happens to them, and the engine's records in the words of the slow reference."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from reference.application import AllLost, Device, Ran, Resize, Route, Run, TasksLeft, run, with_devices_at_the_end
from tables import table_rows

from als.application import ApplicationSimulator
from als.engine.state import NEVER
from als.network import network_model, network_state
from als.network.state import NetworkState
from als.techniques import TECHNIQUES, technique
from als.workers import WorkerKind, WorkerSlots, n_slots, with_devices
from traces.base.errors import InputError, PluginError

#: An instant, a core and its speed from then on.
Change = tuple[int, int, float]
#: After all else of an instant, these cores, or all of them, run at a factor of their speeds.
Scale = tuple[int, frozenset[int] | None, float]
#: After all else of an instant, the cores for which other jobs wait from then on.
Hint = tuple[int, frozenset[int]]

#: What the engine and the reference answer where a job cannot end.
_ERRORS = {"sent every core away": "tasks left", "all cores are lost": "all lost"}


def driven(
    application: ApplicationSimulator, case: Any, pauses: Sequence[int] = (), *, until_stop: bool = False
) -> str:
    """Run it to its end, or to its stop, with all that happens to it; "" or why it had no end.

    It is suspended at the pauses, too. ``until_stop``: it is also notified of the changes of speed at the stop.
    """
    start, stop = case.start, case.stop
    scaled = {at + 1 for at, *_ in case.scales}
    commanded = {at + 1 for at, _ in case.hints} | {one.at + 1 for one in case.resizes}
    last = None if stop is None else stop if until_stop else stop - 1
    try:
        for now in sorted({at for at, _, _ in case.changes} | scaled | commanded | set(pauses)):
            if last is not None and now > last and not (now == stop and now in scaled):
                continue
            application.advance(start + now)
            for at, cores, factor in case.scales:
                if at + 1 == now and not application.finished:
                    application.scale(factor, cores, at_ns=start + at)
                    application.advance(start + now)  # a scale turns its clock back
            if last is not None and now > last:
                continue
            for one in case.resizes:
                if one.at + 1 == now:
                    _resize(application, one)
            for at, wanted in case.hints:
                if at + 1 == now:
                    application.hint(sorted(core for core in wanted if core < len(application.state.speed)))
            for at, core, speed in case.changes:
                if at == now:
                    application.set_speed(speed, core)
            application.validate()
        if stop is None:
            assert application.advance()
        else:
            application.run_to_stop(start + stop)
        application.validate()
    except (PluginError, InputError) as error:
        for words, name in _ERRORS.items():
            if words in str(error):
                return name
        raise
    return ""


def _resize(application: ApplicationSimulator, decided: Resize[float]) -> None:
    try:
        application.resize(decided.given, sorted(decided.taken), cost_ns=decided.cost)
    except InputError as error:
        if not str(error).startswith("taken: "):
            raise


def released(application: ApplicationSimulator) -> list[int | None]:
    return [None if at == NEVER else at for at in application.released_ns.tolist()]


def ran(application: ApplicationSimulator) -> Run:
    state = application.state
    columns = (state.chunk, state.core, state.start_ns, state.end_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Run(
        [None if row[2:] == (-1, -1) else Ran(*row) for row in rows],
        state.cores.finish_ns[: len(state.speed)].tolist(),
        application.chunks,
        state.cores.busy_ns[: len(state.speed)].tolist(),
        application.scheduling_ns,
        application.chosen,
        application.ahead_chunks,
        released(application),
        wishes=application.wishes,
    )


@dataclass(frozen=True, kw_only=True)
class Happening:
    """Events of an application, and its assignment of tasks; all instants count from its start."""

    start: int = 0
    overhead: int = 0
    latency: list[int] | None = None
    master: bool = False
    changes: tuple[Change, ...] = ()
    stop: int | None = None
    seed: int = 0
    job: int = 0
    releases: bool = False
    hints: tuple[Hint, ...] = ()
    scales: tuple[Scale, ...] = ()
    resizes: tuple[Resize[float], ...] = ()

    def work(self) -> dict[str, Any]:
        """The engine's arguments for what the application computes, and on which cores."""
        raise NotImplementedError

    def records(self, application: ApplicationSimulator) -> Any:
        """The engine's records in the words of the reference."""
        return ran(application)

    def application(self, *, keep_tasks: bool = True) -> ApplicationSimulator:
        """The engine at the job's start."""
        return ApplicationSimulator(
            **self.work(),
            keep_tasks=keep_tasks,
            max_cores=len(self.work()["core_speed_gflops"]) + 12 if self.resizes else None,
            **{f"{name}_ns": getattr(self, name) for name in ("start", "overhead", "latency")},
            **self.fields("master", "releases", "seed", "job"),
        )

    def fields(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def found(self, pauses: Sequence[int] = (), *, keep_tasks: bool = True) -> Any:
        """The engine's result, suspended at all events and at the pauses; a word if it cannot end."""
        application = self.application(keep_tasks=keep_tasks)
        if ended := driven(application, self, pauses):
            return ended
        assert application.finished
        found = self.records(application)
        assert application.end_ns == found.end
        if keep_tasks:
            assert application.ran == sum(task is not None for task in found.tasks)
        return found


@dataclass(frozen=True)
class Star:
    """A star of ten hosts with a network model; latency of a route in ns, Gbit/s of a link."""

    model: str
    latency: float
    gbps: float

    def state(self) -> NetworkState:
        given = {"hosts": 10, "bandwidth_gbps": self.gbps, "latency_ns": self.latency}
        return network_state(network_model(self.model), "star", **given)

    @property
    def route(self) -> Route | None:
        """The costs of a transfer; lv08 has its published factors, and a window of 4 MiB."""
        share = self.gbps / 8
        if self.model in ("none", "hockney"):
            return None if self.model == "none" else (self.latency, 1 / share)
        slow, fast = (13.01, 0.97) if self.model == "lv08" else (1.0, 1.0)
        return slow * self.latency, 1 / (fast * min(share, 4194304 / (2 * max(self.latency, 1e-9))))


@dataclass(frozen=True)
class Scenario(Happening):
    """Loops and serial parts, with everything that there is."""

    lengths: list[float]
    speeds: list[float]
    phases: list[str | None]
    part_tasks: list[int]
    wishes: tuple[int, ...] = ()
    #: The kinds of the last slots, whose ``speeds`` are those of the cores that drive them; and the kinds of each phase.
    kinds: tuple[WorkerKind, ...] = ()
    on: tuple[frozenset[int], ...] = ()
    #: Hosts of the slots, none: one; and the star between them.
    hosts: tuple[int, ...] = ()
    star: Star | None = None

    def workers(self) -> tuple[list[float], WorkerSlots | None]:
        """Speeds of the slots, and their kinds and devices."""
        if not self.kinds:
            return self.speeds, None
        on = np.array([sum(1 << kind for kind in some) for some in self.on], np.int64) if self.on else None
        speeds, workers = with_devices(self.kinds, np.array(self.speeds), on=on)
        return speeds.tolist(), workers

    def devices(self) -> tuple[list[float], dict[int, Device]]:
        """The same for the reference."""
        return with_devices_at_the_end(self.kinds, self.speeds, self.hosts, self.star and self.star.route)

    def work(self) -> dict[str, Any]:
        speeds, workers = self.workers()
        given: dict[str, Any] = {"lengths_gflop": self.lengths, "core_speed_gflops": speeds, "workers": workers}
        given["phases"] = [None if name is None else technique(name) for name in self.phases]
        if self.hosts:
            given["core_host"] = self.hosts
        if self.star is not None:
            given["network"] = self.star.state()
        return given | {"wishes": self.wishes or None, "part_tasks": self.part_tasks}

    def expected(self) -> Run | str:
        """The reference's result; a word if it cannot end."""
        changes, later = self._plain_changes()
        speeds, devices = self.devices()
        try:
            return run(
                self.lengths,
                speeds,
                devices=devices,
                on=self.on,
                latency=self.latency or (),
                changes=changes,
                later=later,
                stop=None if self.stop is None else self.start + self.stop,
                hints=[(self.start + at, cores) for at, cores in self.hints],
                resizes=[replace(one, at=self.start + one.at) for one in self.resizes],
                **self.fields(
                    "start", "overhead", "master", "phases", "part_tasks", "seed", "job", "releases", "wishes"
                ),
            )
        except TasksLeft:
            return "tasks left"
        except AllLost:
            return "all lost"

    def _plain_changes(self) -> tuple[list[Change], list[Change]]:
        """Changes and scales as plain changes of speed, and those that are known after all else of their instants."""
        own, factor = list(self.speeds), [1.0] * len(self.speeds)
        plain, later = [], []
        events: list[tuple[int, int, Any]] = [(one[0], 0, one) for one in self.changes]
        events += [(one[0], 1, one) for one in self.scales]
        for at, after, one in sorted(events, key=lambda event: event[:2]):
            if not after:
                own[one[1]] = one[2]
                plain.append((self.start + at, one[1], one[2] * factor[one[1]]))
                continue
            for core in range(len(own)) if one[1] is None else sorted(one[1]):
                before, factor[core] = factor[core], round(one[2] * 10**9) / 10**9
                if own[core] * before != own[core] * factor[core]:  # else nothing is changed, and nothing rounded
                    later.append((self.start + at, core, own[core] * factor[core]))
        return plain, later


#: One to a hundred nanoseconds of work for a core of 1 GFLOP/s: whole and half ones, where rounding and ties show.
lengths = st.integers(1, 200).map(lambda half_ns: half_ns / 2e9) | st.floats(1e-12, 1e-7)
speeds = st.sampled_from((1.0, 1.0, 2.0, 0.5, 3.0, 46.875))
pauses = st.lists(st.integers(0, 200), max_size=4)

#: Every technique, and some with parameters that change their inputs or their calls.
NAMES = (*TECHNIQUES, *table_rows(__file__, "names"))


@st.composite
def selections(draw: st.DrawFn) -> str:
    """A choice among some that have other names, for ever or again and again."""
    names = draw(st.lists(st.sampled_from(tuple(TECHNIQUES)), min_size=2, max_size=4, unique=True))
    every = draw(st.sampled_from(("", "", ",every=1ns", ",every=10ns", ",every=40ns")))
    return f"select:{','.join(names)}{every}"


def some_resizes(chance: Random, n_cores: int, last: int) -> tuple[Resize[float], ...]:
    """One to four decisions: cores that come, some with numbers of others, and cores that are to leave."""
    labels, found = iter(range(100, 200)), []
    for at in sorted({chance.randint(0, last) for _ in range(chance.randint(1, 4))}):
        come = {
            chance.randrange(n_cores) if chance.random() < 0.3 else next(labels)
            for _ in range(chance.choice((0, 1, 1, 2)))
        }
        given = [
            (one, chance.choice((0.5, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0)), chance.choice((0, 3))) for one in sorted(come)
        ]
        taken = frozenset(chance.randint(0, n_cores + 1) for _ in range(chance.choice((0, 1, 1, 2))))
        found.append(Resize(at, tuple(given), taken, chance.choice((0, 0, 7))))
    return tuple(found)


def some_times(chance: Random, n_cores: int, last: int, last_stop: int) -> dict[str, Any]:
    """Costs of requests, changes of speed up to an instant, and now and then a stop."""
    return {
        "start": chance.choice((0, 1000)),
        "overhead": chance.choice((0, 2)),
        "latency": [chance.choice((0, 4)) for _ in range(n_cores)] if chance.random() < 0.4 else None,
        "master": chance.random() < 0.3,
        "changes": some_changes(chance, n_cores, last),
        "stop": chance.randint(30, last_stop) if chance.random() < 0.2 else None,
    }


def any_times(draw: st.DrawFn, n_cores: int, late: int, last_stop: int | None) -> dict[str, Any]:
    """The same for hypothesis, without changes; ``late``: a start of large numbers; ``last_stop``: None for no stop."""
    latencies = st.lists(st.sampled_from((0, 1, 5, 30)), min_size=n_cores, max_size=n_cores)
    return {
        "start": draw(st.sampled_from((0, 17, late))),
        "overhead": draw(st.sampled_from((0, 0, 1, 8))),
        "latency": draw(st.none() | latencies),
        "master": draw(st.booleans()),
        "stop": draw(st.none() | st.none() | st.integers(0, last_stop)) if last_stop is not None else None,
        "seed": draw(st.integers(0, 3)),
    }


def some_changes(chance: Random, n_cores: int, last: int) -> tuple[Change, ...]:
    if chance.random() < 0.5:
        return ()
    found = [(chance.randint(0, last), chance.randrange(n_cores)) for _ in range(chance.randint(1, 4))]
    return tuple((at, core, chance.choice((0.0, 0.5, 1.0))) for at, core in sorted(set(found)))


def crowded(seed: int, *, choosing: bool = False) -> Scenario:
    """An application to which much happens: its speeds are scaled, or it has other widths.

    Hypothesis prefers small examples, in which faults of several features together do not show.
    """
    chance = Random(seed)
    n_cores = chance.randint(1, 5)
    names = [*sorted(TECHNIQUES), "ss", "static", "gss"]

    def phase() -> str | None:
        if chance.random() < 0.25:
            return None
        if not choosing or chance.random() < 0.2:
            return chance.choice(names)
        every = chance.choice(("", "", ",every=1ns", ",every=10ns", ",every=40ns"))
        return f"select:{','.join(chance.sample(sorted(TECHNIQUES), chance.randint(2, 4)))}{every}"

    phases = [phase() for _ in range(chance.randint(1, 3))]
    parts = [1 if one is None else chance.randint(1, 14) for _ in range(chance.randint(1, 2)) for one in phases]
    happens: dict[str, Any] = {}
    if seed % 3 == 0:
        some = frozenset(chance.sample(range(n_cores), chance.randint(1, n_cores)))
        moments = sorted(
            {10 * chance.randint(0, 15) + chance.choice((0, 0, 1, 5)) for _ in range(chance.randint(1, 5))}
        )
        factors = (0.5, 0.75, 1.0, 2.0, 0.3, 1 / 3)
        happens["scales"] = tuple((at, chance.choice((None, None, some)), chance.choice(factors)) for at in moments)
    else:
        happens["resizes"] = some_resizes(chance, n_cores, 150)
        if chance.random() < 0.5:
            happens["wishes"] = tuple(chance.choice((0, 1, 2, n_cores, 6)) for _ in phases)
    if chance.random() < 0.3:
        happens["hints"] = ((chance.randint(0, 120), frozenset({chance.randrange(n_cores)})),)
    return Scenario(
        [chance.choice((1, 1, 2, 3)) * 1e-8 * chance.choice((0.7, 1.0)) for _ in range(sum(parts))],
        [chance.choice((0.5, 1.0, 1.0, 2.0)) for _ in range(n_cores)],
        phases,
        parts,
        **some_times(chance, n_cores, 150, 200),
        seed=seed,
        releases=chance.random() < 0.5,
        **happens,
    )


def mixed(seed: int, *, choosing: bool = False) -> Scenario:
    """Loops on cores and on devices of one or two kinds, some on a few kinds alone; nothing changes but for a stop."""
    chance = Random(seed)
    kinds = tuple(
        WorkerKind(
            name=name,
            count=chance.randint(1, 2),
            speed=chance.choice((1.0, 4.0, 10.0)),
            launch_ns=chance.choice((0, 3)),
            in_bytes=chance.choice((0.0, 1.0, 2.5)),
            out_bytes=chance.choice((0.0, 0.5, 4.0)),
            bandwidth_gbps=8.0,
            link_latency_ns=chance.choice((0, 2)),
            streams=chance.choice((1, 1, 2, 3)),
            variation=chance.choice((0.0, 0.3)),
        )
        for name in ("gpu", "other")[: chance.choice((1, 1, 2))]
    )
    n_slots_ = n_slots(kinds) + chance.randint(1, 4)
    case = replace(
        crowded(seed, choosing=choosing), changes=(), scales=(), resizes=(), wishes=(), kinds=kinds, latency=None
    )
    if chance.random() < 0.4:
        case = replace(case, latency=[chance.choice((0, 4)) for _ in range(n_slots_)])
    on: tuple[frozenset[int], ...] = ()
    if chance.random() < 0.5:
        every = range(len(kinds) + 1)
        some = [frozenset(chance.sample(every, chance.randint(1, len(every)))) for _ in case.phases]
        on = tuple(frozenset({0}) if name is None else part for name, part in zip(case.phases, some, strict=True))
    case = replace(
        case, speeds=[chance.choice((0.5, 1.0, 1.0, 2.0)) for _ in range(n_slots_)], on=on, job=chance.randint(0, 3)
    )
    return replace(case, **some_links(chance, kinds, n_slots_))


def some_links(chance: Random, kinds: Sequence[WorkerKind], n: int) -> dict[str, Any]:
    """Devices on several hosts: their links, where their data are, and perhaps a network, the latency of which may count."""
    model = chance.choice(("none", "hockney", "hockney", "cm02", "lv08"))
    places = [{"data": chance.choice(("host", "first")), "link": chance.choice(("device", "host"))} for _ in kinds]
    return {
        "kinds": tuple(replace(kind, **place) for kind, place in zip(kinds, places, strict=True)),
        "hosts": tuple(sorted(chance.randint(0, 2) for _ in range(n))) if chance.random() < 0.8 else (),
        "star": Star(model, chance.choice((0, 5, 1e7)), chance.choice((4.0, 16.0, 2.0))),
    }


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = st.sampled_from(NAMES),  # noqa: B008 - it is no mutable thing
    lost: bool = True,
    coordinated: bool = False,
    max_tasks: int = 20,
) -> Scenario:
    """Up to six cores; ``lost``: some may be late, lost and return; ``coordinated``: with releases and hints."""
    n_cores = draw(st.integers(1, 6))
    kinds = draw(st.sampled_from(("loop", "loops")))
    phases: list[str | None] = [draw(names)]
    part_tasks = [draw(st.integers(1, max_tasks))]
    if kinds == "loops":
        phases = draw(st.lists(st.none() | names, min_size=1, max_size=3))
        part_tasks = [
            1 if name is None else draw(st.integers(1, max(1, max_tasks // 2)))
            for _ in range(draw(st.integers(1, 3)))
            for name in phases
        ]
    n_tasks = sum(part_tasks)
    equal = draw(st.booleans())
    works = [draw(lengths)] * n_tasks if equal else draw(st.lists(lengths, min_size=n_tasks, max_size=n_tasks))
    of_core = st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.3)) if lost else st.sampled_from((0.5, 1.0, 2.0, 3.3))
    instants = st.integers(0, 150)
    cores = st.integers(0, n_cores - 1)
    changes = draw(st.lists(st.tuples(instants, cores, of_core), max_size=8)) if draw(st.booleans()) else []
    of_start = st.sampled_from((0.0, 1.0, 1.0, 2.0)) if lost else speeds
    happens: dict[str, Any] = {"releases": coordinated and draw(st.booleans())}
    if coordinated:
        at = sorted(draw(st.sets(st.integers(0, 120), max_size=4)))
        happens["hints"] = tuple((one, draw(st.frozensets(cores))) for one in at)
    return Scenario(
        works,
        draw(st.lists(of_start, min_size=n_cores, max_size=n_cores)),
        phases,
        part_tasks,
        **any_times(draw, n_cores, 10**15, 150),
        changes=tuple(sorted(changes, key=lambda change: change[0])),
        job=draw(st.integers(1, 3)),
        **happens,
    )
