"""The list's plan: serial schedules in several orders; the best by exact Z is kept. It is a complete plan in the model's kind
of room. Large-neighbourhood search (:func:`bettered`) improves it without a solver."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import HeldBoxes, Problem
from bls.cp.serial_kernel import BOXES, POOL, PricedCosts, Room, generate, generate_priced
from traces.base.columns import Columns
from traces.compiled import Array, own


@dataclass(frozen=True)
class Dispatch(Columns):
    """Starts of the jobs of a problem, and places of their units."""

    start_s: Array  # int64 (k,): seconds after t
    unit_node: Array  # int64 (u,): the node of each unit, by job; of length 0 for plans of the pool
    # int64 (u, resources): first position of each unit within the node, 0 for resources that it does not request; of length 0
    # if there are no positions
    unit_low: Array
    # int64 (k, classes): in plans of node classes, the number of units of each job per class;
    # :class:`bls.cp.classes.NodeClasses`
    class_units: Array | None = None


#: Orders of lists: by priority; shortest first, then smallest; weight (1/e) over work (Smith).
ORDERS: Final[dict[str, Callable[[Problem, Objective], Array]]] = {
    "slowdown": lambda problem, objective: np.arange(len(problem)),
    "shortest": lambda problem, objective: np.lexsort((problem.area, problem.duration_s)),
    # Weight over work is optimal on a machine that runs one job at a time: here 1/e over d × area.
    "smith": lambda problem, objective: np.argsort(
        problem.duration_s.astype(np.float64) * objective.per_s * problem.area, kind="stable"
    ),
}

LAST: Final = "last"  #: the order of the starts of the previous plan, if there is one
_ANEW: Final = 4  #: largest number of times that the best schedule is generated again in the order of its starts


#: Columns of a problem that its room also has.
_GIVEN: Final = ("capacity", "total", "duration_s", "units", "first_unit", "per_unit")


class SerialGeneration:
    """Generator of serial schedules of a problem, whose jobs all fit the empty machine, one per order.

    - ``room``: ``POOL``, ``NODES`` or ``BOXES``
    - ``release_s``, int64 (k,): earliest start of each job, s after t; default t
    - ``objective``: its costs, if any, determine the starts of jobs that are held back; other jobs start as early as possible
    """

    def __init__(
        self, problem: Problem, room: int, release_s: Array | None = None, objective: Objective | None = None
    ) -> None:
        self._problem = problem
        self._costs = None if objective is None or objective.costs is None else _costs(objective)
        self._release_s = np.zeros(len(problem), np.int64) if release_s is None else own(release_s.copy(), np.int64)
        held, n_nodes, kinds, jobs = problem.held, len(problem.capacity), len(problem.resources), len(problem)
        n_units = int(problem.units.sum()) if room != POOL else 0
        ends, amounts = problem.pooled_ends
        self._slice_s = np.concatenate((np.zeros(1, np.int64), ends))
        self._used = np.zeros((len(ends) + 1, kinds), np.int64)
        self._used[:-1] = amounts[::-1].cumsum(axis=0)[::-1]
        before: Array | None = None
        self._head: Array = np.zeros((0, kinds), np.int64)
        n_held = 0
        if room != POOL:
            self._head, before = _chains(held, n_nodes, kinds)
            n_held = len(held)
        n_boxes = n_held + n_units * kinds
        widest = int(problem.units.max(initial=0)) if room == BOXES else 0

        def more(column: Array | None) -> Array:
            longer = np.zeros(n_boxes, np.int64)
            if column is not None:
                longer[:n_held] = column[:n_held]
            return longer

        self._n_held = n_held
        self._room = Room(
            room=room,
            **{name: own(getattr(problem, name).copy(), np.int64) for name in _GIVEN},
            release_s=self._release_s.copy(),
            order=np.zeros(jobs, np.int64),
            n_slices=np.zeros(1, np.int64),
            slice_s=np.zeros(len(self._slice_s) + 2 * jobs, np.int64),
            used=np.zeros((len(self._slice_s) + 2 * jobs, kinds), np.int64),
            n_boxes=np.zeros(1, np.int64),
            head=np.zeros_like(self._head),
            before=more(before),
            begin_s=more(None),
            stop_s=more(held.left_s),
            low=more(held.low),
            size=more(held.size),
            spot=np.zeros((kinds, widest), np.int64),
            start_s=np.zeros(jobs, np.int64),
            unit_node=np.zeros(n_units, np.int64),
            unit_low=np.zeros((n_units, kinds), np.int64),
        )

    def __call__(self, order: Array) -> Dispatch:
        """The schedule of the jobs in an order, int64 (k,): a permutation of their indices."""
        self._room.release_s[:] = self._release_s
        return self._generated(order, self._costs)

    def as_planned(self, start_s: Array) -> Dispatch:
        """The schedule in the order of a plan's starts, int64 (k,). No job starts later than in the plan if places do not
        matter, nor earlier if jobs are held back."""
        order = np.argsort(start_s, kind="stable")
        if self._costs is None:
            return self(order)
        self._room.release_s[:] = np.maximum(self._release_s, start_s)
        return self._generated(order, None)

    def _generated(self, order: Array, costs: PricedCosts | None) -> Dispatch:
        room = self._room
        assert len(order) == len(room.order), "an order has every job"
        room.order[:] = order
        room.n_slices[0] = len(self._slice_s)
        room.slice_s[: len(self._slice_s)] = self._slice_s
        room.used[: len(self._slice_s)] = self._used
        room.n_boxes[0] = self._n_held
        room.head[:] = self._head
        failed = generate(room) if costs is None else generate_priced(room, costs)
        assert not failed, "only jobs that the empty machine can hold are modelled"
        low = room.unit_low.copy() if room.room == BOXES else room.unit_low[:0].copy()
        return Dispatch(room.start_s.copy(), room.unit_node.copy(), low)


def _costs(objective: Objective) -> PricedCosts:
    pieces = objective.costs
    assert pieces is not None
    back = [piece.minima_s for piece in pieces]

    def column(values: Iterable[int]) -> Array:
        return np.fromiter(values, np.int64)

    def first(lists: Sequence[Sequence[int]]) -> Array:
        return np.cumsum([0, *map(len, lists)], dtype=np.int64)

    return PricedCosts(
        piece_first=first([piece.at_s for piece in pieces]),
        at_s=column(chain.from_iterable(piece.at_s for piece in pieces)),
        value=column(chain.from_iterable(piece.value for piece in pieces)),
        slope=column(chain.from_iterable(piece.slope for piece in pieces)),
        back_first=first(back),
        back_s=column(chain.from_iterable(back)),
        latest_s=column(objective.latest_s),
        first_s=np.zeros(len(pieces), np.int64),
    )


def _chains(held: HeldBoxes, n_nodes: int, kinds: int) -> tuple[Array, Array]:
    """The first box of each node and kind, and the next box of each box; -1 if there is none."""
    head = np.full((n_nodes, kinds), -1, np.int64)
    before = np.full(len(held), -1, np.int64)
    if len(held):
        # They are sorted, so the last one of each node and kind stays.
        head[held.node, held.kind] = np.arange(len(held))
        same = (held.node[1:] == held.node[:-1]) & (held.kind[1:] == held.kind[:-1])
        before[1:][same] = np.flatnonzero(same)
    return head, before


def best_list(
    problem: Problem, objective: Objective, generation: SerialGeneration, last_s: Array | None = None
) -> tuple[Dispatch, str]:
    """The best of the orders' schedules by Z, the first of equals; and its order. The best schedule is generated again in the
    order of its starts while that improves it: a job that starts early although it is late in the order may leave better places
    to others when it is early in the order. ``last_s``: as of :func:`bls.cp.dispatch.dispatch`."""
    orders = {name: order(problem, objective) for name, order in ORDERS.items()}
    if last_s is not None and (last_s >= 0).any():
        orders[LAST] = np.lexsort((last_s, last_s < 0))
    name, best, value = "", None, 0
    for one, order in orders.items():
        schedule = generation(order)
        sum_of = objective.sum_of(schedule.start_s)
        if best is None or sum_of < value:
            name, best, value = one, schedule, sum_of
        if value == objective.least:
            return best, name
    assert best is not None
    for _ in range(_ANEW):
        schedule = generation(np.argsort(best.start_s, kind="stable"))
        sum_of = objective.sum_of(schedule.start_s)
        if sum_of >= value:
            break
        best, value = schedule, sum_of
    return best, name


_MOST: Final = 8  #: the largest number of jobs to take out at once
_REACH: Final = 4  #: largest distance at which a job is put back, as a fraction of all positions (1 / _REACH)


def bettered(
    problem: Problem, objective: Objective, generation: SerialGeneration, plan: Dispatch, *, lists: int, seed: int
) -> Dispatch:
    """The best plan of a large-neighbourhood search with ``lists`` lists; no worse than ``plan``. Not from the papers.

    Some jobs are taken out of the order and put back elsewhere. They come from three neighbourhoods in turn: any jobs, jobs
    with successive starts, or jobs with similar requests. The serial schedule of the new order replaces the old one if its Z is
    no larger. The effort is a number of lists, so that it is the same on any machine.

    Source of the idea: P. Shaw, "Using Constraint Programming and Local Search Methods to Solve Vehicle Routing Problems", CP
    1998; putting jobs back by a serial schedule: G. Schrimpf et al., "Record Breaking Optimization Results Using the Ruin and
    Recreate Principle", J. Comput. Phys. 159 (2000).
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
    """The order with the best first list, and its value: the order of the plan's starts, or one of the list's rules. With
    places, a list in the order of a plan's starts may be much worse than the plan."""
    orders = [np.argsort(plan.start_s, kind="stable"), *(rule(problem, objective) for rule in ORDERS.values())]
    values = [objective.sum_of(generation(order).start_s) for order in orders]
    best = values.index(min(values))
    first: list[int] = orders[best].tolist()
    return first, values[best]


def _taken_out(neighbourhood: int, order: list[int], alike: list[int], draw: random.Random) -> list[int]:
    n = len(order)
    count = draw.randint(1, min(_MOST, n))
    if neighbourhood == 0:
        return draw.sample(order, count)
    among = order if neighbourhood == 1 else alike
    width = min(n, 2 * count)
    first = draw.randrange(n - width + 1)
    return draw.sample(among[first : first + width], count)


def _back(order: list[int], out: list[int], draw: random.Random) -> list[int]:
    """The order with these jobs put back at most a quarter of all positions away."""
    gone = set(out)
    at = {job: place for place, job in enumerate(order) if job in gone}
    left = [job for job in order if job not in gone]
    reach = max(2, len(order) // _REACH)
    for job in out:
        low, high = max(0, min(len(left), at[job]) - reach), min(len(left), at[job] + reach)
        left.insert(draw.randint(low, high), job)
    return left
