"""Hosts that fall asleep as they idle: what the engine is told of them, and what cannot be with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan
    from bls.power.table import PowerTable


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
