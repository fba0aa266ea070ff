"""Declaration of parts of the machine with their own power limits."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

_HERE = "bls.engine.features.domains"

PARTS = Feature(plays={h.OFFER: f"{_HERE}.offers:offer_of_parts"}, power=f"{_HERE}.power:FACTS")
