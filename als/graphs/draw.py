"""Draw graphs: turn the weights that a model's rule writes into tasks and data of jobs."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from als.graphs.contract import IMPOSSIBLE, MAKE_GRAPH, MAX_EDGES_PER_JOB, NO_ROOM, GraphDraft, GraphModel, check_size
from als.options import MAX_TASKS_PER_JOB
from als.streams import GRAPH_WORK, GRAPHS, fill_round_keys, fill_words, next_word, normal_from_word, start_stream
from traces.algorithms.copying import copy_first
from traces.base.errors import InputError, PluginError
from traces.compiled import Array, as_value, caller, compiled, function_table, own, types
from traces.kernels.signatures import Floats, Ints, StateKind, Words
from traces.kernels.state import State


class GraphTable(State):
    """G graph models, for kernels."""

    # (G,): begin and end of its parameters, and of the tasks and edges of a file's graph
    params_first: Ints
    params_stop: Ints
    tasks_first: Ints
    tasks_stop: Ints
    edges_first: Ints
    edges_stop: Ints
    scale: Ints  # (G,): 1 where its work is scaled
    ccr: Floats  # (G,): communication to computation; NaN for a file
    cov: Floats  # (G,): coefficient of variation
    calls: Ints  # (G,): addresses of the generators' rules
    params: Floats  # the parameters of all generators, concatenated
    # The tasks and the edges of all files' graphs, concatenated
    gflop: Floats
    source: Ints
    target: Ints
    bytes: Floats


class DrawingRoom(State):
    """Work space for drawing the tasks of a job, and room for the edges of its graphs; of size 0 without graphs."""

    keys: Words  # (20,): round keys of the job's streams
    # (3,) and (4,): the stream of task lengths
    cursor: Ints
    words: Words
    memo: Floats  # memory of the rule of task lengths
    # (3,) and (4,): the stream of the factors of graphs' work
    work_cursor: Ints
    work_words: Words
    # The edges of the job's graphs, within each part
    source: Ints
    target: Ints
    bytes: Floats
    first: Ints  # (parts + 1 or more,): where the edges of each part begin
    draft: GraphDraft  # the graph being drawn, or drawn last: its size, and the stream of the job's graphs


def new_drawing_room(
    n_edges: int, n_parts: int, *, memo: int = 0, has_graph: bool = True, keys: Array | None = None
) -> DrawingRoom:
    """Return room for ``n_edges`` edges, ``n_parts`` parts and ``memo`` numbers; ``keys`` may be shared."""
    return DrawingRoom(
        keys=np.empty(20, np.uint64) if keys is None else keys,
        cursor=np.zeros(3, np.int64),
        words=np.zeros(4, np.uint64),
        memo=np.zeros(memo),
        work_cursor=np.zeros(3, np.int64),
        work_words=np.zeros(4, np.uint64),
        source=np.empty(n_edges, np.int64),
        target=np.empty(n_edges, np.int64),
        bytes=np.empty(n_edges),
        first=np.zeros(n_parts + 1, np.int64),
        draft=_new_draft() if has_graph else _NO_DRAFT,
    )


def _new_draft() -> GraphDraft:
    stream = {"cursor": np.zeros(3, np.int64), "words": np.zeros(4, np.uint64)}
    return GraphDraft.none(n_tasks=0, n_cores=0, **stream, size=np.zeros(2, np.int64))


_NO_DRAFT = _new_draft()  #: the room of all jobs without a graph; its contents are never read

#: ``draw(graphs, edges, place, gflop, first edge, tasks, cores, total GFLOP, bytes a GFLOP)``
DRAW_GRAPH = types.int64(
    *(StateKind(GraphTable), StateKind(DrawingRoom), types.int64, types.Column(types.float64)),
    *(types.int64, types.int64, types.int64, types.float64, types.float64),
)


def graph_table(models: Sequence[GraphModel]) -> GraphTable:
    """Return the table of these models. Raises PluginError if a rule is not compiled."""
    rows: list[list[int]] = []
    params: list[float] = []
    given = [model.source for model in models if model.source is not None]
    tasks = edges = 0
    for model in models:
        first = len(params)
        params.extend(model.params.tolist())
        n, n_edges = (len(model.source.gflop), len(model.source.source)) if model.source is not None else (0, 0)
        rows.append([first, len(params), tasks, tasks + n, edges, edges + n_edges, int(model.scale)])
        tasks, edges = tasks + n, edges + n_edges

    def joined(name: str, kind: type) -> Array:  # a single file's column is not copied
        columns = [own(getattr(graph, name), kind) for graph in given]
        return columns[0] if len(columns) == 1 else np.concatenate([np.zeros(0, kind), *columns])

    return GraphTable(
        *np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 7).T),
        np.array([math.nan if m.ccr is None else m.ccr for m in models], np.float64),
        np.array([m.cov for m in models], np.float64),
        function_table([_value(model) for model in models]),
        np.array(params, np.float64),
        *map(joined, ("gflop", "source", "target", "bytes"), (np.float64, np.int64, np.int64, np.float64)),
    )


def _value(model: GraphModel) -> Any:
    try:
        return as_value(model.make, MAKE_GRAPH)  # lives as long as the process
    except TypeError as error:
        raise PluginError(f"graph {model.name}: make is not made by graph_kernel: {error}") from error


# This many draws in a row that are not above 0 cannot be chance: at the largest c.o.v. nearly every second draw is above 0.
_MOST_REDRAWN = 10_000

_call = caller(MAKE_GRAPH)


class DrawnGraph(NamedTuple):
    """The graph of a job, as the columns of a task graph."""

    gflop: Array  # float64 (N,)
    # int64 (E,): sorted by (source, target)
    source: Array
    target: Array
    bytes: Array  # float64 (E,)


@compiled(inner=True)
def _is_graph(gflop: Array, source: Array, target: Array, bytes_: Array, n: int, n_edges: int) -> bool:
    """Return whether a rule has kept its contract."""
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
    """Multiply each task's work by its own random factor; return False if no factor above 0 can be drawn."""
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
def _copied(graphs: GraphTable, place: int, room: DrawingRoom, gflop: Array, first_edge: int) -> bool:
    """Copy the graph of a file; return False if there is too little room."""
    first, first_given = graphs.tasks_first[place], graphs.edges_first[place]
    n, n_edges = graphs.tasks_stop[place] - first, graphs.edges_stop[place] - first_given
    room.draft.size[0], room.draft.size[1] = n, n_edges
    if n > gflop.size or n_edges > room.source.size - first_edge:
        return False
    copy_first(gflop, graphs.gflop[first:], n)
    copy_first(room.source[first_edge:], graphs.source[first_given:], n_edges)
    copy_first(room.target[first_edge:], graphs.target[first_given:], n_edges)
    copy_first(room.bytes[first_edge:], graphs.bytes[first_given:], n_edges)
    return True


@compiled(inner=True)
def _made(
    entry: int, params: Array, room: DrawingRoom, gflop: Array, first_edge: int, n_tasks: int, n_cores: int
) -> int:
    """Run a rule; return 0, NO_ROOM or IMPOSSIBLE."""
    draft = room.draft
    draft.n_tasks, draft.n_cores, draft.params, draft.keys, draft.gflop = n_tasks, n_cores, params, room.keys, gflop
    source, target, bytes_ = room.source[first_edge:], room.target[first_edge:], room.bytes[first_edge:]
    draft.source, draft.target, draft.bytes, size = source, target, bytes_, draft.size
    size[0] = size[1] = 0
    block, place = draft.cursor[0], draft.cursor[1]
    status = _call(entry, (draft,))
    draft.size = size  # if a rule has replaced the arrays, its graph is not in our columns and fails the check
    if status == NO_ROOM:  # set the stream back
        draft.cursor[0], draft.cursor[1] = block, place
        if place != 4:
            fill_words(draft.words, room.keys, block - 1, draft.cursor[2])
        return NO_ROOM
    if status != 0 or not _is_graph(gflop, source, target, bytes_, size[0], size[1]):
        return IMPOSSIBLE
    return 0


@compiled(DRAW_GRAPH)
def draw_graph(
    graphs: GraphTable, room: DrawingRoom, place: int, gflop: Array, first_edge: int, n_tasks: int, n_cores: int,
    total_gflop: float, bytes_per_gflop: float,
) -> int:  # fmt: skip
    """Draw one graph of a job: the model at index ``place`` of the table.

    The graphs of a job take their random words from the same streams one after another. Once per job, the caller writes the
    round keys of (seed, job number) and resets both cursors (:func:`als.streams.start_stream`, purposes ``GRAPHS`` and
    ``GRAPH_WORK``).

    - ``room``: edges are written from ``first_edge`` on, with tasks numbered from 0 in each graph. ``draft.size`` then has the
      numbers of tasks and edges; with ``NO_ROOM`` the required numbers, 0 if unknown. Both streams advance, except with
      ``NO_ROOM``; the stream ``GRAPH_WORK`` only if work varies
    - ``gflop``: written from its beginning; for a later graph of the job the caller passes the rest of its array
    - ``n_tasks``: approximate number of tasks; 0: as the model says
    - ``total_gflop``: sum of the tasks' work, above 0; ignored for a file's graph that is not scaled
    - ``bytes_per_gflop``: bytes that take as long as 1 GFLOP of work; ignored for a file's graph

    Returns 0; ``NO_ROOM``; or ``IMPOSSIBLE`` if the rule does so or breaks its contract, work to be scaled is all 0, or work or
    bytes overflow a float.
    """
    bytes_, ccr, cov = room.bytes[first_edge:], graphs.ccr[place], graphs.cov[place]
    is_given = graphs.tasks_stop[place] > graphs.tasks_first[place]
    bytes_factor = 1.0
    if is_given:
        if not _copied(graphs, place, room, gflop, first_edge):
            return NO_ROOM
    else:
        params = graphs.params[graphs.params_first[place] : graphs.params_stop[place]]
        status = _made(graphs.calls[place], params, room, gflop, first_edge, n_tasks, n_cores)
        if status != 0:
            return int(status)
    n, n_edges = room.draft.size[0], room.draft.size[1]
    if not is_given:
        weight = 0.0
        for e in range(n_edges):
            weight += bytes_[e]
        bytes_factor = ccr * bytes_per_gflop * (total_gflop / n) * (n_edges / weight) if n_edges > 0 else 0.0
    if cov > 0.0 and not _vary(gflop, n, cov, room.keys, room.work_cursor, room.work_words):
        return IMPOSSIBLE
    if graphs.scale[place] != 0:
        work = 0.0
        for k in range(n):
            work += gflop[k]
        factor = total_gflop / work if work > 0.0 and work < math.inf else 0.0
        if not (factor > 0.0 and factor < math.inf):
            return IMPOSSIBLE
        for k in range(n):
            gflop[k] *= factor
        if is_given:
            bytes_factor = factor
    if bytes_factor != 1.0:
        for e in range(n_edges):
            bytes_[e] *= bytes_factor
            if not bytes_[e] < math.inf:
                return IMPOSSIBLE
    return 0


def room(model: GraphModel, n_tasks: int, n_cores: int) -> tuple[int, int]:
    """Return room for the tasks and edges of a graph: enough tasks, and rarely too few edges. Raises InputError if there
    are more than ``MAX_TASKS_PER_JOB`` tasks or ``MAX_EDGES_PER_JOB`` edges."""
    return check_size(f"graph {model.name}", *model.n_tasks(n_tasks, n_cores))


def fault(model: GraphModel, status: int) -> PluginError | InputError:
    """Return the error for a result of :func:`draw_graph` other than 0; ``NO_ROOM`` means that no more room is allowed."""
    where = f"graph {model.name}"
    if status == NO_ROOM:
        return InputError(f"{where}: more than {MAX_TASKS_PER_JOB} tasks or {MAX_EDGES_PER_JOB} edges in one job")
    if model.source is not None:
        return InputError(f"{where}: its work cannot be scaled to the job's; allowed: a sum above 0, and finite bytes")
    return PluginError(
        f"{where}: its rule makes no graph; allowed: weights above 0 and finite, edges from a lower to a higher task, "
        "sorted, none twice"
    )


@functools.lru_cache(maxsize=64)
def _table(model: GraphModel) -> GraphTable:
    # Cached, since most jobs of a process have graphs of one model. It keeps the model's rule alive.
    return graph_table([model])


def drawn_graph(
    model: GraphModel, seed: int, job: int, n_tasks: int, n_cores: int, total_gflop: float, bytes_per_gflop: float
) -> DrawnGraph:
    """Return the graph of a job. ``seed``, ``job``: key of the job's streams. ``n_tasks``, ``n_cores``, ``total_gflop``,
    ``bytes_per_gflop``: as for :func:`draw_graph`. Raises InputError if the graph is too large for a job or for the memory,
    or a file's graph cannot be scaled; PluginError if the model's rule makes no graph."""
    table, keys = _table(model), np.empty(20, np.uint64)
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    tasks, edges = room(model, n_tasks, n_cores)
    while True:
        try:
            gflop, made = np.empty(tasks), new_drawing_room(edges, 1, keys=keys)
        except MemoryError:
            raise InputError(
                f"graph {model.name}: {tasks} tasks and {edges} edges are more than the memory holds"
            ) from None
        start_stream(made.draft.cursor, GRAPHS)
        start_stream(made.work_cursor, GRAPH_WORK)
        status = draw_graph(table, made, 0, gflop, 0, n_tasks, n_cores, total_gflop, bytes_per_gflop)
        if status == 0:
            n, n_edges = made.draft.size.tolist()
            return DrawnGraph(gflop[:n], made.source[:n_edges], made.target[:n_edges], made.bytes[:n_edges])
        if status != NO_ROOM:
            raise fault(model, status)
        n, n_edges = made.draft.size.tolist()
        if n <= tasks and n_edges <= edges:  # the required size is unknown
            n, n_edges = min(2 * tasks, MAX_TASKS_PER_JOB), min(2 * edges + 16, MAX_EDGES_PER_JOB)
            if (n, n_edges) == (tasks, edges):
                raise fault(model, NO_ROOM)
        tasks, edges = check_size(f"graph {model.name}", max(tasks, n), max(edges, n_edges))
