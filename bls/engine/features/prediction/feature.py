"""Declarations of predicted run times and power draws, and of ends that applications promise."""

from typing import Any

import numpy as np

from bls.engine import hooks as h
from bls.engine.feature import Feature, RunColumns
from bls.engine.state import BatchState
from bls.estimates import HistoryEstimator, check_predicts, estimator, groups


def _history(run: RunColumns) -> dict[str, dict[str, Any]]:
    # The history from which estimates are predicted.
    chosen, found = run.chosen, estimator(run.chosen.rules.estimates)
    if not isinstance(found, HistoryEstimator):
        return {}
    check_predicts(found, chosen.workload, chosen.constraints.requests)
    group, n_groups = groups(found, chosen.workload, chosen.constraints.requests)
    least = np.full(len(found.levels), found.least)
    # The last row of the history counts the predictions.
    history = np.zeros((n_groups + 1, 1 + found.mean_of), np.int64)
    return {"prediction": {"group": group, "least": least, "runs": history, "shortest_ns": found.shortest_ns}}


def _all_estimated(state: BatchState) -> None:
    state.prediction.n_rows = state.n_rows


PREDICTS = Feature(
    lambda run: run.has("prediction") or len(run.given.state["power"].seen) > 0,
    given=_history,
    begin=_all_estimated,
    on={
        h.ENDED: f"{__package__}.prediction:learn",
        h.INSTANT: f"{__package__}.prediction:predict_again",
        h.ARRIVED: f"{__package__}.prediction:predict",
    },
)

PROMISES = Feature(
    given=lambda run: {"promises": 1},
    on={h.END_KNOWN: f"{__package__}.promises:use_known_end"},
    deals=lambda state: ("promises", "awaits_outcomes"),
)
