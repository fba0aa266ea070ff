"""List scheduling as its papers write it, in plain Python: every step inspects everything.

HEFT: Topcuoglu, Hariri and Wu 2002, section 5.1. PEFT: Arabnejad and Barbosa 2014, section 4. Min-min and max-min: Maheswaran
et al. 1999, section 4. Critical path: Adam, Chandy and Dickson 1974 (HLFET), as described by Kwok and Ahmad 1999, section 6.2.

Tasks may take any time on any core, as the papers' examples need it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass
class Problem:
    """A graph on a machine.

    ``work``: time of task i on core p, in s; absent cores have an entry that is not used. ``mean``:
    mean time of each task over the present cores, in s. ``level_work``: what a task adds to a static level.
    ``edges``: bytes by (producer, consumer). ``host``: of each core. ``present``: cores that are. ``costs``:
    latency and s per byte between hosts, s per byte within one. ``order``: A topological order.
    """

    work: list[list[float]]
    mean: list[float]
    level_work: list[float]
    edges: dict[tuple[int, int], float]
    host: Sequence[int]
    present: list[int]
    costs: tuple[float, float, float]
    order: list[int]
    core: dict[int, int] = field(default_factory=dict)
    begin: dict[int, float] = field(default_factory=dict)
    end: dict[int, float] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[int, int]:
        return {task: place for place, task in enumerate(self.order)}

    @cached_property
    def producers(self) -> dict[int, list[int]]:
        return {task: [i for i, j in self.edges if j == task] for task in self.order}

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        return {task: [j for i, j in self.edges if i == task] for task in self.order}

    def cost(self, i: int, j: int, p: int, q: int) -> float:
        """Cost of the edge from i on core p to j on core q; without bytes it only determines the order."""
        latency, across, within = self.costs
        if p == q or self.edges[i, j] == 0.0:
            return 0.0
        if self.host[p] == self.host[q]:
            return self.edges[i, j] * within
        return latency + self.edges[i, j] * across

    def mean_cost(self, i: int, j: int) -> float:
        if self.edges[i, j] == 0.0:
            return 0.0
        if len({self.host[p] for p in self.present}) > 1:
            return self.costs[0] + self.edges[i, j] * self.costs[1]
        return self.edges[i, j] * self.costs[2] if len(self.present) > 1 else 0.0

    def ready_at(self, task: int, p: int) -> float:
        return max((self.end[i] + self.cost(i, task, self.core[i], p) for i in self.producers[task]), default=0.0)

    def free_at(self, p: int) -> float:
        """When the last of a core's tasks has ended."""
        return max((self.end[task] for task, core in self.core.items() if core == p), default=0.0)

    def inserted_at(self, task: int, p: int) -> float:
        """The earliest start on a core, in an idle interval between two tasks or after the last."""
        busy = sorted((self.begin[other], self.end[other]) for other, core in self.core.items() if core == p)
        idle, last = [], 0.0
        for begin, end in busy:
            if begin > last:
                idle.append((last, begin))
            last = end
        ready, length = self.ready_at(task, p), self.work[task][p]
        for opens, closes in idle:
            if max(opens, ready) + length <= closes:
                return max(opens, ready)
        return max(last, ready)

    def appended_at(self, task: int, p: int) -> float:
        return max(self.ready_at(task, p), self.free_at(p))

    def put(self, task: int, p: int, begin: float) -> None:
        self.core[task], self.begin[task], self.end[task] = p, begin, begin + self.work[task][p]

    def ready(self) -> list[int]:
        return [
            task
            for task in sorted(self.order)
            if task not in self.core and all(i in self.core for i in self.producers[task])
        ]


def related(
    gflop: Sequence[float],
    edges: dict[tuple[int, int], float],
    speed: Sequence[float],
    host: Sequence[int],
    costs: tuple[float, float, float],
    order: Sequence[int],
) -> Problem:
    """Tasks of some work on cores of some speed, 0 for absent ones."""
    present = [p for p in range(len(speed)) if speed[p] > 0]
    mean = sum(1 / speed[p] for p in present) / len(present)
    work = [[g / s if s > 0 else 0.0 for s in speed] for g in gflop]
    return Problem(work, [g * mean for g in gflop], list(gflop), edges, host, present, costs, list(order))


def unrelated(work: list[list[float]], edges: dict[tuple[int, int], float]) -> Problem:
    """As the papers' examples have it: any times, and edges whose bytes are their cost between any two cores."""
    cores = list(range(len(work[0])))
    return unlike(work, edges, [1.0] * len(cores), cores, (0.0, 1.0, 0.0), list(range(len(work))))


def unlike(
    work: list[list[float]],
    edges: dict[tuple[int, int], float],
    speed: Sequence[float],
    host: Sequence[int],
    costs: tuple[float, float, float],
    order: Sequence[int],
) -> Problem:
    """Tasks of any work on each core, infinite where they cannot run."""
    present = [p for p in range(len(speed)) if speed[p] > 0]
    times = [[row[p] / speed[p] if speed[p] > 0 else 0.0 for p in range(len(speed))] for row in work]
    able = [[row[p] for p in present if row[p] < math.inf] for row in times]
    mean = [sum(some) / len(some) for some in able]
    return Problem(times, mean, mean, edges, host, present, costs, list(order))


def upward_ranks(problem: Problem) -> dict[int, float]:
    """rank_u, HEFT's equation 8."""
    ranks: dict[int, float] = {}
    for i in reversed(problem.order):
        following = (problem.mean_cost(i, j) + ranks[j] for j in problem.consumers[i])
        ranks[i] = problem.mean[i] + max(following, default=0.0)
    return ranks


def optimistic_costs(problem: Problem) -> dict[tuple[int, int], float]:
    """OCT, PEFT's equation 3."""
    table: dict[tuple[int, int], float] = {}
    for i in reversed(problem.order):
        for p in problem.present:
            table[i, p] = max(
                (
                    min(
                        table[j, q] + problem.work[j][q] + (0.0 if q == p else problem.mean_cost(i, j))
                        for q in problem.present
                    )
                    for j in problem.consumers[i]
                ),
                default=0.0,
            )
    return table


def oct_ranks(problem: Problem) -> dict[int, float]:
    """rank_oct, PEFT's equation 4."""
    table = optimistic_costs(problem)
    return {i: sum(table[i, p] for p in problem.present) / len(problem.present) for i in problem.order}


def heft(problem: Problem) -> None:
    ranks = upward_ranks(problem)
    for task in sorted(problem.order, key=lambda i: (-ranks[i], problem.place[i])):
        starts = {p: problem.inserted_at(task, p) for p in problem.present}
        p = min(problem.present, key=lambda p: (starts[p] + problem.work[task][p], p))
        problem.put(task, p, starts[p])


def peft(problem: Problem) -> None:
    table, ranks = optimistic_costs(problem), oct_ranks(problem)
    while ready := problem.ready():
        task = min(ready, key=lambda i: (-ranks[i], problem.place[i]))
        starts = {p: problem.inserted_at(task, p) for p in problem.present}
        p = min(problem.present, key=lambda p: (starts[p] + problem.work[task][p] + table[task, p], p))
        problem.put(task, p, starts[p])


def _by_completions(problem: Problem, sign: int) -> None:
    while ready := problem.ready():
        best = {
            task: min((problem.appended_at(task, p) + problem.work[task][p], p) for p in problem.present)
            for task in ready
        }
        task = min(ready, key=lambda i: (sign * best[i][0], sign * problem.level_work[i], i))
        problem.put(task, best[task][1], problem.appended_at(task, best[task][1]))


def min_min(problem: Problem) -> None:
    _by_completions(problem, 1)


def max_min(problem: Problem) -> None:
    _by_completions(problem, -1)


def critical_path(problem: Problem) -> None:
    levels: dict[int, float] = {}
    for i in reversed(problem.order):
        levels[i] = problem.level_work[i] + max((levels[j] for j in problem.consumers[i]), default=0.0)
    while ready := problem.ready():
        task = min(ready, key=lambda i: (-levels[i], problem.place[i]))
        starts = {p: problem.appended_at(task, p) for p in problem.present}
        able = [p for p in problem.present if problem.work[task][p] < math.inf]
        p = min(able, key=lambda p: (starts[p], starts[p] + problem.work[task][p], p))
        problem.put(task, p, starts[p])


def dmda(problem: Problem) -> None:
    while ready := problem.ready():
        at = {i: max((problem.end[j] for j in problem.producers[i]), default=0.0) for i in ready}
        task = min(ready, key=lambda i: (at[i], i))
        starts = {p: problem.appended_at(task, p) for p in problem.present}
        p = min(problem.present, key=lambda p: (starts[p] + problem.work[task][p], p))
        problem.put(task, p, starts[p])


RULES: dict[str, Callable[[Problem], None]] = {
    "heft": heft,
    "peft": peft,
    "min-min": min_min,
    "max-min": max_min,
    "critical-path": critical_path,
    "dmda": dmda,
}
