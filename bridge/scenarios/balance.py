"""What is said where jobs have one task per core, so that no technique can balance tasks of different lengths."""

from __future__ import annotations

from collections.abc import Iterable

from als.lengths import lengths
from als.options import TASKS_PER_CORE
from bridge.scenarios.scenario import Scenario


def balance_words(options: Iterable[Scenario]) -> str:
    """What techniques cannot balance, as jobs have one task per core; empty if they have more, or tasks of equal length.

    Parameters
    ----------
    options : iterable of Scenario
        Of the runs.
    """
    for one in (scenario.application for scenario in options):
        if not one.simulated or one.tasks_per_core > 1 or one.map is not None:
            continue
        model = lengths(one.lengths, variation=one.variation)
        if model.count is not None or model.cov == 0.0:
            continue
        which = f"with one task per core ({TASKS_PER_CORE:1})"
        if model.fills:
            return (
                f"{which} and the paper's draw, a job has as many tasks as cores or a few more: a technique only decides "
                f"which cores compute these, and balances nothing else; {TASKS_PER_CORE:8} gives it a choice"
            )
        return (
            f"{which}, no technique can balance tasks of different lengths: a job lasts at least as long as its longest task; "
            f"{TASKS_PER_CORE:8} gives techniques a choice"
        )
    return ""
