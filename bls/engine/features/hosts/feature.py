"""Declarations of hosts that go down, are drained, and of jobs that are tried again."""

from __future__ import annotations

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun

_HERE = "bls.engine.features.hosts"


def _have_outages(run: FeatureRun) -> bool:
    return len(run.given.state["outage_first"]) > 1


OUTAGES = Feature(
    _have_outages,
    on={h.NEXT: f"{_HERE}.host_events:next_host_event", h.INSTANT: f"{_HERE}.host_events:handle_host_events"},
)

DRAINS = Feature(
    lambda run: run.settings.releases == b.BY_DRAIN,
    on={h.HOST: f"{_HERE}.host_events:move_cores"},
)

RETRIES = Feature(
    lambda run: _have_outages(run) or run.settings.loses or run.settings.directs & b.CUTS,
    plays={h.RETRY: f"{_HERE}.host_events:again"},
)
