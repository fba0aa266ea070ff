"""Declarations of predicted run times and power draws, and of ends that applications promise."""

from bls.engine import hooks as h
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.prediction.state import PredictionState
from bls.engine.state import BatchState

_HERE = "bls.engine.features.prediction"


def _history(run: FeatureRun) -> dict[str, PredictionState]:
    if not run.has("prediction"):
        return {}
    given = run.given.others["prediction"]
    return {
        "prediction": PredictionState.new(dict(zip(("groups", "history"), given["runs"].shape, strict=True)), **given)
    }


def _all_estimated(state: BatchState) -> None:
    state.prediction.n_rows = state.n_rows


PREDICTS = Feature(
    ("prediction", "power"),
    lambda run: run.has("prediction") or len(run.given.state["power"].seen) > 0,
    state=_history,
    begin=_all_estimated,
    on={
        h.ENDED: f"{_HERE}.prediction:learn",
        h.INSTANT: f"{_HERE}.prediction:predict_again",
        h.ARRIVED: f"{_HERE}.prediction:predict",
    },
)

PROMISES = Feature(
    ("promises",),
    on={h.END_KNOWN: f"{_HERE}.promises:use_known_end"},
    deals=lambda state: ("promises", "awaits_outcomes"),
)
