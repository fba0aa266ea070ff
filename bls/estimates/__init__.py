"""The run times that the scheduler plans with: ``estimates``. The users' requests, the recorded run times, these with errors,
and predictions from jobs that have ended.

To add an estimator: one in a file here, a line in :data:`ESTIMATORS`. Outside packages add theirs under the entry-point group
``twolevel.estimators``; a single run can take one from a file, ``estimates my.py:MINE``.
"""

from dataclasses import dataclass, replace

import numpy as np

from bls.estimates.contract import ALIKE, CORRECTIONS_NS, AnyEstimator, HistoryEstimator, KnowingEstimator, groups
from bls.options import ESTIMATES
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError, at, blamed_on, parse_real, shown
from traces.base.plugins import resolve
from traces.base.time import MAX_NS
from traces.compiled import Array

__all__ = [
    "ALIKE", "CORRECTIONS_NS", "ESTIMATORS", "AnyEstimator", "HistoryEstimator", "KnowingEstimator", "Promised", "Within",
    "estimator", "groups", "planned_ns",
]  # fmt: skip

_STREAM = 0x77697468696E  #: names the stream that errors are drawn from


@dataclass(frozen=True)
class Requested:
    """The requested time."""

    name: str = "requested"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The requests."""
        return workload.estimate_ns


@dataclass(frozen=True)
class Promised(Requested):
    """The requested time until the job starts; then the end that its application promises."""

    name: str = "application"


@dataclass(frozen=True)
class Exact:
    """The recorded run time; the request where no run time is known."""

    name: str = "exact"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The recorded run times."""
        return np.where(workload.run_unknown, workload.estimate_ns, workload.run_ns)


@dataclass(frozen=True)
class Within:
    """The recorded run time, wrong by up to a share of itself: run × (1 + share × u), u uniform in [-1, 1).

    The errors are drawn from a stream named by the seed, in workload order, and are cut to whole ns, so that they stay within.
    """

    share: float  # from 0 to below 1

    @property
    def name(self) -> str:
        """``within:`` and the share in percent."""
        return f"within:{self.share * 100:.15g}%"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """Run times with errors, at least 1 ns."""
        true_ns = EXACT.planned_ns(workload, seed)
        error = np.random.default_rng([seed, _STREAM]).uniform(-1.0, 1.0, len(workload)) * self.share
        return np.asarray(np.clip(true_ns + np.trunc(true_ns * error).astype(np.int64), 1, MAX_NS))


REQUESTED = Requested()
PROMISED = Promised()
EXACT = Exact()

#: The mean of the run times of the last two jobs of the same user that have ended, once there are two.
#: D. Tsafrir, Y. Etsion and D. Feitelson, "Backfilling using system-generated predictions rather than user runtime
#: estimates", IEEE TPDS 18(6) 2007, doi:10.1109/TPDS.2007.70606.
LAST_TWO = HistoryEstimator("last-two", (("user",),), mean_of=2, least=2)

#: The last run time of a job with the same profile: the user's same application from the same queue, of the same width, with
#: the same request; else without the request, without the width, and then the application alone. Without names of applications
#: the user's last job from the same queue of the same width remains, with the same request or without.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710): their heuristic goes
#: by user, job name and queue; a log in SWF has the application's number for a name.
PROFILE = HistoryEstimator(
    "profile",
    (
        ("user", "application", "queue", "cores", "estimate_ns"),
        ("user", "application", "queue", "cores"),
        ("user", "application", "queue"),
        ("user", "application"),
        ("user", "queue", "cores", "estimate_ns"),
        ("user", "cores", "estimate_ns"),
        ("user", "cores"),
    ),
)

#: The run time of the last job that has ended of the same user with the same profile: name, queue, resources and request. Else
#: with a name that differs in a number at its end only; with other resources, then both; with the name alone, then with
#: what it begins with. A log that names no jobs tells nothing, and :data:`PROFILE` goes by what it does tell.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710), as PCP'20 takes it.
DATA_DRIVEN = HistoryEstimator(
    "data-driven",
    (
        ("user", "queues", "name", "resources", "estimate_ns"),
        ("user", "queues", "name_prefix", "resources", "estimate_ns"),
        ("user", "queues", "name", "estimate_ns"),
        ("user", "queues", "name_prefix", "estimate_ns"),
        ("user", "name"),
        ("user", "name_prefix"),
    ),
)

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


def within(text: str, where: str) -> Within:
    """The estimator ``within:X%`` from the text after the colon. Raises InputError if it is no share from 0 to below 100 %."""
    try:
        share = parse_real(text.strip().removesuffix("%").strip()) / 100
    except ValueError:
        share = -1.0
    if not text.strip().endswith("%") or not 0 <= share < 1:
        raise InputError(f"{where}: within:{shown(text)[1:-1]}; allowed: a share from 0% to below 100%, as within:10%")
    return Within(share)


def last_two(text: str, where: str) -> HistoryEstimator:
    """``last-two:least=N``: :data:`LAST_TWO` once N jobs of the user have ended, 1 or 2. Raises InputError for other texts."""
    key, _, value = (word.strip() for word in text.partition("="))
    if key != "least" or value not in ("1", "2"):
        raise InputError(f"{where}: last-two:{shown(text)[1:-1]}; allowed: least=1, least=2")
    return LAST_TWO if value == "2" else replace(LAST_TWO, name="last-two:least=1", least=1)


def planned_ns(estimator: KnowingEstimator, workload: Workload, seed: int) -> Array:
    """The estimates of a knowing estimator, checked. Raises PluginError if it fails, or gives something else than a run
    time from 1 ns on for every job."""
    with blamed_on(f"estimator {estimator.name}: planned_ns() failed"):
        found = np.asarray(estimator.planned_ns(workload, seed))
    if found.shape != (len(workload),) or found.dtype.kind != "i" or int(found.min()) < 1:
        raise PluginError(
            f"estimator {estimator.name}: planned_ns() gave {found.dtype} of shape {found.shape}; "
            f"allowed: whole numbers from 1 of shape ({len(workload)},)"
        )
    return found.astype(np.int64)
