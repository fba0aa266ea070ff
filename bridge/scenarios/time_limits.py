"""What is said where a log has no time limits, so that readers take the run times for them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bls.estimates.coverage import recommended
from bls.options import ESTIMATES
from bls.policies import policy
from bls.policies.contract import goes_by_estimates
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Scenario


def time_limit_words(jobs: Workload, options: Iterable[Scenario]) -> str:
    """Which policies plan with the true run times, as the log has no time limits, and an estimator that predicts them; empty
    if none does, or the log has limits.

    Parameters
    ----------
    jobs : Workload
        Selected.
    options : iterable of Scenario
        Of the runs that simulate them.
    """
    if np.any(jobs.estimate_ns != jobs.run_ns):
        return ""
    who: dict[str, None] = {}
    for one in options:
        if one.batch.estimates != ESTIMATES.default:
            continue
        order = policy(bls) if isinstance(bls := one.batch.decides, str) else bls
        if goes_by_estimates(order):
            who[order.name] = None
        if one.batch.depth:
            who[f"backfilling {one.batch.backfill}"] = None
    if not who:
        return ""
    plans = "plan" if len(who) > 1 else "plans"
    return (
        f"the log has no time limits: {' and '.join(who)} {plans} with the true run times, which no scheduler knows; "
        f"{recommended(jobs)}"
    )
