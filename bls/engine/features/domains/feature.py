"""Declaration of parts of the machine with their own power limits."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

PARTS = Feature(
    lambda run: len(run.given.state["domains"].limit_mw) > 1,
    plays={h.OFFER: "bls.engine.features.domains.offers:offer_of_domains"},
)
