"""The run times with which the scheduler plans (``estimates``): the users' requests, the recorded run times, these with errors,
and predictions from jobs that have ended; and the number of a log's jobs that an estimator can predict.

To add an estimator, write it in a file here, and add a line to :data:`ESTIMATORS`. Outside packages use the entry-point group
``twolevel.estimators``; a single run can use one from a file, ``estimates my.py:MINE``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bls.engine.features.prediction.options import ESTIMATES
from bls.estimates.contract import ALIKE, CORRECTIONS_NS, AnyEstimator, HistoryEstimator, KnowingEstimator
from bls.workloads.columns import distinct
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError, at, blamed_on, parse_real, shown, with_value
from traces.base.plugins import resolve
from traces.base.time import MAX_NS
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests

__all__ = [
    "ALIKE", "CORRECTIONS_NS", "ESTIMATORS", "AnyEstimator", "HistoryEstimator", "KnowingEstimator", "Promised", "Within",
    "estimator", "groups", "planned_ns",
]  # fmt: skip

_STREAM = 0x77697468696E  #: name of the stream of the errors


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
    """The recorded run time; the request if no run time is known."""

    name: str = "exact"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The recorded run times."""
        return np.where(workload.run_unknown, workload.estimate_ns, workload.run_ns)


@dataclass(frozen=True)
class Within:
    """The recorded run time with a relative error of up to a share: run × (1 + share × u), u uniform in [-1, 1).

    Errors are drawn from a stream of the seed, in workload order. They are truncated to whole ns, so none exceeds the share.
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

#: The run time of the last job with the same profile: user, application, queue, cores and request; else without the request,
#: without the cores, and without the queue. If the application is unknown: user, queue, cores and request; then fewer.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710): their heuristic uses user, job
#: name and queue; an SWF log has the number of the application instead of a name.
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

#: The run time of the user's last ended job with the same name, queues, resources and request; else with the same prefix of the
#: name; else the same two without resources; else with the same name, then the same prefix. It needs a log with names of jobs;
#: :data:`PROFILE` does not.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710), in the form of PCP'20.
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


#: The estimators that predict from history, in the order in which they are recommended.
_HISTORY = (LAST_TWO, PROFILE, DATA_DRIVEN)

#: Names of columns in messages.
_CALLED = {"estimate_ns": "request", "name_prefix": "name", "queues": "queue", "resources": "resource"}


def estimator(name: str | AnyEstimator, *, where: str = "") -> AnyEstimator:
    """The estimator of this name. ``name``: one of :data:`ESTIMATORS`, ``within:X%``, ``last-two:least=1``, an installed
    package's, or ``FILE.py:NAME``; an estimator is returned unchanged. ``where``: the option that gave it. Raises InputError if
    there is none (the message lists the known ones), and PluginError if it cannot be loaded or is not an estimator."""
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
            f"{where}: {name} is of type {type(found).__name__}; "
            "allowed: a HistoryEstimator, or an object with a name and planned_ns(workload, seed)"
        )
    return found


def within(text: str, where: str) -> Within:
    """The estimator ``within:X%`` from the text after the colon. Raises InputError if X is not from 0 to below 100."""
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
    """The estimates of a :class:`KnowingEstimator`. Raises PluginError if it fails, or does not return a run time of at least
    1 ns for every job."""
    with blamed_on(f"estimator {estimator.name}: planned_ns() failed"):
        found = np.asarray(estimator.planned_ns(workload, seed))
    if found.shape != (len(workload),) or found.dtype.kind != "i" or int(found.min()) < 1:
        raise PluginError(
            f"estimator {estimator.name}: planned_ns() gave {found.dtype} of shape {found.shape}; "
            f"allowed: whole numbers from 1 of shape ({len(workload)},)"
        )
    return found.astype(np.int64)


_BY_NAME = ("name", "name_prefix")  #: those of :data:`ALIKE` that only a log which names its jobs tells


#: The end of a name that is not part of its prefix: a number and its separator.
_NUMBER_AT_END = re.compile(r"[\s_.:#\-]*[0-9]+$")
_ASKED = ("nodes", "gpus", "gpu", "unit_cores")  #: further columns of logs that state what a job requested


def _together(columns: Sequence[Array], n: int) -> Array:
    # A number for each combination of values in n rows, 0 for all rows if there are no columns.
    found = np.zeros(n, np.int64)
    for column in columns:
        # Both numbers are below n, so different pairs get different numbers, and n² fits.
        found = distinct(found * n + distinct(column)[1])[1]
    return found


def name_prefix(name: str) -> str:
    """A job's name without the number at its end and its separator: ``relax`` for ``relax_017``. It may be empty."""
    return _NUMBER_AT_END.sub("", name)


def alike_in(column: str, workload: Workload, asked: Requests | None) -> Array:
    """A column of :data:`ALIKE`: int64 (n,), equal for jobs that agree in it, -1 if unknown. ``queues``: the queue and the
    partition; one or both may be unknown. ``resources``: all requests of a job: cores, units and their resources
    (``asked``), the log's memory, nodes and cards."""
    if column in _BY_NAME:
        kept = {number: name if column == "name" else name_prefix(name) for number, name in workload.names.items()}
        place = {text: k for k, text in enumerate(dict.fromkeys(kept.values()))}
        numbers, row = distinct(workload.application)
        known = [place[kept[number]] if kept.get(number) else -1 for number in numbers.tolist()]
        return np.array(known, np.int64)[row]
    if column == "queues":
        return _together([workload.queue, workload.partition], len(workload))
    if column == "resources":
        columns = [workload.cores, workload.memory_kb]
        columns += [workload.extras[name] for name in _ASKED if name in workload.extras]
        if asked is not None:
            columns += [asked.unit_cores, asked.switches, *asked.per_unit.T, *asked.licences.T]
        return _together(columns, len(workload))
    return np.asarray(getattr(workload, column))


def groups(estimator: HistoryEstimator, workload: Workload, asked: Requests | None = None) -> tuple[Array, int]:
    """The group of each job at each level, int64 (levels, n), -1 for a job whose columns are not known; and the number of all
    groups. ``asked``: the jobs' requests in addition to cores."""
    n = len(workload)
    found = np.full((len(estimator.levels), n), -1, np.int64)
    count = 0
    columns = {column: alike_in(column, workload, asked) for level in estimator.levels for column in level}
    values = {name: distinct(column)[1] for name, column in columns.items()}
    for place, level in enumerate(estimator.levels):
        known = np.ones(n, bool)
        for column in level:
            known &= columns[column] >= 0
        if not known.any():
            continue
        alike = _together([values[column][known] for column in level], int(known.sum()))
        found[place, known] = count + alike
        count += int(alike.max()) + 1
    return found, count


def predictable(estimator: HistoryEstimator, workload: Workload, asked: Requests | None = None) -> int:
    """The largest number of jobs that can be predicted: those for which enough jobs of one of their groups were submitted
    before. A simulation may predict fewer, since the earlier jobs must also have ended."""
    covered = np.zeros(len(workload), bool)
    for group in groups(estimator, workload, asked)[0]:
        # Here the jobs of a group are consecutive, in the order of their submits.
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
    """The recommendation for a log without time limits: the built-in estimator that can predict the largest share of its jobs,
    and this share; or the reason why there is none."""
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
    # The columns that the log lacks, if the estimator needs at least one of them at every level; else empty.
    columns = dict.fromkeys(column for level in estimator.levels for column in level)
    unknown = {column for column in columns if np.all(alike_in(column, workload, asked) < 0)}
    if not all(unknown.intersection(level) for level in estimator.levels):
        return ""
    needed = unknown.intersection(*estimator.levels) or unknown
    missing = dict.fromkeys(_CALLED.get(column, column) for column in columns if column in needed)
    return f"{workload.source or 'the log'} records no {' and no '.join(missing)} of its jobs"
