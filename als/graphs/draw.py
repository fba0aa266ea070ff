"""Graphs are drawn here: the weights of a :class:`GraphModel` become the tasks and the data of a job."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from als.graphs.contract import (
    IMPOSSIBLE,
    MAKE_GRAPH,
    MAX_EDGES_PER_JOB,
    MAX_TASKS_PER_JOB,
    NO_ROOM,
    GraphModel,
    check_size,
)
from als.streams import GRAPH_WORK, GRAPHS, fill_round_keys, fill_words, next_word, normal_from_word, start_stream
from traces.base.errors import InputError, PluginError
from traces.compiled import Array, as_value, caller, compiled, function_table, own
from traces.kernels.signatures import Entry, Floats, Ints, Words

__all__ = [
    "IMPOSSIBLE",
    "NO_ROOM",
    "DrawnGraph",
    "draw_graph",
    "drawn_graph",
    "fault",
    "given_arrays",
    "more_room",
    "room",
]

# As many draws in a row that are not above 0 are no chance: at the largest c.o.v. nearly every second one is above 0.
_MOST_REDRAWN = 10_000

_NO_NUMBERS, _NO_PLACES = np.empty(0), np.empty(0, np.int64)

_call = caller(MAKE_GRAPH)


class DrawnGraph(NamedTuple):
    """The graph of a job, as the columns of a task graph.

    Attributes
    ----------
    gflop : float64 (N,)
    source, target : int64 (E,)
        Sorted by (source, target).
    bytes : float64 (E,)
    """

    gflop: Array
    source: Array
    target: Array
    bytes: Array


@compiled(inner=True)
def _is_graph(gflop: Array, source: Array, target: Array, bytes_: Array, n: int, n_edges: int) -> bool:
    # Whether a rule has kept its contract.
    if n < 1 or n > gflop.size or n_edges < 0 or n_edges > source.size:
        return False
    for k in range(n):
        if not (gflop[k] > 0.0 and gflop[k] < math.inf):
            return False
    last_source, last_target = -1, -1
    for e in range(n_edges):
        s, t = source[e], target[e]
        if s < 0 or t <= s or t >= n or s < last_source or (s == last_source and t <= last_target):
            return False
        if not (bytes_[e] > 0.0 and bytes_[e] < math.inf):
            return False
        last_source, last_target = s, t
    return True


@compiled(inner=True)
def _vary(gflop: Array, n: int, cov: float, keys: Array, cursor: Array, words: Array) -> bool:
    # Multiply each task's work by a factor of its own; False if factors above 0 cannot be had.
    for k in range(n):
        in_vain = 0
        while True:
            factor = 1.0 + cov * normal_from_word(next_word(keys, cursor, words))
            if factor > 0.0:
                break
            in_vain += 1
            if in_vain == _MOST_REDRAWN:
                return False
        gflop[k] *= factor
    return True


@compiled(inner=True)
def _set_back(keys: Array, cursor: Array, words: Array, block: int, place: int) -> None:
    # Let a stream begin again where it was.
    cursor[0], cursor[1] = block, place
    if place != 4:
        fill_words(words, keys, block - 1, cursor[2])


@compiled()
def draw_graph(
    gflop: Floats,
    source: Ints,
    target: Ints,
    bytes_: Floats,
    size: Ints,
    entry: Entry,
    params: Floats,
    given_gflop: Floats,
    given_source: Ints,
    given_target: Ints,
    given_bytes: Floats,
    n_tasks: int,
    n_cores: int,
    ccr: float,
    cov: float,
    scale: bool,
    total_gflop: float,
    bytes_per_gflop: float,
    keys: Words,
    cursor: Ints,
    words: Words,
    work_cursor: Ints,
    work_words: Words,
) -> int:
    """Draw one graph of a job.

    The graphs of a job follow each other in its streams: the caller writes the round keys of (seed, job number) and sets both
    cursors to the beginning (:func:`als.streams.start_stream`, purposes ``GRAPHS`` and ``GRAPH_WORK``) once for a job.

    Parameters
    ----------
    gflop : float64 (room for tasks,)
        Written from the beginning on, as the others; of a job's second graph the caller passes the rest of its arrays.
    source, target, bytes_ : int64, int64, float64 (room for edges,)
        Tasks are numbered from 0 in each graph.
    size : int64 (2,)
        The numbers of tasks and of edges; with ``NO_ROOM`` those that are needed, 0 where they are not known.
    entry
        The place of the model's rule in a :func:`traces.compiled.function_table`.
    params : float64 (any,)
        Of the model.
    given_gflop, given_source, given_target, given_bytes : float64, int64, int64, float64
        The graph of the model's ``source``; no tasks: there is none, and the rule is called.
    n_tasks : int
        About how many tasks are wanted; 0: the model says it.
    n_cores : int
        Cores of the job.
    ccr, cov, scale
        Of the model; ``ccr`` is NaN for None.
    total_gflop : float
        The sum of the tasks' work but for rounding, above 0; of no effect on a file's graph that is not scaled.
    bytes_per_gflop : float
        How many bytes take as long as a GFLOP of work: bandwidth in bytes/s over the speed of a core in GFLOP/s. Of no effect
        on a file's graph.
    keys, cursor, words : uint64 (20,), int64 (3,), uint64 (4,)
        The job's stream of purpose ``GRAPHS``; moved on, but not with ``NO_ROOM``.
    work_cursor, work_words : int64 (3,), uint64 (4,)
        The job's stream of purpose ``GRAPH_WORK``, likewise; of no use where ``cov`` is 0.

    Returns
    -------
    int
        0; ``NO_ROOM``; or ``IMPOSSIBLE`` if there is no such graph: the rule says so or breaks its contract, all work is 0 and
        is to be scaled, or work or bytes would be beyond every float.
    """
    n, n_edges = given_gflop.size, given_source.size
    if n > 0:
        size[0], size[1] = n, n_edges
        if n > gflop.size or n_edges > source.size:
            return NO_ROOM
        for k in range(n):
            gflop[k] = given_gflop[k]
        for e in range(n_edges):
            source[e], target[e], bytes_[e] = given_source[e], given_target[e], given_bytes[e]
        bytes_factor = 1.0
    else:
        block, place = cursor[0], cursor[1]
        size[0], size[1] = 0, 0
        status = _call(entry, (n_tasks, n_cores, params, keys, cursor, words, gflop, source, target, bytes_, size))
        if status == NO_ROOM:
            _set_back(keys, cursor, words, block, place)
            return NO_ROOM
        n, n_edges = size[0], size[1]
        if status != 0 or not _is_graph(gflop, source, target, bytes_, n, n_edges):
            return IMPOSSIBLE
        weight = 0.0
        for e in range(n_edges):
            weight += bytes_[e]
        bytes_factor = ccr * bytes_per_gflop * (total_gflop / n) * (n_edges / weight) if n_edges > 0 else 0.0
    if cov > 0.0 and not _vary(gflop, n, cov, keys, work_cursor, work_words):
        return IMPOSSIBLE
    if scale:
        work = 0.0
        for k in range(n):
            work += gflop[k]
        if not (work > 0.0 and work < math.inf):
            return IMPOSSIBLE
        factor = total_gflop / work
        if not (factor > 0.0 and factor < math.inf):
            return IMPOSSIBLE
        for k in range(n):
            gflop[k] *= factor
        if given_gflop.size > 0:
            bytes_factor = factor
    if bytes_factor != 1.0:
        for e in range(n_edges):
            bytes_[e] *= bytes_factor
            if not bytes_[e] < math.inf:
                return IMPOSSIBLE
    return 0


def room(model: GraphModel, n_tasks: int, n_cores: int) -> tuple[int, int]:
    """Room for the tasks and edges of a graph: enough tasks, and hardly ever too few edges.

    Raises
    ------
    InputError
        If there are more than ``MAX_TASKS_PER_JOB`` tasks or ``MAX_EDGES_PER_JOB`` edges.
    """
    return check_size(f"graph {model.name}", *model.n_tasks(n_tasks, n_cores))


def fault(model: GraphModel, status: int) -> PluginError | InputError:
    """The error for an answer of :func:`draw_graph` other than 0; ``NO_ROOM`` where no more room is to be given."""
    who = f"graph {model.name}"
    if status == NO_ROOM:
        return InputError(f"{who}: more than {MAX_TASKS_PER_JOB} tasks or {MAX_EDGES_PER_JOB} edges in one job")
    if model.source is not None:
        return InputError(f"{who}: its work cannot be scaled to the job's; allowed: a sum above 0, and finite bytes")
    return PluginError(
        f"{who}: its rule makes no graph; allowed: weights above 0 and finite, edges from a lower to a higher task, "
        "sorted, none twice"
    )


def given_arrays(model: GraphModel) -> tuple[Array, Array, Array, Array]:
    """What :func:`draw_graph` takes as ``given_…``: the columns of the model's ``source``, or none."""
    graph = model.source
    if graph is None:
        return _NO_NUMBERS, _NO_PLACES, _NO_PLACES, _NO_NUMBERS
    return (
        own(graph.gflop, np.float64),
        own(graph.source, np.int64),
        own(graph.target, np.int64),
        own(graph.bytes, np.float64),
    )


@functools.lru_cache(maxsize=64)
def _called(model: GraphModel) -> Any:
    # Most jobs of a process have graphs of one model; it keeps its rule alive.
    try:
        kernel = as_value(model.make, MAKE_GRAPH)
    except TypeError as error:
        raise PluginError(f"graph {model.name}: make is not made by graph_kernel: {error}") from error
    return function_table([kernel])[0]


def drawn_graph(
    model: GraphModel, seed: int, job: int, n_tasks: int, n_cores: int, total_gflop: float, bytes_per_gflop: float
) -> DrawnGraph:
    """The graph of a job that has one.

    Parameters
    ----------
    model : GraphModel
    seed, job : int
        Key of the job's streams.
    n_tasks, n_cores, total_gflop, bytes_per_gflop
        As for :func:`draw_graph`.

    Raises
    ------
    InputError
        If the graph is too large, also for the memory, or a file's cannot be scaled.
    PluginError
        If the model's rule makes no graph.
    """
    entry = _called(model)
    given = given_arrays(model)
    keys, size = np.empty(20, np.uint64), np.empty(2, np.int64)
    cursor, words = np.empty(3, np.int64), np.empty(4, np.uint64)
    work_cursor, work_words = np.empty(3, np.int64), np.empty(4, np.uint64)
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    start_stream(cursor, GRAPHS)
    start_stream(work_cursor, GRAPH_WORK)
    tasks, edges = room(model, n_tasks, n_cores)
    while True:
        try:
            made = DrawnGraph(
                np.empty(tasks), np.empty(edges, np.int64), np.empty(edges, np.int64), np.empty(edges, np.float64)
            )
        except MemoryError:
            raise InputError(
                f"graph {model.name}: {tasks} tasks and {edges} edges are more than the memory holds"
            ) from None
        status = draw_graph(
            *made,
            size,
            entry,
            model.params,
            *given,
            n_tasks,
            n_cores,
            math.nan if model.ccr is None else model.ccr,
            model.cov,
            model.scale,
            total_gflop,
            bytes_per_gflop,
            keys,
            cursor,
            words,
            work_cursor,
            work_words,
        )
        if status == 0:
            n, n_edges = size.tolist()
            return DrawnGraph(made.gflop[:n], made.source[:n_edges], made.target[:n_edges], made.bytes[:n_edges])
        if status != NO_ROOM:
            raise fault(model, status)
        tasks, edges = more_room(model, tasks, edges, size)


def more_room(model: GraphModel, tasks: int, edges: int, size: Array) -> tuple[int, int]:
    """Room for another try, after :func:`draw_graph` found that for ``tasks`` and ``edges`` too little.

    Parameters
    ----------
    model : GraphModel
    tasks, edges : int
    size : int64 (2,)
        As written by :func:`draw_graph`.

    Raises
    ------
    InputError
        If there must not be more.
    """
    needed, between = size.tolist()
    if needed <= tasks and between <= edges:  # it is not known how much
        needed, between = min(2 * tasks, MAX_TASKS_PER_JOB), min(2 * edges + 16, MAX_EDGES_PER_JOB)
        if (needed, between) == (tasks, edges):
            raise fault(model, NO_ROOM)
    return check_size(f"graph {model.name}", max(tasks, needed), max(edges, between))
