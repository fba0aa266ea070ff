"""Layered random graph: tasks in layers; each task waits for some tasks of the layers before its own.

The rule and its parameters: docs/reference/graph-generators.md. The words of the stream are used in this order: one per layer,
unless regularity is 1; then for each task one for the chosen producer, one for each other producer and one to find that there
are no more, unless p is 0 or 1. The number of tasks skipped before the next producer is ⌊ln u/ln(1 - p)⌋, so that drawing takes
O(N + E) time.

Sources: Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002, section 5.2.1, doi:10.1109/71.993206; DAGGEN by F. Suter and S. Hunold
(density, regularity, jump); Batagelj and Brandes, Physical Review E 71, 2005, doi:10.1103/PhysRevE.71.036113 (skipping).
"""

import math
from typing import Annotated

from als.graphs.contract import NO_ROOM, GraphDraft, graph_kernel
from als.graphs.generators import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from als.parameters import RealNumber, WholeNumber
from als.streams import next_word, uniform_from_word
from traces.base.errors import InputError
from traces.compiled import Array, compiled

_DEGREE = 3.0  #: mean number of producers of a task if neither ``degree`` nor ``density`` is given


@compiled(inner=True)
def _layers(draft: GraphDraft, n: int, depth: int, spread: float) -> None:
    ends, total = draft.gflop, 0.0
    for layer in range(depth):
        share = 1.0
        if spread > 0.0:
            share += spread * (2.0 * uniform_from_word(next_word(draft.keys, draft.cursor, draft.words)) - 1.0)
        total += share
        ends[layer] = total
    for layer in range(depth):
        ends[layer] = float(layer + 1 + int((n - depth) * (ends[layer] / total)))
    ends[depth - 1] = float(n)


@compiled(inner=True)
def _sort_by_source(n: int, n_edges: int, first: Array, source: Array, target: Array, space: Array) -> None:
    """Sort edges by source that are sorted by target: a counting sort keeps the order among edges of one source. Whole numbers
    up to 2**53 are exact as floats."""
    first[:n] = 0.0
    for e in range(n_edges):
        first[source[e]] += 1.0
    before = 0.0
    for k in range(n):
        before += first[k]
        first[k] = before - first[k]
    for e in range(n_edges):
        k = source[e]
        space[int(first[k])] = float(target[e])
        first[k] += 1.0
    # Now first[k] is where the edges of task k + 1 begin.
    e = 0
    for k in range(n):
        while e < int(first[k]):
            source[e], target[e] = k, int(space[e])
            e += 1


@graph_kernel
def _make(draft: GraphDraft) -> int:
    params, keys, cursor, words = draft.params, draft.keys, draft.cursor, draft.words
    gflop, source, target = draft.gflop, draft.source, draft.target
    n, depth, width, density = wanted(int(params[0]), draft), int(params[1]), params[2], params[3]
    degree, jump, spread = params[4], int(params[5]), 1.0 - params[6]
    if depth == 0:
        depth = int(n / (width if width > 0.0 else math.sqrt(float(n))) + 0.5)
    depth = max(1, min(n, depth))
    if not fits(draft, n, 0):
        return NO_ROOM
    _layers(draft, n, depth, spread)
    room, e = source.size, 0
    # Tasks from `oldest` on may be producers; the layer before begins with task `before`, this one with `begin`.
    oldest, before, begin = 0, 0, 0
    for layer in range(1, depth):
        before, begin = begin, int(gflop[layer - 1])
        oldest = int(gflop[layer - jump - 1]) if layer > jump else 0
        others = begin - oldest - 1
        p = density
        if degree > 0.0:
            p = min(1.0, (degree - 1.0) / others) if others > 0 else 0.0
        scale = 1.0 / math.log1p(-p) if 0.0 < p < 1.0 else 0.0
        for task in range(begin, int(gflop[layer])):
            chosen = before + int(uniform_from_word(next_word(keys, cursor, words)) * (begin - before))
            chosen = min(chosen, begin - 1)
            if e < room:
                source[e], target[e] = chosen, task
            e += 1
            if p == 0.0:
                continue
            at = oldest - 1
            while True:
                at += 1
                if p < 1.0:
                    passed = math.log(uniform_from_word(next_word(keys, cursor, words))) * scale
                    if passed >= begin - 1 - at:
                        break
                    at += int(passed)
                if at >= begin - 1:
                    break
                # The other tasks are numbered without the chosen one.
                if e < room:
                    source[e], target[e] = at + (at >= chosen), task
                e += 1
    if not fits(draft, n, e):
        return NO_ROOM
    _sort_by_source(n, e, gflop, source, target, draft.bytes)
    equal_weights(draft, n, e)
    return 0


class Layered(Weights, name="layered", make=_make):
    """Parameters of layered random graphs."""

    tasks: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0  # number of tasks; 0: as many as the job should have
    # mean number of tasks per layer; None: the square root of the number of tasks. Not together with ``depth``.
    width: Annotated[float | None, RealNumber(1.0, MAX_TASKS_PER_JOB)] = None
    # number of layers, at most the number of tasks
    depth: Annotated[int | None, WholeNumber(1, MAX_TASKS_PER_JOB)] = None
    # probability of each edge other than the one that always exists. Not together with ``degree``.
    density: Annotated[float | None, RealNumber(0.0, 1.0)] = None
    # mean number of producers of a task; None: 3, unless ``density`` is given
    degree: Annotated[float | None, RealNumber(1.0, MAX_TASKS_PER_JOB)] = None
    # the largest number of layers that an edge may cross; 1: to the next layer only
    jump: Annotated[int, WholeNumber(1, MAX_TASKS_PER_JOB)] = 1
    regularity: Annotated[float, RealNumber(0.0, 1.0)] = 0.9  # similarity of layer sizes; 1: all equal

    def __post_init__(self) -> None:
        where = "graph layered"
        for one, other in (("width", "depth"), ("density", "degree")):
            given = getattr(self, one), getattr(self, other)
            if None not in given:
                raise InputError(f"{where}: {one} {given[0]} and {other} {given[1]}; allowed: one of the two")
        super().__post_init__()
        for part in ("width", "depth"):
            if self.tasks and (getattr(self, part) or 0) > self.tasks:
                raise InputError(f"{where}: {part} {getattr(self, part)}; allowed: 1 to tasks, {self.tasks}")

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        """Return the number of tasks, and a number of edges rarely exceeded: mean plus eight deviations, or all pairs."""
        n = wanted_tasks(self.tasks, tasks, cores)
        depth = max(1, min(n, self.depth or int(n / (self.width or math.sqrt(n)) + 0.5)))
        jump = min(self.jump, depth - 1)
        if jump == 0:
            return n, 0
        # Pairs of tasks of different layers, at most ``jump`` layers apart. There are never more: within each run of
        # jump + 1 layers all are joined, others are not (Turán).
        most = n * n * jump / (2.0 * (jump + 1))
        if self.density is not None:
            # A layer's size varies by v around its mean, and the product of two by no more than 4v + 3v².
            v = (1.0 - self.regularity) ** 2 / 3.0
            pairs = min(most, n * jump * (n / depth * (1.0 + 8.0 * math.sqrt((4.0 * v + 3.0 * v * v) / depth)) + 1.0))
            mean = self.density * pairs
        else:
            mean = ((self.degree or _DEGREE) - 1.0) * n
        return n, math.ceil(min(most, n + mean + 8.0 * math.sqrt(mean) + 8.0))

    def params(self) -> tuple[float, ...]:
        degree = 0.0 if self.density is not None else self.degree or _DEGREE
        shape = self.depth or 0, self.width or 0.0, self.density or 0.0
        return self.tasks, *shape, degree, self.jump, self.regularity
