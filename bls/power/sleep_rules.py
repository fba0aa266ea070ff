"""Hosts that fall asleep as they idle: what the engine is told of them, and what cannot be with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.options import FALLBACK, LIMITS, RESIZE, SLEEP_AFTER, WINDOWS
from traces.base.errors import InputError
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.constraints.job_constraints import JobConstraints
    from bls.power.plan import PowerPlan
    from bls.power.table import PowerTable
    from bls.scheduler_options import Rules


def sleep_settings(plan: PowerPlan) -> dict[str, int]:
    """Those of the engine (``bls.engine.settings``)."""
    after = plan.options.sleep_after_ns
    assert after is not None
    late = int((plan.table.shutdown_ns + plan.table.boot_ns).max())
    return {"sleeps": 1, "sleep_after_ns": after, "keep_awake": plan.options.keep_awake, "max_boot_wait_ns": late}


def sleep_passages(table: PowerTable) -> Array:
    """How long each host takes to shut down, and to boot: int64 (2, H)."""
    found: Array = np.repeat(np.stack([table.shutdown_ns, table.boot_ns]), table.n_hosts, axis=1)
    return found


def check_sleeping(rules: Rules, constraints: JobConstraints, *, limited: bool) -> None:
    """Refuse what cannot be where hosts sleep. Raises InputError if the rules have cores come to running jobs, jobs
    would be late for windows, or widths are to fit limits, too."""
    if constraints.windows is not None and len(constraints.windows):
        raise InputError(
            f"{SLEEP_AFTER}: not with {WINDOWS}, as a job that waits for its hosts to boot would be late for one; "
            f"allowed: no {WINDOWS}"
        )
    if limited and rules.resizing == b.NO_RESIZE and rules.molds:
        raise InputError(
            f"{SLEEP_AFTER}: not with {RESIZE:{rules.resize}} and {LIMITS}, as a width "
            f"would have to be found on hosts that sleep, under a limit; allowed: one of them, or {FALLBACK:none}"
        )
    if rules.resizing != b.NO_RESIZE:
        raise InputError(
            f"{SLEEP_AFTER}: not with {RESIZE:{rules.resize}}, as cores come to running jobs at once, and those of a "
            f"host that sleeps cannot; allowed: {RESIZE:none} or mold"
        )
