"""The programs of a run as arrays that kernels take, and the tasks of one of its jobs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from als.engine.dag.state import BY_RANK, BY_TECHNIQUE, PLANNED
from als.engine.rule_table import RuleRows
from als.engine.state import GRAPH, LOOP, SERIAL, Phases, whole_memo
from als.graphs.contract import MAX_EDGES_PER_JOB, GraphModel
from als.graphs.draw import fault as graph_fault
from als.graphs.draw import room as graph_room
from als.graphs.table import DrawingRoom, graph_table, new_drawing_room
from als.lengths import LengthModel
from als.lengths.contract import NEXT_LENGTH
from als.lengths.draw import IMPOSSIBLE, fault, room
from als.options import MAX_TASKS_PER_JOB
from als.planners import Planner
from als.programs.drawing import HOOKS, LengthModels, ProgramTable, draw_program
from als.programs.program import Graph, Loop, Program, Serial
from als.schedulers import AnyScheduler
from traces.base.errors import InputError
from traces.compiled import Array, as_value, function_table

__all__ = [
    "DrawnProgram",
    "DrawingRoom",
    "ProgramTable",
    "Programs",
    "draw_program",
    "drawn_program",
    "new_drawing_room",
]


class Programs:
    """The programs of a run, looked up and made into a table. ``programs``: filled: each loop says its technique.
    ``variation``: the run's, for lengths that are given none of their own. Raises InputError, PluginError if something that
    they name cannot be."""

    def __init__(self, programs: Sequence[Program], variation: float) -> None:
        self._programs = tuple(programs)
        schedulers: list[AnyScheduler] = []
        models: list[LengthModel] = []
        graphs: list[GraphModel] = []
        rows: list[list[int]] = []
        places: list[list[int]] = []
        for program in programs:
            places.append([len(rows), len(rows) + len(program.phases), program.steps, int(program.redraw)])
            for phase in program.phases:
                if isinstance(phase, Serial):
                    rows.append(
                        [SERIAL, 0, 0, 0, 1, 0, 0, -1]
                    )  # kind, rule, mode, order; tasks, a core, lengths, graph
                    continue
                schedulers.append(phase.found_technique())
                planned = isinstance(schedulers[-1], Planner)
                how = (len(schedulers) - 1, PLANNED if planned else BY_TECHNIQUE)
                tasks = phase.tasks or 0, phase.tasks_per_core or 1
                if isinstance(phase, Graph):
                    graphs.append(phase.found_graph(variation=variation))
                    rows.append([GRAPH, *how, BY_RANK if phase.order == "rank" else 0, *tasks, 0, len(graphs) - 1])
                else:
                    models.append(phase.found_lengths(variation=variation))
                    rows.append([GRAPH if planned else LOOP, *how, 0, *tasks, len(models) - 1, -1])
        self._models, self._graphs = models, graphs
        self._kept = [as_value(model.next_length, NEXT_LENGTH) for model in models]
        # A program may have no loop; the kernels look at the first rule's row all the same.
        self.rules = RuleRows(schedulers or [_no_technique()])
        kind, rule, *further = _columns(rows, 8)
        rule = np.array([self.rules.row[place] for place in rule.tolist()], np.int64)
        params = [np.array(model.params, np.float64) for model in models]
        patterns = [np.array(model.pattern, np.float64) for model in models]
        self.table = ProgramTable(
            *_columns(places, 4),
            Phases(kind, rule, *further[:2]),
            *further[2:],
            np.array([share for program in programs for share in program.shares]),
            np.array([cores for program in programs for cores in program.wishes]),
            self.rules.table,
            _lengths(models, params, patterns),
            function_table(self._kept),
            np.concatenate([np.zeros(0), *params]),
            np.concatenate([np.zeros(0), *patterns]),
            graph_table(graphs),
            HOOKS.filled({0} if graphs else set()),
        )

    @property
    def draw_memo(self) -> int:
        """How much work space drawing needs."""
        return max((model.memo_size for model in self._models), default=0)

    @property
    def most_parts(self) -> int:
        """The largest number of parts."""
        return max(len(program.phases) * program.steps for program in self._programs)

    def rule_first(self, place: int) -> int:
        """The row of the first rule of a program."""
        return self._first_rules[place]

    @functools.cached_property
    def _first_rules(self) -> list[int]:
        loops = [self._phases(place) for place in range(len(self._programs))]
        return [int(one.rule[one.kind != SERIAL].min(initial=len(self.rules.names))) for one in loops]

    def _phases(self, place: int) -> Phases:
        return self.table.phases.take(np.arange(self.table.phase_first[place], self.table.phase_stop[place]))

    def memo(self, place: Array, cores: Array) -> int:
        """How much memo one of these jobs can need, whose programs and cores are given."""
        widths, rules = self._widest(place, cores), self.table.rules
        return max((int(whole_memo(self._phases(program), rules, widest)) for program, widest in widths), default=0)

    @property
    def has_graph(self) -> bool:
        """Whether a phase is a graph, or planned as if it were one."""
        return bool((self.table.phases.kind == GRAPH).any())

    @property
    def asks(self) -> bool:
        """Whether in any phase cores ask for chunks."""
        phases = self.table.phases
        return bool(((phases.kind != SERIAL) & (phases.mode == BY_TECHNIQUE)).any())

    def room(self, place: Array, cores: Array) -> tuple[int, int]:
        """Room for the tasks and the edges of one of these jobs, hardly ever too little."""
        found = [self._room(program, widest) for program, widest in self._widest(place, cores)]
        return max((tasks for tasks, _ in found), default=1), max((edges for _, edges in found), default=0)

    def _widest(self, place: Array, cores: Array) -> list[tuple[int, int]]:
        # The programs that jobs run, and the most cores of a job that runs each.
        return [(int(program), int(cores[place == program].max())) for program in np.unique(place)]

    def _room(self, place: int, n_cores: int) -> tuple[int, int]:
        table, tasks, edges = self.table, 0, 0
        for phase in range(int(table.phase_first[place]), int(table.phase_stop[place])):
            if table.phases.kind[phase] == SERIAL:
                tasks += 1
                continue
            wanted = int(table.n_tasks[phase] or n_cores * table.tasks_per_core[phase])
            if table.graph_row[phase] >= 0:
                more = graph_room(self._graphs[table.graph_row[phase]], wanted, n_cores)
                tasks, edges = tasks + more[0], edges + more[1]
            else:
                tasks += room(self._models[table.lengths_row[phase]], wanted)
        steps = int(table.steps[place])
        return tasks * steps, edges * steps

    def expected_tasks(self, place: Array, cores: Array) -> int:
        """About how many tasks the jobs have, whose programs and cores are given."""
        total = 0
        for at, program in enumerate(self._programs):
            mine = cores[place == at]
            for phase in program.phases:
                if isinstance(phase, Graph):
                    tasks = sum(phase.n_tasks(n) * int((mine == n).sum()) for n in np.unique(mine).tolist())
                elif isinstance(phase, Loop):
                    fixed = phase.count or phase.tasks
                    tasks = len(mine) * fixed if fixed else int(mine.sum()) * (phase.tasks_per_core or 1)
                else:
                    tasks = len(mine)
                total += tasks * program.steps
        return total

    def expected_edges(self, place: Array, cores: Array) -> int:
        """At most about how many edges the jobs' graphs have, whose programs and cores are given."""
        total = 0
        for at, program in enumerate(self._programs):
            widths, jobs = np.unique(cores[place == at], return_counts=True)
            for n, times in zip(widths.tolist(), jobs.tolist(), strict=True):
                total += times * program.steps * sum(p.room(n)[1] for p in program.phases if isinstance(p, Graph))
        return total

    def fault(self, status: int, place: int, part_first: Array, job: str = "") -> Exception:
        """The error for an answer of :func:`draw_program` that is no number of tasks.

        - ``part_first``: as :func:`draw_program` has left it
        - ``job``: as ``"job 17: "`` where it is known
        """
        phase = self._programs[place].phases[int(part_first[0])]
        if isinstance(phase, Graph):
            error = graph_fault(phase.found_graph(), status)
            return type(error)(f"{job}{error.text}")
        if not isinstance(phase, Loop):
            return InputError(f"{job}more than {MAX_TASKS_PER_JOB} tasks")
        wrong = fault(phase.found_lengths(), status)
        return type(wrong)(f"{job}{wrong}")


def _no_technique() -> AnyScheduler:
    from als.techniques.fixed.ss import SS

    return SS


def _columns(rows: Sequence[Sequence[int]], n: int) -> list[Array]:
    # Rows of n numbers as columns.
    return list(np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, n).T))


def _lengths(models: list[LengthModel], params: list[Array], patterns: list[Array]) -> LengthModels:
    param, pattern = (np.cumsum([0, *map(len, values)]).tolist() for values in (params, patterns))
    rows = [
        [model.mode, model.count or 0, param[k], param[k + 1], pattern[k], pattern[k + 1], model.memo_size]
        for k, model in enumerate(models)
    ]
    return LengthModels(*_columns(rows, 7))


class DrawnProgram(NamedTuple):
    """What a job computes."""

    lengths: Array  # float64 (N,): GFLOP of each task
    part_tasks: Array  # int64 (I,): how many tasks each part has
    edge_first: Array  # int64 (I + 1,): where the edges of each part begin
    # int64 (E,): tasks counted within their part
    source: Array
    target: Array
    bytes: Array  # float64 (E,)


def drawn_program(
    programs: Programs,
    place: int,
    seed: int,
    job: int,
    n_cores: int,
    core_gflop: float,
    speed_gflops: float,
    bytes_per_gflop: float,
) -> DrawnProgram:
    """The tasks of one job, and what they need of each other. ``place``: the job's program. ``seed``, ``job``, ``n_cores``,
    ``core_gflop``, ``speed_gflops``, ``bytes_per_gflop``: as for :func:`draw_program`. Raises InputError, PluginError if the
    tasks cannot be drawn."""
    part_first, memo, has_graph = np.zeros(programs.most_parts + 1, np.int64), programs.draw_memo, programs.has_graph
    size, n_edges = programs.room(np.array([place]), np.array([n_cores]))
    while True:
        edges = new_drawing_room(n_edges, programs.most_parts, memo=memo, has_graph=has_graph)
        lengths, key = np.empty(size), (place, np.uint64(seed), job)
        room = lengths, part_first, programs.table
        n = draw_program(*room, *key, edges, n_cores, core_gflop, speed_gflops, bytes_per_gflop)
        if n >= 0:
            table = programs.table
            parts = int(table.steps[place] * (table.phase_stop[place] - table.phase_first[place]))
            m = int(edges.first[parts])
            columns = edges.source[:m], edges.target[:m], edges.bytes[:m]
            return DrawnProgram(lengths[:n], np.diff(part_first[: parts + 1]), edges.first[: parts + 1], *columns)
        if n == IMPOSSIBLE or (size >= MAX_TASKS_PER_JOB and n_edges >= MAX_EDGES_PER_JOB):
            raise programs.fault(n, place, part_first)
        size, n_edges = min(2 * size, MAX_TASKS_PER_JOB), min(2 * n_edges + 16, MAX_EDGES_PER_JOB)
