"""What an application consists of, part after part: what is said of it, checked, as the engine has it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.parts import GraphPart
from als.engine.rule_table import RuleRows
from als.network.state import NONE as NO_DELAY
from als.network.state import NetworkState
from als.planners import Planner
from als.planners.mapped import Mapped
from als.schedulers import AnyScheduler
from als.techniques import TECHNIQUES
from traces.base.errors import InputError, whole
from traces.compiled import Array

#: Most cores of an application.
MAX_CORES = 2**31 - 1

#: What the rules of a phase depend on: its scheduler, whether it is a graph, and how its tasks wait and come to cores.
PhaseKey = tuple[AnyScheduler | None, bool, int, int]


def phase_key(kind: AnyScheduler | GraphPart | None) -> PhaseKey:
    """What the rules of such a phase depend on."""
    if isinstance(kind, GraphPart):
        return kind.scheduler, True, kind.mode, kind.order
    return kind, isinstance(kind, Planner), g.PLANNED if isinstance(kind, Planner) else g.BY_TECHNIQUE, 0


@functools.lru_cache(maxsize=64)
def phase_rules(keys: tuple[PhaseKey, ...]) -> tuple[RuleRows, s.Phases]:
    """The rules of phases, and the phases as the state has them."""
    # Most applications of a process share their techniques.
    schedulers = tuple(scheduler for scheduler, *_ in keys if scheduler is not None)
    rules = RuleRows(schedulers or (TECHNIQUES["ss"],))  # the kernels look at a first row even where there is no loop
    rows = iter(rules.row)
    phases = [
        [s.SERIAL, 0, 0, 0] if scheduler is None else [s.GRAPH if is_graph else s.LOOP, next(rows), mode, order]
        for scheduler, is_graph, mode, order in keys
    ]
    return rules, s.Phases(*np.ascontiguousarray(np.array(phases, np.int64).T))


def why_rigid(kinds: Sequence[AnyScheduler | GraphPart | None], network: NetworkState) -> str:
    """Why an application of such phases cannot have other cores while it runs; "" if it can."""
    for kind in kinds:
        if isinstance(kind, GraphPart) and isinstance(kind.scheduler, Mapped):
            return "a graph whose tasks have hosts or cores of their own, mapped; allowed: techniques and planners"
    graphs = any(isinstance(kind, GraphPart | Planner) for kind in kinds)
    if graphs and network.kind != NO_DELAY:
        return "a graph whose data take time on a network; allowed: no network"
    return ""


def checked_wishes(given: Sequence[int], n_phases: int) -> Array:
    """For how many cores it wishes as a part of each phase begins: int64 (phases,). Raises InputError if it is not one
    number from 0 to ``MAX_CORES`` for each phase."""
    if len(given) != n_phases:
        raise InputError(f"wishes: {len(given)} numbers; allowed: one for each of {n_phases} phases")
    for place, cores in enumerate(given):
        whole(f"wishes[{place}]", cores, 0, MAX_CORES)
    return np.array(given, np.int64)


def part_first(
    kinds: Sequence[AnyScheduler | GraphPart | None],
    part_tasks: Sequence[int] | Array | None,
    n_tasks: int,
    n_cores: int,
) -> Array:
    """The first task of each part, and behind them the number of tasks: int64 (parts + 1,). Raises InputError if the
    parts are not the phases, once or more, or their tasks not all that there are, or a scheduler is not for them."""
    for part in kinds:
        kind = part.scheduler if isinstance(part, GraphPart) else part
        if isinstance(part, Mapped):
            raise InputError("technique mapped: allowed: a GraphPart whose tasks have hosts")
        if kind is not None and kind.only_cores not in (None, n_cores):
            raise InputError(f"technique {kind.name}: its weights are for {kind.only_cores} cores, not {n_cores}")
    if part_tasks is None:
        if len(kinds) == 1 and (n_tasks == 1 or kinds[0] is not None):
            return np.array([0, n_tasks])
        part_tasks = (n_tasks,)
    if not kinds or len(part_tasks) % len(kinds) or len(part_tasks) == 0:
        raise InputError(f"part_tasks: {len(part_tasks)} parts; allowed: all {len(kinds)} phases, once or more")
    for place, tasks in enumerate(part_tasks):
        whole(f"part_tasks[{place}]", tasks, 1, 1 if kinds[place % len(kinds)] is None else n_tasks)
    part_first = np.zeros(len(part_tasks) + 1, np.int64)
    np.cumsum(part_tasks, out=part_first[1:])
    if part_first[-1] != n_tasks:
        raise InputError(f"part_tasks: {part_first[-1]} tasks; there are {n_tasks} lengths")
    return part_first
