"""Random applications, and the engine's records in the words of the slow reference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from reference.application import AllLost, Ran, Run, TasksLeft, run

from als.application import Application
from als.techniques import TECHNIQUES, technique
from traces.base.errors import InputError, PluginError

KNOWN = ("static", "ss", "gss", "fac")


def driven(
    application: Application,
    start: int,
    changes: Sequence[tuple[int, int, float]],
    stop: int | None,
    pauses: Sequence[int] = (),
    hints: Sequence[tuple[int, Collection[int]]] = (),
) -> str:
    """Run it to its end, or to its stop, suspended at the changes (after the start, core, speed), behind the instants of the
    hints (after the start, cores) and at the pauses; "" or why it had none."""
    try:
        instants = {at for at, _, _ in changes} | {at + 1 for at, _ in hints} | set(pauses)
        for now in sorted(at for at in instants if stop is None or at < stop):
            application.advance(start + now)
            for at, cores in hints:
                if at + 1 == now:
                    application.hint(cores)
            for at, core, speed in changes:
                if at == now:
                    application.set_speed(speed, core)
        if stop is None:
            assert application.advance()
        else:
            application.run_to_stop(start + stop)
    except PluginError as error:
        if "sent every core away" not in str(error):
            raise
        return "tasks left"
    except InputError as error:
        if "all cores are lost" not in str(error):
            raise
        return "all lost"
    return ""


@dataclass(frozen=True)
class Case:
    """An application; lengths and speeds are such that tasks take from one to some hundred nanoseconds."""

    lengths: list[float]
    speeds: list[float]
    technique: str
    start: int
    overhead: int

    def application(self, *, keep_tasks: bool = True) -> Application:
        """The engine at the job's start."""
        return Application(
            self.lengths,
            self.speeds,
            TECHNIQUES[self.technique],
            start_ns=self.start,
            overhead_ns=self.overhead,
            keep_tasks=keep_tasks,
        )

    def expected(self, changes: list[tuple[int, int, float]] | None = None, stop: int | None = None) -> Run:
        """What the reference makes of it."""
        return run(
            self.lengths,
            self.speeds,
            self.technique,
            start=self.start,
            overhead=self.overhead,
            changes=changes or [],
            stop=stop,
        )


#: One to a hundred nanoseconds of work for a core of 1 GFLOP/s: whole and half ones, where rounding and ties show.
lengths = st.integers(1, 200).map(lambda half_ns: half_ns / 2e9) | st.floats(1e-12, 1e-7)
speeds = st.sampled_from((1.0, 1.0, 2.0, 0.5, 3.0, 46.875))


@st.composite
def cases(draw: st.DrawFn, *, max_tasks: int = 24) -> Case:
    """Up to six cores."""
    return Case(
        draw(st.lists(lengths, min_size=1, max_size=max_tasks)),
        draw(st.lists(speeds, min_size=1, max_size=6)),
        draw(st.sampled_from(KNOWN)),
        draw(st.sampled_from((0, 17, 10**18))),
        draw(st.sampled_from((0, 0, 0, 1, 8))),
    )


def ran(application: Application) -> Run:
    """What the engine has recorded."""
    state = application.state
    columns = (state.chunk, state.core, state.start_ns, state.end_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    tasks = [None if row[2:] == (-1, -1) else Ran(*row) for row in rows]
    return Run(
        tasks,
        state.finish_ns.tolist(),
        application.chunks,
        state.busy_ns.tolist(),
        application.scheduling_ns,
        application.chosen,
        application.ahead_chunks,
    )


#: An instant, a core and its speed from then on.
Change = tuple[int, int, float]


@dataclass(frozen=True)
class Scenario:
    """An application with everything that there is; instants of changes and of the stop are counted from its start."""

    lengths: list[float]
    speeds: list[float]
    phases: list[str | None]
    part_tasks: list[int]
    start: int = 0
    overhead: int = 0
    latency: list[int] | None = None
    master: bool = False
    changes: tuple[Change, ...] = ()
    stop: int | None = None
    seed: int = 0
    job: int = 0

    def application(self, *, keep_tasks: bool = True, releases: bool = False) -> Application:
        """The engine at the job's start."""
        return Application(
            self.lengths,
            self.speeds,
            phases=[None if name is None else technique(name) for name in self.phases],
            part_tasks=self.part_tasks,
            start_ns=self.start,
            overhead_ns=self.overhead,
            latency_ns=self.latency,
            master=self.master,
            keep_tasks=keep_tasks,
            seed=self.seed,
            job=self.job,
            releases=releases,
        )

    def expected(self, *, releases: bool = False, hints: Sequence[tuple[int, Collection[int]]] = ()) -> Run | str:
        """What the reference makes of it; a word if it cannot end."""
        try:
            return run(
                self.lengths,
                self.speeds,
                start=self.start,
                overhead=self.overhead,
                latency=self.latency or (),
                master=self.master,
                phases=self.phases,
                part_tasks=self.part_tasks,
                changes=[(self.start + at, core, speed) for at, core, speed in self.changes],
                stop=None if self.stop is None else self.start + self.stop,
                seed=self.seed,
                job=self.job,
                releases=releases,
                hints=[(self.start + at, cores) for at, cores in hints],
            )
        except TasksLeft:
            return "tasks left"
        except AllLost:
            return "all lost"

    def found(self, pauses: Sequence[int] = (), *, keep_tasks: bool = True) -> Run | str:
        """What the engine makes of it, suspended at the changes and the pauses."""
        application = self.application(keep_tasks=keep_tasks)
        if ended := driven(application, self.start, self.changes, self.stop, pauses):
            return ended
        assert application.finished
        found = ran(application)
        assert application.end_ns == found.end
        if keep_tasks:
            assert application.ran == sum(task is not None for task in found.tasks)
        return found


#: Every technique, and some with parameters that change what they are told or asked.
NAMES = (
    *TECHNIQUES,
    "ss:chunk=3",
    "static:round=ceil",
    "static:chunk=2",
    "gss:min=2",
    "fac:merge=true,min=2",
    "fac:rule=halving",
    "wf:rule=halving,round=floor",
    "tss:step=real",
    "fiss:rest=last",
    "rnd:low=2,high=5",
    "static-steal:chunk=2",
    "awf-b:base=halving",
    "awf-c:start=tenth,unmeasured=skip",
    "af:start=half,round=half",
    "af:spread=deviation,cap=true,unmeasured=own",
)


@st.composite
def selections(draw: st.DrawFn) -> str:
    """A choice among some that have other names, for ever or again and again."""
    names = draw(st.lists(st.sampled_from(tuple(TECHNIQUES)), min_size=2, max_size=4, unique=True))
    every = draw(st.sampled_from(("", "", ",every=1ns", ",every=10ns", ",every=40ns")))
    return f"select:{','.join(names)}{every}"


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = st.sampled_from(NAMES),  # noqa: B008 - it is no mutable thing
    lost: bool = True,
    max_tasks: int = 20,
) -> Scenario:
    """Up to six cores; ``lost``: whether some may be late, lost and return."""
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
    return Scenario(
        works,
        draw(st.lists(st.sampled_from((0.0, 1.0, 1.0, 2.0)) if lost else speeds, min_size=n_cores, max_size=n_cores)),
        phases,
        part_tasks,
        draw(st.sampled_from((0, 17, 10**15))),
        draw(st.sampled_from((0, 0, 1, 8))),
        draw(st.none() | st.lists(st.sampled_from((0, 1, 5, 30)), min_size=n_cores, max_size=n_cores)),
        draw(st.booleans()),
        tuple(sorted(changes, key=lambda change: change[0])),
        draw(st.none() | st.none() | instants),
        draw(st.integers(0, 3)),
        draw(st.integers(1, 3)),
    )
