"""The computation of a job: phases in order (serial part, loop or graph), a barrier after each, all optionally repeated.

A job of the batch level has a recorded run time T and P cores; its work is L = speed·T·P GFLOP, with the speed of the slowest
of its cores (two-level paper, section 5.1). A program divides T among its phases by their shares: a serial part of share s is
s·T on one core, while the others wait; a loop or a task graph of share s has s·L, in tasks. Each of S time steps has 1/S of
everything. A job of one loop is the paper's plain case.
"""

import functools
import math
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from als.graphs import GraphModel, graph_model
from als.lengths import LengthModel, lengths
from als.options import MAX_TASKS_PER_JOB, ORDER, STEPS, TASKS_PER_CORE, VARIATION
from als.planners import PLANNERS, Planner
from als.planners.contract import Mapped
from als.schedulers import AnyScheduler, scheduler
from als.techniques import TECHNIQUES, Selection, Technique
from traces.base.errors import InputError, Mention, real, shown, whole
from traces.compiled import Array

if TYPE_CHECKING:
    from als.workers import WorkerKind


def key_of(where: str, key: str) -> str:
    """Return the name of a key in errors: its path in a table or, if ``where`` is empty, the option."""
    return f"{where}.{key}" if where else str(Mention(key.replace("_", "-"), key))


_MOST_CORES = 1e6  #: largest number of cores that a phase may request, as a multiple of the job's request


@dataclass(frozen=True)
class Serial:
    """A serial part: one task, on one core of the job. Raises InputError if a value is invalid; the message begins with
    ``where``."""

    share: float  #: Its share of the recorded run time, above 0. Shares are divided by their sum.
    #: when it begins, the job requests this multiple of its requested cores (:meth:`Program.wishes`); None: no request
    cores: float | None = None
    where: InitVar[str] = "serial"

    def __post_init__(self, where: str) -> None:
        _check_shares(self, where)


@dataclass(frozen=True)
class Loop:
    """A loop: independent tasks that a technique distributes to the job's cores.

    Raises InputError if a value is invalid; the message begins with ``where`` and the key; PluginError if a technique's file
    cannot be loaded.
    """

    technique: str | AnyScheduler = ""  #: as in ``als``; empty: the run's (:meth:`Program.filled`)
    lengths: str = ""  #: as in ``lengths``; empty: the run's
    tasks_per_core: int | None = None  #: K, the number of tasks per core, >= 1; None: the run's, or 1 if not given
    #: The number of tasks N, >= 1, instead of K; None: P·K. If tasks are drawn until the work is reached, the number for tasks
    #: of mean length. Lengths with a fixed number of tasks, such as a file's, determine it themselves.
    tasks: int | None = None
    share: float = 1.0  #: Its share of the job's work, above 0. Shares are divided by their sum.
    cores: float | None = None  #: as for :class:`Serial`
    on: str = ""  #: the workers that take part, as ``gpu`` or ``cores+gpu``; empty: all (:attr:`Program.workers`)
    #: The fixed number of tasks of the lengths, if they have one.
    count: int | None = field(init=False, default=None, repr=False, compare=False)
    where: InitVar[str] = "loop"

    def __post_init__(self, where: str) -> None:
        _check_parallel(self, where)
        if not isinstance(self.lengths, str):
            raise InputError(
                f"{key_of(where, 'lengths')}: {shown(self.lengths)} is not a text; allowed: e.g. 'gamma:cov=1'"
            )
        if not isinstance(self.on, str):
            raise InputError(f"{key_of(where, 'on')}: {shown(self.on)}; allowed: kinds of workers, as 'cores+gpu'")
        if self.technique:
            self.found_technique(where)
        if self.lengths:
            object.__setattr__(self, "count", self.found_lengths(where).count)
        if self.tasks is not None and self.count not in (None, self.tasks):
            raise InputError(f"{key_of(where, 'tasks')}: {self.tasks}; allowed: {self.count}, which {self.lengths} has")

    def found_technique(self, where: str = "loop") -> AnyScheduler:
        """Return the technique or planner; look it up if it is given by name."""
        found = _found_scheduler(self.technique, where)
        if isinstance(found, Mapped):
            raise InputError(f"{key_of(where, 'als')}: mapped is for graphs whose tasks have hosts; a loop's have none")
        return found

    def found_lengths(self, where: str = "loop", *, variation: float = VARIATION.default) -> LengthModel:
        """Return the model of its task lengths; ``variation`` is the run's, for lengths that are not given another."""
        return lengths(self.lengths, key_of(where, "lengths"), variation=variation)

    def n_tasks(self, cores: int) -> int:
        """Return N on this number of cores: the number of the lengths, or ``tasks``, or P·K."""
        return self.count or self.tasks or cores * (self.tasks_per_core or 1)


@dataclass(frozen=True)
class Graph:
    """A task graph: tasks that need the results of others.

    Raises InputError if a value is invalid; the message begins with ``where`` and the key; PluginError if a technique's or a
    generator's file cannot be loaded.
    """

    technique: str | AnyScheduler = ""  #: as for :class:`Loop`; it may be a planner
    graph: str = ""  #: A graph as for ``als.graphs.graph_model``: ``cholesky:tiles=8``, ``file:PATH``
    #: order in which tasks wait for a technique: ``index``, by number, or ``rank``, by upward rank
    order: str = ORDER.default
    #: K, >= 1, for a graph without its own number of tasks: it has about P·K. None: the run's, or 1.
    tasks_per_core: int | None = None
    tasks: int | None = None  #: approximate number of tasks instead of K; None: P·K, or the graph's own
    share: float = 1.0  #: as for :class:`Loop`
    cores: float | None = None  #: as for :class:`Serial`
    #: The graph, by the run's variation.
    models: dict[float, GraphModel] = field(init=False, default_factory=dict, repr=False, compare=False)
    where: InitVar[str] = "graph"

    def __post_init__(self, where: str) -> None:
        _check_parallel(self, where)
        if not isinstance(self.graph, str) or not self.graph:
            place = key_of(where, "graph")
            raise InputError(f"{place}: {shown(self.graph)}; allowed: e.g. 'cholesky:tiles=8' or 'file:PATH'")
        ORDER.check(self.order, key_of(where, "order"))
        if self.technique:
            self.found_technique(where)
        given = self.found_graph(where)
        if self.tasks is not None and given.has_its_own_size:
            raise InputError(
                f"{key_of(where, 'tasks')}: {self.tasks}: {shown(self.graph)} states its number of tasks; allowed: no tasks"
            )

    def found_technique(self, where: str = "graph") -> AnyScheduler:
        """Return the technique or planner; look it up if it is given by name."""
        found = _found_scheduler(self.technique, where)
        if isinstance(found, Selection):
            raise InputError(
                f"{key_of(where, 'als')}: {found.name} looks ahead to the end of a loop; allowed with a graph: a technique, "
                f"or a planner: {', '.join(PLANNERS)}"
            )
        if isinstance(found, Planner) and self.order != ORDER.default:
            raise InputError(f"{key_of(where, 'order')}: {self.order}: planner {found.name} has an order of its own")
        if isinstance(found, Mapped):
            raise InputError(
                f"{key_of(where, 'als')}: mapped: which hosts a job gets is not known before it starts; "
                "allowed: a technique or a planner"
            )
        return found

    def found_graph(self, where: str = "graph", *, variation: float = VARIATION.default) -> GraphModel:
        """Return the model of the graph; ``variation`` is the run's, for graphs that are not given another."""
        # Cached: a file is read once, so that a run has one graph even if the file changes meanwhile.
        of_file = next((one for one in self.models.values() if one.source is not None), None)
        if variation not in self.models:
            made = of_file or graph_model(self.graph, key_of(where, "graph"), variation=variation)
            self.models[variation] = made
        return self.models[variation]

    def wanted_tasks(self, cores: int) -> int:
        """Return the approximate number of tasks requested on ``cores`` cores."""
        return self.tasks or cores * (self.tasks_per_core or 1)

    def room(self, cores: int) -> tuple[int, int]:
        """Return room for the graph's tasks and edges on ``cores`` cores, rarely too little. Raises InputError if a graph
        cannot have this many."""
        from als.graphs.draw import room

        return room(self.found_graph(), self.wanted_tasks(cores), cores)

    def n_tasks(self, cores: int) -> int:
        """Return an upper bound of the number of tasks on ``cores`` cores."""
        return self.room(cores)[0]


Phase = Serial | Loop | Graph


def _check_shares(phase: Phase, where: str) -> None:
    # Checks of all phases.
    for key, highest, said in (
        ("share", 1e9, " is no part of the work; allowed: above 0"),
        ("cores", _MOST_CORES, "; allowed: above 0, as 0.5 for half the cores that the job requests"),
    ):
        place, value = key_of(where, key), getattr(phase, key)
        if key == "cores" and value is None:
            continue
        number = real(place, value, 0.0, highest)
        if number == 0.0:
            raise InputError(f"{place}: {shown(value)}{said}")
        object.__setattr__(phase, key, number)


def _check_parallel(phase: Loop | Graph, where: str) -> None:
    # Checks of loops and graphs.
    for key in ("tasks_per_core", "tasks"):
        if getattr(phase, key) is not None:
            object.__setattr__(phase, key, whole(key_of(where, key), getattr(phase, key), 1, MAX_TASKS_PER_JOB))
    if phase.tasks is not None and phase.tasks_per_core is not None:
        raise InputError(f"{key_of(where, 'tasks')}: given in addition to tasks_per_core; allowed: one of them")
    _check_shares(phase, where)
    if not isinstance(phase.technique, str | Technique | Selection | Planner | Mapped):
        raise InputError(f"{key_of(where, 'als')}: {shown(phase.technique)}; allowed: a name, a Technique or a Planner")


def _found_scheduler(given: str | AnyScheduler, where: str) -> AnyScheduler:
    if not isinstance(given, str):
        return given
    if not given:
        raise InputError(f"{key_of(where, 'als')}: missing; allowed: {', '.join(TECHNIQUES)}")
    return scheduler(given, where=key_of(where, "als"))


def is_planned(phase: Phase) -> bool:
    """Return whether a phase is a loop whose tasks a planner gives to cores: a graph without edges."""
    return isinstance(phase, Loop) and bool(phase.technique) and isinstance(phase.found_technique(), Planner)


def filled_phase(phase: Phase, run: Loop, where: str) -> Phase:
    """Return the phase, completed from the run's loop: technique, lengths, number of tasks."""
    if isinstance(phase, Serial):
        return phase
    counted = phase.tasks is not None or phase.tasks_per_core is not None
    given: dict[str, Any] = {
        "technique": phase.technique or run.technique,
        "tasks_per_core": phase.tasks_per_core if counted else run.tasks_per_core,
    }
    if isinstance(phase, Loop):
        given |= {
            "lengths": phase.lengths or run.lengths,
            "tasks": phase.tasks if counted or phase.count else run.tasks,
        }
    changed = any(getattr(phase, key) != value for key, value in given.items())
    return replace(phase, **given, where=where) if changed else phase


MAX_PHASES = 100  #: the largest number of phases of a program, and of time steps


@dataclass(frozen=True)
class Program:
    """The computation of a job. Raises InputError if a value is invalid; the message begins with ``where`` and the key."""

    #: 1 to ``MAX_PHASES``, in order. A phase begins on all cores when the last core has ended the one before.
    phases: tuple[Serial | Loop | Graph, ...]
    #: S, the number of repetitions of all phases, 1 to a million. Each has 1/S of every phase's work, in as many tasks.
    steps: int = STEPS.default
    #: whether task lengths are drawn again for every step; otherwise all steps have the lengths of the first
    redraw: bool = False
    name: str = ""  #: for tables, up to 100 printable characters
    #: Workers that are no cores. They are driven by the last cores of the job, which compute nothing else. All kinds have a
    #: ``count``, or none: then a job has the GPUs that the batch level allocates to it.
    workers: "tuple[WorkerKind, ...]" = ()
    where: InitVar[str] = "program"

    def __post_init__(self, where: str) -> None:
        if not isinstance(self.name, str) or len(self.name) > 100 or not self.name.isprintable():
            raise InputError(f"{key_of(where, 'name')}: {shown(self.name)}; allowed: up to 100 printable characters")
        object.__setattr__(self, "phases", tuple(self.phases))
        if not 1 <= len(self.phases) <= MAX_PHASES:
            raise InputError(f"{key_of(where, 'phases')}: {len(self.phases)} phases; allowed: 1 to {MAX_PHASES}")
        for place, phase in enumerate(self.phases):
            if not isinstance(phase, Serial | Loop | Graph):
                raise InputError(f"{key_of(where, 'phases')}[{place}]: {shown(phase)}; allowed: Serial, Loop or Graph")
        object.__setattr__(self, "steps", STEPS.check(self.steps, key_of(where, "steps")))
        if not isinstance(self.redraw, bool):
            raise InputError(f"{key_of(where, 'redraw')}: {shown(self.redraw)}; allowed: true or false")
        object.__setattr__(self, "workers", tuple(self.workers))
        for kind in self.workers:
            if not kind.drivers:
                raise InputError(f"{key_of(where, 'workers')}: {kind.name}: drivers; allowed in a job: true")
            if (kind.count is None) != (self.workers[0].count is None):
                raise InputError(f"{key_of(where, 'workers')}: {kind.name}: count; allowed: of all kinds, or of none")
        for at in range(len(self.phases)):
            self.mask(at, where)

    @classmethod
    def plain(
        cls,
        technique: str | AnyScheduler,
        lengths: str = "",
        tasks_per_core: int = TASKS_PER_CORE.default,
        *,
        where: str = "",
        name: str = "",
    ) -> "Program":
        """Return one loop, executed once: a job of the paper.

        Parameters
        ----------
        technique, lengths, tasks_per_core
            As for :class:`Loop`.
        where : str
            Beginning of errors; empty: they name options (``als``).
        name : str
            For tables.

        Raises
        ------
        InputError, PluginError
            As for :class:`Loop`.
        """
        return cls((Loop(technique, lengths, tasks_per_core, where=where),), name=name)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The phases that are loops, in order."""
        return tuple(phase for phase in self.phases if isinstance(phase, Loop))

    @property
    def parallel(self) -> tuple[Loop | Graph, ...]:
        """The phases that are loops or graphs, in order."""
        return tuple(phase for phase in self.phases if not isinstance(phase, Serial))

    @functools.cached_property
    def has_graph(self) -> bool:
        """Whether a phase is a graph, or planned like one."""
        return any(isinstance(phase, Graph) or is_planned(phase) for phase in self.phases)

    def works(self, at: int) -> Array | None:
        """Return the work of each task of a phase on cores and on each kind of workers, float64 (kinds + 1, N), GFLOP; None
        unless it is a graph from a file with a work on one of them."""
        phase, names = self.phases[at], ("cores", *(kind.name for kind in self.workers))
        source = phase.found_graph().source if isinstance(phase, Graph) else None
        if source is None or source.kind_gflop is None or not set(names) & set(source.kinds):
            return None
        given = dict(zip(source.kinds, source.kind_gflop, strict=True))
        return np.array([given.get(name, source.gflop) for name in names])

    @functools.cached_property
    def has_works(self) -> bool:
        """Whether tasks of a phase have a work on each kind of workers (:meth:`works`)."""
        return any(self.works(at) is not None for at in range(len(self.phases)))

    def scheduler_of(self, at: int, where: str = "program") -> AnyScheduler:
        """Return the technique or planner of a loop or graph; a planner that knows the work of tasks on each kind of workers,
        if there is one. Raises InputError if it cannot respect them, or a job may not have the workers for a task."""
        phase = self.phases[at]
        assert not isinstance(phase, Serial)
        found = phase.found_technique(where)
        if not self.has_works or not (isinstance(phase, Graph) or isinstance(found, Planner)):
            return found
        from als.application_parts import GraphPart, unlike_parts  # not needed by most programs
        from als.workers import n_slots, with_devices

        works = self.works(at)
        kinds = [replace(kind, count=min(kind.count or 0, 1)) for kind in self.workers]
        gflop = np.ones((len(kinds) + 1, 1)) if works is None else works
        speed, slots = with_devices(kinds, np.ones(1 + n_slots(kinds)), gflop=gflop)
        ranked = isinstance(phase, Graph) and phase.order == "rank"
        try:
            (part,) = unlike_parts((GraphPart(found, by_rank=ranked),), slots, speed)
        except InputError as error:
            raise InputError(f"{key_of(where, 'phases')}[{at}]: {error.text}") from None
        assert isinstance(part, GraphPart)
        return part.scheduler

    @property
    def shares(self) -> tuple[float, ...]:
        """Each phase's share of the whole job, all steps together; their sum is 1, exactly for a single phase."""
        total = math.fsum(phase.share for phase in self.phases)
        return tuple(phase.share / total for phase in self.phases)

    def mask(self, at: int, where: str = "program") -> int:
        """Return the kinds of workers that take part in a phase, as bits: bit 0 for cores, bit k for ``workers[k - 1]``. Raises
        InputError if its ``on`` names others."""
        phase = self.phases[at]
        if isinstance(phase, Serial) or not (self.workers or (isinstance(phase, Loop) and phase.on)):
            return 1
        from als.workers import kinds_mask  # not needed by programs on cores

        place = key_of(f"{where}.phases[{at}]" if where and len(self.phases) > 1 else where, "on")
        return kinds_mask(phase.on if isinstance(phase, Loop) else "", self.workers, place)

    @property
    def _drivers(self) -> int:
        return sum(kind.slots for kind in self.workers)

    def capacity(self, at: int) -> tuple[int, float]:
        """Return how fast a phase's workers are together, in cores: 1 if the job's cores count, else 0; and what is added to
        their number, which is not above 0 only without devices."""
        if not self.workers:
            return 1, 0.0
        mask = self.mask(at)
        there = [kind for k, kind in enumerate(self.workers, start=1) if mask >> k & 1 and kind.count]
        with_cores = mask & 1 if there else 1  # without its devices, a phase runs on cores
        return with_cores, math.fsum((kind.count or 0) * kind.speed for kind in there) - with_cores * self._drivers

    @property
    def wishes(self) -> tuple[float, ...]:
        """The cores that each phase requests when it begins, as a multiple of the job's request; 0: no request."""
        return tuple(phase.cores or 0.0 for phase in self.phases)

    def wishes_of(self, asked: int, least: int, most: int) -> list[int]:
        """Return the number of cores that each phase requests; 0: no request.

        Parameters
        ----------
        asked : int
            The cores that the job requested.
        least, most : int
            The smallest and the largest number of cores that it may have.
        """
        from als.engine.features.width_requests import requested_width  # not needed by programs without requests

        return [requested_width(share, asked, least, most) for share in self.wishes]

    def filled(self, run: Loop, where: str = "program") -> "Program":
        """Return the program with its phases completed: technique, lengths, number of tasks.

        Parameters
        ----------
        run : Loop
            The run's values, for phases without their own.
        where : str
            Beginning of errors.

        Raises
        ------
        InputError, PluginError
            If a completed phase is invalid.
        """
        phases = tuple(filled_phase(phase, run, f"{where}.phases[{place}]") for place, phase in enumerate(self.phases))
        return replace(self, phases=phases)

    def n_tasks(self, cores: int) -> int:
        """Return the number of tasks of a job of this many cores (:meth:`Loop.n_tasks`); a serial part is one task."""
        return self.steps * sum(1 if isinstance(phase, Serial) else phase.n_tasks(cores) for phase in self.phases)

    def check(self, cores: Array, job_id: Array, where: str = "program") -> None:
        """Check that jobs can run the program.

        Parameters
        ----------
        cores, job_id : int64 (n,)
            The requested cores and the numbers of the jobs.
        where : str
            The program's source, for errors; empty: options.

        Raises
        ------
        InputError
            If a job would have more than ``MAX_TASKS_PER_JOB`` tasks, or a technique's parameters are for another number of
            cores.
        """
        if not len(cores):
            return
        self._check_workers(cores, job_id, where)
        widest = int(cores.argmax())
        place = f"{where or TASKS_PER_CORE}: job {job_id[widest]} of {cores[widest]} cores"
        try:
            tasks = self.n_tasks(int(cores[widest]))
        except InputError as error:  # a graph with too many tasks or edges
            raise InputError(f"{place}: {error.text}") from None
        if tasks > MAX_TASKS_PER_JOB:
            raise InputError(f"{place} would have {tasks} tasks; allowed: up to {MAX_TASKS_PER_JOB} a job")
        for loop in self.parallel:
            only = loop.found_technique(where).only_cores
            if only is not None and (cores != only).any():
                other = int((cores != only).argmax())
                raise InputError(
                    f"{key_of(where, 'als')}: technique {loop.found_technique(where).name}: its weights are for {only} "
                    f"cores; job {job_id[other]} has {cores[other]}"
                )

    def _check_workers(self, cores: Array, job_id: Array, where: str) -> None:
        least, place = int(cores.argmin()), key_of(where, "workers")
        if self.workers and cores[least] <= self._drivers:
            raise InputError(
                f"{place}: {self._drivers} cores drive devices; job {job_id[least]} has {cores[least]}; allowed: more"
            )
        for kind in self.workers if self.has_graph else ():
            if kind.changes_chunks:
                raise InputError(f"{place}: {kind.name}: with a graph; allowed: count and speed alone")
        for at, phase in enumerate(self.phases):
            if self.has_works and not isinstance(phase, Serial):
                self.scheduler_of(at, where)

    def to_json(self) -> str:
        """Return the program as a text for :meth:`from_json` in another process, whatever its working folder: paths of files
        are absolute.

        Raises
        ------
        InputError
            If a technique is an object without a name that can be looked up.
        """
        from als.programs.text import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "Program":
        """Return the program of a text from :meth:`to_json`.

        Raises
        ------
        InputError, PluginError
            If it is invalid, or names something that does not exist here.
        """
        from als.programs.text import from_json

        return from_json(text)
