"""Large-neighbourhood search on the list: some jobs are taken out of the order and put back elsewhere; ours, not the papers'.

Who is taken out is one neighbourhood of three, in turn: any jobs, jobs that start one after another, or jobs that ask for
much the same. What they leave stays in its order, they come back at other places, and the serial schedule of the new order
takes the place of the old one where its Z is no larger. So the plan is never worse than the list's, it has places wherever
lists have, and no solver is needed. The effort is a number of lists, so that it is the same on any machine.

Source of the idea: P. Shaw, "Using Constraint Programming and Local Search Methods to Solve Vehicle Routing Problems", CP 1998;
that what was taken out is put back by a serial schedule is of G. Schrimpf et al., "Record Breaking Optimization Results Using
the Ruin and Recreate Principle", J. Comput. Phys. 159 (2000).
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.serial import ORDERS, Dispatch, SerialGeneration

#: The most jobs that are taken out at once.
_MOST: Final = 8

#: How far from its place a job may come back, of the places that there are.
_REACH: Final = 4


def bettered(
    problem: Problem, objective: Objective, generation: SerialGeneration, plan: Dispatch, *, lists: int, seed: int
) -> Dispatch:
    """The best plan that so many lists find, which is no worse than the given one.

    - ``generation``: of the problem
    - ``plan``: where the search begins
    - ``lists``: how many are made
    - ``seed``: of what is taken out, and where it comes back
    """
    n, draw = len(problem), random.Random(seed)
    if n < 2:
        return plan
    value = objective.sum_of(plan.start_s)
    order, current = _first(problem, objective, generation, plan)
    alike: list[int] = np.lexsort((problem.duration_s, problem.area, *problem.per_unit.T)).tolist()
    for number in range(lists):
        if value == objective.least:
            break
        out = _taken_out(number % 3, order, alike, draw)
        candidate = _back(order, out, draw)
        schedule = generation(np.array(candidate, np.int64))
        found = objective.sum_of(schedule.start_s)
        if found <= current:
            order, current = candidate, found
        if found < value:
            plan, value = schedule, found
    return plan


def _first(
    problem: Problem, objective: Objective, generation: SerialGeneration, plan: Dispatch
) -> tuple[list[int], int]:
    """The order of which the first list is best, and what it has: that of the plan's starts, or one of the list's rules. With
    places a list in the order of a plan's starts may be much worse than the plan."""
    orders = [np.argsort(plan.start_s, kind="stable"), *(rule(problem, objective) for rule in ORDERS.values())]
    values = [objective.sum_of(generation(order).start_s) for order in orders]
    best = values.index(min(values))
    first: list[int] = orders[best].tolist()
    return first, values[best]


def _taken_out(neighbourhood: int, order: list[int], alike: list[int], draw: random.Random) -> list[int]:
    """The jobs of a neighbourhood, in an order of chance."""
    n = len(order)
    count = draw.randint(1, min(_MOST, n))
    if neighbourhood == 0:
        return draw.sample(order, count)
    among = order if neighbourhood == 1 else alike
    width = min(n, 2 * count)
    first = draw.randrange(n - width + 1)
    return draw.sample(among[first : first + width], count)


def _back(order: list[int], out: list[int], draw: random.Random) -> list[int]:
    """The order with these jobs elsewhere, no further than a part of all places away."""
    gone = set(out)
    at = {job: place for place, job in enumerate(order) if job in gone}
    left = [job for job in order if job not in gone]
    reach = max(2, len(order) // _REACH)
    for job in out:
        low, high = max(0, min(len(left), at[job]) - reach), min(len(left), at[job] + reach)
        left.insert(draw.randint(low, high), job)
    return left
