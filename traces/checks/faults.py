"""The error of a broken invariant, and checks of a state that stop at the first fault and name it."""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from traces.base.errors import TwolevelError
from traces.compiled import Array
from traces.kernels.state import State


class InvariantError(TwolevelError):
    """A fault of this project, or of an application simulator: a record that no correct run makes. The message names it."""


def first_out_of_order(*columns: Array) -> int:
    """Return the first entry that is less than its parent, or -1; entries are compared column by column, as tuples."""
    size = len(columns[0])
    below = np.arange(1, size)
    above = (below - 1) >> 1
    before, equal = np.zeros(len(below), np.bool_), np.ones(len(below), np.bool_)
    for column in columns:
        before |= equal & (column[below] < column[above])
        equal &= column[below] == column[above]
    bad = np.flatnonzero(before)
    return int(below[bad[0]]) if len(bad) else -1


class Checks:
    """Checks whose errors begin with the same words.

    - ``where``: these words: the engine and its time.
    """

    def __init__(self, where: str) -> None:
        self._where = where

    def fault(self, what: str) -> NoReturn:
        """Raise the error for a fault."""
        raise InvariantError(f"{self._where}: {what}")

    def declared(self, state: State) -> None:
        """Check sizes and codes of a state by its declaration."""
        for what in state.faults():
            self.fault(what)

    def none(self, wrong: Array, words: Callable[[int], str]) -> None:
        """Check that no entry is wrong; ``words`` describes the first wrong one by its index."""
        if len(bad := np.flatnonzero(wrong)):
            self.fault(words(int(bad[0])))

    def count(self, what: str, counted: int, found: int) -> None:
        """Check a counter of a state against the real number."""
        if counted != found:
            self.fault(f"{what}: counted {counted}, found {found}")

    def counts(self, what: Callable[[int], str], counted: Array, found: Array) -> None:
        """Check a column of counters; ``what`` describes the counted things, by index."""
        for place in np.flatnonzero(counted != found)[:1].tolist():
            self.count(what(place), int(counted[place]), int(found[place]))

    def heap(self, what: str, ns: Array, key: Array) -> None:
        """Check the order of a heap of (instant, key)."""
        if (at := first_out_of_order(ns, key)) >= 0:
            self.fault(f"heap of {what}: entry {at}, ({ns[at]} ns, {key[at]}), comes before the one above it")
