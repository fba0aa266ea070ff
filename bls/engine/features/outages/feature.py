"""Declaration of hosts that fail or are in maintenance."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.outages"


def _next_outages(state: b.BatchState) -> None:
    status, first = state.host_status, state.outage_first[:-1]
    down = np.flatnonzero(first < state.outage_first[1:])
    status.next_outage[:] = first
    status.next_down_ns[down] = state.outage_down[first[down]]
    state.host_events.refill(status.next_down_ns[down], len(first) + down)


OUTAGES = Feature(
    ("outages",),
    begin=_next_outages,
    on={h.NEXT: f"{_HERE}.host_events:next_host_event", h.INSTANT: f"{_HERE}.host_events:handle_host_events"},
    deals=lambda state: ("cuts",),
)
