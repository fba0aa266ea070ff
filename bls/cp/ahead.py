"""A plan for several days in which all jobs are known in advance, with their submits: it shows by how much a scheduler with
this knowledge could improve on a policy.

It is the best of the serial schedules of :mod:`bls.cp.serial`, in which no job starts before its submit, improved by
large-neighbourhood search. It is a plan and not a bound: a better one may exist.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from bls.cp.instance import FAULT, Instance, Queue, RunningUnits
from bls.cp.objective import Objective
from bls.cp.parameters import GOALS
from bls.cp.problem import holders, in_large_pieces, problem_of
from bls.cp.serial import SerialGeneration, best_list, bettered
from bls.cp.serial_kernel import NODES, POOL
from traces.base.columns import Columns
from traces.base.errors import InputError, PluginError, one_of, whole
from traces.compiled import Array, own

#: Goals that a plan may minimise: all that do not depend on users.
GOALS_AHEAD: Final = tuple(goal for goal in GOALS if goal != "weighted")
_WHERE: Final = "plan ahead"


@dataclass(frozen=True)
class PlanAhead(Columns):
    """A plan of n jobs."""

    start_s: Array  # int64 (n,): starts, on the time axis of the submits
    first_unit: Array  # int64 (n + 1,): index of each job's first unit in ``unit_node``
    unit_node: Array  # int64 (units,): the node of each unit; of length 0 with pooled nodes
    # the minimised value of the plan and of the best list
    value: Fraction
    list_value: Fraction


def plan_ahead(
    capacity: Array,
    *,
    submit_s: Array,
    duration_s: Array,
    units: Array,
    per_unit: Array,
    goal: str = "slowdown",
    pooled: bool = False,
    lists: int = 1000,
    seed: int = 0,
    known_s: Array | None = None,
) -> PlanAhead:
    """Plan jobs on an empty machine.

    Parameters
    ----------
    capacity : int64 (nodes, resources)
        Resources of each node.
    submit_s, duration_s, units : int64 (n,)
        Submits, run times (at least 1 s), and number of units per job; each unit lies on one node.
    per_unit : int64 (n, resources)
        Request of a unit.
    goal : str
        Minimised value, one of :data:`GOALS_AHEAD`.
    pooled : bool
        Whether only the sums of resources over all nodes count.
    lists : int
        Number of lists that the search makes, 0 or more.
    seed : int
    known_s : int64 (n,), optional
        Starts of a known schedule, for example a policy's: a further order to begin with. With pooled nodes the plan is no
        worse.

    Raises
    ------
    InputError
        If a job does not fit the empty machine, the goal is unknown, or a number is out of range.
    PluginError
        If the shapes of columns do not match, or a column does not hold integers.
    """
    where = _WHERE
    whole(f"{where}: lists", lists, 0, 2**31 - 1)
    whole(f"{where}: seed", seed, 0, 2**31 - 1)
    if goal not in GOALS_AHEAD:
        raise one_of("goal", goal, GOALS_AHEAD, f"{where}: goal")
    capacity = _whole("capacity", capacity, (None, None))
    submit_s = _whole("submit_s", submit_s, (None,))
    n, kinds = len(submit_s), capacity.shape[1]
    columns = [_whole("duration_s", duration_s, (n,)), _whole("units", units, (n,))]
    columns.append(_whole("per_unit", per_unit, (n, kinds)))
    known_s = None if known_s is None else _whole("known_s", known_s, (n,))
    queue = Queue(np.arange(n), np.zeros(n, np.int64), *columns)
    names = tuple(f"resource {kind}" for kind in range(kinds))
    try:
        instance = Instance(names, capacity, RunningUnits.none(kinds), queue)
    except PluginError as error:  # shapes are right: a number is not
        raise InputError(f"{where}: {error.text.removeprefix(FAULT).removeprefix('queue: ')}") from None
    fits = holders(instance.capacity, queue)
    if not fits.all():
        job = int(np.argmin(fits))
        raise InputError(f"{where}: job {job} (from 0) does not fit the empty machine; allowed: jobs that do")
    if not n:
        empty = np.zeros(0, np.int64)
        return PlanAhead(empty, np.zeros(1, np.int64), empty.copy(), Fraction(0), Fraction(0))
    begin = int(submit_s.min())
    release_s = submit_s - begin
    problem = in_large_pieces(problem_of(instance, np.arange(n)))
    objective = Objective(problem, goal)
    generation = SerialGeneration(problem, POOL if pooled else NODES, release_s)
    last = None if known_s is None else known_s - begin
    listed, _ = best_list(problem, objective, generation, last)
    found = bettered(problem, objective, generation, listed, lists=lists, seed=seed)
    before = sum((Fraction(int(r), int(e)) for r, e in zip(release_s, objective.per_s, strict=True)), Fraction(0))
    return PlanAhead(
        found.start_s + begin,
        problem.first_unit,
        found.unit_node,
        objective.value(found.start_s) - before,
        objective.value(listed.start_s) - before,
    )


def _whole(name: str, given: Array, shape: tuple[int | None, ...]) -> Array:
    """A copy of a column as int64, if its shape is ``shape`` (None: any length); fractions are refused."""
    column = np.asarray(given)
    same = (wanted in (None, has) for wanted, has in zip(shape, column.shape, strict=False))
    fits = column.ndim == len(shape) and all(same)
    if not fits or (column.size and not (column.dtype.kind in "iu" and np.can_cast(column.dtype, np.int64))):
        allowed = ", ".join("any" if wanted is None else str(wanted) for wanted in shape)
        raise PluginError(
            f"{_WHERE}: {name}: {column.dtype} of shape {column.shape}; allowed: whole numbers (int64) of shape "
            f"({allowed}{',' if len(shape) == 1 else ''})"
        )
    return own(column.astype(np.int64, order="C"), np.int64)
