"""Declarations of what happens to jobs as they come and wait."""

from __future__ import annotations

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun

_HERE = "bls.engine.features.queue"


def _have_switches(run: FeatureRun) -> bool:
    return run.settings.switch_wait_ns < b.NEVER


def _have_others(run: FeatureRun) -> bool:
    waits = run.settings.keeps_reservations == 1 or run.settings.order == b.DECIDED  # a pass at another instant
    withdrawn = (run.given.jobs["cancel_ns"] < b.NEVER).any()
    return bool(waits or withdrawn or run.has("windows") or run.has("child_first") or _have_switches(run))


OTHERS = Feature(
    _have_others, on={h.NEXT: f"{_HERE}.other_events:next_other", h.INSTANT: f"{_HERE}.other_events:others"}
)

DEPENDENCIES = Feature(
    lambda run: run.has("child_first"),
    on={h.GONE: f"{_HERE}.other_events:let_children_come"},
    sizes=lambda run: {"arriving": 2 * run.jobs},
)

SWITCHES = Feature(_have_switches, on={h.ARRIVED: f"{_HERE}.other_events:wait_for_switches"}, sizes=DEPENDENCIES.sizes)

PREDICTS = Feature(
    lambda run: run.has("history_least") or (run.has("power") and len(run.given.state["power"].seen) > 0),
    on={
        h.ENDED: f"{_HERE}.prediction:learn",
        h.ENDS_DONE: f"{_HERE}.prediction:predict_again",
        h.ARRIVED: f"{_HERE}.prediction:predict",
    },
)

PRESETS = Feature(lambda run: run.given.jobs["preset"].any(), on={h.BEFORE_PASS: f"{_HERE}.other_events:start_presets"})
