"""Declaration of jobs that wait for few switches."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, RunColumns


def _longest_wait(run: RunColumns) -> dict[str, int]:
    wait_ns = run.chosen.rules.waits_for_switches_ns
    return {} if wait_ns is None or not run.chosen.asks("switches") else {"switch_wait_ns": wait_ns}


SWITCHES = Feature(
    lambda run: run.settings.switch_wait_ns < b.NEVER,
    given=_longest_wait,
    on={h.ARRIVED: "bls.engine.features.switches.switches:wait_for_switches"},
    sizes=lambda run: {"arriving": 2 * run.jobs},
    overtakes=True,
)
