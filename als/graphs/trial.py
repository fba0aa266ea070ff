"""Try a custom generator on a small graph before it is used."""

import functools
from typing import Final

import numpy as np

from als.graphs.contract import MAKE_GRAPH, NO_ROOM, GraphDraft, GraphModel
from als.streams import GRAPHS, new_stream
from traces.base.errors import RAISED_BY_PLUGINS, InputError, PluginError, shown, where_raised
from traces.compiled import Array
from traces.trials import Fences, rule_answers, try_rule

_TASKS: Final = 16  #: tasks and cores of the trial job: few, but enough to show what a rule writes
_CORES: Final = 4

_MOST: Final = 2**16  #: a generator whose graph for that job is larger than this is not tried with too little room


@functools.lru_cache(maxsize=64)
def try_out(model: GraphModel) -> GraphModel:
    """Run a rule for a job of 16 tasks on 4 cores, with enough room and with too little. Raises PluginError if it raises,
    writes outside its arrays, makes no graph or different graphs for the same arguments, ignores the room, is killed, or is
    not made by ``graph_kernel``."""
    where = f"graph {model.name}"
    if model.source is not None:
        return model  # its rule is not called
    try_rule(where, model.make, MAKE_GRAPH, "make with graph_kernel", lambda: _make_graphs(where, model))
    return model


def _make_graphs(where: str, model: GraphModel) -> None:
    tasks, edges = _room(model, where)
    status, arrays = _made(model, where, tasks, edges)
    if status == NO_ROOM and arrays["size"][0] <= tasks and tasks + edges < _MOST:
        # Its bound on the edges may be too low.
        edges = max(2 * edges + 16, int(arrays["size"][1]))
        status, arrays = _made(model, where, tasks, edges)
    if status != 0:
        raise PluginError(
            f"{where}: its rule answers {status} to {_TASKS} tasks, {_CORES} cores and room for {tasks} tasks and {edges} "
            "edges; allowed: 0, see its n_tasks"
        )
    if wrong := _wrong(arrays):
        raise PluginError(f"{where}: its rule makes {wrong}")
    n, n_edges = arrays["size"].tolist()
    again = _made(model, where, n, n_edges)[1]
    sizes = {"gflop": n, "size": 2, "source": n_edges, "target": n_edges, "bytes": n_edges}
    if not all(np.array_equal(arrays[name][:size], again[name][:size]) for name, size in sizes.items()):
        raise PluginError(f"{where}: its rule makes another graph of the same arguments and room for just that one")
    for less_tasks, less_edges in ((n - 1, n_edges), (n, n_edges - 1)):
        if less_edges >= 0 and (status := _made(model, where, less_tasks, less_edges)[0]) != NO_ROOM:
            raise PluginError(
                f"{where}: its rule answers {status} to room for {less_tasks} tasks and {less_edges} edges; "
                f"allowed: {NO_ROOM}, since it makes {n} and {n_edges}"
            )


def _room(model: GraphModel, where: str) -> tuple[int, int]:
    try:
        answer = model.n_tasks(_TASKS, _CORES)
    except InputError:
        raise
    except RAISED_BY_PLUGINS as error:
        raise PluginError(
            f"{where}: n_tasks raises {type(error).__name__} {error}; allowed: an answer{where_raised(error)}"
        ) from None
    if (
        not isinstance(answer, tuple)
        or len(answer) != 2
        or any(isinstance(number, bool) or not isinstance(number, (int, np.integer)) for number in answer)
        or answer[0] < 1
        or answer[1] < 0
    ):
        raise PluginError(
            f"{where}: n_tasks answers {shown(answer)}; allowed: a number of tasks, at least 1, and one of edges"
        )
    return int(answer[0]), int(answer[1])


def _made(model: GraphModel, where: str, tasks: int, edges: int) -> tuple[int, dict[str, Array]]:
    # The status and the arrays of the rule with this much room.
    room = {"gflop": np.zeros(tasks), "bytes": np.zeros(edges), "size": np.zeros(2, np.int64)}
    room |= {end: np.zeros(edges, np.int64) for end in ("source", "target")}
    fences = Fences(where, params=model.params, **room)
    arrays = fences.arrays
    keys, cursor, words = new_stream(0, 0, GRAPHS)
    with rule_answers(where):
        draft = GraphDraft(n_tasks=_TASKS, n_cores=_CORES, keys=keys, cursor=cursor, words=words, **arrays)
        status = model.make(draft)
    fences.check()
    if not np.array_equal(arrays["params"], model.params, equal_nan=True):
        raise PluginError(f"{where}: its rule writes to params, which are to be read only")
    return int(status), arrays


def _wrong(arrays: dict[str, Array]) -> str:
    # Describe the first fault of the graph; empty: none.
    n, n_edges = arrays["size"].tolist()
    if not 1 <= n <= len(arrays["gflop"]) or not 0 <= n_edges <= len(arrays["source"]):
        return f"{n} tasks and {n_edges} edges; allowed: as many as there is room for, at least one task"
    for k, weight in enumerate(arrays["gflop"][:n].tolist()):
        if not 0.0 < weight < np.inf:
            return f"task {k} of the weight {weight}; allowed: above 0, finite"
    before = (-1, -1)
    for e in range(n_edges):
        edge = int(arrays["source"][e]), int(arrays["target"][e])
        if not 0 <= edge[0] < edge[1] < n:
            return f"edge {e} from task {edge[0]} to {edge[1]} of {n}; allowed: from a task to one of a higher number"
        if edge <= before:
            last = f"{before[0]} to {before[1]}"
            return f"edge {e} from task {edge[0]} to {edge[1]} after the edge from {last}; allowed: sorted, none twice"
        if not 0.0 < arrays["bytes"][e] < np.inf:
            return f"edge {e} of the weight {arrays['bytes'][e]}; allowed: above 0, finite"
        before = edge
    return ""
