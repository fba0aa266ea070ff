"""Declaration of plans that distinguish cores."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.status import BatchStatus


def _changes(run: FeatureRun) -> dict[str, int]:
    # Most runs need few slices; the profile grows when it is full.
    settings, steps = run.settings, run.sizes["boundaries"] + 2 * run.settings.steps
    by_hosts = settings.by_hosts or settings.whole_hosts or settings.n_resources > 0
    offered = {"offered_words": run.sizes["free_words"], "offered_hosts": run.hosts if by_hosts else 0}
    kept = 2 * run.jobs + run.cores if settings.plans else 0
    return {"core_slices": 64 + steps, "changes": 256 + steps, "kept": kept, **offered}


def _all_free(state: b.BatchState) -> None:
    # A job may fit from the end of a window on, so slices begin there, with an empty change.
    profile, now, at = state.cores_profile, state.cores_profile.now, state.boundaries[state.boundaries > 0]
    profile.free[:] = state.free_cores
    now.words[:], now.hosts[:], now.amounts[:] = state.free_words, state.host_free[: len(now.hosts)], state.totals
    n = profile.n_changes = profile.n_ever = len(at)
    profile.n_slices = 1 + n
    profile.ns[1 : 1 + n], profile.first[1 : 1 + n] = at, np.arange(n)


def _carry_profile(old: b.BatchState, new: b.BatchState) -> None:
    new.cores_profile = old.cores_profile


BY_CORES = Feature(
    on={h.BEFORE_PASS: f"{__package__}.core_profile:room"},
    plays={
        h.MOVE_PROFILE: f"{__package__}.core_profile:move_profile",
        h.HOLD_POOL: f"{__package__}.core_profile:hold_pool_cores",
        h.HOLD_KEPT: f"{__package__}.core_profile:hold_kept_cores",
        h.HOLD_HOST: f"{__package__}.core_profile:hold_host_cores",
        h.EARLIEST: f"{__package__}.placement_search:earliest_place",
    },
    settings=lambda run: {"profiled": 1},
    sizes=_changes,
    begin=_all_free,
    grow={BatchStatus.PROFILE_FULL: lambda state: (state.cores_profile, 0)},
    carried=("core_slices", "changes"),
    carry=_carry_profile,
    check=f"{__package__}.validation:check_core_profile",
    overtakes=True,
)
