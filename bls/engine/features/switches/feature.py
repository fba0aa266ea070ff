"""Declaration of jobs that wait for few switches."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

SWITCHES = Feature(
    on={h.ARRIVED: "bls.engine.features.switches.switches:wait_for_switches"},
    sizes=lambda run: {"arriving": 2 * run.jobs},
    overtakes=True,
)
