"""What is to be said before a run of limits to its machine's power."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.scenarios.scenario import Scenario

__all__ = ["power_words"]


def power_words(scenario: Scenario) -> str:
    """That a limit is below what the idle machine draws, so that it cannot be kept; empty where none is."""
    plan = scenario.power
    if plan is None or plan.fallback == "stop:off":
        return ""
    idle_mw = plan.table.idle_total_mw
    below = [one for one in plan.limits.limits if one.power_mw < idle_mw]
    if not below:
        return ""
    lowest = min(one.power_mw for one in below)
    which = f"{len(below)} of {len(plan.limits.limits)} cannot be kept"
    return f"--limits: {which}: the idle machine draws {idle_mw / 1000:g} W, and the lowest is {lowest / 1000:g} W"
