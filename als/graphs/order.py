"""Orders in which the tasks of a graph may run: kernels for every part that runs or plans a graph.

A graph is given by its edges, sorted by (source, target): task k's out-edges are then ``out_first[k]:out_first[k+1]``, and its
in-edges ``in_edge[in_first[k]:in_first[k+1]]``.
"""

from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints

# Runs that are sorted by insertion before they are merged.
_RUN = 8


@compiled()
def index_edges(source: Ints, target: Ints, n_tasks: int, out_first: Ints, in_first: Ints, in_edge: Ints) -> None:
    """Find the edges of each task: its out-edges are ``out_first[k]:out_first[k+1]``, its in-edges, in ascending order,
    ``in_edge[in_first[k]:in_first[k+1]]``. ``source`` and ``target`` are sorted by (source, target)."""
    n_edges = len(source)
    for task in range(n_tasks + 1):
        out_first[task] = in_first[task] = 0
    for edge in range(n_edges):
        out_first[source[edge] + 1] += 1
        in_first[target[edge] + 1] += 1
    for task in range(n_tasks):
        out_first[task + 1] += out_first[task]
        in_first[task + 1] += in_first[task]
    # in_first[k] counts up to the begin of k + 1 while k's edges are written, and is moved back by one afterwards.
    for edge in range(n_edges):
        task = target[edge]
        in_edge[in_first[task]] = edge
        in_first[task] += 1
    for task in range(n_tasks, 0, -1):
        in_first[task] = in_first[task - 1]
    in_first[0] = 0


@compiled()
def topological_order(out_first: Ints, target: Ints, in_first: Ints, n_tasks: int, order: Ints, missing: Ints) -> int:
    """Order tasks so that each comes after all its producers; return how many could be ordered. If fewer than N, the others
    are on a cycle or depend on one, and exactly for them ``missing``, work space, is above 0 afterwards.

    By Kahn (1962, doi:10.1145/368996.369025), first come first served: tasks without producers by number, then each task when
    its last producer has been ordered; tasks that the same producer frees, by number."""
    last = 0
    for task in range(n_tasks):
        missing[task] = in_first[task + 1] - in_first[task]
        if missing[task] == 0:
            order[last] = task
            last += 1
    first = 0
    while first < last:
        task = order[first]
        first += 1
        for edge in range(out_first[task], out_first[task + 1]):
            consumer = target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                order[last] = consumer
                last += 1
    return last


@compiled()
def upward_ranks(
    gflop: Floats, out_first: Ints, target: Ints, bytes_: Floats, order: Ints, ranks: Floats, s_per_gflop: float,
    latency_s: float, s_per_byte: float,
) -> None:  # fmt: skip
    """Compute the upward rank of HEFT of each task, s: the time from its start to the end of all tasks that depend on it, on
    a machine without limits (Topcuoglu, Hariri and Wu 2002, doi:10.1109/71.993206, equation 8).

    rank(k) = w_k + max over out-edges of (c_e + rank(target)), w_k = gflop·s_per_gflop, c_e = latency_s + bytes·s_per_byte,
    and 0 for an edge without bytes. ``order`` is a topological order of a graph without cycles."""
    for place in range(len(order) - 1, -1, -1):
        task = order[place]
        longest = 0.0
        for edge in range(out_first[task], out_first[task + 1]):
            takes = latency_s + bytes_[edge] * s_per_byte if bytes_[edge] > 0.0 else 0.0  # no bytes: order only
            longest = max(longest, takes + ranks[target[edge]])
        ranks[task] = gflop[task] * s_per_gflop + longest


@compiled(inner=True)
def _merge(ranks: Array, given: Array, begin: int, run: int, last: int, merged: Array, into: int) -> None:
    """Merge pairs of sorted runs of given[begin:last] into sorted runs of twice the length, from merged[into] on."""
    left = begin
    while left + 2 * run <= last:
        # Two full runs are merged from both ends at once: neither run can be used up early, and there is no branch that would
        # be mispredicted every other time. A processor computes both halves together.
        right = left + run
        left_end, right_end = right - 1, right + run - 1
        for step in range(run):
            one, other = given[left], given[right]
            later = int(ranks[other] > ranks[one])
            merged[into + step] = other if later else one
            right += later
            left += 1 - later
            one, other = given[left_end], given[right_end]
            later = int(ranks[other] > ranks[one])
            merged[into + 2 * run - 1 - step] = one if later else other
            left_end -= later
            right_end -= 1 - later
        into += 2 * run
        left = begin = begin + 2 * run
    right = middle = min(begin + run, last)
    while left < middle and right < last:
        if ranks[given[right]] > ranks[given[left]]:
            merged[into] = given[right]
            right += 1
        else:
            merged[into] = given[left]
            left += 1
        into += 1
    while left < middle:
        merged[into] = given[left]
        left += 1
        into += 1
    while right < last:
        merged[into] = given[right]
        right += 1
        into += 1


@compiled(inner=True)
def by_rank(ranks: Array, order: Array, position: Array, at: Array, first: int) -> None:
    """Sort tasks by rank, highest first; equal ranks by their place in ``order``, a topological order. The tasks are written
    to ``at`` from ``first`` on, and the place of task k there to ``position[k]``, which is also work space."""
    # A merge sort from the bottom up: stable, in O(N log N) steps for all ranks, and without more memory.
    n_tasks = len(order)
    last = first + n_tasks
    for begin in range(0, n_tasks, _RUN):
        for place in range(begin, min(begin + _RUN, n_tasks)):
            task = order[place]
            rank = ranks[task]
            hole = first + place
            while hole > first + begin and ranks[at[hole - 1]] < rank:
                at[hole] = at[hole - 1]
                hole -= 1
            at[hole] = task
    run, aside = _RUN, False
    while run < n_tasks:
        if aside:
            _merge(ranks, position, 0, run, n_tasks, at, first)
        else:
            _merge(ranks, at, first, run, last, position, 0)
        aside = not aside
        run *= 2
    if aside:
        for place in range(n_tasks):
            at[first + place] = position[place]
    for place in range(first, last):
        position[at[place]] = place
