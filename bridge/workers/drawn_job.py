"""The tasks of a job defined by a recipe: generated from it, with their phases."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from als.application_parts import GraphPart
from als.engine.dag.state import Edges
from als.lengths import normal_lengths
from als.lengths.draw import drawn
from als.programs.program import Graph, Loop, Program, Serial
from als.programs.table import Programs, drawn_program
from als.schedulers import AnyScheduler, scheduler
from bridge.protocol.messages import Recipe, WidthRange
from bridge.protocol.packing import unpack_int32
from traces.base.time import duration_ns
from traces.compiled import Array

if TYPE_CHECKING:
    from als.workers import WorkerSlots


@dataclass(frozen=True, eq=False)
class DrawnJob:
    """The tasks and phases of a job."""

    lengths: Array  # float64 (N,), GFLOP of each task
    phases: list[AnyScheduler | GraphPart | None]  # as for ``als.application.ApplicationSimulator``
    part_tasks: Array | None = None  # int64 (I,) or None, number of tasks of each part; None: there is one part
    edges: Edges | None = None  # of its graphs; None: there are none
    program: Program | None = None  # None: there are only cores
    gflop: Array | None = None  # float64 (kinds + 1, N): work of each task on each kind of workers; None: the same
    drives: Array | None = None  # int (P,): kind of workers that each core drives, 0 for none; None: by their ``count``

    @property
    def part_first(self) -> Array:
        """The first task of each part, and one beyond the last task; int64 (I + 1,)."""
        tasks = [len(self.lengths)] if self.part_tasks is None else self.part_tasks
        return np.concatenate([[0], np.cumsum(tasks)])

    def slots(self, speed_gflops: Array) -> "tuple[Array, WorkerSlots | None]":
        """The speeds of its slots, on cores of these speeds, and its workers; None: all are cores."""
        if self.program is None:
            return speed_gflops, None
        from als.workers import with_devices  # not needed by jobs on cores

        on = np.array([self.program.mask(at) for at in range(len(self.program.phases))], np.int64)
        return with_devices(self.program.workers, speed_gflops, drives=self.drives, on=on, gflop=self.gflop)

    def edges_of(self, part: int) -> tuple[Array, ...]:
        """Source, target and bytes of the edges of a part, with tasks counted within it; none without a graph."""
        if self.edges is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        few = slice(int(self.edges.first[part]), int(self.edges.first[part + 1]))
        return tuple(column[few] for column in self.edges[1:])


class Drawing:
    """Generates the tasks of jobs, most of which share a few techniques and programs."""

    def __init__(self) -> None:
        self._schedulers: dict[str, AnyScheduler] = {}
        self._programs: dict[tuple[str, float], tuple[Program, Programs]] = {}

    def drawn(self, recipe: Recipe, technique: str) -> DrawnJob:
        """The tasks of a job; of one loop by ``technique`` if its recipe has no program. Raises InputError or PluginError."""
        if not recipe.program:
            lengths = drawn(
                normal_lengths(recipe.variation),
                recipe.seed,
                recipe.job_number,
                recipe.n,
                recipe.mean_gflop,
                recipe.total_gflop,
                n_cores=recipe.cores,
                core_ns=float(duration_ns(recipe.core_gflop, recipe.speed_gflops)),
                speed_gflops=recipe.speed_gflops,
            )
            return DrawnJob(lengths, [self.scheduler_of(technique)])
        program, programs = self._program(recipe.program, recipe.variation)
        work = recipe.cores, recipe.core_gflop, recipe.speed_gflops, recipe.bytes_per_gflop
        found = drawn_program(programs, 0, recipe.seed, recipe.job_number, *work)
        edges = None
        if program.has_graph:
            edges = Edges(found.edge_first, found.source, found.target, found.bytes)
        phases = [_phase(phase) for phase in program.phases]
        job = DrawnJob(found.lengths, phases, found.part_tasks, edges)
        if not program.workers:
            return job
        gflop, drives = None, None if recipe.drives is None else unpack_int32(recipe.drives)
        if program.has_works:
            from als.programs.works import fill_works  # not needed by most jobs

            gflop = np.empty((len(program.workers) + 1, len(found.lengths)))
            fill_works(gflop.ravel(), found.lengths, job.part_first, programs.table, 0)
        return replace(job, program=program, gflop=gflop, drives=drives)

    def wishes(self, recipe: Recipe, width: WidthRange | None) -> list[int] | None:
        """Number of cores that each phase of a job requests within this range; None: there are no requests."""
        if width is None or not recipe.program:
            return None
        program, _ = self._program(recipe.program, recipe.variation)
        wishes = program.wishes_of(recipe.cores, width.least, width.most)
        return wishes if any(wishes) else None

    def scheduler_of(self, name: str) -> AnyScheduler:
        """The scheduler with this name."""
        if name not in self._schedulers:
            self._schedulers[name] = scheduler(name, where="technique")
        return self._schedulers[name]

    def _program(self, text: str, variation: float) -> tuple[Program, Programs]:
        if (text, variation) not in self._programs:
            program = Program.from_json(text)
            self._programs[text, variation] = (program, Programs([program], variation))
        return self._programs[text, variation]


def _phase(phase: Serial | Loop | Graph) -> AnyScheduler | GraphPart | None:
    if isinstance(phase, Graph):
        return GraphPart(phase.found_technique(), by_rank=phase.order == "rank")
    return None if isinstance(phase, Serial) else phase.found_technique()
