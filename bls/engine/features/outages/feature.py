"""Declaration of hosts that fail or are in maintenance."""

from typing import Any

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.outages.state import OutageState
from traces.compiled import own

_HERE = "bls.engine.features.outages"


def _lists(run: FeatureRun) -> dict[str, Any]:
    return {
        "outages": OutageState.new(
            run.sizes, **{k: own(one, np.int64) for k, one in run.given.others["outages"].items()}
        )
    }


def _next_outages(state: b.BatchState) -> None:
    outages, first = state.outages, state.outages.first[:-1]
    down = np.flatnonzero(first < outages.first[1:])
    outages.next_outage[:] = first
    outages.next_down_ns[down] = outages.down_ns[first[down]]
    outages.events.refill(outages.next_down_ns[down], len(first) + down)


OUTAGES = Feature(
    ("outages",),
    sizes=lambda run: {"outages": len(run.given.others["outages"]["first"]) - 1},
    state=_lists,
    begin=_next_outages,
    on={h.NEXT: f"{_HERE}.host_events:next_host_event", h.INSTANT: f"{_HERE}.host_events:handle_host_events"},
    deals=lambda state: ("cuts",),
)
