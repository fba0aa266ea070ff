"""Declarations of orders by scores, of accounts of policies, and of a policy that rejects all jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

SCORES = Feature(
    lambda run: run.settings.order == b.SCORED,
    plays={h.ORDER: f"{__package__}.orders:put_in_order"},
    sizes=lambda run: {"scored": run.jobs},
)

ACCOUNTS = Feature(on=dict.fromkeys((h.TAKEN, h.STARTED, h.FREED), f"{__package__}.orders:keep_account"))

TURNS_AWAY = Feature(lambda run: run.settings.order == b.REJECTED, plays={h.PLAN: f"{__package__}.orders:turn_away"})
