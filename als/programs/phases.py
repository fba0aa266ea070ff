"""The phases of a program: a serial part, a loop, or a task graph."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from als.options import ORDER, VARIATION
from als.planners import PLANNERS, Planner
from als.planners.mapped import Mapped
from als.programs.tasks import MAX_TASKS_PER_JOB
from als.schedulers import AnyScheduler, scheduler
from als.techniques import TECHNIQUES, Selection, Technique
from traces.base.errors import InputError, Mention, real, shown, whole

if TYPE_CHECKING:
    from als.graphs import GraphModel
    from als.lengths import LengthModel

#: How a graph's tasks may wait for cores: by number, or by upward rank.


def key_of(where: str, key: str) -> str:
    """How an error names what was given: by its path in a table, or, where that is empty, as an option."""
    return f"{where}.{key}" if where else str(Mention(key.replace("_", "-"), key))


def _share(where: str, value: object) -> float:
    share = real(where, value, 0.0, 1e9)
    if share == 0.0:
        raise InputError(f"{where}: {shown(value)} is no part of the work; allowed: above 0")
    return share


#: The most times as many cores as its job asked for that a phase may wish for.
_MOST_CORES = 1e6


def _cores(where: str, value: object) -> float:
    cores = real(where, value, 0.0, _MOST_CORES)
    if cores == 0.0:
        raise InputError(f"{where}: {shown(value)}; allowed: above 0, as 0.5 for half the cores that the job asks for")
    return cores


@dataclass(frozen=True)
class Serial:
    """A serial part: one task, on one core of the job.

    Attributes
    ----------
    share : float
        Its share of the recorded run time, above 0. The shares of a program are divided by their sum.
    cores : float or None
        As it begins, the job wishes for so many times the cores that it asked for (:meth:`Program.wishes`); None: no wish.

    Raises
    ------
    InputError
        If one is no such number; the message begins with ``where``.
    """

    share: float
    cores: float | None = None
    where: InitVar[str] = "serial"

    def __post_init__(self, where: str) -> None:
        object.__setattr__(self, "share", _share(key_of(where, "share"), self.share))
        _check_cores(self, where)


@dataclass(frozen=True)
class Loop:
    """A loop: independent tasks, given to the job's cores by a technique.

    Attributes
    ----------
    technique : str or Technique
        As in ``als``; empty: that of the run (:meth:`Program.filled`).
    lengths : str
        As in ``lengths``; empty: those of the run.
    tasks_per_core : int or None
        K, the number of tasks a core, >= 1; None: that of the run, or 1 where nobody says.
    tasks : int or None
        Their number N, whatever the number of cores, >= 1; None: P·K. Where tasks are drawn until the work is reached, it
        is the number they would have if all were of the mean length. Lengths that come in a number of their own, as from
        a file, decide it themselves.
    share : float
        Its share of the job's work, above 0. The shares of a program are divided by their sum.
    cores : float or None
        As it begins, the job wishes for so many times the cores that it asked for (:meth:`Program.wishes`); None: no wish.
    count : int or None
        The number of tasks that the lengths have of their own; found, not given.

    Raises
    ------
    InputError
        If a value cannot be used, or both ``tasks_per_core`` and ``tasks`` are given; the message begins with ``where`` and
        the key.
    PluginError
        If a technique's file cannot be loaded.
    """

    technique: str | AnyScheduler = ""
    lengths: str = ""
    tasks_per_core: int | None = None
    tasks: int | None = None
    share: float = 1.0
    cores: float | None = None
    count: int | None = field(init=False, default=None, repr=False, compare=False)
    where: InitVar[str] = "loop"

    def __post_init__(self, where: str) -> None:
        _check_parallel(self, where)
        if not isinstance(self.lengths, str):
            raise InputError(
                f"{key_of(where, 'lengths')}: {shown(self.lengths)} is not a text; allowed: as 'gamma:cov=1'"
            )
        if self.technique:
            self.found_technique(where)
        if self.lengths:
            object.__setattr__(self, "count", self.found_lengths(where).count)
        if self.tasks is not None and self.count not in (None, self.tasks):
            raise InputError(f"{key_of(where, 'tasks')}: {self.tasks}; allowed: {self.count}, which {self.lengths} has")

    def found_technique(self, where: str = "loop") -> AnyScheduler:
        """The technique, or planner, looked up if it was named."""
        found = _found_scheduler(self.technique, where)
        if isinstance(found, Mapped):
            raise InputError(f"{key_of(where, 'als')}: mapped is for graphs whose tasks have hosts; a loop's have none")
        return found

    def found_lengths(self, where: str = "loop", *, variation: float = VARIATION.default) -> LengthModel:
        """The model of its task lengths; ``variation`` is the run's, for those that are given none of their own."""
        from als.lengths import lengths

        return lengths(self.lengths, key_of(where, "lengths"), variation=variation)

    def n_tasks(self, cores: int) -> int:
        """N on this many cores: that of the lengths, or ``tasks``, or P·K."""
        return self.count or self.tasks or cores * (self.tasks_per_core or 1)


@dataclass(frozen=True)
class Graph:
    """A task graph: tasks that need what others have computed.

    Attributes
    ----------
    technique : str, Technique or Planner
        As in ``als``; empty: that of the run.
    graph : str
        Which graph, as ``als.graphs.graph_model`` takes it: ``cholesky:tiles=8``, ``file:PATH``.
    order : str
        In which order tasks wait for a technique: ``index``, by number, or ``rank``, by upward rank.
    tasks_per_core : int or None
        K, >= 1, of a graph that says no number of tasks of its own: it has about P·K. None: that of the run, or 1.
    tasks : int or None
        About their number, whatever the number of cores; None: P·K, or the graph's own.
    share : float
        Its share of the job's work, above 0. The shares of a program are divided by their sum.
    cores : float or None
        As it begins, the job wishes for so many times the cores that it asked for (:meth:`Program.wishes`); None: no wish.
    models : dict of float: GraphModel
        The graph, by the run's variation; found, not given.

    Raises
    ------
    InputError
        If a value cannot be used; the message begins with ``where`` and the key.
    PluginError
        If a technique's or a generator's file cannot be loaded.
    """

    technique: str | AnyScheduler = ""
    graph: str = ""
    order: str = ORDER.default
    tasks_per_core: int | None = None
    tasks: int | None = None
    share: float = 1.0
    cores: float | None = None
    models: dict[float, GraphModel] = field(init=False, default_factory=dict, repr=False, compare=False)
    where: InitVar[str] = "graph"

    def __post_init__(self, where: str) -> None:
        _check_parallel(self, where)
        if not isinstance(self.graph, str) or not self.graph:
            raise InputError(
                f"{key_of(where, 'graph')}: {shown(self.graph)}; allowed: as 'cholesky:tiles=8' or 'file:PATH'"
            )
        ORDER.check(self.order, key_of(where, "order"))
        if self.technique:
            self.found_technique(where)
        given = self.found_graph(where)
        if self.tasks is not None and given.has_its_own_size:
            raise InputError(
                f"{key_of(where, 'tasks')}: {self.tasks}: {shown(self.graph)} says how many tasks it has; allowed: nothing"
            )

    def found_technique(self, where: str = "graph") -> AnyScheduler:
        """The technique or planner, looked up if it was named."""
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
        """The model of the graph; ``variation`` is the run's, for those that are given none of their own."""
        from als.graphs import graph_model

        # Kept: a file is read once, and a run has one answer, even if somebody writes the file meanwhile.
        of_file = next((one for one in self.models.values() if one.source is not None), None)
        if variation not in self.models:
            made = of_file or graph_model(self.graph, key_of(where, "graph"), variation=variation)
            self.models[variation] = made
        return self.models[variation]

    def wanted_tasks(self, cores: int) -> int:
        """About how many tasks are asked for on so many cores."""
        return self.tasks or cores * (self.tasks_per_core or 1)

    def room(self, cores: int) -> tuple[int, int]:
        """Room for the graph's tasks and edges on so many cores, hardly ever too little.

        Raises
        ------
        InputError
            If a graph cannot have so many.
        """
        from als.graphs.draw import room

        return room(self.found_graph(), self.wanted_tasks(cores), cores)

    def n_tasks(self, cores: int) -> int:
        """At most how many tasks the graph has on so many cores."""
        return self.room(cores)[0]


Phase = Serial | Loop | Graph


def _check_cores(phase: Phase, where: str) -> None:
    if phase.cores is not None:
        object.__setattr__(phase, "cores", _cores(key_of(where, "cores"), phase.cores))


def _check_parallel(phase: Loop | Graph, where: str) -> None:
    # What loops and graphs have in common.
    for key in ("tasks_per_core", "tasks"):
        if getattr(phase, key) is not None:
            object.__setattr__(phase, key, whole(key_of(where, key), getattr(phase, key), 1, MAX_TASKS_PER_JOB))
    if phase.tasks is not None and phase.tasks_per_core is not None:
        raise InputError(f"{key_of(where, 'tasks')}: given beside tasks_per_core; allowed: one of them")
    object.__setattr__(phase, "share", _share(key_of(where, "share"), phase.share))
    _check_cores(phase, where)
    if not isinstance(phase.technique, str | Technique | Selection | Planner | Mapped):
        raise InputError(f"{key_of(where, 'als')}: {shown(phase.technique)}; allowed: a name, a Technique or a Planner")


def _found_scheduler(given: str | AnyScheduler, where: str) -> AnyScheduler:
    if not isinstance(given, str):
        return given
    if not given:
        raise InputError(f"{key_of(where, 'als')}: missing; allowed: {', '.join(TECHNIQUES)}")
    return scheduler(given, where=key_of(where, "als"))


def is_planned(phase: Phase) -> bool:
    """Whether a phase is a loop whose tasks a planner gives to cores: a graph without edges."""
    return isinstance(phase, Loop) and bool(phase.technique) and isinstance(phase.found_technique(), Planner)


def filled_phase(phase: Phase, run: Loop, where: str) -> Phase:
    """The phase with what it leaves out taken from the run's loop: technique, lengths, number of tasks."""
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
