"""The contract of an estimator: it predicts run times for the scheduler. There are two kinds.

- :class:`KnowingEstimator`: for all jobs before the simulation begins. It may read the recorded run times.
- :class:`HistoryEstimator`: when a job arrives, from jobs that have ended by then. The engine predicts; the estimator only
  declares the groups of similar jobs.

In both cases the request (``estimate_ns`` of the workload) is unchanged: kills and deadlines depend on it. Predictions from
history never exceed the request; in runs that kill jobs, known run times do not exceed it either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np

from bls.workloads.columns import distinct
from bls.workloads.workload import Workload
from traces.base.errors import one_of, whole
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests

#: Properties that the jobs of a group may share: columns of the workload, and columns derived from them (:func:`alike_in`).
ALIKE = (
    "user", "group", "queue", "partition", "qos", "application", "cores", "estimate_ns",
    "name", "name_prefix", "queues", "resources",
)  # fmt: skip

BY_NAME = ("name", "name_prefix")  #: the properties that need names of jobs in the log

#: The end of a name that is not part of its prefix: a number and its separator.
_NUMBER_AT_END = re.compile(r"[\s_.:#\-]*[0-9]+$")
_ASKED = ("nodes", "gpus", "gpu", "unit_cores")  #: further columns of logs that state what a job requested
_MINUTE_NS = 60 * 10**9

#: Corrections of the expected end of a job that runs longer than predicted: 1, 5, 15, 30 minutes, 1, 2, 5, 10, 20, 50 and then
#: always 100 hours, but never beyond its request (Tsafrir, Etsion and Feitelson, doi:10.1109/TPDS.2007.70606).
CORRECTIONS_NS = tuple(_MINUTE_NS * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000))


@runtime_checkable
class KnowingEstimator(Protocol):
    """Estimates that are made before the simulation begins."""

    @property
    def name(self) -> str:
        """As it is written on the command line."""

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        """The planned run time of each job: int64 (n,), ns, at least 1. It depends on the arguments alone."""


@dataclass(frozen=True)
class HistoryEstimator:
    """The mean of the latest run times in the closest group of jobs with enough of them; else the request."""

    name: str  # as it is written on the command line
    # the properties (:data:`ALIKE`) that the jobs of a group share, by level, the closest group first
    levels: tuple[tuple[str, ...], ...]
    mean_of: int = 1  # largest number of latest jobs whose mean is used, 1 to 1000
    least: int = 1  # number of jobs of a group that must have ended before it is used, 1 to ``mean_of``
    # the shortest prediction, from 1, except for jobs that request less: logs have whole seconds, and shorter plans would be
    # repeated while a job is overdue
    shortest_ns: int = NS_PER_S

    def __post_init__(self) -> None:
        for level in self.levels:
            for column in level:
                if column not in ALIKE:
                    raise one_of("column", column, ALIKE, f"estimator {self.name}")
        whole(f"estimator {self.name}: mean_of", self.mean_of, 1, 1000)
        whole(f"estimator {self.name}: least", self.least, 1, self.mean_of)
        whole(f"estimator {self.name}: shortest_ns", self.shortest_ns, 1, MAX_NS)


AnyEstimator: TypeAlias = KnowingEstimator | HistoryEstimator


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
    if column in BY_NAME:
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
