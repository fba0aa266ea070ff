"""Declaration of parts of the machine with their own power limits."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

PARTS = Feature(plays={h.OFFER: f"{__package__}.offers:offer_of_parts"}, power=f"{__package__}.power:FACTS")
