"""What a job computes: phases in order, each a serial part, a loop or a graph, a barrier after each, all repeated.

A job that the batch level runs has a recorded run time T and P cores; its work is L = speed·T·P GFLOP, where speed is that
of the slowest of its cores (two-level paper, section 5.1). A program divides T among its phases by their shares: a serial
part of share s is s·T on one core, during which the others wait; a loop or a task graph of share s has s·L, in tasks. Each of
S time steps has 1/S of everything. A job of one loop is the plain case, that of the paper.
"""

from __future__ import annotations

import functools
import math
from dataclasses import InitVar, dataclass, replace

from als.options import STEPS, TASKS_PER_CORE
from als.programs.phases import Graph, Loop, Serial, filled_phase, is_planned, key_of
from als.programs.tasks import MAX_TASKS_PER_JOB
from als.programs.text import absolute_name, from_json, to_json
from als.schedulers import AnyScheduler
from traces.base.errors import InputError, shown
from traces.compiled import Array

__all__ = ["MAX_PHASES", "Graph", "Loop", "Program", "Serial", "absolute_name"]

#: The most phases a program may have, and the most time steps.
MAX_PHASES = 100


@dataclass(frozen=True)
class Program:
    """What a job computes.

    Attributes
    ----------
    phases : tuple of Serial, Loop or Graph
        1 to ``MAX_PHASES``, computed in order; a barrier follows each: the next begins on all cores when the last core has
        ended this one.
    steps : int
        S, how often all phases are computed, 1 to a million. Each step has 1/S of every phase's work, in as many
        tasks as the phase has.
    redraw : bool
        Whether task lengths are drawn anew for every step; else all steps have those of the first.
    name : str
        For tables, up to 100 printable characters.

    Raises
    ------
    InputError
        If a value cannot be used; the message begins with ``where`` and the key.
    """

    phases: tuple[Serial | Loop | Graph, ...]
    steps: int = STEPS.default
    redraw: bool = False
    name: str = ""
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

    @classmethod
    def plain(
        cls,
        technique: str | AnyScheduler,
        lengths: str = "",
        tasks_per_core: int = TASKS_PER_CORE.default,
        *,
        where: str = "",
        name: str = "",
    ) -> Program:
        """One loop, once: a job of the paper. Errors name options (``als``) if ``where`` is empty."""
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
        """Whether a phase is a graph, or planned as if it were one."""
        return any(isinstance(phase, Graph) or is_planned(phase) for phase in self.phases)

    @property
    def shares(self) -> tuple[float, ...]:
        """Each phase's share of the whole job, all steps together; their sum is 1, that of a single phase exactly."""
        total = math.fsum(phase.share for phase in self.phases)
        return tuple(phase.share / total for phase in self.phases)

    @property
    def wishes(self) -> tuple[float, ...]:
        """For how many times the cores that its job asked for each phase wishes as it begins; 0 for no wish."""
        return tuple(phase.cores or 0.0 for phase in self.phases)

    def wishes_of(self, asked: int, least: int, most: int) -> list[int]:
        """For how many cores each phase wishes, in a job that asked for so many and may have from ``least`` to ``most``; 0 for
        no wish."""
        from als.engine.features.wishes import wished_cores  # which a program without wishes need not load

        return [wished_cores(share, asked, least, most) for share in self.wishes]

    def filled(self, run: Loop, where: str = "program") -> Program:
        """The program with what its loops leave out taken from ``run``: technique, lengths, number of tasks."""
        phases = tuple(filled_phase(phase, run, f"{where}.phases[{place}]") for place, phase in enumerate(self.phases))
        return replace(self, phases=phases)

    def n_tasks(self, cores: int) -> int:
        """How many tasks a job of this many cores has (by :meth:`Loop.n_tasks`), a serial part being one."""
        return self.steps * sum(1 if isinstance(phase, Serial) else phase.n_tasks(cores) for phase in self.phases)

    def check(self, cores: Array, job_id: Array, where: str = "program") -> None:
        """Refuse jobs of which one would have more than ``MAX_TASKS_PER_JOB`` tasks, or has a number of cores that the
        parameters of a technique are not for.

        Parameters
        ----------
        cores, job_id : ndarray of int64, shape (n,)
            The jobs that run the program.
        where : str
            For errors: where the program comes from; empty: options of the command line.

        Raises
        ------
        InputError
            If there is such a job.
        """
        if not len(cores):
            return
        widest = int(cores.argmax())
        place = f"{where or TASKS_PER_CORE}: job {job_id[widest]} of {cores[widest]} cores"
        try:
            tasks = self.n_tasks(int(cores[widest]))
        except InputError as error:  # a graph that cannot have so many tasks or edges
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

    def to_json(self) -> str:
        """The program as a text that :meth:`from_json` reads in another process, in whatever folder it runs.

        Techniques and lengths stand there as they were written; the paths of their files are absolute.

        Raises
        ------
        InputError
            If a technique is an object without a name that can be looked up.
        """
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Program:
        """The program of a text that :meth:`to_json` wrote.

        Raises
        ------
        InputError, PluginError
            If it is none, or something that it names is not here.
        """
        return from_json(text)
