"""The techniques of a run as arrays that the engine takes: one row per rule, called by its address."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from als.planners import PLAN, Planner
from als.planners.contract import Mapped
from als.schedulers import AnyScheduler
from als.techniques import NEXT_CHUNK, NEXT_CHUNK_FULL, TECHNIQUES, Selection, Technique
from traces.base.errors import PluginError
from traces.compiled import as_value, compiled, function_table
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State

# Bits of a rule's flags.
FULL = 1  # it has the full form
MOMENTS = 2
LEARNS = 4
PLACES = 8
RANDOM = 16
SELECTS = 32
PLANS = 64  # it is a planner, and its address that of a PLAN; or nothing is asked


class RuleTable(State):
    """What the kernels know of each rule."""

    flags: Ints  # FULL … PLANS
    params_first: Ints  # its parameters: params_first … params_stop - 1
    params_stop: Ints  # likewise
    memo_size: Ints  # numbers that it keeps for a loop
    memo_per_core: Ints  # and for each core
    candidates: Ints  # of a selection: how many; they are the rows after it
    every_ns: Ints  # of a selection: how long a choice stands at least; 0 for the whole loop
    params: Floats  # the parameters of all rules, one behind the other
    calls: Ints  # their addresses (``traces.compiled.function_table``); of a selection its first candidate's


class RuleRows:
    """The rules of a run: a selection has a row, followed by those of its candidates. Raises PluginError if a rule is
    compiled for neither form."""

    def __init__(self, schedulers: Sequence[AnyScheduler]) -> None:
        self.row: list[int] = []  # of each of ``schedulers``
        self.names: list[str] = []  # of each row
        #: The rule of each row; of a selection, its first candidate's; of a planner, one that is never asked.
        self.techniques: list[Technique] = []
        rows: list[list[int]] = []
        params: list[float] = []
        planners: dict[int, Planner] = {}

        def add(name: str, technique: Technique, flags: int, values: Sequence[float], *sizes: int) -> None:
            rows.append([flags, len(params), len(params) + len(values), *sizes])
            params.extend(values)
            self.names.append(name)
            self.techniques.append(technique)

        for given in schedulers:
            self.row.append(len(rows))
            rules: Sequence[tuple[str, Technique]] = ()
            if isinstance(given, Planner):
                planners[len(rows)] = given
                add(given.name, TECHNIQUES["ss"], PLANS, given.params, 0, 0, 0, 0)
            elif isinstance(given, Mapped):
                add(given.name, TECHNIQUES["ss"], PLANS, (), 0, 0, 0, 0)
            elif isinstance(given, Selection):
                flags, n = SELECTS + LEARNS * any(one.learns for one in given.candidates), len(given.candidates)
                add(given.name, given.candidates[0], flags, (), 0, 0, n, given.every_ns)
                rules = list(zip(given.written, given.candidates, strict=True))
            else:
                rules = [(given.name, given)]
            for name, one in rules:
                flags = FULL * (not one.plain) + MOMENTS * one.moments + LEARNS * one.learns
                flags += PLACES * one.places + RANDOM * one.random
                add(name, one, flags, one.params, one.memo_size, one.memo_per_core, 0, 0)
        # The functions behind the addresses must live as long as the table does.
        self._kept = [_value(technique) for technique in self.techniques]
        for row, planner in planners.items():
            self._kept[row] = as_value(planner.plan, PLAN)
        self.planners = tuple(planners.values())  # they say how much work space they need
        columns = np.ascontiguousarray(np.array(rows, np.int64).T)
        self.table = RuleTable(*columns, np.array(params, np.float64), function_table(self._kept))
        self.selects = bool((self.table.flags & SELECTS).any())

    def plan_room(self, n_tasks: int, n_edges: int, n_cores: int) -> tuple[int, int]:
        """How many numbers and how many places of work space the planners need."""
        sizes = [(one.floats(n_tasks, n_edges, n_cores), one.ints(n_tasks, n_edges, n_cores)) for one in self.planners]
        return max((size[0] for size in sizes), default=0), max((size[1] for size in sizes), default=0)

    def forget_all(self) -> None:
        """No job runs now."""
        for technique in self.techniques:
            if not technique.by_memo:
                technique.forget_all()

    def error(self, row: int) -> BaseException | None:
        """What a rule written in Python raised, once; None if there is nothing."""
        return self.techniques[row].error()


def _value(technique: Technique) -> Any:
    try:
        return as_value(technique.next_chunk, NEXT_CHUNK if technique.plain else NEXT_CHUNK_FULL)
    except TypeError as error:
        raise PluginError(f"application technique {technique.name}: {error}; use technique_kernel") from None


@compiled(inner=True)
def memo_size(rules: RuleTable, row: int, n_cores: int) -> int:
    """How many numbers the rule of a row keeps for one loop; of a selection, all of its candidates."""
    total = 0
    for k in range(row, row + 1 + rules.candidates[row]):
        total += rules.memo_size[k] + n_cores * rules.memo_per_core[k]
    return int(total)
