"""The parameters of a policy that plans with constraint programming. The planner itself is imported when a run begins.

Source: C. Galleguillos, Z. Kiziltan, R. Soto, "A Constraint Programming-based Job Dispatcher for Modern HPC Systems and
Applications", arXiv:2009.10348 (2020); HCP'19 and PCP'19 are by C. Galleguillos, Z. Kiziltan, A. Sîrbu, Ö. Babaoglu,
"Constraint Programming-Based Job Dispatching for Modern HPC Applications", CP 2019, doi:10.1007/978-3-030-30048-7_26.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bls.cp.parameters import Parameters
from traces.base.errors import InputError

if TYPE_CHECKING:
    from bls.policies.planning.run import PlannedRun
    from bls.seen.answers import Choice
    from bls.view import View


@dataclass(frozen=True)
class PlanningPolicy(Parameters):
    """One of the dispatchers, with the parameters of :class:`bls.cp.parameters.Parameters`, as in ``bls pcp20:queue=50``."""

    name: str = "pcp20"  # ``hcp19``, ``cp-classes``, ``pcp19`` or ``pcp20``

    unaware_of: ClassVar = ("allocator", "partitions", "windows", "licences", "gpus per host", "switches", "power")

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except InputError as error:
            raise InputError(f"batch policy {self.name}: {error.text.partition(': ')[2]}") from None

    def for_run(self) -> PlannedRun:
        """The policy of one run; OR-Tools is imported now. Raises InputError if it is not installed."""
        from bls.policies.planning.run import PlannedRun

        return PlannedRun(self)

    def decide(self, view: View) -> Iterable[Choice]:
        """The jobs to start now, decided independently of earlier decisions."""
        return self.for_run().decide(view)


HCP19 = PlanningPolicy(name="hcp19")  # pooled resources, then best fit by node
# This project's: the number of a job's units on each class of nodes, then places on these.
CP_CLASSES = PlanningPolicy(name="cp-classes")
PCP19 = PlanningPolicy(name="pcp19")  # a variable for each unit on each node that can hold it
PCP20 = PlanningPolicy(name="pcp20")  # a position for each unit on an axis of all nodes
