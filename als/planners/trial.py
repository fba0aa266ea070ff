"""Try a custom planner on a small graph before it is used."""

import functools
from typing import Any, Final

import numpy as np

from als.graphs.order import index_edges, topological_order
from als.planners.contract import NO_CORE, PLAN, SOUND, Planner, PlanningProblem, first_fault
from traces.base.errors import RAISED_BY_PLUGINS, PluginError, shown, where_raised, whole
from traces.trials import Fences, rule_answers, try_rule

# A diamond, a task without edges, and a task without work: tasks 0 to 5 on two hosts with four cores, the second of them
# absent.
_GFLOP: Final = (2.0, 3.0, 5.0, 1.0, 4.0, 0.0)
_EDGES: Final = ((0, 1, 1e9), (0, 2, 0.0), (1, 3, 5e8), (2, 3, 2e9), (3, 5, 0.0))
_SPEED: Final = (1.0, 0.0, 2.0, 1.5)
_HOST: Final = (0, 0, 1, 1)
_COSTS: Final = (1e-6, 1e-9, 1e-10)

_OUT: Final = ("core", "begin", "floats", "ints")
_MOST: Final = 2**24


@functools.lru_cache(maxsize=64)
def try_out(planner: Planner) -> Planner:
    """Plan a graph of six tasks on three present cores, and on none. Raises PluginError if the planner raises, is killed,
    changes read-only inputs, writes outside its arrays, makes an invalid plan, returns a wrong value, or is not made by
    ``planner_kernel``."""
    where = f"planner {planner.name}"
    try_rule(where, planner.plan, PLAN, "plan with planner_kernel", lambda: _plan(where, planner))
    return planner


def _plan(where: str, planner: Planner) -> None:
    n, e, p = len(_GFLOP), len(_EDGES), len(_SPEED)
    source, target = (np.array([edge[end] for edge in _EDGES], np.int64) for end in (0, 1))
    out_first, in_first, in_edge, order = (np.zeros(size, np.int64) for size in (n + 1, n + 1, e, n))
    index_edges(source, target, n, out_first, in_first, in_edge)
    topological_order(out_first, target, in_first, n, order, np.zeros(n, np.int64))
    given = {"gflop": np.array(_GFLOP), "source": source, "target": target, "bytes": np.array([b for *_, b in _EDGES])}
    given |= {"out_first": out_first, "in_first": in_first, "in_edge": in_edge, "order": order}
    given |= {"core_host": np.array(_HOST, np.int64), "costs": np.array(_COSTS), "params": np.array(planner.params)}
    given |= {"kind": np.zeros(0, np.int64), "kind_gflop": np.zeros(0)}
    given |= {"core": np.full(n, -1), "begin": np.full(n, -1.0)}
    given["floats"] = np.zeros(_room(where, "floats", planner, n, e, p))
    given["ints"] = np.zeros(_room(where, "ints", planner, n, e, p), np.int64)
    for speed, right in ((_SPEED, 0), ((0.0,) * p, NO_CORE)):
        fences = Fences(where, **given, speed=np.array(speed))
        arrays = fences.arrays
        with rule_answers(where):
            answer = planner.plan(PlanningProblem(**arrays))
        fences.check(*_OUT)
        if answer != right:
            cores = np.count_nonzero(speed)
            raise PluginError(f"{where}: it answers {shown(answer)} for {cores} cores; allowed: {right}")
        if right == NO_CORE:
            continue
        task = first_fault(source, target, np.array(speed), arrays["core"], arrays["begin"])
        if task != SOUND:
            raise PluginError(
                f"{where}: task {task} of its first plan is on core {arrays['core'][task]} from {arrays['begin'][task]:g} s; "
                "allowed: cores that are present, and starts from 0 on that are not before a producer's"
            )


def _room(where: str, field: str, planner: Planner, n: int, e: int, p: int) -> int:
    try:
        room: Any = getattr(planner, field)(n, e, p)
    except RAISED_BY_PLUGINS as error:
        raise PluginError(
            f"{where}: {field} raises {type(error).__name__} {error}; allowed: a whole number{where_raised(error)}"
        ) from None
    return whole(f"{where}: {field}", room, 0, _MOST)
