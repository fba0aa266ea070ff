"""Slurm's association tree: accounts with shares below a root, and users below accounts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from bls.machine.partitions import printable_name
from bls.machine.platform import MAX_CORES
from traces.base.errors import InputError, one_of, shown, whole
from traces.compiled import Array

ROOT = "root"  #: the account at the root of every tree, which is in no file
MAX_LEVELS = 64  #: largest number of levels of accounts below the root

_MAX_NICE = 2147483645  # Slurm's

#: The smallest and largest value of each number of a row.
_RANGES: Final = {
    "number": (-1, 2**62), "shares": (0, 2**31 - 1), "priority": (0, 2**32 - 1), "nice": (-_MAX_NICE, _MAX_NICE),
    "site": (-_MAX_NICE, _MAX_NICE), "cores": (1, MAX_CORES), "gpus": (1, 10**9),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A row of a table of the settings. Raises InputError if a value is out of range; the message begins with its name."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in _RANGES:
                printable_name(one.name, value)
            elif value is not None or one.default is not None:
                whole(one.name, value, *_RANGES[one.name])


@dataclass(frozen=True)
class Account(Row):
    """An account."""

    name: str  # 1 to 100 printable characters; not ``root``
    parent: str = ROOT  # the account above
    shares: int = 1  # its shares among all accounts and users directly below its parent; 0 to 2**31 - 1
    priority: int | None = None  # for the association factor, 0 to 2**32 - 1; None: its parent's, or 0 below the root

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == ROOT:
            raise InputError(f"name: {shown(ROOT)} is the account that every tree has; allowed: other names")


@dataclass(frozen=True)
class User(Row):
    """A user of one account."""

    number: int  # as in the workload; -1: jobs without a known user
    account: str = ROOT  # the account above
    shares: int = 1  # as an :class:`Account`'s
    priority: int | None = None  # as an :class:`Account`'s
    nice: int = 0  # subtracted from the priority of each of the user's jobs; -2147483645 to 2147483645
    site: int = 0  # Slurm's site factor, added to the priority of each of the user's jobs; same range


@dataclass(frozen=True)
class Nodes:
    """A tree as columns: node 0 is the root, followed by the accounts, each after its parent, and then the users."""

    parent: Array  # int64 (n,): the node above; -1 for the root
    shares: Array  # float64 (n,): raw shares; 1 for the root
    n_accounts: int  # number of accounts with the root; nodes from this number on are users
    users: Array  # int64 (n - n_accounts,): user numbers
    # float64 (n - n_accounts,): association factors of the users: priority / highest priority (at least 1) of all
    priority: Array
    extra: Array  # float64 (n - n_accounts,): site - nice of the users


@dataclass(frozen=True)
class AccountTree:
    """A checked tree. Raises InputError, which begins with the path, as ``accounts[2].parent``, if an account or a user is
    given twice, an account is unknown or above itself, or there are more than ``MAX_LEVELS`` (64) levels."""

    accounts: tuple[Account, ...] = ()  # in any order
    users: tuple[User, ...] = ()  # all of them are in the tree, with or without jobs
    # the account of users with jobs that are not in ``users``; each has one share in it. Without it such jobs are
    # an error, unless ``accounts`` and ``users`` are both empty: then all users are children of the root.
    others: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounts", tuple(self.accounts))
        object.__setattr__(self, "users", tuple(self.users))
        rows: dict[str, int] = {}
        for row, account in enumerate(self.accounts):
            if (first := rows.setdefault(account.name, row)) != row:
                what = f"{shown(account.name)} is accounts[{first}], too; allowed: every account once"
                raise InputError(f"accounts[{row}].name: {what}")
        named = [(account.parent, f"accounts[{row}].parent") for row, account in enumerate(self.accounts)]
        _check_known(named, rows)
        _levels(self.accounts)
        numbers: dict[int, int] = {}
        for row, user in enumerate(self.users):
            _check_known([(user.account, f"users[{row}].account")], rows)
            if (first := numbers.setdefault(user.number, row)) != row:
                what = f"user {user.number} is users[{first}], too; allowed: every user once"
                raise InputError(f"users[{row}].number: {what}")
        if self.others is not None:
            printable_name("others", self.others)
            _check_known([(self.others, "others")], rows)

    def nodes(self, users: Array) -> Nodes:
        """The tree with all users that have jobs. ``users``, int64 (n,): user numbers of the jobs. Raises
        InputError if a user is not in the tree and there is no account for others."""
        members = [*self.users, *self._joining(users)]
        level = _levels(self.accounts)
        ordered = sorted(self.accounts, key=lambda account: level[account.name])  # stable: else as given
        place = {ROOT: 0} | {account.name: row for row, account in enumerate(ordered, 1)}
        parent = [-1, *(place[account.parent] for account in ordered), *(place[user.account] for user in members)]
        shares = [1, *(account.shares for account in ordered), *(user.shares for user in members)]
        priority = [0]
        own_priorities = [*(account.priority for account in ordered), *(user.priority for user in members)]
        for row, own in enumerate(own_priorities, 1):
            priority.append(priority[parent[row]] if own is None else own)
        first = len(ordered) + 1
        return Nodes(
            parent=np.array(parent, np.int64),
            shares=np.array(shares, np.float64),
            n_accounts=first,
            users=np.array([user.number for user in members], np.int64),
            priority=np.array(priority[first:], np.float64) / max(1, *priority),
            extra=np.array([user.site - user.nice for user in members], np.float64),
        )

    def _joining(self, users: Array) -> list[User]:
        named = {user.number for user in self.users}
        unnamed = [number for number in np.unique(users).tolist() if number not in named]
        account = ROOT if self.others is None and not self.users and not self.accounts else self.others
        if unnamed and account is None:
            missing = f"{len(unnamed)} users of the workload are not in the tree, as user {unnamed[0]}"
            raise InputError(f"users: {missing}; name them, or give others, the account of all others")
        return [User(number, account or ROOT) for number in unnamed]


def _check_known(named: Iterable[tuple[str, str]], rows: Collection[str]) -> None:
    for account, where in named:
        if account != ROOT and account not in rows:
            raise one_of("account", account, [ROOT, *rows], where)


def _levels(accounts: Sequence[Account]) -> dict[str, int]:
    """The number of accounts from the root (0) down to every account; all parents are known."""
    above = {account.name: account.parent for account in accounts}
    row = {account.name: place for place, account in enumerate(accounts)}
    level = {ROOT: 0}
    for start in above:
        name = start
        chain: list[str] = []
        on_chain: set[str] = set()
        while name not in level:
            if name in on_chain:
                cycle = [shown(account) for account in [*chain[chain.index(name) :], name]]
                if len(cycle) > 5:
                    cycle[2:-2] = ["…"]
                raise InputError(f"accounts[{row[name]}].parent: {' below '.join(cycle)}: a cycle; allowed: a tree")
            chain.append(name)
            on_chain.add(name)
            name = above[name]
        for below in reversed(chain):
            level[below] = level[above[below]] + 1
            if level[below] > MAX_LEVELS:
                deep = f"{shown(below)} is on level {level[below]}"
                raise InputError(f"accounts[{row[below]}].parent: {deep}; allowed: 1 to {MAX_LEVELS} levels")
    return level
