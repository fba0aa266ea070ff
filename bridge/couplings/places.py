"""The cores of a running job by place, while cores come and leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from traces.base.time import MAX_NS
from traces.compiled import Array


@dataclass(frozen=True, eq=False)
class Places:
    """The present and past cores of a job, in the order in which they came; int64 (k,) each."""

    place: Array  # index within the job
    number: Array  # in the machine
    from_ns: Array  # arrival: the job's start, or 1 ns after the command that gave it
    at_start: Array  # numbers of the cores at the start

    @classmethod
    def of(cls, numbers: Array, start_ns: int) -> Places:
        """The places of a job that starts on these cores."""
        return cls(np.arange(len(numbers)), numbers, np.full(len(numbers), start_ns, np.int64), numbers)

    @cached_property
    def latest(self) -> Array:
        """The present or last core of each place: int64 (P,)."""
        if len(self.number) == len(self.at_start):
            return self.at_start
        numbers = np.empty(int(self.place.max()) + 1, np.int64)
        numbers[self.place] = self.number  # in order: the last one counts
        return numbers

    @property
    def last_there(self) -> Array:
        """A mask of the places whose latest core has not come to another place since: bool (P,)."""
        came = {number: k for k, number in enumerate(self.number.tolist())}
        there = np.zeros(int(self.place.max()) + 1, np.bool_)
        for k, (place, number) in enumerate(zip(self.place.tolist(), self.number.tolist(), strict=True)):
            there[place] = came[number] == k
        return there

    @property
    def until_ns(self) -> Array:
        """The instant at which another core takes the place of each: int64 (k,)."""
        until, order = np.full(len(self.place), MAX_NS, np.int64), np.argsort(self.place, kind="stable")
        followed = np.flatnonzero(np.diff(self.place[order]) == 0)
        until[order[followed]] = self.from_ns[order[followed + 1]]
        return until

    def with_cores(self, given: list[int], held: Array, from_ns: int) -> Places:
        """Add cores, each at the first place whose core the job no longer holds, or at a new one.
        ``held``, bool (P,): places whose latest core the job holds."""
        free = np.flatnonzero(~held).tolist()
        new = range(len(held), len(held) + max(0, len(given) - len(free)))
        places = [*free, *new][: len(given)]
        return Places(
            np.concatenate([self.place, np.array(places, np.int64)]),
            np.concatenate([self.number, np.array(given, np.int64)]),
            np.concatenate([self.from_ns, np.full(len(given), from_ns, np.int64)]),
            self.at_start,
        )

    def cores_of(self, place: Array, at_ns: Array) -> Array:
        """The cores at these places at these instants: int32 (n,)."""
        order = np.lexsort((self.from_ns, self.place))
        places, numbers, from_ns = self.place[order], self.number[order].astype(np.int32), self.from_ns[order]
        found = np.searchsorted(places, place)
        for _ in range(int(np.bincount(places).max()) - 1):
            following = np.minimum(found + 1, len(places) - 1)
            later = (places[following] == place) & (from_ns[following] <= at_ns)
            found = np.where(later, following, found)
        return numbers[found]
