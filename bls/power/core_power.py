"""What a core draws that works for a job, as policies know it when the job is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bls.machine.host_power import milliwatts
from bls.machine.platform import Platform
from bls.power.table import MOST_MW
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan


def core_mw(platform: Platform, n_jobs: int, plan: PowerPlan | None) -> Array:
    """The mean over all cores of the machine of what one draws at full speed for each job: int64 (n,), mW, rounded half up; -1
    where the platform does not say it.

    It is the job's own, unless the scheduler is to think that jobs draw what the platform says, or to find out what they do.
    """
    cores = [group.count * group.cores for group in platform.hosts]
    active = [None if group.power is None else group.power.states_mw[0][1] for group in platform.hosts]
    known = [mw for mw in active if mw is not None]
    if len(known) < len(active) or sum(n * mw for n, mw in zip(cores, known, strict=True)) > MOST_MW:
        return np.full(n_jobs, -1, np.int64)
    if plan is None or plan.classes is None or plan.predicts:
        return np.full(n_jobs, _mean(cores, known), np.int64)
    of_class = [_mean(cores, row) for row in plan.classes.active_mw[:, 0].tolist()]
    found: Array = np.array(of_class, np.int64)[plan.classes.kind]
    return found


def idle_mw(platform: Platform) -> int:
    """The mean over all cores of the machine of what one draws that no job holds, mW, rounded half up; 0 where the platform
    does not say it of all."""
    if any(group.power is None for group in platform.hosts):
        return 0
    cores = [group.count * group.cores for group in platform.hosts]
    idle = [milliwatts("idle_w", group.power.idle_w) for group in platform.hosts if group.power is not None]
    return _mean(cores, idle)


def _mean(cores: list[int], mw: list[int]) -> int:
    total, n = sum(count * each for count, each in zip(cores, mw, strict=True)), sum(cores)
    return (2 * total + n) // (2 * n)
