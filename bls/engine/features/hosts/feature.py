"""Declarations of outages and drains of hosts, and of further attempts of jobs."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.hosts"


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

DRAINS = Feature(
    ("releases",), lambda run: run.settings.releases == b.BY_DRAIN, on={h.HOST: f"{_HERE}.host_events:move_cores"}
)

RETRIES = Feature(
    ("outages", "loses", "directs"),
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    plays={h.MAY_RETRY: f"{_HERE}.host_events:may_retry", h.RETRY: f"{_HERE}.host_events:again"},
    deals=lambda state: ("loses",) if state.settings.loses else (),
)
