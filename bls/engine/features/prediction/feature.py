"""Declarations of predicted run times and power draws, and of ends that applications promise."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.state import BatchState

_HERE = "bls.engine.features.prediction"


def _all_estimated(state: BatchState) -> None:
    state.prediction.n_rows = state.n_rows


PREDICTS = Feature(
    lambda run: run.has("prediction") or len(run.given.state["power"].seen) > 0,
    begin=_all_estimated,
    on={
        h.ENDED: f"{_HERE}.prediction:learn",
        h.INSTANT: f"{_HERE}.prediction:predict_again",
        h.ARRIVED: f"{_HERE}.prediction:predict",
    },
)

PROMISES = Feature(
    on={h.END_KNOWN: f"{_HERE}.promises:use_known_end"},
    deals=lambda state: ("promises", "awaits_outcomes"),
)
