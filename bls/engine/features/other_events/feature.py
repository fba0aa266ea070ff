"""Declaration of cancellations, windows, dependent arrivals and wake-ups."""

from typing import Any

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun, RunColumns
from bls.engine.features.other_events.state import OtherEvents
from traces.compiled import own


def _windows(run: RunColumns) -> dict[str, Any]:
    windows = run.chosen.constraints.windows
    if windows is None or not len(windows):
        return {}
    of_jobs = windows.of_jobs(run.chosen.workload)
    # A job of an advance reservation is cancelled or cut at its end.
    cancel_ns = np.minimum(run.jobs.cancel_ns, np.where(of_jobs < 0, b.NEVER, windows.end_ns[of_jobs]))
    begin_ns, end_ns = (own(column, np.int64) for column in (windows.begin_ns, windows.end_ns))
    columns = b.WindowColumns(begin_ns=begin_ns, end_ns=end_ns)
    return {"windows": columns, "jobs": {"window": of_jobs, "cancel_ns": cancel_ns}}


def _have_others(run: FeatureRun) -> bool:
    settings, given = run.settings, run.given.state
    waits = settings.keeps_reservations == 1 or settings.order == b.DECIDED  # a pass at another instant
    return waits or run.has("cancels") or run.has("switch_wait_ns") or "windows" in given or "dependencies" in given


def _cancellations(run: FeatureRun) -> dict[str, OtherEvents]:
    cancel_ns = run.given.jobs.cancel_ns
    cancels = np.flatnonzero(cancel_ns < b.NEVER)
    return {"other_events": OtherEvents.new(run.sizes, cancels=cancels[np.lexsort((cancels, cancel_ns[cancels]))])}


OTHERS = Feature(
    _have_others,
    given=_windows,
    state=_cancellations,
    on={h.NEXT: f"{__package__}.other_events:next_other", h.INSTANT: f"{__package__}.other_events:others"},
    deals=lambda state: ("cuts",) if state.other_events.cancels.size else (),
)
