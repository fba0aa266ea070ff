"""Declarations of orders by scores, of accounts of policies, and of a policy that rejects all jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.scores.state import ScoreState

_HERE = "bls.engine.features.scores"


def _columns(run: FeatureRun) -> dict[str, ScoreState]:
    numbers, memory = run.given.others["numbers"], run.given.others["memory"]
    sizes = {"numbers": numbers.shape[0], "numbered": numbers.shape[1], "memory": len(memory)}
    return {"scores": ScoreState.new(run.sizes | sizes, numbers=numbers, memory=memory)}


SCORES = Feature(
    ("order",),
    lambda run: run.settings.order == b.SCORED,
    plays={h.ORDER: f"{_HERE}.orders:put_in_order"},
    sizes=lambda run: {"scored": run.jobs},
    state=_columns,
)

ACCOUNTS = Feature(("accounts",), on=dict.fromkeys((h.TAKEN, h.STARTED, h.FREED), f"{_HERE}.orders:keep_account"))

TURNS_AWAY = Feature(
    ("order",), lambda run: run.settings.order == b.REJECTED, plays={h.PLAN: f"{_HERE}.orders:turn_away"}
)
