"""The drawing of a job's tasks by its program, from tables that hold the programs of a run."""

from __future__ import annotations

import numpy as np

from als.engine.rule_table import RuleTable
from als.engine.state import KIND, PHASE_COLUMNS, SERIAL
from als.graphs.table import DRAW_GRAPH, EdgeRoom, GraphTable
from als.lengths.draw import NO_ROOM, draw_loop
from als.streams import GRAPH_WORK, GRAPHS, TASK_LENGTHS, fill_round_keys, start_stream
from traces.compiled import caller, compiled
from traces.hooks import Hooks
from traces.kernels.signatures import Floats, Ints, Ints2, Words
from traces.kernels.state import State

__all__ = [
    "HOOKS",
    "LENGTHS_COLUMNS",
    "PHASE_FIRST",
    "PHASE_GRAPH",
    "PHASE_LENGTHS",
    "PHASE_ROW",
    "PHASE_STOP",
    "PHASE_TASKS",
    "PHASE_TASKS_PER_CORE",
    "PROGRAM_COLUMNS",
    "ProgramTable",
    "draw_program",
]

# Further columns of ProgramTable.phases.
PHASE_TASKS = PHASE_COLUMNS  # N of a loop, or 0: so many a core
PHASE_TASKS_PER_CORE = PHASE_COLUMNS + 1
PHASE_LENGTHS = PHASE_COLUMNS + 2  # row of the lengths, of the tasks of a loop or of what is planned like one
PHASE_GRAPH = PHASE_COLUMNS + 3  # row of the graph, or -1
PHASE_ROW = PHASE_COLUMNS + 4

# Columns of ProgramTable.lengths.
_MODE = 0
_COUNT = 1  # how many tasks the lengths have of their own, or 0
_PARAMS_FIRST = 2
_PARAMS_STOP = 3
_PATTERN_FIRST = 4
_PATTERN_STOP = 5
_MEMO_SIZE = 6
LENGTHS_COLUMNS = 7

# Columns of ProgramTable.programs.
PHASE_FIRST = 0
PHASE_STOP = 1
_STEPS = 2
_REDRAW = 3
PROGRAM_COLUMNS = 4


class ProgramTable(State):
    """What the kernels know of the programs of a run.

    Attributes
    ----------
    programs : int64 (n, PROGRAM_COLUMNS)
    phases : int64 (F, PHASE_ROW)
        The phases of all programs; the engine looks at the first columns.
    shares : float64 (F,)
        Each phase's share of the job.
    rules : RuleTable
    lengths : int64 (L, LENGTHS_COLUMNS)
    calls : int64 (L,)
        The lengths' rules by their addresses.
    params, pattern : float64
        Of all lengths.
    graphs : GraphTable
    hooks : int64 (1,)
        What draws a graph (``HOOKS``).
    """

    programs: Ints2
    phases: Ints2
    shares: Floats
    rules: RuleTable
    lengths: Ints2
    calls: Ints
    params: Floats
    pattern: Floats
    graphs: GraphTable
    hooks: Ints


HOOKS = Hooks("drawing of tasks", DRAW_GRAPH, {0: ("task graphs", "als.graphs.draw:draw_graph")})
_draw_graph = caller(DRAW_GRAPH)


@compiled()
def draw_program(
    lengths: Floats,
    part_first: Ints,
    table: ProgramTable,
    place: int,
    seed: np.uint64,
    job: int,
    keys: Words,
    cursor: Ints,
    words: Words,
    memo: Floats,
    n_cores: int,
    core_gflop: float,
    edges: EdgeRoom,
    bytes_per_gflop: float,
) -> int:
    """Draw the tasks of a job, part by part.

    Parameters
    ----------
    lengths : float64 (room,)
    part_first : int64 (parts + 1 or more,)
        Written: where the tasks of each part begin, and after the last where they end; if they cannot be drawn, first of
        all the phase that is to blame.
    table : ProgramTable
    place : int
        The job's program.
    seed, job : int
        Key of the job's stream; the round keys stay in ``keys``.
    keys, cursor, words, memo
        Work space: uint64 (20,), int64 (3,), uint64 (4,), float64.
    n_cores : int
        P.
    core_gflop : float
        Its length over P, L/P, GFLOP.
    edges : EdgeRoom
        Written, if a phase is a graph.
    bytes_per_gflop : float
        How many bytes take as long as a GFLOP of work, for graphs that say how much they communicate.

    Returns
    -------
    int
        The number of tasks; or as ``als.lengths.draw.draw_loop``; ``NO_ROOM`` also if there is too little for the edges.
    """
    fill_round_keys(keys, seed, np.uint64(job))
    start_stream(cursor, TASK_LENGTHS)
    start_stream(edges.cursor, GRAPHS)
    start_stream(edges.work_cursor, GRAPH_WORK)
    edge = 0
    edges.first[0] = 0
    phase_first, phase_stop = table.programs[place, PHASE_FIRST], table.programs[place, PHASE_STOP]
    steps, redraw = table.programs[place, _STEPS], table.programs[place, _REDRAW] != 0
    part = at = 0
    part_first[0] = 0
    for step in range(steps):
        for phase in range(phase_first, phase_stop):
            a_core = core_gflop * table.shares[phase] / steps
            if step > 0 and not redraw:
                first = part_first[phase - phase_first]
                n = part_first[phase - phase_first + 1] - first
                if at + n > lengths.size:
                    part_first[0] = phase - phase_first
                    return NO_ROOM
                for k in range(n):
                    lengths[at + k] = lengths[first + k]
                at += n
                first = edges.first[phase - phase_first]
                n = edges.first[phase - phase_first + 1] - first
                if edge + n > edges.source.size:
                    part_first[0] = phase - phase_first
                    return NO_ROOM
                for k in range(n):
                    edges.source[edge + k] = edges.source[first + k]
                    edges.target[edge + k] = edges.target[first + k]
                    edges.bytes[edge + k] = edges.bytes[first + k]
                edge += n
            elif table.phases[phase, KIND] == SERIAL:
                if at == lengths.size:
                    part_first[0] = phase - phase_first
                    return NO_ROOM
                lengths[at] = a_core
                at += 1
            elif table.phases[phase, PHASE_GRAPH] >= 0:
                wanted = table.phases[phase, PHASE_TASKS]
                if wanted == 0:
                    wanted = n_cores * table.phases[phase, PHASE_TASKS_PER_CORE]
                row_of_graph, room = table.phases[phase, PHASE_GRAPH], lengths[at:]
                status = _draw_graph(
                    table.hooks[0],
                    (
                        table.graphs,
                        edges,
                        row_of_graph,
                        room,
                        edge,
                        wanted,
                        n_cores,
                        a_core * n_cores,
                        bytes_per_gflop,
                        keys,
                    ),
                )
                if status != 0:
                    part_first[0] = phase - phase_first
                    return int(status)
                at += edges.size[0]
                edge += edges.size[1]
            else:
                row = table.lengths[table.phases[phase, PHASE_LENGTHS]]
                n = table.phases[phase, PHASE_TASKS]
                mean = a_core / table.phases[phase, PHASE_TASKS_PER_CORE]
                if row[_COUNT] > 0:
                    n = row[_COUNT]
                if n > 0:
                    mean = a_core * n_cores / n
                else:
                    n = n_cores * table.phases[phase, PHASE_TASKS_PER_CORE]
                stop = draw_loop(
                    lengths,
                    at,
                    keys,
                    cursor,
                    words,
                    memo,
                    table.calls[table.phases[phase, PHASE_LENGTHS]],
                    table.params[row[_PARAMS_FIRST] : row[_PARAMS_STOP]],
                    table.pattern[row[_PATTERN_FIRST] : row[_PATTERN_STOP]],
                    row[_MODE],
                    n,
                    mean,
                    a_core * n_cores,
                )
                if stop < 0:
                    part_first[0] = phase - phase_first
                    return int(stop)
                at = stop
            part += 1
            part_first[part] = at
            edges.first[part] = edge
    return int(at)
