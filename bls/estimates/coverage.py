"""How many jobs of a log an estimator can predict: none without the columns that it groups jobs by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bls.estimates import DATA_DRIVEN, LAST_TWO, PROFILE
from bls.estimates.contract import HistoryEstimator, alike_in, groups
from bls.options import ESTIMATES
from bls.workloads.workload import Workload
from traces.base.errors import InputError, with_value

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests

#: The estimators that predict from history, in the order in which they are recommended.
_HISTORY = (LAST_TWO, PROFILE, DATA_DRIVEN)

#: What a column is called in a message.
_CALLED = {"estimate_ns": "request", "name_prefix": "name", "queues": "queue", "resources": "resource"}


def predictable(estimator: HistoryEstimator, workload: Workload, asked: Requests | None = None) -> int:
    """How many jobs can be predicted at most: those before which enough jobs of one of their groups were submitted. In a
    simulation there may be fewer, as these jobs have to have ended."""
    covered = np.zeros(len(workload), bool)
    for group in groups(estimator, workload, asked)[0]:
        # The jobs of a group follow one another here, in the order of their submits.
        rows = np.argsort(group, kind="stable")
        rows = rows[group[rows] >= 0]
        place = np.arange(len(rows))
        first = np.ones(len(rows), bool)
        first[1:] = np.diff(group[rows]) > 0
        covered[rows[place - np.maximum.accumulate(np.where(first, place, 0)) >= estimator.least]] = True
    return int(np.count_nonzero(covered))


def predictable_by_name(workload: Workload) -> dict[str, float]:
    """The share of the jobs that each built-in estimator with a history can predict at most, by its name."""
    return {one.name: predictable(one, workload) / len(workload) for one in _HISTORY}


def recommended(workload: Workload) -> str:
    """The advice to a user whose log has no time limits: the built-in estimator that can predict most of its jobs, with the
    share of these; or why there is none."""
    shares = predictable_by_name(workload)
    name = max(shares, key=shares.__getitem__)
    if not shares[name]:
        reason = _unknown(LAST_TWO, workload, None) or "no job follows others like it"
        return f"no built-in estimator can predict them, as {reason}"
    return f"{ESTIMATES:{name}} predicts up to {100 * shares[name]:.3g} % of them"


def check_predicts(
    estimator: HistoryEstimator, workload: Workload, asked: Requests | None = None, *, where: str = "",
    allowed: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Raise InputError if a log lacks the columns that an estimator needs, so that it can predict no job. ``asked``: the jobs'
    requests besides cores. ``allowed``: other values of the option that work; by default those of ``estimates``."""
    if reason := _unknown(estimator, workload, asked):
        others = [name for name, share in predictable_by_name(workload).items() if share]
        working = ", ".join(allowed or [*others, "requested", "exact", "within:X%"])
        named = with_value(where or str(ESTIMATES), estimator.name)
        raise InputError(f"{named}: can predict no job, as {reason}; allowed: {working}")


def _unknown(estimator: HistoryEstimator, workload: Workload, asked: Requests | None) -> str:
    # Which columns the log does not have, where the estimator needs one of them at every level; else empty.
    columns = dict.fromkeys(column for level in estimator.levels for column in level)
    unknown = {column for column in columns if np.all(alike_in(column, workload, asked) < 0)}
    if not all(unknown.intersection(level) for level in estimator.levels):
        return ""
    needed = unknown.intersection(*estimator.levels) or unknown
    missing = dict.fromkeys(_CALLED.get(column, column) for column in columns if column in needed)
    return f"{workload.source or 'the log'} records no {' and no '.join(missing)} of its jobs"
