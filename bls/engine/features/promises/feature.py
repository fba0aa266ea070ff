"""Declaration of ends that applications promise."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

_HERE = "bls.engine.features.promises"

PROMISES = Feature(("promises",), on={h.END_KNOWN: f"{_HERE}.promises:use_known_end"})
