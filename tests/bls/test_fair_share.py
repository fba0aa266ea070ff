"""Fair-share: the documentation's numbers, ties, decay and periods by hand, and everything against a slow second opinion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.policies.multifactor.fair_share import CLASSIC, FAIR_TREE, charge, factor, forward, new_memory, usage_core_s
from bls.policies.multifactor.tree import ROOT, Account, AccountTree, User
from traces.base.time import NS_PER_S
from traces.compiled import compiled
from traces.kernels.signatures import Floats

DOCUMENTED = AccountTree(
    accounts=(
        Account("B", "A", 30),
        Account("C", "A", 10),
        Account("A", shares=40),
        Account("D", shares=60),
        Account("E", "D", 25),
        Account("F", "D", 35),
    ),
    users=(
        User(1, "B"),
        User(2, "C"),
        User(3, "C"),
        User(4, "E"),
        User(5, "F"),
        User(6, shares=0),  # has used what is left of the machine
    ),
)


@compiled(makes_arrays=True)
def _factors(memory: Floats, now_ns: int, out: Floats) -> None:
    found = factor(memory, now_ns)
    for node in range(found.size):
        out[node] = found[node]


class Shares:
    """The kernels on a tree, by user number; its users are those of the tree."""

    def __init__(self, tree: AccountTree, **settings: Any) -> None:
        nodes = tree.nodes(np.empty(0, np.int64))
        self.node = {int(user): nodes.n_accounts + row for row, user in enumerate(nodes.users)}
        self.memory = new_memory(nodes.parent, nodes.shares, nodes.n_accounts, **settings)

    def charge(self, user: int, now_s: float, cores: int) -> None:
        charge(self.memory, self.node[user], round(now_s * NS_PER_S), cores)

    def factors(self, now_s: float) -> dict[int, float]:
        found = np.zeros(len(self.memory))
        _factors(self.memory, round(now_s * NS_PER_S), found)
        return {user: float(found[node]) for user, node in self.node.items()}

    def usage(self, now_s: float) -> dict[int, float]:
        forward(self.memory, round(now_s * NS_PER_S))
        return dict(zip(self.node, usage_core_s(self.memory).tolist(), strict=True))


def after_use(tree: AccountTree, used: dict[int, int], rule: int, dampening: float = 1.0) -> dict[int, float]:
    shares = Shares(tree, rule=rule, period_ns=NS_PER_S, half_life_ns=0, dampening=dampening)
    for user, cores in used.items():
        shares.charge(user, 0, cores)
    for user, cores in used.items():
        shares.charge(user, 1, -cores)
    return shares.factors(1)


# --- the rules ---

USED = {1: 20, 2: 25, 4: 25, 6: 30}


def test_the_documented_example_of_the_classic_rule() -> None:
    found = after_use(DOCUMENTED, USED, CLASSIC)
    shown = {user: round(value, 6) for user, value in found.items()}
    assert shown == {1: 0.408479, 2: 0.022097, 3: 0.125, 4: 0.5, 5: 0.749154, 6: 0.0}
    dampened = after_use(DOCUMENTED, USED, CLASSIC, dampening=3.0)
    assert [dampened[3], dampened[4]] == pytest.approx([0.125 ** (1 / 3), 0.5 ** (1 / 3)], rel=1e-12)


@pytest.mark.parametrize(
    ("tree", "used", "factors"),
    [
        # Root: A .40/.45, D .60/.25, user 6 without shares: D, A, 6. D: F (unused) before E. A: B .75/(20/45), C .25/(25/45).
        (DOCUMENTED, USED, {5: 6 / 6, 4: 5 / 6, 1: 4 / 6, 3: 3 / 6, 2: 2 / 6, 6: 1 / 6}),
        (DOCUMENTED, {}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1 / 6}),
    ],
)
def test_fair_tree(tree: AccountTree, used: dict[int, int], factors: dict[int, float]) -> None:
    assert after_use(tree, used, FAIR_TREE) == factors


# --- usage ---

TWO = AccountTree(users=(User(1), User(2)))


def test_late_instants_are_exact() -> None:
    shares = Shares(TWO, period_ns=300 * NS_PER_S, half_life_ns=0)
    start = 2**62 // (300 * NS_PER_S) * (300 * NS_PER_S)
    charge(shares.memory, shares.node[1], start - 2, 1)
    charge(shares.memory, shares.node[1], start - 1, -1)
    forward(shares.memory, start)
    assert usage_core_s(shares.memory).tolist() == [1e-9, 0.0]


# --- against a slow second opinion ---


@dataclass
class SlowShares:
    """Usage and factors as they are defined: period by period, account by account.

    ``jobs`` are (user, cores, start_ns, end_ns), all of them, also those that have not begun.
    """

    tree: AccountTree
    jobs: Sequence[tuple[int, int, int, int]]
    period_ns: int
    half_life_ns: int = 0
    reset_periods: int = 0
    rule: int = FAIR_TREE
    dampening: float = 1.0

    def usage(self, now_ns: int) -> dict[int, float]:
        decay = 2 ** -(self.period_ns / self.half_life_ns) if self.half_life_ns else 1.0
        found = {}
        for user in self.tree.users:
            usage: float | Fraction = Fraction(0)
            for period in range(now_ns // self.period_ns):
                lo, hi = period * self.period_ns, (period + 1) * self.period_ns
                seconds = sum(
                    Fraction(cores * max(0, min(end, hi) - max(start, lo)), NS_PER_S)
                    for owner, cores, start, end in self.jobs
                    if owner == user.number
                )
                usage = usage + seconds if decay == 1.0 else float(usage) * decay + float(seconds)
                if self.reset_periods and (period + 1) % self.reset_periods == 0:
                    usage = Fraction(0)
            found[user.number] = float(usage)
        return found

    def factors(self, now_ns: int) -> dict[int, float]:
        usage = self.usage(now_ns)
        return self.classic(usage) if self.rule == CLASSIC else self.fair_tree(usage)

    def children(self, account: str) -> list[Account | User]:
        accounts = [child for child in self.tree.accounts if child.parent == account]
        return [*accounts, *(user for user in self.tree.users if user.account == account)]

    def used(self, node: Account | User | str, usage: dict[int, float]) -> float:
        if isinstance(node, User):
            return usage[node.number]
        name = node if isinstance(node, str) else node.name
        return sum(self.used(child, usage) for child in self.children(name))

    def part(self, node: Account | User) -> float:
        siblings = self.children(node.account if isinstance(node, User) else node.parent)
        shares = sum(sibling.shares for sibling in siblings)
        return node.shares / shares if shares else 0.0

    def classic(self, usage: dict[int, float]) -> dict[int, float]:
        total = self.used(ROOT, usage)
        found = {}

        def descend(account: str, norm: float, effective_above: float) -> None:
            for child in self.children(account):
                actual = self.used(child, usage) / total if total else 0.0
                effective = actual
                if account != ROOT:
                    effective += (effective_above - actual) * self.part(child)
                share = norm * self.part(child)
                if isinstance(child, Account):
                    descend(child.name, share, effective)
                else:
                    found[child.number] = 2 ** (-(effective / share) / self.dampening) if share else 0.0

        descend(ROOT, 1.0, 1.0)
        return found

    def fair_tree(self, usage: dict[int, float]) -> dict[int, float]:
        n_users = len(self.tree.users)
        found: dict[int, float] = {}

        def level_fs(node: Account | User) -> float:
            if self.part(node) == 0:
                return 0.0
            used = self.used(node, usage)
            above = self.used(node.account if isinstance(node, User) else node.parent, usage)
            return self.part(node) / (used / above) if used else float("inf")

        def visit(siblings: list[Account | User], tied: int | None) -> None:
            for value in sorted({level_fs(node) for node in siblings}, reverse=True):
                group = [node for node in siblings if level_fs(node) == value]
                before = len(found)
                rank = n_users - before if tied is None else tied
                users = [node for node in group if isinstance(node, User)]
                for user in users:
                    found[user.number] = rank / n_users
                merged = [child for node in group if isinstance(node, Account) for child in self.children(node.name)]
                visit(merged, rank if users else tied)
                if len(found) > before:
                    tied = None

        visit(self.children(ROOT), None)
        return found


@st.composite
def trees(draw: st.DrawFn) -> AccountTree:
    """Trees of a few levels with few different shares, so that ties are frequent; some accounts have no users."""
    names = ["a", "b", "c", "d", "e"][: draw(st.integers(0, 5))]
    shares = st.integers(0, 3)
    accounts = [
        Account(name, draw(st.sampled_from([ROOT, *names[:place]])), draw(shares)) for place, name in enumerate(names)
    ]
    users = [
        User(number, draw(st.sampled_from([ROOT, *names])), draw(shares))
        for number in draw(st.lists(st.integers(-1, 9), min_size=1, max_size=7, unique=True))
    ]
    return AccountTree(tuple(draw(st.permutations(accounts))), tuple(users))


@settings(max_examples=300)
@given(tree=trees(), data=st.data(), rule=st.sampled_from([CLASSIC, FAIR_TREE]))
def test_factors_as_the_slow_version(tree: AccountTree, data: st.DataObject, rule: int) -> None:
    # Several rounds on one memory: the order that the tree was left in must not matter.
    shares = Shares(tree, rule=rule, period_ns=NS_PER_S, half_life_ns=0)
    slow = SlowShares(tree, (), NS_PER_S, rule=rule)
    usage = dict.fromkeys(shares.node, 0.0)
    for second in range(3):
        drawn = {user: data.draw(st.integers(0, 3)) for user in usage}
        for user, cores in drawn.items():
            shares.charge(user, second, cores)
            usage[user] += cores
        for user, cores in drawn.items():
            shares.charge(user, second + 1, -cores)
        found, wanted = shares.factors(second + 1), slow.classic(usage) if rule == CLASSIC else slow.fair_tree(usage)
        if rule == CLASSIC:
            assert found == pytest.approx(wanted, rel=1e-12, abs=1e-300)
        else:
            assert found == wanted
