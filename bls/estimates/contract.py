"""The contract of an estimator: it predicts run times for the scheduler. There are two kinds.

- :class:`KnowingEstimator`: for all jobs before the simulation begins. It may read the recorded run times.
- :class:`HistoryEstimator`: when a job arrives, from jobs that have ended by then. The engine predicts; the estimator only
  declares the groups of similar jobs.

In both cases the request (``estimate_ns`` of the workload) is unchanged: kills and deadlines depend on it. Predictions from
history never exceed the request; in runs that kill jobs, known run times do not exceed it either.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from bls.workloads.workload import Workload
from traces.base.errors import one_of, whole
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

#: Properties that the jobs of a group may share: columns of the workload, and columns derived from them
#: (``bls.estimates.alike_in``).
ALIKE = (
    "user", "group", "queue", "partition", "qos", "application", "cores", "estimate_ns",
    "name", "name_prefix", "queues", "resources",
)  # fmt: skip

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
