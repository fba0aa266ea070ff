"""Task graphs whose width changes: what is behind the hooks of ``als.engine.hooks``."""

from __future__ import annotations

from als.engine.dag.widths import leave_as_served, resize_in_graph
from als.engine.hooks import HOOK
from als.engine.state import ApplicationState
from traces.compiled import compiled

__all__ = ["leave_part", "resize_part"]


@compiled(HOOK)
def resize_part(state: ApplicationState, t: int, _speed: float) -> int:
    """Cores have come, or are to leave, at ``t``."""
    resize_in_graph(state, t)
    return 0


@compiled(HOOK)
def leave_part(state: ApplicationState, t: int, core: float) -> int:
    """A core that is to leave is served at ``t``; returns whether (1 or 0) it leaves."""
    return 1 if leave_as_served(state, int(core), t) else 0
