"""The drawing of a job's tasks by its program, from tables that hold the programs of a run."""

from __future__ import annotations

import numpy as np

from als.engine.rule_table import RuleTable
from als.engine.state import SERIAL, Phases
from als.graphs.table import DRAW_GRAPH, DrawingRoom, GraphTable
from als.lengths.draw import NO_ROOM, draw_loop
from als.streams import GRAPH_WORK, GRAPHS, TASK_LENGTHS, fill_round_keys, start_stream
from traces.algorithms.copying import copy_first
from traces.base.time import duration_ns
from traces.compiled import Hooks, caller, compiled
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State


class LengthModels(State):
    """The length models of a run; parameters and patterns of all are one behind the other."""

    mode: Ints  # of ``als.lengths.contract``
    count: Ints  # how many tasks it has of its own, or 0
    params_first: Ints  # its parameters: params_first … params_stop - 1
    params_stop: Ints  # likewise
    pattern_first: Ints  # its pattern: pattern_first … pattern_stop - 1
    pattern_stop: Ints  # likewise
    memo_size: Ints  # how many numbers it keeps along a loop


class ProgramTable(State):
    """What the kernels know of the programs of a run."""

    phase_first: Ints  # a program has the phases phase_first … phase_stop - 1
    phase_stop: Ints  # likewise
    steps: Ints  # how often its phases are repeated
    redraw: Ints  # 1 where each step draws its tasks again
    phases: Phases  # the phases of all programs
    n_tasks: Ints  # N of each phase, or 0
    tasks_per_core: Ints  # where that is 0, so many tasks for each core
    lengths_row: Ints  # place in ``lengths``, of the tasks of a loop or of what is planned like one
    graph_row: Ints  # place in ``graphs``, or -1
    shares: Floats  # each phase's share of the job
    wishes: Floats  # for how many times the cores that its job asked for each phase wishes as it begins; 0 for no wish
    rules: RuleTable  # the rules of the techniques
    lengths: LengthModels  # the models of task lengths
    calls: Ints  # the lengths' rules by their addresses
    params: Floats  # the parameters of all lengths
    pattern: Floats  # the patterns of all lengths
    graphs: GraphTable  # the task graphs, and what generates them
    hooks: Ints  # (1,): what draws a graph (``HOOKS``)


HOOKS = Hooks("drawing of tasks", DRAW_GRAPH, {0: ("task graphs", "als.graphs.draw:draw_graph")})
_call_graph = caller(DRAW_GRAPH)


@compiled(inner=True)
def _repeat_part(lengths: Floats, at: int, part_first: Ints, room: DrawingRoom, part: int, earlier: int) -> int:
    """Copy the tasks and edges of an earlier part; returns the index after the last task, or ``NO_ROOM``."""
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
    """Draw a part that is a graph; returns the index after its last task, or what went wrong."""
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
    """Draw a part that is a loop; returns the index after its last task, or what went wrong."""
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
    of_model = table.calls[place], params, pattern, model.mode[place]
    drawn = draw_loop(lengths[at:], *stream, *of_model, n, mean, total, n_cores, core_ns, speed_gflops)
    return int(at + drawn if drawn >= 0 else drawn)


@compiled()
def draw_program(
    lengths: Floats,
    part_first: Ints,
    table: ProgramTable,
    place: int,
    seed: np.uint64,
    job: int,
    room: DrawingRoom,
    n_cores: int,
    core_gflop: float,
    speed_gflops: float,
    bytes_per_gflop: float,
) -> int:
    """Draw the tasks of a job, part by part.

    - ``lengths``: float64 (room,)
    - ``part_first``, int64 (parts + 1 or more,): written: where the tasks of each part begin, and after the last where they
      end; if they cannot be drawn, first of all the phase that is to blame
    - ``seed``, ``job``: key of the job's streams; the round keys stay in ``room.keys``
    - ``room``: work space; the edges, if a phase is a graph
    - ``n_cores``: P
    - ``core_gflop``: its length over P, L/P, GFLOP
    - ``speed_gflops``: of the machine's slowest core, GFLOP/s: the speed at which a job computes L/P in its recorded run time
    - ``bytes_per_gflop``: how many bytes take as long as a GFLOP of work, for graphs that say how much they communicate

    Returns the number of tasks; or as ``als.lengths.draw.draw_loop``; ``NO_ROOM`` also if there is too little for the edges.
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
            room.first[part + 1] = room.first[part]
            if step > 0 and not redraw:
                stop = _repeat_part(lengths, at, part_first, room, part, phase - phase_first)
            elif table.phases.kind[phase] == SERIAL:
                stop = NO_ROOM
                if at < lengths.size:
                    lengths[at] = a_core
                    stop = at + 1
            elif table.graph_row[phase] >= 0:
                total = a_core * n_cores
                stop = _draw_graph(lengths, at, table, phase, room, part, n_cores, total, bytes_per_gflop)
            else:
                core_ns = run_ns * table.shares[phase] / steps
                stop = _draw_lengths(lengths, at, table, phase, room, n_cores, a_core, core_ns, speed_gflops)
            if stop < 0:
                part_first[0] = phase - phase_first
                return int(stop)
            at = stop
            part += 1
            part_first[part] = at
    return int(at)


@compiled(inner=True)
def show_phases(phases: Phases, table: ProgramTable, place: int) -> None:
    """Let the phases be those of a program."""
    first, stop = table.phase_first[place], table.phase_stop[place]
    phases.kind, phases.rule = table.phases.kind[first:stop], table.phases.rule[first:stop]
    phases.mode, phases.order = table.phases.mode[first:stop], table.phases.order[first:stop]
