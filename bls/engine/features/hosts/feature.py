"""Declarations of hosts that go down, are drained, and of jobs that are tried again."""

from __future__ import annotations

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.hosts"


OUTAGES = Feature(
    ("outages",),
    on={h.NEXT: f"{_HERE}.host_events:next_host_event", h.INSTANT: f"{_HERE}.host_events:handle_host_events"},
)

DRAINS = Feature(
    ("releases",),
    lambda run: run.settings.releases == b.BY_DRAIN,
    on={h.HOST: f"{_HERE}.host_events:move_cores"},
)

RETRIES = Feature(
    ("outages", "loses", "directs"),
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    plays={h.RETRY: f"{_HERE}.host_events:again"},
)
