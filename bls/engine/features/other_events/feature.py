"""Declaration of cancellations, windows, dependent arrivals and wake-ups."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.other_events.state import OtherEvents
from bls.engine.status import BatchStatus


def _have_others(run: FeatureRun) -> bool:
    settings, given = run.settings, run.given.state
    waits = settings.keeps_reservations == 1 or settings.order == b.DECIDED  # a pass at another instant
    others = run.has("cancels") or "windows" in given or "dependencies" in given
    return waits or others or settings.switch_wait_ns < b.NEVER


def _cancellations(run: FeatureRun) -> dict[str, OtherEvents]:
    cancel_ns = run.given.jobs.cancel_ns
    cancels = np.flatnonzero(cancel_ns < b.NEVER)
    return {"other_events": OtherEvents.new(run.sizes, cancels=cancels[np.lexsort((cancels, cancel_ns[cancels]))])}


OTHERS = Feature(
    _have_others,
    state=_cancellations,
    on={h.NEXT: f"{__package__}.other_events:next_other", h.INSTANT: f"{__package__}.other_events:others"},
    grow={BatchStatus.ROWS_FULL: lambda state: (state.other_events.arriving, 32)},
    heaps=lambda state: {"later arrivals": (state.other_events.arriving, b.WAKE_UP_KEY + state.n_rows)},
    deals=lambda state: ("cuts",) if state.other_events.cancels.size else (),
)
