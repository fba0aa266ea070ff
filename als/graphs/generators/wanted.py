"""How large a graph is, and what generators write alike."""

from __future__ import annotations

from als.graphs.contract import GraphDraft
from traces.compiled import compiled


def wanted_tasks(own: int, n_tasks: int, n_cores: int) -> int:
    """How many tasks are wanted: the generator's ``own`` number, else the job's, else one a core; 0 stands for none given."""
    if own > 0:
        return own
    return n_tasks if n_tasks > 0 else n_cores


_wanted = compiled(inner=True)(wanted_tasks)


@compiled(inner=True)
def wanted(own: int, draft: GraphDraft) -> int:
    """As :func:`wanted_tasks`, for a rule."""
    return int(_wanted(own, draft.n_tasks, draft.n_cores))


@compiled(inner=True)
def fits(draft: GraphDraft, n: int, n_edges: int) -> bool:
    """Say the size of the graph; returns whether there is room for it."""
    draft.size[0], draft.size[1] = n, n_edges
    return n <= draft.gflop.size and n_edges <= draft.source.size


@compiled(inner=True)
def equal_weights(draft: GraphDraft, n: int, n_edges: int) -> None:
    """Let all tasks weigh the same, and all edges."""
    draft.gflop[:n] = 1.0
    draft.bytes[:n_edges] = 1.0
