"""Declaration of commands of a policy to running jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

DIRECTS = Feature(
    lambda run: run.settings.directs & (b.SCALES | b.CUTS),
    on={h.AFTER_PASS: "bls.engine.features.directions.directed:direct_running"},
    deals=lambda state: ("directs", "cuts", "awaits_outcomes") + ("scales",) * (state.settings.directs & b.SCALES > 0),
    sizes=lambda run: {"directed": 5 * run.cores, "scaled": run.cores, "scaling": run.jobs},
    commands=3,  # one per core, one for all cores, one for the end
)
