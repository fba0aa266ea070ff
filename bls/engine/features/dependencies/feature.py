"""Declaration of jobs that wait for other jobs."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

_HERE = "bls.engine.features.dependencies"

DEPENDENCIES = Feature(
    ("child_first",),
    on={h.GONE: f"{_HERE}.dependencies:let_children_come"},
    sizes=lambda run: {"arriving": 2 * run.jobs},
)
