"""Declaration of jobs that run from the start."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

_HERE = "bls.engine.features.presets"

PRESETS = Feature(("presets",), on={h.BEFORE_PASS: f"{_HERE}.presets:start_presets"})
