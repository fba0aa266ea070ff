"""Declaration of jobs that wait for other jobs."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

DEPENDENCIES = Feature(
    lambda run: "dependencies" in run.given.state,
    on={h.ENDED: "bls.engine.features.dependencies.dependencies:let_children_come"},
    overtakes=True,
    sizes=lambda run: {"arriving": 2 * run.jobs},
)
