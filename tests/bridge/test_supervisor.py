"""The places of cores in a job, and what a run needs of an application simulator."""

from __future__ import annotations

import numpy as np
import pytest
from conversation import hello

from bridge.couplings.places import Places
from bridge.workers.needs import Needs
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


@pytest.mark.parametrize(
    ("needs", "lacks", "said"),
    [
        (Needs(releases=True), "releases", "--coordination release: 'toy' cannot follow it: {}; allowed: none"),
        (
            Needs(releases=True, hints=True),
            "releases",
            "--coordination hint: 'toy' cannot follow it: {}; allowed: none",
        ),
        (
            Needs(releases=True, hints=True),
            "hints",
            "--coordination hint: 'toy' cannot follow it: {}; allowed: none, release",
        ),
        (
            Needs(resizes=True, releases=True),
            "resizes",
            "--malleable: 'toy' cannot follow it: {}; allowed: --resize mold, or without it",
        ),
        (Needs(wishes=True), "wishes", "--resize evolve: 'toy' never wishes: {}; allowed: another one"),
        (
            Needs(scaled_by="--fallback dvfs"),
            "scales",
            "--fallback dvfs: 'toy' cannot follow it: {}; allowed: none, hold, stop:idle, stop:off",
        ),
        (
            Needs(scaled_by="--bls mine, which directs speeds"),
            "scales",
            "--bls mine, which directs speeds: 'toy' cannot follow it: {}; allowed: a policy that leaves speeds alone",
        ),
    ],
)
def test_the_option_and_what_is_allowed(needs: Needs, lacks: str, said: str) -> None:
    able = dict.fromkeys(("releases", "hints", "resizes", "wishes", "scales"), True)
    assert needs.unmet_by(hello(name="toy")) is None
    assert needs.unmet_by(hello(name="toy", **(able | {lacks: False}))) == said.format(
        f"its hello says {lacks} = false"
    )
    assert Needs().unmet_by(hello(**dict.fromkeys(able, False))) is None
