"""What there is to say of a run's application map, for people to read."""

from __future__ import annotations

from als.options import APPLICATIONS
from bridge.scenarios.application_map import DEFAULT
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import listed


def unmatched_words(scenario: ReadyScenario) -> str:
    """Name the applications of the map that no job has; empty if every application has a job, or there is no map."""
    level = scenario.options.application
    if level.map is None or scenario.programs is None:
        return ""
    counts = level.map.counts(scenario.program)
    without = [name for name, jobs in counts.items() if not jobs and name != DEFAULT]
    if not without:
        return ""
    every = "; all jobs run the default" if len(without) == len(counts) - 1 else ""
    return f"{APPLICATIONS}: no job matches {listed(without)}{every}"
