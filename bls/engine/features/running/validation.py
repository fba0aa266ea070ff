"""Invariants of the cores that running jobs release, and of their widths."""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.validation import BatchChecks
from traces.compiled import Array


def check_running(checks: BatchChecks) -> None:
    """Check releases and requests that are to come, and the widths of running jobs."""
    if checks.settings.releases == b.NO_RELEASES:
        return
    _check_releases(checks, checks.owner, checks.held_cores)
    if checks.settings.resizing != b.NO_RESIZE:
        _check_widths(checks, checks.owner, checks.held_cores, np.bincount(checks.owner, minlength=checks.state.n_rows))


def _check_widths(checks: BatchChecks, owner: Array, cores: Array, left: Array) -> None:
    """Check that running jobs have no more cores than they may, and that those that they were asked for are counted."""
    state, jobs = checks.state, checks.jobs
    asked = np.bincount(owner[state.asked[cores] == 1], minlength=state.n_rows)
    wanted = np.where(checks.holds, asked, jobs.asked)
    checks.counts(lambda row: f"cores that {checks.name(row)} was asked for", jobs.asked, wanted)
    most = np.maximum(jobs.cores, jobs.max_cores[jobs.origin])
    too_wide = checks.holds & (left > most)
    checks.none(too_wide, lambda row: f"{checks.name(row)} holds {left[row]} cores; at most {most[row]} it may")
    given = cores[state.given_at[cores] > 0]
    told = state.told.take(state.given_at[given] - 1)
    wrong = (told.job != state.holder[given]) | (told.core != given) | (told.what != b.GIVEN)
    checks.none(wrong, lambda k: f"core {given[k]} was not given to who holds it, as it says")


def _check_releases(checks: BatchChecks, owner: Array, cores: Array) -> None:
    """Check that jobs hold the cores that they are to release; jobs that will request cores are in the same heap."""
    state, n_cores = checks.state, checks.n_cores
    ns, key = state.releasing.entries()
    wishing = key >= b.WISH_KEY
    for row in np.setxor1d(key[wishing] - b.WISH_KEY, np.flatnonzero(state.wishing.count)):
        checks.fault(f"{checks.name(row)} is to wish for cores, or in the heap of releases for that, and not both")
    key = key[~wishing]
    for row, core in zip(*divmod(np.setdiff1d(key, owner * n_cores + cores), n_cores), strict=True):
        checks.fault(f"{checks.name(row)} is to release core {core}, which it does not hold")
    found = np.bincount(key // n_cores, minlength=state.n_rows)
    checks.counts(lambda row: f"cores that {checks.name(row)} is to release", checks.jobs.to_release, found)
    checks.none(ns < state.now_ns, lambda k: f"a core should have been released at {ns[k]} ns")
