"""What is said where phases of applications say for how many cores they wish, and nobody hears it, or the other way round."""

from __future__ import annotations

from bls.options import RESIZE
from bridge.scenarios.ready import ReadyScenario


def wish_words(scenario: ReadyScenario) -> str:
    """That wishes are not heard, or that there are none; empty if all is as it should be."""
    wishes = any(any(program.wishes) for program in scenario.applications)
    evolves = scenario.options.batch.evolves
    if wishes and not evolves:
        return f"applications wish for cores, and nobody hears it: {RESIZE:evolve} does"
    if evolves and not wishes:
        return f"{RESIZE:evolve}: no phase of an application says for how many cores it wishes"
    return ""
