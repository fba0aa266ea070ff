"""What is said of an application simulator that cannot do what a run asks of it."""

from __future__ import annotations

import pytest
from conversation import hello

from bridge.workers.needs import Needs


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
