"""Declaration of further attempts of jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

RETRIES = Feature(
    ("outages", "loses", "directs"),
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    plays={h.RETRY: "bls.engine.features.retries.retries:again"},
)
