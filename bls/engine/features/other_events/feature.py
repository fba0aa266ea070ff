"""Declaration of cancellations, windows, dependent arrivals and wake-ups."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun

_HERE = "bls.engine.features.other_events"


def _have_others(run: FeatureRun) -> bool:
    waits = run.settings.keeps_reservations == 1 or run.settings.order == b.DECIDED  # a pass at another instant
    return waits or any(map(run.has, _OTHERS))


_OTHERS = ("cancels", "windows", "child_first", "switch_wait_ns")

OTHERS = Feature(
    (*_OTHERS, "keeps_reservations", "order"),
    _have_others,
    on={h.NEXT: f"{_HERE}.other_events:next_other", h.INSTANT: f"{_HERE}.other_events:others"},
    deals=lambda state: ("cuts",) if state.cancel_order.size else (),
)
