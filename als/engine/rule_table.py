"""The techniques of a run as arrays for the engine: one row per rule, called by its address."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from als.planners import PLAN, Planner
from als.planners.contract import Mapped
from als.schedulers import AnyScheduler
from als.techniques import TECHNIQUES
from als.techniques.contract import NEXT_CHUNK, NEXT_CHUNK_FULL, Selection, Technique
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
PLANS = 64  # a planner (its address is a PLAN) or a mapped graph


class RuleTable(State):
    """The rules, one per row."""

    flags: Ints  # FULL … PLANS
    params_first: Ints  # first parameter
    params_stop: Ints  # one past the last parameter
    memo_size: Ints  # memo numbers per loop
    memo_per_core: Ints  # further memo numbers per core
    candidates: Ints  # number of a selection's candidates, in the following rows
    every_ns: Ints  # least time between two selections; 0: once per loop
    params: Floats  # parameters of all rules
    calls: Ints  # addresses (``traces.compiled.function_table``); for a selection, of its first candidate


class RuleRows:
    """The rules of a run: a selection has a row, followed by its candidates. Raises PluginError if a rule is compiled for
    neither form."""

    def __init__(self, schedulers: Sequence[AnyScheduler]) -> None:
        self.row: list[int] = []  # by scheduler
        self.names: list[str] = []  # by row
        #: The rule of each row: for a selection its first candidate, for a planner one that is never asked.
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
        self.planners = tuple(planners.values())  # they know their work space
        columns = np.ascontiguousarray(np.array(rows, np.int64).T)
        self.table = RuleTable(*columns, np.array(params, np.float64), function_table(self._kept))
        self.selects = bool((self.table.flags & SELECTS).any())

    def plan_room(self, n_tasks: int, n_edges: int, n_cores: int) -> tuple[int, int]:
        """The work space of the planners: numbers of floats and of ints."""
        sizes = [(one.floats(n_tasks, n_edges, n_cores), one.ints(n_tasks, n_edges, n_cores)) for one in self.planners]
        return max((size[0] for size in sizes), default=0), max((size[1] for size in sizes), default=0)

    def forget_all(self) -> None:
        """Discard what techniques keep of jobs: no job runs now."""
        for technique in self.techniques:
            if not technique.by_memo:
                technique.forget_all()

    def error(self, row: int) -> BaseException | None:
        """The exception that a Python rule has raised, once; None without one."""
        return self.techniques[row].error()


def _value(technique: Technique) -> Any:
    try:
        return as_value(technique.next_chunk, NEXT_CHUNK if technique.plain else NEXT_CHUNK_FULL)
    except TypeError as error:
        raise PluginError(f"application technique {technique.name}: {error}; use technique_kernel") from None


@compiled(inner=True)
def memo_size(rules: RuleTable, row: int, n_cores: int) -> int:
    """The memo numbers per loop of a row's rule; for a selection, of all its candidates."""
    total = 0
    for k in range(row, row + 1 + rules.candidates[row]):
        total += rules.memo_size[k] + n_cores * rules.memo_per_core[k]
    return int(total)
