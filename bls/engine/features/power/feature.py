"""Declarations of power limits: waiting jobs, slowed jobs and stopped hosts."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun

_HERE = "bls.engine.features.power"


def _stairs(run: FeatureRun) -> dict[str, int]:
    # Equal numbers of steps become known and end at an instant. If decisions take time, several such instants may pass
    # without a pass that could make room.
    steps = np.diff(run.given.state["power"].first, axis=1).sum(axis=0)
    return {"steps": 2 * int(steps.sum() if run.settings.charges_decisions else steps.max(initial=0))}


def _first_limit(run: FeatureRun) -> dict[str, int]:
    return {"power_at_ns": int(run.given.state["power"].ns[0])}


def _out_of_service(state: b.BatchState) -> str:
    stopped = int(state.n_stopped)
    hosts = "hosts are" if stopped > 1 else "host is"
    there = stopped > 0 and state.settings.order != b.DECIDED  # a deciding policy could start other jobs
    return f"{stopped} {hosts} out of service under a power limit that never ends" if there else ""


LIMITS = Feature(
    ("power",),
    lambda run: not run.has("stops"),
    on={h.NEXT: f"{_HERE}.limits:next_change", h.INSTANT: f"{_HERE}.limits:change_limits"},
    settings=_stairs,
    state=_first_limit,
)

STOPS = Feature(
    ("stops",),
    on={
        h.NEXT: f"{_HERE}.limits:next_change",
        h.HOST: f"{_HERE}.stops:stop_hosts",
        h.INSTANT: f"{_HERE}.stops:stop_hosts",
    },
    settings=lambda run: {"host_log_room": 2 * run.hosts} | _stairs(run),
    state=_first_limit,
    stuck=_out_of_service,
    check=f"{_HERE}.stops:check_stops",
)

EASY = Feature(
    ("powered",),
    lambda run: run.settings.order in (b.STATIC, b.SCORED) and not run.settings.by_cores,
    plays={h.PLAN: f"{_HERE}.easy:plan_with_power"},
)

PARTS = Feature(
    ("domains",),
    lambda run: len(run.given.state["domains"].limit_mw) > 1,
    plays={h.OFFER: f"{_HERE}.limits:offer_of_domains"},
)

SLOWS = Feature(
    ("powered",),
    lambda run: run.settings.powered > b.HOLD,
    on={h.AFTER_PASS: f"{_HERE}.slowing:set_states"},
    deals=lambda state: ("scales", "directs", "cuts", "awaits_outcomes"),
    sizes=lambda run: {"directed": 3 * run.cores, "scaled": run.cores, "scaling": run.jobs},
    commands=2,
)
