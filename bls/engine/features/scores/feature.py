"""Declarations of orders by scores, of accounts of policies, and of a policy that rejects all jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.scores"

SCORES = Feature(
    lambda run: run.settings.order == b.SCORED,
    plays={h.ORDER: f"{_HERE}.orders:put_in_order"},
    sizes=lambda run: {"scored": run.jobs},
)

ACCOUNTS = Feature(
    lambda run: run.given.chosen.accounts,
    on=dict.fromkeys((h.TAKEN, h.STARTED, h.FREED), f"{_HERE}.orders:keep_account"),
)

TURNS_AWAY = Feature(lambda run: run.settings.order == b.REJECTED, plays={h.PLAN: f"{_HERE}.orders:turn_away"})
