"""Parts that are task graphs: how they begin, and how their requests are served."""

from __future__ import annotations

from als.engine.dag.events import serve_graph
from als.engine.dag.setup import open_graph
from als.engine.hooks import HOOK
from als.engine.state import ApplicationState
from traces.compiled import compiled

__all__ = ["open_part", "serve_part"]


@compiled(HOOK)
def open_part(state: ApplicationState, t: int, _speed: float) -> int:
    """The part that is due begins at ``t``."""
    open_graph(state, t)
    return 0


@compiled(HOOK)
def serve_part(state: ApplicationState, until_ns: int, _speed: float) -> int:
    """Serve every request of the present part that arrives before ``until_ns``; returns why it stopped."""
    return int(serve_graph(state, until_ns))
