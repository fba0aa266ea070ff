"""Hosts that fall asleep as they idle: what the engine is told of them, and what cannot be with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan


def sleep_settings(plan: PowerPlan) -> dict[str, int]:
    """Those of the engine (``bls.engine.settings``)."""
    return {"sleeps": 1, "max_boot_wait_ns": int((plan.table.shutdown_ns + plan.table.boot_ns).max())}


def sleep_rules(plan: PowerPlan) -> dict[str, Any]:
    """What is given of ``bls.engine.features.sleep.state.SleepState``; ``passages``: int64 (2, H), in ns."""
    table = plan.table
    passages = np.repeat(np.stack([table.shutdown_ns, table.boot_ns]), table.n_hosts, axis=1)
    return {"passages": passages, "after_ns": plan.options.sleep_after_ns, "keep_awake": plan.options.keep_awake}
