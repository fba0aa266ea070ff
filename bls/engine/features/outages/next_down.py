"""The next outages of hosts, as they are known in advance to the engine."""

from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def next_down_ns(state: BatchState, host: int) -> int:
    """The instant at which a host next goes down, by failure or for maintenance."""
    next_down = state.outages.next_down_ns
    return int(min(next_down[host], next_down[state.host_first.size - 1 + host]))
