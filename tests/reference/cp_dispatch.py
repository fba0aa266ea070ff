"""One dispatch by exhaustive search, and what a plan must obey: written from the definitions, with dictionaries and
fractions.

A job holds amounts of *cells*: of a kind of resource of the whole machine (``pool``), of one node (``nodes``), single
positions of a node (``boxes``), or room for units of a size on nodes that have the same (``classes``). The least Z is that of
some plan in which every job starts at once or as another one ends, and which places jobs in the order of their starts, so
these are tried: each job next, in each of its places.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

Cells = Counter[tuple[int, ...]]


@dataclass(frozen=True)
class Waiting:
    """A job that waits: seconds so far and expected, units, and what one requests of each resource."""

    waited: int
    duration: int
    units: int
    per_unit: tuple[int, ...]


@dataclass(frozen=True)
class Busy:
    """A job that runs: seconds to its end, units by node, and what one holds."""

    left: int
    places: dict[int, int]
    per_unit: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A dispatch: resources of each node, running jobs, waiting jobs."""

    capacity: tuple[tuple[int, ...], ...]
    busy: tuple[Busy, ...]
    waiting: tuple[Waiting, ...]

    @property
    def kinds(self) -> range:
        return range(len(self.capacity[0]))


def classes_of(case: Case) -> list[int]:
    """The class of each node: those are alike that have as much of all that somebody requests."""
    asked = [which for which in case.kinds if any(job.per_unit[which] for job in case.waiting)]
    has = [tuple(node[which] for which in asked) for node in case.capacity]
    return [sorted(set(has)).index(one) for one in has]


def _sizes(case: Case) -> list[tuple[int, ...]]:
    """By what a class is measured: one piece of a resource, and a unit of each job."""
    pieces = [tuple(int(one == which) for one in case.kinds) for which in case.kinds]
    return [*pieces, *(job.per_unit for job in case.waiting)]


def _times(room: tuple[int, ...], size: tuple[int, ...]) -> int:
    return min(has // wanted for has, wanted in zip(room, size, strict=True) if wanted)


def _fit_at(case: Case, instant: int) -> Cells:
    """Units of each size that fit each class in addition to the jobs that run at an instant."""
    found: Cells = Counter()
    for node, node_class in enumerate(classes_of(case)):
        free = list(case.capacity[node])
        for job in case.busy:
            if instant < job.left:
                free = [has - job.places.get(node, 0) * one for has, one in zip(free, job.per_unit, strict=True)]
        for number, size in enumerate(_sizes(case)):
            found[node_class, number] += _times(tuple(free), size)
    return found


def available(case: Case, kind: str) -> Cells:
    if kind == "classes":
        return _fit_at(case, max((job.left for job in case.busy), default=0))
    nodes = [(node, which) for node in range(len(case.capacity)) for which in case.kinds]
    if kind == "pool":
        return Counter({(which,): sum(node[which] for node in case.capacity) for which in case.kinds})
    if kind == "nodes":
        return Counter({(node, which): case.capacity[node][which] for node, which in nodes})
    return Counter({(node, which, at): 1 for node, which in nodes for at in range(case.capacity[node][which])})


def held(case: Case, kind: str) -> list[tuple[int, Cells]]:
    """Resources of each running job with their ends; positions are packed from each node's lowest, job by job."""
    found = []
    if kind == "classes":
        for left in sorted({job.left for job in case.busy}):
            found.append((left, _fit_at(case, left) - _fit_at(case, left - 1)))
        return found
    packed: Counter[tuple[int, int]] = Counter()
    for job in case.busy:
        cells: Cells = Counter()
        for (node, units), which in product(sorted(job.places.items()), case.kinds):
            amount = units * job.per_unit[which]
            for at in range(packed[node, which], packed[node, which] + amount):
                cells[{"pool": (which,), "nodes": (node, which), "boxes": (node, which, at)}[kind]] += 1
            packed[node, which] += amount
        found.append((job.left, cells))
    return found


def _unit_places(case: Case, kind: str, job: Waiting) -> list[tuple[tuple[tuple[int, ...], int], ...]]:
    if kind == "pool":
        return [tuple(((which,), job.per_unit[which]) for which in case.kinds)]
    found = []
    if kind == "classes":
        able = {c for c, has in zip(classes_of(case), case.capacity, strict=True) if _times(has, job.per_unit)}
        return [
            tuple(((c, number), _times(job.per_unit, size)) for number, size in enumerate(_sizes(case)))
            for c in sorted(able)
        ]
    for node, capacity in enumerate(case.capacity):
        if any(asked > has for asked, has in zip(job.per_unit, capacity, strict=True)):
            continue
        if kind == "nodes":
            found.append(tuple(((node, which), job.per_unit[which]) for which in case.kinds))
            continue
        free = [
            range(capacity[which] - job.per_unit[which] + 1) if job.per_unit[which] else (0,) for which in case.kinds
        ]
        for lows in product(*free):
            cells = [((node, which, low + k), 1) for which, low in enumerate(lows) for k in range(job.per_unit[which])]
            found.append(tuple(cells))
    return found


def places(case: Case, kind: str, job: Waiting) -> list[Cells]:
    single, room = _unit_places(case, kind, job), available(case, kind)
    choices: Iterator[tuple[int, ...]]
    if kind == "boxes":
        choices = combinations(range(len(single)), job.units)
    else:  # units may be in the same place
        choices = (way for way in product(range(len(single)), repeat=job.units) if list(way) == sorted(way))
    found: dict[tuple[tuple[tuple[int, ...], int], ...], Cells] = {}
    for way in choices:
        cells: Cells = Counter()
        for unit in way:
            for cell, amount in single[unit]:
                cells[cell] += amount
        if all(amount <= room[cell] for cell, amount in cells.items()):
            found[tuple(sorted(cells.items()))] = cells
    return list(found.values())


def fits(plan: list[tuple[int, int, Cells]], cells: Cells, begin: int, end: int, room: Cells) -> bool:
    instants = {begin} | {other for other, _, _ in plan if begin < other < end}
    return all(
        amount + sum(taken[cell] for first, last, taken in plan if first <= instant < last) <= room[cell]
        for instant in instants
        for cell, amount in cells.items()
    )


def least_z(case: Case, kind: str, goal: str = "slowdown", rates: list[Fraction] | None = None) -> Fraction:
    """The least Σ (s - q + d) / e over all plans of all waiting jobs: e is d, max(d, 10), or 1 if the goal is ``wait``; or
    1 / e are the rates."""
    durations = [job.duration for job in case.waiting]
    per = [Fraction({"slowdown": d, "bounded": max(d, 10), "wait": 1}[goal]) for d in durations]
    if rates is not None:
        per = [1 / rate for rate in rates]
    room, ways = available(case, kind), [places(case, kind, job) for job in case.waiting]
    best: list[Fraction] = []

    def extend(plan: list[tuple[int, int, Cells]], left: list[int], since: int, cost: Fraction) -> None:
        if best and cost + sum(Fraction(since, per[job]) for job in left) >= best[0]:
            return
        if not left:
            best[:] = [cost]
            return
        for job in left:
            duration = case.waiting[job].duration
            others = [other for other in left if other != job]
            for cells in ways[job]:
                instants = sorted({since} | {end for _, end, _ in plan if end > since})
                begin = next(one for one in instants if fits(plan, cells, one, one + duration, room))
                taken = (begin, begin + duration, cells)
                extend([*plan, taken], others, begin, cost + Fraction(begin, per[job]))

    extend([(0, left, cells) for left, cells in held(case, kind)], list(range(len(case.waiting))), 0, Fraction(0))
    return best[0] + sum(Fraction(job.waited + job.duration, e) for job, e in zip(case.waiting, per, strict=True))


def violations(
    case: Case, kind: str, jobs: list[int], starts: list[int], nodes: list[list[int]], lows: list[list[list[int]]]
) -> list[str]:
    """Errors of a plan.

    ``jobs``, ``starts``: which of ``case.waiting`` are planned, and when they start. ``nodes``: by job, the node of
    each unit, or its class; not looked at for ``pool``. ``lows``: by job, unit and resource the first position;
    looked at for ``boxes``.
    """
    room, plan, wrong = available(case, kind), [(0, left, cells) for left, cells in held(case, kind)], []
    for place, (job, start) in enumerate(zip(jobs, starts, strict=True)):
        asked, cells = case.waiting[job], Counter[tuple[int, ...]]()
        if start < 0:
            wrong.append(f"job {job} starts at {start}")
        if kind != "pool" and len(nodes[place]) != asked.units:
            wrong.append(f"job {job} has {len(nodes[place])} units")
        if kind == "classes":
            for node_class, (number, size) in product(nodes[place], enumerate(_sizes(case))):
                cells[node_class, number] += _times(asked.per_unit, size)
            plan.append((start, start + asked.duration, cells))
            continue
        for unit, which in product(range(asked.units), case.kinds):
            for piece in range(asked.per_unit[which]):
                if kind == "pool":
                    cells[which,] += 1
                elif kind == "nodes":
                    cells[nodes[place][unit], which] += 1
                else:
                    cells[nodes[place][unit], which, lows[place][unit][which] + piece] += 1
        plan.append((start, start + asked.duration, cells))
    for instant in sorted({begin for begin, _, _ in plan}):
        used: Cells = Counter()
        for begin, end, cells in plan:
            if begin <= instant < end:
                used.update(cells)
        wrong += [f"at {instant}: {n} of {cell}, of {room[cell]}" for cell, n in sorted(used.items()) if n > room[cell]]
    return wrong
