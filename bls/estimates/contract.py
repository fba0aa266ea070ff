"""The contract of an estimator: it predicts run times for the scheduler. There are two kinds.

knowing (:class:`KnowingEstimator`)
    Says it for all jobs before the simulation begins. It may read the recorded run times, as no scheduler could.
history (:class:`HistoryEstimator`)
    Predicts a job's run time when it arrives, from jobs that have ended by then. The engine does that; an estimator of this
    kind only says which jobs tell of which.

In both cases the request, which the workload calls estimate, stays what it is: a job is killed, if at all, at its request, and
its deadline follows from it. What is predicted from history never exceeds it; nor does what is known, where jobs are killed.
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

#: What the jobs of a group may have in common: columns of the workload, and what is made of them (:func:`alike_in`).
ALIKE = (
    "user", "group", "queue", "partition", "qos", "application", "cores", "estimate_ns",
    "name", "name_prefix", "queues", "resources",
)  # fmt: skip

#: Those of them that only a log which names its jobs tells.
BY_NAME = ("name", "name_prefix")

#: What at the end of a name is no part of its prefix: a number, and what sets it apart.
_NUMBER_AT_END = re.compile(r"[\s_.:#\-]*[0-9]+$")

#: Further columns of logs that say what a job asked for.
_ASKED = ("nodes", "gpus", "gpu", "unit_cores")

_MINUTE_NS = 60 * 10**9

#: By how much a job that runs longer than predicted is expected to go on: 1, 5, 15, 30 minutes, 1, 2, 5, 10, 20, 50 and then
#: each time 100 hours, but never beyond its request (Tsafrir, Etsion and Feitelson, doi:10.1109/TPDS.2007.70606).
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
    # what the jobs of a group have in common, of :data:`ALIKE`, the closest level first
    levels: tuple[tuple[str, ...], ...]
    mean_of: int = 1  # of how many of the latest, 1 to 1000
    least: int = 1  # how many jobs of a group must have ended before it is used, 1 to ``mean_of``
    # no prediction is shorter, but for that of a job that asks for less; from 1. Logs count in seconds; and a plan of
    # nothing but instants would be made again and again while a job is overdue.
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
    # A number for each combination of values in n rows, the same for all if there are no columns; which one stands for nothing.
    found = np.zeros(n, np.int64)
    for column in columns:
        # Both numbers are below n: no two pairs are made one, and n² fits.
        found = distinct(found * n + distinct(column)[1])[1]
    return found


def name_prefix(name: str) -> str:
    """A job's name without the number at its end, as users give to jobs of one kind: ``relax`` of ``relax_017``.

    Empty where a name is nothing but a number.
    """
    return _NUMBER_AT_END.sub("", name)


def alike_in(column: str, workload: Workload, asked: Requests | None) -> Array:
    """A column of :data:`ALIKE`: int64 (n,), equal where jobs are alike in it, -1 where it is not known.

    ``name``: what the log calls a job; ``name_prefix``: that without a number at its end. ``queues``: the queue and the
    partition, of which one or both may be unknown. ``resources``: all that a job asks for: cores, units and what each needs
    (``asked``), the log's memory, nodes and cards.
    """
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
    found: Array = getattr(workload, column)
    return found


def groups(estimator: HistoryEstimator, workload: Workload, asked: Requests | None = None) -> tuple[Array, int]:
    """Which group of each level a job is in: int64 (levels, n), and how many groups there are in all.

    ``asked`` is what the jobs ask for beside cores.

    A group's number stands for nothing: it tells who is alike, and not what becomes of anybody. A job of which a level's
    column is not known is in no group of that level.
    """
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
