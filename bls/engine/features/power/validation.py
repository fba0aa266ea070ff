"""Invariants of power limits: the power that a plan has left, and the planned run times of jobs under a limit."""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.checks import BatchChecks
from bls.engine.cores import intervals_of
from bls.engine.features.power.draws import planned_more_mw
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array


def check_power_left(checks: BatchChecks, reserved: tuple[Array, Array], held: tuple[Array, Array]) -> None:
    """Check the power that is left now of the limit that is known, or of full power, of the machine and of each domain.

    By what the jobs that hold cores are planned with, and those whose kept reservations have begun; ``reserved`` and ``held``
    have the row of each core, and the core.
    """
    state, profile = checks.state, checks.state.cores_profile
    planned = (checks.jobs.expected_end_ns > state.now_ns) | (checks.settings.plans == 0)
    there = np.where(checks.holds, planned, checks.jobs.slot_ns <= state.now_ns)
    owner, cores_of = (np.concatenate(pair) for pair in zip(held, reserved, strict=True))
    owner, cores_of = owner[there[owner]], cores_of[there[owner]]
    for domain in range(len(state.domains.limit_mw)):
        left = int(profile.now.amounts[checks.settings.power_amount + domain])
        what = "a part's power" if domain else "power"
        checks.count(f"mW that are left of {what}", left, _power_left(checks, owner, cores_of, domain))


def planned_ns(checks: BatchChecks, rows: Array) -> Array:
    """For how long jobs that wait are planned to run: longer, rounded up, where that is at a slower state."""
    state, jobs, powered = checks.state, checks.state.jobs, checks.settings.powered
    estimate: Array = jobs.estimate_ns[rows]
    if powered <= b.HOLD:
        return estimate
    planned = state.power.planned[jobs.origin[rows]]
    if powered == b.LEVELS:
        levels = state.domains.covers[jobs.partition[rows]] * state.domains.level
        planned = np.minimum(planned, levels.max(axis=1))
    if len(state.power.kind):
        planned = planned + state.power.kind[jobs.origin[rows]] * state.power.states
    speed = state.power.speed.min(axis=1)[planned].tolist()
    longer = [min(-(-ns * WHOLE // one), max(ns, MAX_NS)) for ns, one in zip(estimate.tolist(), speed, strict=True)]
    return np.array(longer, np.int64)


def _power_left(checks: BatchChecks, owner: Array, cores: Array, domain: int) -> int:
    # What jobs leave of the limit of a domain, or of its full power, with these cores.
    power, domains = checks.state.power, checks.state.domains
    within, parts = np.zeros(checks.n_cores, np.bool_), slice(*domains.first[domain : domain + 2])
    within[intervals_of(domains.lo[parts], domains.hi[parts] - domains.lo[parts])] = True
    group = np.searchsorted(power.first_core, np.arange(checks.n_cores), side="right") - 1
    full = power.more_mw[:: power.states].max(axis=0)[group[within]].sum()
    left = min(int(full), int(domains.limit_mw[domain] - domains.idle_mw[domain]))
    owner, cores = owner[within[cores]], cores[within[cores]]
    for row in np.unique(owner).tolist():
        left -= int(planned_more_mw(checks.state, row)[group[cores[owner == row]]].sum())
    return left
