"""Declaration of jobs that wait for other jobs."""

from bls.engine import hooks as h
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.dependencies.state import DependencyState


def _children(run: FeatureRun) -> dict[str, DependencyState]:
    given = run.given.others["dependencies"]
    return {"dependencies": DependencyState.new({"children": len(given["unmet"])}, **given)}


DEPENDENCIES = Feature(
    ("dependencies",),
    on={h.ENDED: "bls.engine.features.dependencies.dependencies:let_children_come"},
    overtakes=True,
    state=_children,
    sizes=lambda run: {"arriving": 2 * run.jobs},
)
