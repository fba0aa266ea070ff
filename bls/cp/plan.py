"""What a dispatch decides, and how it came to it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from bls.cp.problem import Problem
from bls.cp.serial import Dispatch
from traces.compiled import Array


class PlannedStart(NamedTuple):
    """A job that starts at t."""

    # where it is in the queue, and what the caller knows it by
    place: int
    row: int
    unit_node: Array  # int64 (units,): the node of each of its units
    # int64 (units, resources) or None: of the model of boxes: the first of each unit's positions within its node, 0 of
    # what it does not ask for
    unit_low: Array | None

    @property
    def units_on(self) -> dict[int, int]:
        """How many of its units each node gets, by ascending number of the node."""
        nodes, counts = np.unique(self.unit_node, return_counts=True)
        return dict(zip(nodes.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True)
class DispatchPlan:
    """A decision."""

    model: str  # ``hcp19``, ``cp-classes``, ``pcp19`` or ``pcp20``
    # {"optimal", "feasible", "unknown", "too-large", "nothing"}: what the solver says: a plan that is optimal, a plan, none in
    # time; a model that was not made as it is too large; or that nobody who could be modelled fits what is free, so that
    # nothing was planned. Optimal is meant of the whole weights that the solver was given: of Z itself if ``is_exact``.
    status: str
    source: str = "planned"  # {"planned", "fallback"}: whether the solver's plan starts jobs, or the list's
    is_repeatable: bool = True  # false if the clock stopped a solve
    is_exact: bool = True  # whether the solver's weights are proportional to 1/d
    # Z of the plan, of the list, and what Z is at least; None where nothing was planned. Of ``hcp19`` all are of the
    # pool; of ``cp-classes`` the list's has places, and the plan's may have none.
    value: Fraction | None = None
    list_value: Fraction | None = None
    bound: Fraction | None = None
    list_order: str = ""  # the order of the list, one of :data:`bls.cp.serial.ORDERS`
    # jobs and variables of the model, and how often it was solved; 0 variables where none was made
    modelled: int = 0
    variables: int = 0
    solves: int = 0
    # how long that took by the caller's clock
    list_ns: int = 0
    build_ns: int = 0
    solve_ns: int = 0
    place: Array | None = None  # int64 (modelled,): the jobs, by their places in the queue, the highest priority first
    # when the plan starts them, and on which nodes and positions of the machine; None where nothing was planned. Nobody
    # who does not start at t is promised anything.
    schedule: Dispatch | None = None
    starts: tuple[PlannedStart, ...] = ()  # who starts now, by priority
    # of ``hcp19`` and ``cp-classes``: rows of jobs that the plan would have started now, and for which there are no
    # nodes beside who else starts; they wait
    unplaced: tuple[int, ...] = ()

    @property
    def is_solved(self) -> bool:
        """Whether the next dispatch may model as many jobs as ever; see ``Parameters.next_queue``.

        Not where nothing was found in time, or the clock stopped a solve; a model that is too large, or a plan that would
        have left an empty machine idle, says nothing about time.
        """
        return self.is_repeatable and (self.source == "planned" or self.status != "unknown")


def starts_of(problem: Problem, schedule: Dispatch, row: Array) -> tuple[PlannedStart, ...]:
    """Who starts at t by a schedule with places. ``schedule``: on the machine's nodes. ``row``, int64 (n,): of the queue."""
    found = []
    for job in np.flatnonzero(schedule.start_s == 0).tolist():
        units = slice(int(problem.first_unit[job]), int(problem.first_unit[job + 1]))
        node = schedule.unit_node[units]
        low = schedule.unit_low[units] if len(schedule.unit_low) else None
        place = int(problem.place[job])
        found.append(PlannedStart(place, int(row[place]), node, low))
    return tuple(found)
