"""Declarations of the features of scheduling passes and plans."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.status import BatchStatus

_HERE = "bls.engine.features.planning"


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
    ("by_cores",),
    on={h.BEFORE_PASS: f"{_HERE}.core_profile:room"},
    plays={
        h.MOVE_PROFILE: f"{_HERE}.core_profile:move_profile",
        h.HOLD_POOL: f"{_HERE}.core_profile:hold_pool_cores",
        h.HOLD_KEPT: f"{_HERE}.core_profile:hold_kept_cores",
        h.HOLD_HOST: f"{_HERE}.core_profile:hold_host_cores",
        h.EARLIEST: f"{_HERE}.placement_search:earliest_place",
    },
    settings=lambda run: {"profiled": 1},
    sizes=_changes,
    begin=_all_free,
    grow={BatchStatus.PROFILE_FULL: lambda state: (state.cores_profile, 0)},
    carried=("core_slices", "changes"),
    carry=_carry_profile,
    check=f"{_HERE}.validation:check_core_profile",
)

PLANS_AHEAD = Feature(
    ("by_cores", "max_reservations"),
    lambda run: (
        run.settings.order in (b.STATIC, b.SCORED)
        and (run.settings.by_cores or (run.settings.max_reservations > 1 and run.settings.powered == b.UNPOWERED))
    ),
    plays={h.PLAN: f"{_HERE}.plan_ahead:plan"},
    # A plan may contain all waiting and running jobs.
    sizes=lambda run: {} if run.settings.by_cores else dict.fromkeys(
        ("slices", "plan_slices"), 4 * (run.sizes["running"] + run.jobs) + 64
    ),
)  # fmt: skip

SCORES = Feature(
    ("order",),
    lambda run: run.settings.order == b.SCORED,
    plays={h.ORDER: f"{_HERE}.orders:put_in_order"},
    sizes=lambda run: {"scored": run.jobs},
)

ACCOUNTS = Feature(("accounts",), on={h.HELD: f"{_HERE}.orders:keep_account"})

RECORDS = Feature(
    ("keeps_decisions",),
    on={h.BEFORE_PASS: f"{_HERE}.decisions:room", h.PASSED: f"{_HERE}.decisions:record"},
    sizes=lambda run: {"decisions": 2 * run.jobs + 16},
    grow={BatchStatus.DECISIONS_FULL: lambda state: (state.decisions, 0)},
)

CHARGES = Feature(
    ("charges_decisions",),
    on={
        h.NEXT: f"{_HERE}.decisions:next_decision",
        h.BUSY: f"{_HERE}.decisions:is_deciding",
        h.PASSED: f"{_HERE}.decisions:charge",
    },
)

DECIDES = Feature(
    ("order",),
    lambda run: run.settings.order == b.DECIDED,
    on={h.BEFORE_PASS: f"{_HERE}.decided:decide_in_python"},
    plays={h.PLAN: f"{_HERE}.decided:start_chosen"},
    sizes=lambda run: {"chosen": run.jobs, "chosen_first": run.jobs + 1, "named": run.cores},
)

TURNS_AWAY = Feature(
    ("order",), lambda run: run.settings.order == b.REJECTED, plays={h.PLAN: f"{_HERE}.orders:turn_away"}
)

MOLDS = Feature(
    ("molds",),
    lambda run: run.settings.max_reservations <= 1,
    plays={h.WIDTH: f"{_HERE}.molding:mold"},
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
)

MOLDS_WITH_PLANS = Feature(
    ("molds",),
    lambda run: run.settings.max_reservations > 1,
    plays={h.WIDTH: f"{_HERE}.molding:mold_with_plans"},
    settings=MOLDS.settings,
)
