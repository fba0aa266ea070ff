"""Declaration of hosts that fail or are in maintenance."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature


def _next_outages(state: b.BatchState) -> None:
    outages, first = state.outages, state.outages.first[:-1]
    down = np.flatnonzero(first < outages.first[1:])
    outages.next_outage[:] = first
    outages.next_down_ns[down] = outages.down_ns[first[down]]
    outages.events.refill(outages.next_down_ns[down], len(first) + down)


OUTAGES = Feature(
    sizes=lambda run: {"outages": len(run.given.state["outages"]["first"]) - 1},
    begin=_next_outages,
    on={
        h.NEXT: f"{__package__}.host_events:next_host_event",
        h.INSTANT: f"{__package__}.host_events:handle_host_events",
        h.STOP_SET: f"{__package__}.host_events:stop_at_outage",
    },
    heaps=lambda state: {"events of hosts": (state.outages.events, 2 * len(state.outages.next_outage))},
    deals=lambda state: ("cuts",),
)
