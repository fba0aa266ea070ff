"""Changes in the middle of a task graph: a core gets another speed, is lost, comes; the application is stopped."""

from __future__ import annotations

from als.engine.dag.changes import change_speed_in_graph, stop_in_graph
from als.engine.hooks import HOOK
from als.engine.state import ApplicationState
from traces.compiled import compiled

__all__ = ["change_speed", "stop_part"]


@compiled(HOOK)
def change_speed(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """From now on core ``c`` runs at this speed."""
    return int(change_speed_in_graph(state, c, speed_gflops))


@compiled(HOOK)
def stop_part(state: ApplicationState, _c: int, _speed: float) -> int:
    """End the part now; returns whether (1 or 0) there was nothing to cut."""
    return 1 if stop_in_graph(state) else 0
