"""Declaration of jobs that run from the start."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

PRESETS = Feature(on={h.BEFORE_PASS: "bls.engine.features.presets.presets:start_presets"}, overtakes=True)
