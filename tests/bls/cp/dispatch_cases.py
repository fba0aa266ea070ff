"""Dispatches drawn by hand and by hypothesis, as the reference has them and as the package does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, violations

from bls.cp import Parameters
from bls.cp.dispatch import plan
from bls.cp.instance import Instance, Queue, Running
from bls.cp.plan import Plan
from bls.cp.problem import problem_of
from traces.compiled import Array

#: Of each dispatcher, the cells of the reference.
CELLS = {"hcp19": "pool", "cp-classes": "classes", "pcp19": "nodes", "pcp20": "boxes"}

#: Drawn by hand; and the least Z of each in the pool, by classes, on nodes and in boxes, found by hand where there is a reason
#: beside it.
CASES: dict[str, tuple[Case, tuple[str, str, str, str]]] = {
    # Two jobs that need all of a node: Z is 3/3 + 9/6 if the short one is first, else 6/6 + 9/3.
    "order": (Case(((4,),), (), (Waiting(0, 6, 1, (4,)), Waiting(0, 3, 1, (4,)))), ("5/2", "5/2", "5/2", "5/2")),
    # Two cores are free on each of two nodes: three pieces for one unit are in the pool only. At 5 node 0 is free.
    "pool lies": (
        Case(((4,), (4,)), (Busy(5, {0: 2}, (1,)), Busy(9, {1: 2}, (1,))), (Waiting(0, 4, 1, (3,)),)),
        ("1", "9/4", "9/4", "9/4"),
    ),
    # At 2 two cores are free on the node, and not side by side; at 9 all are.
    "apart": (
        Case(((4,),), tuple(Busy(left, {0: 1}, (1,)) for left in (2, 9, 2, 9)), (Waiting(0, 3, 1, (2,)),)),
        ("5/3", "5/3", "5/3", "4"),
    ),
    # The last position of one node and the first ones of the next are free: side by side on the axis, and no place for a unit.
    "across": (
        Case(((3,), (3,)), (Busy(9, {0: 2}, (1,)),), (Waiting(0, 4, 1, (2,)), Waiting(0, 4, 1, (2,)))),
        ("2", "3", "3", "3"),
    ),
    # Two units of three fit two nodes of four, and three units of two would, too; but none of two beside two of three.
    "classes lie": (
        Case(((4,), (4,)), (), tuple(Waiting(0, 4, 1, (asked,)) for asked in (3, 3, 2))),
        ("3", "3", "4", "4"),
    ),
    # One large node has cores, the other one its GPU; the small one is free at 5. The pool has both.
    "sizes apart": (
        Case(
            ((2, 1), (4, 1), (4, 1)),
            (Busy(5, {0: 1}, (2, 0)), Busy(9, {1: 1}, (4, 0)), Busy(100, {2: 1}, (0, 1))),
            (Waiting(0, 5, 1, (2, 1)),),
        ),
        ("1", "2", "2", "2"),
    ),
    # The last job first, then the first one at 1: two cores of node 0 and the one of node 1. So the second has to wait until 3.
    "units": (
        Case(
            ((3,), (3,)),
            (Busy(2, {1: 1}, (2,)),),
            (Waiting(3, 2, 3, (1,)), Waiting(1, 4, 2, (2,)), Waiting(0, 1, 2, (1,))),
        ),
        ("6", "6", "6", "6"),
    ),
}


def instance_of(case: Case) -> Instance:
    """The instance of a case; a job's row is its place in ``case.waiting``."""

    def column(values: list[int]) -> Array:
        return np.array(values, np.int64)

    def table(rows: list[tuple[int, ...]]) -> Array:
        return np.array(rows, np.int64).reshape(len(rows), len(case.capacity[0]))

    places = [(k, node, units) for k, job in enumerate(case.busy) for node, units in sorted(job.places.items())]
    running = Running(
        column([job.left for job in case.busy]),
        table([job.per_unit for job in case.busy]),
        *(column([place[k] for place in places]) for k in range(3)),
    )
    jobs = case.waiting
    queue = Queue(
        column(list(range(len(jobs)))),
        column([job.waited for job in jobs]),
        column([job.duration for job in jobs]),
        column([job.units for job in jobs]),
        table([job.per_unit for job in jobs]),
    )
    names = ("core", "gpu", "mic")[: len(case.capacity[0])]
    return Instance(names, table(list(case.capacity)), running, queue)


def faults(case: Case, plan: Plan, instance: Instance) -> list[str]:
    """What is wrong with a plan, by the reference; who starts now is looked at by itself, on nodes, for every dispatcher."""
    assert plan.schedule is not None
    assert plan.place is not None
    jobs, units = plan.place.tolist(), instance.queue.units[plan.place].tolist()
    first = np.cumsum([0, *units])
    cells, of_classes = CELLS[plan.model], plan.schedule.class_units
    nodes = [plan.schedule.unit_node[a:b].tolist() for a, b in pairwise(first)]
    if of_classes is not None:
        nodes = [np.repeat(np.arange(len(counts)), counts).tolist() for counts in of_classes]
    elif cells == "classes":  # the list's plan has places
        cells = "nodes"
    lows = [plan.schedule.unit_low[a:b].tolist() for a, b in pairwise(first)]
    wrong = violations(case, cells, jobs, plan.schedule.start_s.tolist(), nodes, lows)
    now = [start.row for start in plan.starts]
    wrong += violations(case, "nodes", now, [0] * len(now), [start.unit_node.tolist() for start in plan.starts], [])
    at_once = [job for job, start in zip(jobs, plan.schedule.start_s.tolist(), strict=True) if start == 0]
    if sorted([*now, *plan.unplaced]) != sorted(at_once):
        wrong.append(f"{now} and {plan.unplaced} of {at_once}")
    return wrong


@st.composite
def cases(draw: st.DrawFn, *, nodes: int = 2, jobs: int = 3) -> Case:
    """Small dispatches in which every job fits the empty machine."""
    kinds = draw(st.integers(1, 2))
    capacity = tuple(
        (draw(st.integers(1, 4)), *(draw(st.integers(0, 2)) for _ in range(kinds - 1)))
        for _ in range(draw(st.integers(1, nodes)))
    )
    free = [list(node) for node in capacity]
    busy = []
    for _ in range(draw(st.integers(0, 3))):
        node = draw(st.integers(0, len(capacity) - 1))
        asked = tuple(draw(st.integers(0 if which else 1, 2)) for which in range(kinds))
        if all(has >= wanted for has, wanted in zip(free[node], asked, strict=True)):
            free[node] = [has - wanted for has, wanted in zip(free[node], asked, strict=True)]
            busy.append(Busy(draw(st.integers(1, 6)), {node: 1}, asked))
    waiting = []
    for _ in range(draw(st.integers(1, jobs))):
        host = draw(st.sampled_from(capacity))
        asked = tuple(draw(st.integers(0 if which else 1, has)) if has else 0 for which, has in enumerate(host))
        fitting = sum(
            min(has // wanted for has, wanted in zip(node, asked, strict=True) if wanted) for node in capacity
        )
        units = draw(st.integers(1, min(2, fitting)))
        waiting.append(Waiting(draw(st.integers(0, 8)), draw(st.integers(1, 5)), units, asked))
    return Case(capacity, tuple(busy), tuple(waiting))


def planned(instance: Instance, model: str, parameters: Parameters) -> Plan:
    """Return the plan of all jobs, whether or not one can start now."""
    problem = problem_of(instance, np.arange(len(instance.queue)))
    return plan(problem, model, parameters, row=instance.queue.row)
