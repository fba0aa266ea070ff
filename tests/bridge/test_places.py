"""Which core a job has at each place, by hand: one goes, others come, and it comes again."""

from __future__ import annotations

import numpy as np

from bridge.couplings.places import Places
from traces.base.time import MAX_NS


def test_cores_come_to_the_first_places_that_are_free() -> None:
    begun = Places.of(np.array([4, 5, 9]), 10)
    assert begun.latest.tolist() == [4, 5, 9]
    wider = begun.with_cores([6, 7], np.array([True, False, True]), 20)
    assert wider.latest.tolist() == [4, 6, 9, 7]
    assert wider.place.tolist() == [0, 1, 2, 1, 3]
    assert wider.until_ns.tolist() == [MAX_NS, 20, MAX_NS, MAX_NS, MAX_NS]
    places, at_ns = np.array([1, 1, 1, 3, 0]), np.array([10, 19, 20, 25, 30])
    assert wider.cores_of(places, at_ns).tolist() == [5, 5, 6, 7, 4]


def test_a_core_that_comes_again_is_at_its_new_place_only() -> None:
    begun = Places.of(np.array([4, 5]), 0)
    moved = begun.with_cores([8], np.array([True, False]), 5).with_cores([5], np.array([True, True]), 9)
    assert moved.latest.tolist() == [4, 8, 5]
    assert moved.last_there.tolist() == [True, True, True]
    # Core 4 goes, and comes to the place of 8, which has gone before: its first place is nobody's now.
    again = moved.with_cores([4], np.array([True, False, True]), 12)
    assert again.latest.tolist() == [4, 4, 5]
    assert again.last_there.tolist() == [False, True, True]
