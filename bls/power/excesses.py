"""When more was drawn than a limit allowed, and why."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bls.engine import state as b
from bls.power.accounting import PowerSeries
from bls.power.limits import Limits
from traces.compiled import Array

#: Why more is drawn than a limit allows, the first that holds.
REASONS: Final = {
    "ignored": "limits are ignored",
    "reaction": "the limit was not known yet",
    "infeasible": "the machine draws more even if nobody works",
    "stopping": "hosts were on their ways off or back",
    "prediction": "jobs drew more than they were thought to",
    "running": "running jobs could not be slowed, or no further",
}


class Excess(NamedTuple):
    """From ``begin_ns`` up to ``end_ns`` the machine, or the part of it that ``where`` names, draws ``above_mw`` more than a
    limit allows, for one of ``REASONS``."""

    begin_ns: int
    end_ns: int
    above_mw: int
    reason: str
    where: str = ""


def excesses_of(
    limits: Limits,
    series: PowerSeries,
    thought: PowerSeries | None,
    *,
    at: Array,
    moving: Array,
    until_ns: int,
    least_mw: int,
    fallback: str,
    where: str = "",
) -> list[Excess]:
    """When more was drawn than limits allowed, and why.

    - ``series``: what was drawn
    - ``thought``: what would have been drawn had jobs drawn what they were thought to; None where that is the same
    - ``at``, int64 (n,): all instants at which something changes, ascending, ns
    - ``moving``, bool (n,): whether any host is on its way off or back from then on
    - ``until_ns``: the run's end
    - ``least_mw``: what is drawn if nobody works, mW
    - ``fallback``: what is done where a job would draw too much, without its parameters
    - ``where``: the part of the machine; empty: all of it
    """
    ends, drawn = np.append(at[1:], until_ns), series.at(at)
    known = limits.steps(at, b.NEVER, known=True)
    limit = limits.steps(at, b.NEVER, known=False)
    planned = None if thought is None else thought.at(at)
    found: list[Excess] = []
    for k in np.flatnonzero(drawn > limit).tolist():
        reason = "running"
        if fallback == "none":
            reason = "ignored"
        elif known[k] > limit[k]:
            reason = "reaction"
        elif limit[k] < least_mw:
            reason = "infeasible"
        elif moving[k]:
            reason = "stopping"
        elif planned is not None and planned[k] <= limit[k]:
            reason = "prediction"
        one = Excess(int(at[k]), int(ends[k]), int(drawn[k] - limit[k]), reason, where)
        if found and found[-1].end_ns == one.begin_ns and found[-1][2:] == one[2:]:
            found[-1] = found[-1]._replace(end_ns=one.end_ns)
        else:
            found.append(one)
    return found
