"""Who says how long the scheduler thinks that a job runs: ``estimates``.

To add one: an estimator in a file here, a line in :data:`ESTIMATORS`. Outside packages add theirs under the entry-point group
``twolevel.estimators``; a single run can take one from a file, ``estimates my.py:MINE``.
"""

from __future__ import annotations

from bls.estimates.contract import (
    ALIKE,
    CORRECTIONS_NS,
    AnyEstimator,
    HistoryEstimator,
    KnowingEstimator,
    groups,
    planned_ns,
)
from bls.estimates.history import DATA_DRIVEN, LAST_TWO, PROFILE, last_two
from bls.estimates.knowing import EXACT, PROMISED, REQUESTED, Promised, Within, within
from bls.options import ESTIMATES
from traces.base.errors import InputError, at
from traces.base.plugins import resolve

__all__ = [
    "ALIKE",
    "CORRECTIONS_NS",
    "ESTIMATORS",
    "AnyEstimator",
    "HistoryEstimator",
    "KnowingEstimator",
    "Promised",
    "Within",
    "estimator",
    "groups",
    "planned_ns",
]

ESTIMATORS: dict[str, AnyEstimator] = {
    "requested": REQUESTED,
    "exact": EXACT,
    "last-two": LAST_TWO,
    "profile": PROFILE,
    "data-driven": DATA_DRIVEN,
    "application": PROMISED,
}


def estimator(name: str | AnyEstimator, *, where: str = "") -> AnyEstimator:
    """The estimator of this name. ``name``: one of :data:`ESTIMATORS`, ``within:X%``, ``last-two:least=1``, an installed
    package's, or ``FILE.py:NAME``. An estimator is itself. ``where``: the option it was given in. Raises InputError if there
    is none; the message lists the known ones. Raises PluginError if it cannot be loaded or is no estimator."""
    where = where or str(ESTIMATES)
    if not isinstance(name, str):
        return _checked(name, type(name).__name__, where)
    where = at(where, name)
    kind, colon, text = name.partition(":")
    if colon and kind == "within":
        return within(text, where)
    if colon and kind == "last-two":
        return last_two(text, where)
    also = ("within:X%", "last-two:least=1")
    found: object = resolve("estimator", name, dict(ESTIMATORS), "twolevel.estimators", object, where, also=also)
    return _checked(found, name, where)


def _checked(found: object, name: str, where: str) -> AnyEstimator:
    if not isinstance(found, HistoryEstimator | KnowingEstimator):
        raise InputError(
            f"{where}: {name} is a {type(found).__name__}; "
            "allowed: a HistoryEstimator, or an object with a name and planned_ns(workload, seed)"
        )
    return found
