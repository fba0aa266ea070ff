"""Slurm's fair-share factor: usage that is charged and decays, by the classic rule or by Fair Tree
(docs/reference/batch-orders.md, "Multifactor priority").

The factors at an instant t are those of the latest multiple of the period at or before t. :func:`forward` computes all
periods since its last call in one step. With a reset every R periods, all usage is cleared at every multiple of R·P.

Sources: https://slurm.schedmd.com/classic_fair_share.html and https://slurm.schedmd.com/fair_tree.html. In Fair Tree, users are
in the lexicographic order of their lists of LFs from the root down. A user has the same rank as the previous user if the
previous list is the beginning of this user's list. LFs are the same if they are equal in float64.

The memory is a float64 array, the only state that a policy may keep: ``HEAD`` numbers, the first of which are named below, then
one block for each column. An instant is stored as the number of a period and ns since its begin: float64 holds both exactly.
"""

import math
from typing import Any

import numpy as np

from traces.base.time import NS_PER_S
from traces.compiled import Array, compiled

FAIR_TREE, CLASSIC = 0, 1  #: values of the parameter ``rule`` of :func:`new_memory`
HEAD, OWN = 16, 10  #: index at which the columns begin; the numbers from ``OWN`` on belong to the policy

_PERIOD_NS, _LOG2_DECAY, _RESET, _PERIOD, _STALE, _RULE, _NODES, _ACCOUNTS, _LEVELS, _DAMPENING = range(OWN)

# Columns over the nodes. _VALUE is LF or U_E; _CURRENT is charged since the period began, up to _SINCE (ns in it).
_PARENT, _PART, _NORM, _USAGE, _RUNNING, _CURRENT, _SINCE, _VALUE, _FACTOR, _ORDER, _PATHS = range(11)


def new_memory(
    parent: Array, shares: Array, n_accounts: int, *, rule: int = FAIR_TREE, period_ns: int = 300 * NS_PER_S,
    half_life_ns: int = 604800 * NS_PER_S, reset_periods: int = 0, dampening: float = 1.0, own: tuple[float, ...] = (),
) -> Array:  # fmt: skip
    """The memory of a tree without usage, at instant 0: float64.

    - ``parent``, int64 (n,): the node above each, with a smaller number; -1 for node 0, the root. Only accounts have children.
    - ``shares``, float64 (n,): raw shares
    - ``n_accounts``: nodes from here on are users
    - ``rule``: ``FAIR_TREE`` or ``CLASSIC``
    - ``period_ns``, ``half_life_ns``: PriorityCalcPeriod, at most 2**53; PriorityDecayHalfLife, 0: usage does not decay
    - ``reset_periods``: periods after which all usage is cleared; 0: never
    - ``dampening``: d of the classic rule
    - ``own``: at most ``HEAD - OWN`` (6) numbers that the policy keeps from ``OWN`` on
    """
    n = len(parent)
    paths: list[list[int]] = []
    for user in range(n_accounts, n):
        path = [user]
        while parent[path[-1]] > 0:
            path.append(int(parent[path[-1]]))
        paths.append(path[::-1])
    levels = max(map(len, paths), default=1) + 1  # one more, so that every path ends with a -1
    memory = np.zeros(HEAD + _PATHS * n + (n - n_accounts) * levels)
    log2_decay = -period_ns / half_life_ns if half_life_ns else 0.0
    head = (period_ns, log2_decay, reset_periods, 0, 1, rule, n, n_accounts, levels, dampening, *own)
    memory[: len(head)] = head
    column = memory[HEAD : HEAD + _PATHS * n].reshape(_PATHS, n)
    siblings = np.bincount(parent[1:], shares[1:], minlength=n)[parent[1:]]
    column[_PARENT] = parent
    column[_PART, 1:] = np.divide(shares[1:], siblings, out=np.zeros(n - 1), where=siblings > 0)
    column[_NORM, 0] = 1.0
    for node in range(1, n):
        column[_NORM, node] = column[_NORM, parent[node]] * column[_PART, node]
    column[_ORDER, : n - n_accounts] = np.arange(n_accounts, n)
    for row, path in enumerate(paths):
        first = HEAD + _PATHS * n + row * levels
        memory[first : first + levels] = [*path, *[-1] * (levels - len(path))]
    return memory


@compiled(inner=True, makes_arrays=True)
def _column(memory: Any, name: int) -> Any:
    n = int(memory[_NODES])
    return memory[HEAD + name * n : HEAD + (name + 1) * n]


@compiled(inner=True)
def forward(memory: Any, now_ns: int) -> None:
    """Advance the users' usage to the latest multiple of the period at or before ``now_ns``."""
    period_ns, last = int(memory[_PERIOD_NS]), int(memory[_PERIOD])
    newest = now_ns // period_ns
    if newest <= last:
        return
    first, n = int(memory[_ACCOUNTS]), int(memory[_NODES])
    usage, running = _column(memory, _USAGE), _column(memory, _RUNNING)
    current, since = _column(memory, _CURRENT), _column(memory, _SINCE)
    reset = int(memory[_RESET])
    if reset > 0 and newest // reset * reset > last:
        last = newest // reset * reset
        usage[:] = 0.0
        current[:] = 0.0
        since[:] = 0.0
    gone = newest - last
    if gone > 0:
        log2_decay = memory[_LOG2_DECAY]
        whole, rest = 2.0 ** (log2_decay * gone), 2.0 ** (log2_decay * (gone - 1))
        # 1 + D + D² + … of the periods after the one that has begun
        later = float(gone - 1)
        if log2_decay < 0.0:
            later = math.expm1(log2_decay * (gone - 1) * math.log(2.0)) / math.expm1(log2_decay * math.log(2.0))
        for user in range(first, n):
            begun = current[user] + running[user] * ((period_ns - since[user]) / NS_PER_S)
            usage[user] = usage[user] * whole + begun * rest + running[user] * (period_ns / NS_PER_S) * later
            current[user], since[user] = 0.0, 0.0
    memory[_PERIOD] = newest
    memory[_STALE] = 1.0


@compiled(inner=True)
def charge(memory: Any, user: int, now_ns: int, amount: float) -> None:
    """Add an amount, as of cores (negative: fewer), to what a user is charged for from ``now_ns`` on; ``user`` is a node."""
    forward(memory, now_ns)
    running, current, since = _column(memory, _RUNNING), _column(memory, _CURRENT), _column(memory, _SINCE)
    passed_ns = float(now_ns - int(memory[_PERIOD]) * int(memory[_PERIOD_NS]))
    current[user] += running[user] * ((passed_ns - since[user]) / NS_PER_S)
    since[user] = passed_ns
    running[user] += amount


@compiled(inner=True, makes_arrays=True)
def factor(memory: Any, now_ns: int) -> Any:
    """The factors of all nodes at ``now_ns``, float64 (n,), in [0, 1]; those of accounts have no meaning."""
    forward(memory, now_ns)
    if memory[_STALE] > 0.0:
        memory[_STALE] = 0.0
        _sum_up(memory)
        if int(memory[_RULE]) == CLASSIC:
            _classic(memory)
        else:
            _fair_tree(memory)
    return _column(memory, _FACTOR)


@compiled(inner=True)
def _sum_up(memory: Any) -> None:
    """Set the usage of every account to the sum of all below it, amount × seconds."""
    first, n = int(memory[_ACCOUNTS]), int(memory[_NODES])
    usage, parent = _column(memory, _USAGE), _column(memory, _PARENT)
    usage[:first] = 0.0
    for node in range(n - 1, 0, -1):
        usage[int(parent[node])] += usage[node]


@compiled(inner=True)
def _classic(memory: Any) -> None:
    n = int(memory[_NODES])
    usage, parent, part = _column(memory, _USAGE), _column(memory, _PARENT), _column(memory, _PART)
    effective, norm, found = _column(memory, _VALUE), _column(memory, _NORM), _column(memory, _FACTOR)
    total = usage[0]
    for node in range(1, n):
        above = int(parent[node])
        actual = usage[node] / total if total > 0.0 else 0.0
        effective[node] = actual
        if above > 0:
            effective[node] = actual + (effective[above] - actual) * part[node]
        found[node] = 0.0
        if norm[node] > 0.0:
            found[node] = 2.0 ** (-(effective[node] / norm[node]) / memory[_DAMPENING])


@compiled(inner=True)
def _fair_tree(memory: Any) -> None:
    first, n, levels = int(memory[_ACCOUNTS]), int(memory[_NODES]), int(memory[_LEVELS])
    usage, parent, part = _column(memory, _USAGE), _column(memory, _PARENT), _column(memory, _PART)
    level_fs, found, order = _column(memory, _VALUE), _column(memory, _FACTOR), _column(memory, _ORDER)
    paths = memory[HEAD + _PATHS * n :]
    for node in range(1, n):
        level_fs[node] = 0.0
        if part[node] > 0.0:
            level_fs[node] = math.inf
            if usage[node] > 0.0:
                level_fs[node] = part[node] / (usage[node] / usage[int(parent[node])])
    # By insertion: the previous order is nearly right.
    n_users = n - first
    for place in range(1, n_users):
        user, at = order[place], place
        while at > 0 and _before(paths, levels, level_fs, int(user) - first, int(order[at - 1]) - first) > 0:
            order[at] = order[at - 1]
            at -= 1
        order[at] = user
    rank = float(n_users)
    for place in range(n_users):
        user = order[place]
        if place > 0 and _before(paths, levels, level_fs, int(order[place - 1]) - first, int(user) - first) == 1:
            rank = float(n_users - place)
        found[int(user)] = rank / n_users


@compiled(inner=True)
def _before(paths: Any, levels: int, level_fs: Any, one: int, other: int) -> int:
    """1: the first is before the second and not tied with it; 2: before it, because its path is the beginning of the
    other's; 0: they have the same LFs; -1, -2: the reverse of 1 and 2."""
    for level in range(levels):
        a, b = int(paths[one * levels + level]), int(paths[other * levels + level])
        if a < 0 or b < 0:
            if a == b:
                return 0
            return 2 if a < 0 else -2
        if a != b and level_fs[a] != level_fs[b]:
            return 1 if level_fs[a] > level_fs[b] else -1
    return 0
