"""The programs of a run as arrays for kernels, and the drawing of jobs' tasks from them."""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from als.engine.dag.state import BY_RANK, BY_TECHNIQUE, PLANNED
from als.engine.rule_table import RuleRows, RuleTable
from als.engine.state import GRAPH, LOOP, SERIAL, Phases, whole_memo
from als.graphs.contract import MAX_EDGES_PER_JOB, GraphModel
from als.graphs.draw import DRAW_GRAPH, DrawingRoom, GraphTable, graph_table, new_drawing_room
from als.graphs.draw import fault as graph_fault
from als.graphs.draw import room as graph_room
from als.lengths import LengthModel
from als.lengths.contract import NEXT_LENGTH
from als.lengths.draw import IMPOSSIBLE, NO_ROOM, draw_loop, fault
from als.options import MAX_TASKS_PER_JOB
from als.planners import Planner
from als.programs.program import Graph, Loop, Program, Serial
from als.schedulers import AnyScheduler
from als.streams import GRAPH_WORK, GRAPHS, TASK_LENGTHS, fill_round_keys, start_stream
from als.techniques import TECHNIQUES
from traces.algorithms.copying import copy_first
from traces.base.errors import InputError
from traces.base.time import duration_ns
from traces.compiled import Array, Hooks, as_value, caller, compiled, function_table
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State


class LengthModels(State):
    """The length models of a run; the parameters and patterns of all models are concatenated."""

    mode: Ints  # a mode of ``als.lengths.contract``
    count: Ints  # its fixed number of tasks, or 0
    params_first: Ints  # its parameters: params_first … params_stop - 1
    params_stop: Ints  # one past its last parameter
    pattern_first: Ints  # its pattern: pattern_first … pattern_stop - 1
    pattern_stop: Ints  # one past its last entry
    memo_size: Ints  # size of its memory along a loop
    drift: Floats  # change of its mean along a loop, over the mean


class WorkerTable(State):
    """The kinds of workers of a run's programs, those of one program after another, each after a row for its cores."""

    count: Ints  # devices of a job
    factor: Floats  # speed of a stream, as a multiple of a core's
    streams: Ints  # as in ``als.engine.devices.Devices``
    launch_ns: Ints  # as there
    link_ns: Ints  # as there
    in_ns: Floats  # as there
    out_ns: Floats  # as there
    byte_ns: Floats  # as there
    places: Ints  # as there
    spread: Floats  # as there


class ProgramTable(State):
    """The programs of a run, for kernels."""

    phase_first: Ints  # the phases of a program: phase_first … phase_stop - 1
    phase_stop: Ints  # one past its last phase
    steps: Ints  # how often its phases are repeated
    redraw: Ints  # 1 if each step draws its tasks again
    phases: Phases  # the phases of all programs
    n_tasks: Ints  # N of each phase, or 0
    tasks_per_core: Ints  # if n_tasks is 0, the number of tasks per core
    lengths_row: Ints  # index in ``lengths``, for loops and for phases planned like loops
    graph_row: Ints  # index in ``graphs``, or -1
    shares: Floats  # each phase's share of the job
    with_cores: Ints  # 1 if the job's cores count in the work of the phase, else 0
    more_cores: Floats  # number of cores added to them, for devices
    on: Ints  # kinds of workers that take part, as bits
    worker_first: Ints  # first row of a program in ``workers``
    worker_stop: Ints  # one past its last row; the same if it has only cores
    workers: WorkerTable  # workers that are no cores
    work_kinds: Ints  # 1 + the kinds of workers of a program whose tasks have a work on each, else 0
    works_first: Ints  # where the works of a phase begin in ``works``, kind by kind; -1: as on cores
    works: Floats  # works of the tasks of graphs from files on cores and on each kind, GFLOP
    width_shares: Floats  # cores requested when the phase begins, as a multiple of the job's request; 0: no request
    rules: RuleTable  # the rules of the techniques
    lengths: LengthModels  # the models of task lengths
    calls: Ints  # addresses of the lengths' rules
    params: Floats  # the parameters of all lengths
    pattern: Floats  # the patterns of all lengths
    graphs: GraphTable  # the task graphs and their generators
    hooks: Ints  # (1,): the hook that draws a graph (``HOOKS``)


HOOKS = Hooks("drawing of tasks", DRAW_GRAPH, {0: ("task graphs", "als.graphs.draw:draw_graph")})
_call_graph = caller(DRAW_GRAPH)


@compiled(inner=True)
def _repeat_part(lengths: Floats, at: int, part_first: Ints, room: DrawingRoom, part: int, earlier: int) -> int:
    """Copy the tasks and edges of an earlier part; return the index after the last task, or ``NO_ROOM``."""
    first, n = part_first[earlier], part_first[earlier + 1] - part_first[earlier]
    edge, first_edge = room.first[part], room.first[earlier]
    n_edges = room.first[earlier + 1] - first_edge
    if at + n > lengths.size or edge + n_edges > room.source.size:
        return NO_ROOM
    copy_first(lengths[at:], lengths[first:], n)
    copy_first(room.source[edge:], room.source[first_edge:], n_edges)
    copy_first(room.target[edge:], room.target[first_edge:], n_edges)
    copy_first(room.bytes[edge:], room.bytes[first_edge:], n_edges)
    room.first[part + 1] = edge + n_edges
    return int(at + n)


@compiled(inner=True)
def _draw_graph(
    lengths: Floats, at: int, table: ProgramTable, phase: int, room: DrawingRoom, part: int, n_cores: int,
    total_gflop: float, bytes_per_gflop: float,
) -> int:  # fmt: skip
    """Draw a part that is a graph; return the index after its last task, or the error status."""
    wanted, edge = table.n_tasks[phase], room.first[part]
    if wanted == 0:
        wanted = n_cores * table.tasks_per_core[phase]
    where = table.graphs, room, table.graph_row[phase], lengths[at:], edge
    status = _call_graph(table.hooks[0], (*where, wanted, n_cores, total_gflop, bytes_per_gflop))
    if status != 0:
        return int(status)
    room.first[part + 1] = edge + room.draft.size[1]
    return int(at + room.draft.size[0])


@compiled(inner=True)
def _draw_lengths(
    lengths: Floats, at: int, table: ProgramTable, phase: int, room: DrawingRoom, n_cores: int, core_gflop: float,
    core_ns: float, speed_gflops: float,
) -> int:  # fmt: skip
    """Draw a part that is a loop; return the index after its last task, or the error status."""
    place, a_core = table.lengths_row[phase], table.tasks_per_core[phase]
    model = table.lengths
    params = table.params[model.params_first[place] : model.params_stop[place]]
    pattern = table.pattern[model.pattern_first[place] : model.pattern_stop[place]]
    n = model.count[place] if model.count[place] > 0 else table.n_tasks[phase]
    mean, total = core_gflop / a_core, core_gflop * n_cores
    if n > 0:
        mean = total / n
    else:
        n = n_cores * a_core
    stream = room.keys, room.cursor, room.words, room.memo
    of_model, drift = (table.calls[place], params, pattern, model.mode[place]), model.drift[place]
    drawn = draw_loop(lengths[at:], *stream, *of_model, drift, n, mean, total, n_cores, core_ns, speed_gflops)
    return int(at + drawn if drawn >= 0 else drawn)


@compiled()
def draw_program(
    lengths: Floats, part_first: Ints, table: ProgramTable, place: int, seed: np.uint64, job: int, room: DrawingRoom,
    n_cores: int, core_gflop: float, speed_gflops: float, bytes_per_gflop: float,
) -> int:  # fmt: skip
    """Draw the tasks of a job, part by part.

    - ``part_first``, int64 (parts + 1 or more,): written: the first task of each part, and the end of the last part; on
      failure, its first number is the phase that failed
    - ``room``: work space, in which the round keys of the job's streams are kept; the edges, if a phase is a graph
    - ``core_gflop``: its length over P, L/P, GFLOP
    - ``speed_gflops``: speed of the machine's slowest core, GFLOP/s, at which a job computes L/P in its recorded run time
    - ``bytes_per_gflop``: bytes that take as long as 1 GFLOP of work, for graphs with a communication ratio

    Returns the number of tasks, or a status as ``als.lengths.draw.draw_loop``; ``NO_ROOM`` also if there is too little room
    for the edges.
    """
    fill_round_keys(room.keys, seed, np.uint64(job))
    start_stream(room.cursor, TASK_LENGTHS)
    start_stream(room.draft.cursor, GRAPHS)
    start_stream(room.work_cursor, GRAPH_WORK)
    phase_first, phase_stop = table.phase_first[place], table.phase_stop[place]
    steps, redraw = table.steps[place], table.redraw[place] != 0
    run_ns = float(duration_ns(core_gflop, speed_gflops))
    part = at = 0
    part_first[0] = room.first[0] = 0
    for step in range(steps):
        for phase in range(phase_first, phase_stop):
            a_core = core_gflop * table.shares[phase] / steps
            workers = (table.with_cores[phase] * n_cores + table.more_cores[phase]) / n_cores
            room.first[part + 1] = room.first[part]
            if step > 0 and not redraw:
                stop = _repeat_part(lengths, at, part_first, room, part, phase - phase_first)
            elif table.phases.kind[phase] == SERIAL:
                stop = NO_ROOM
                if at < lengths.size:
                    lengths[at] = a_core
                    stop = at + 1
            elif table.graph_row[phase] >= 0:
                total = a_core * n_cores * workers
                stop = _draw_graph(lengths, at, table, phase, room, part, n_cores, total, bytes_per_gflop)
            else:
                core_ns = run_ns * table.shares[phase] / steps * workers
                stop = _draw_lengths(lengths, at, table, phase, room, n_cores, a_core * workers, core_ns, speed_gflops)
            if stop < 0:
                part_first[0] = phase - phase_first
                return int(stop)
            at = stop
            part += 1
            part_first[part] = at
    return int(at)


@compiled(inner=True)
def show_phases(phases: Phases, table: ProgramTable, place: int) -> None:
    """Set the phases to those of a program."""
    first, stop = table.phase_first[place], table.phase_stop[place]
    phases.kind, phases.rule = table.phases.kind[first:stop], table.phases.rule[first:stop]
    phases.mode, phases.order = table.phases.mode[first:stop], table.phases.order[first:stop]


class Programs:
    """The programs of a run, looked up and made into a table. ``programs``: filled: each loop has a technique. ``variation``:
    the run's, for lengths that are not given another. Raises InputError, PluginError if something that they name is invalid."""

    def __init__(self, programs: Sequence[Program], variation: float) -> None:
        self._programs = tuple(programs)
        schedulers: list[AnyScheduler] = []
        models: list[LengthModel] = []
        graphs: list[GraphModel] = []
        rows: list[list[int]] = []  # kind, rule, mode, order; tasks, tasks per core, lengths, graph
        places: list[list[int]] = []
        works: list[Array | None] = []
        for program in programs:
            places.append([len(rows), len(rows) + len(program.phases), program.steps, int(program.redraw)])
            for at, phase in enumerate(program.phases):
                works.append(program.works(at))
                if isinstance(phase, Serial):
                    rows.append([SERIAL, 0, 0, 0, 1, 0, 0, -1])
                    continue
                schedulers.append(program.scheduler_of(at))
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
        self.draw_memo = max((model.memo_size for model in models), default=0)  #: size of the work space for drawing
        self.most_parts = max(len(program.phases) * program.steps for program in programs)  #: largest number of parts
        self._kept = [as_value(model.next_length, NEXT_LENGTH) for model in models]
        # A program may have no loop, but kernels always read the first rule's row.
        self.rules = RuleRows(schedulers or [TECHNIQUES["ss"]])
        kind, rule, *further = _columns(rows, 8)
        rule = np.array([self.rules.row[place] for place in rule.tolist()], np.int64)
        params = [np.array(model.params, np.float64) for model in models]
        patterns = [np.array(model.pattern, np.float64) for model in models]
        self.table = ProgramTable(
            *_columns(places, 4),
            Phases(kind, rule, *further[:2]),
            *further[2:],
            np.array([share for program in programs for share in program.shares]),
            *_columns([program.capacity(at)[:1] for program in programs for at in range(len(program.phases))], 1),
            np.array([program.capacity(at)[1] for program in programs for at in range(len(program.phases))]),
            *_columns([[program.mask(at)] for program in programs for at in range(len(program.phases))], 1),
            *_columns(_worker_rows(programs), 2),
            _workers(programs),
            *_columns([[len(program.workers) + 1 if program.has_works else 0] for program in programs], 1),
            *_works(works),
            np.array([cores for program in programs for cores in program.wishes]),
            self.rules.table,
            _lengths(models, params, patterns),
            function_table(self._kept),
            np.concatenate([np.zeros(0), *params]),
            np.concatenate([np.zeros(0), *patterns]),
            graph_table(graphs),
            HOOKS.filled({0} if graphs else set()),
        )
        #: Whether a phase is a graph, or planned like one; whether cores request chunks in any phase.
        self.has_graph = bool((kind == GRAPH).any())
        #: Whether some workers are no cores.
        self.has_devices = any(program.workers for program in programs)
        self.asks = any(row[0] != SERIAL and row[2] == BY_TECHNIQUE for row in rows)

    @functools.cached_property
    def rule_first(self) -> list[int]:
        """The row of the first rule of each program."""
        loops = [self._phases(place) for place in range(len(self._programs))]
        return [int(one.rule[one.kind != SERIAL].min(initial=len(self.rules.names))) for one in loops]

    def speed_of_slots(self, place: int, speed_gflops: Array, drives: Array | None = None) -> Array:
        """Return the speeds of the slots of a job with a program, on cores of these speeds, float64 (P,). ``drives``: as for
        ``als.workers.with_devices``."""
        if not (workers := self._programs[place].workers):
            return speed_gflops
        from als.workers import with_devices  # not needed by programs on cores

        return with_devices(workers, speed_gflops, drives=drives)[0]

    def _phases(self, place: int) -> Phases:
        return self.table.phases.take(np.arange(self.table.phase_first[place], self.table.phase_stop[place]))

    def memo(self, place: Array, cores: Array) -> int:
        """Return the largest memory that one of these jobs, given by programs and cores, can need."""
        widths, rules = self._widest(place, cores), self.table.rules
        return max((int(whole_memo(self._phases(program), rules, widest)) for program, widest in widths), default=0)

    def room(self, place: Array, cores: Array) -> tuple[int, int]:
        """Return room for the tasks and the edges of any of these jobs, rarely too little."""
        found = [self._room(program, widest) for program, widest in self._widest(place, cores)]
        return max((tasks for tasks, _ in found), default=1), max((edges for _, edges in found), default=0)

    def _widest(self, place: Array, cores: Array) -> list[tuple[int, int]]:
        # The programs of the jobs, each with the largest number of cores of its jobs.
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
                tasks += self._models[table.lengths_row[phase]].room(wanted)
        steps = int(table.steps[place])
        return tasks * steps, edges * steps

    def expected_tasks(self, place: Array, cores: Array) -> int:
        """Return the approximate number of tasks of the jobs with these programs and cores."""
        return sum(jobs * program.n_tasks(n) for program, n, jobs in self._widths(place, cores))

    def expected_edges(self, place: Array, cores: Array) -> int:
        """Return an approximate upper bound of the edges of the jobs with these programs and cores."""
        return sum(
            jobs * program.steps * sum(phase.room(n)[1] for phase in program.phases if isinstance(phase, Graph))
            for program, n, jobs in self._widths(place, cores)
        )

    def _widths(self, place: Array, cores: Array) -> Iterator[tuple[Program, int, int]]:
        # Each program with each number of cores, and the number of jobs with both.
        for at, program in enumerate(self._programs):
            widths, jobs = np.unique(cores[place == at], return_counts=True)
            for n, times in zip(widths.tolist(), jobs.tolist(), strict=True):
                yield program, n, times

    def fault(self, status: int, place: int, part_first: Array, job: str = "") -> Exception:
        """Return the error for a failed :func:`draw_program`, with its ``part_first``; ``job`` as ``"job 17: "`` if known."""
        phase = self._programs[place].phases[int(part_first[0])]
        if isinstance(phase, Graph):
            error = graph_fault(phase.found_graph(), status)
            return type(error)(f"{job}{error.text}")
        if not isinstance(phase, Loop):
            return InputError(f"{job}more than {MAX_TASKS_PER_JOB} tasks")
        wrong = fault(phase.found_lengths(), status)
        return type(wrong)(f"{job}{wrong}")


def _columns(rows: Sequence[Sequence[int]], n: int) -> list[Array]:
    # Turn rows of n numbers into columns.
    return list(np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, n).T))


def _worker_rows(programs: Sequence[Program]) -> list[list[int]]:
    # The rows of each program in the table of workers.
    rows = [len(program.workers) + 1 if program.workers else 0 for program in programs]
    stop = np.cumsum(rows).tolist()
    return [[last - n, last] for n, last in zip(rows, stop, strict=True)]


def _workers(programs: Sequence[Program]) -> WorkerTable:
    having = [program.workers for program in programs if program.workers]
    if not having:
        return WorkerTable.none()
    from als.workers import kind_columns, placing_columns  # not needed by programs on cores

    parts = [
        dict(zip(("streams", "count", "factor"), placing_columns(one), strict=True)) | kind_columns(one)
        for one in having
    ]
    return WorkerTable.none(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _works(works: Sequence[Array | None]) -> tuple[Array, Array]:
    # Where those of each phase begin, and all of them.
    stop = np.cumsum([0 if one is None else one.size for one in works])
    first = [-1 if one is None else int(last) - one.size for one, last in zip(works, stop, strict=True)]
    return np.array(first), np.concatenate([np.zeros(0), *(one.ravel() for one in works if one is not None)])


def _lengths(models: list[LengthModel], params: list[Array], patterns: list[Array]) -> LengthModels:
    param, pattern = (np.cumsum([0, *map(len, values)]).tolist() for values in (params, patterns))
    rows = [
        [model.mode, model.count or 0, param[k], param[k + 1], pattern[k], pattern[k + 1], model.memo_size]
        for k, model in enumerate(models)
    ]
    return LengthModels(*_columns(rows, 7), np.array([model.drift for model in models]))


class DrawnProgram(NamedTuple):
    """The tasks and edges of a job."""

    lengths: Array  # float64 (N,): GFLOP of each task
    part_tasks: Array  # int64 (I,): number of tasks of each part
    edge_first: Array  # int64 (I + 1,): where the edges of each part begin
    # int64 (E,): tasks counted within their part
    source: Array
    target: Array
    bytes: Array  # float64 (E,)


def drawn_program(
    programs: Programs, place: int, seed: int, job: int, n_cores: int, core_gflop: float, speed_gflops: float,
    bytes_per_gflop: float,
) -> DrawnProgram:  # fmt: skip
    """Return the tasks of one job and their edges. ``place``: the job's program; the others as for :func:`draw_program`. Raises
    InputError, PluginError if the tasks cannot be drawn."""
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
