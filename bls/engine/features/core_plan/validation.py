"""Invariants of the profile of cores and of its remaining power."""

import numpy as np

from bls.engine import state as b
from bls.engine.features.draws.draws import planned_more_mw
from bls.engine.validation import BatchChecks
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array
from traces.intervals import intervals_of


def check_core_profile(checks: BatchChecks) -> None:
    """Check that the changes at each slice lead from the previous slice's free cores to its own."""
    jobs, what = checks.jobs, "keeps a reservation that names no cores"
    kept, pool, used = checks.kept, checks.state.kept, checks.state.kept_used
    reserved = checks.in_pool(pool, used, kept, jobs.plan_first, jobs.plan_count, what)
    held = checks.owner, checks.held_cores
    state, profile = checks.state, checks.state.cores_profile
    slices, counts = profile.n_slices, np.bincount(reserved[0], minlength=state.n_rows)[kept]
    checks.check_slices(profile.ns[:slices], profile.free[:slices], counts, planned_ns(checks, kept))
    free = checks.numbers_in(profile.now.words, state.free_starts, "profile")
    seen = np.zeros(len(profile.lo), np.bool_)
    for k in range(slices):
        change, chain = int(profile.first[k]), list[int]()
        while change >= 0:
            if seen[change]:
                where = f"is in two slices, or follows itself after {chain[-1:]}"
                checks.fault(f"change {change} of the profile {where}")
            seen[change] = True
            chain.append(change)
            change = int(profile.after[change])
        lo, hi, amount = (column[chain] for column in (profile.lo, profile.hi, profile.amount))
        step, cores = profile.free[k] - profile.free[k - 1], int((amount * (hi - lo))[hi > lo].sum())
        if k and cores != step:
            checks.fault(f"at {profile.ns[k]} ns the profile has {step} more free cores, and changes of {cores}")
        for given, word in ((True, "given back that is free"), (False, "taken that is not free")):
            for at in np.flatnonzero((hi > lo) & ((amount > 0) == given)).tolist():
                here = free[lo[at] : hi[at]]
                if np.any(here == given):
                    core = lo[at] + int(np.argmax(here == given))
                    checks.fault(f"at {profile.ns[k]} ns core {core} is {word}, by the profile")
                here[:] = given
        if free.sum() != profile.free[k]:
            checks.fault(f"the profile has {profile.free[k]} free cores at {profile.ns[k]} ns; {free.sum()} are")
    checks.count("changes of the profile", profile.n_changes, int(seen.sum()))
    if checks.settings.powered != b.UNPOWERED and profile.ns[0] == state.now_ns:
        _check_power_left(checks, reserved, held)


def _check_power_left(checks: BatchChecks, reserved: tuple[Array, Array], held: tuple[Array, Array]) -> None:
    """Check the remaining power of each domain; ``reserved`` and ``held`` have the row of each core, and the core."""
    state, profile = checks.state, checks.state.cores_profile
    planned = (checks.jobs.expected_end_ns > state.now_ns) | (checks.settings.plans == 0)
    there = np.where(checks.holds, planned, checks.jobs.slot_ns <= state.now_ns)
    owner, cores_of = (np.concatenate(pair) for pair in zip(held, reserved, strict=True))
    owner, cores_of = owner[there[owner]], cores_of[there[owner]]
    for domain in range(len(state.domains.limit_mw)):
        left = int(profile.now.amounts[checks.state.power.amount + domain])
        what = f"the power of domain {domain}" if domain else "power"
        checks.count(f"mW that are left of {what}", left, _power_left(checks, owner, cores_of, domain))


def planned_ns(checks: BatchChecks, rows: Array) -> Array:
    """The planned run times of waiting jobs, ns: longer, rounded up, in a slower power state."""
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
    # The power of a domain, mW, that jobs with these cores leave.
    power, domains = checks.state.power, checks.state.domains
    within, parts = np.zeros(checks.n_cores, np.bool_), slice(*domains.first[domain : domain + 2])
    within[intervals_of(domains.lo[parts], domains.hi[parts] - domains.lo[parts])] = True
    group = np.searchsorted(power.first_core, np.arange(checks.n_cores), side="right") - 1
    full = checks.state.totals[power.amount + domain]
    left = min(int(full), int(domains.limit_mw[domain] - domains.idle_mw[domain]))
    owner, cores = owner[within[cores]], cores[within[cores]]
    for row in np.unique(owner).tolist():
        mine = cores[owner == row]
        left -= int(planned_more_mw(checks.state, row)[group[mine]].sum())
        if len(power.gpu_mw):
            gpus, host_of = checks.state.gpus, checks.state.host_of
            held = gpus.lists.gpu[gpus.first[row] :][: gpus.count[row]]
            there = power.gpu_core[held[np.isin(gpus.host[held], host_of[mine])]]
            milli = int(gpus.milli[checks.jobs.origin[row]])
            left -= milli * int(planned_more_mw(checks.state, row, gpus=True)[group[there]].sum())
    return left
