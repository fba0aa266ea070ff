"""Which runs a seed can change."""

from __future__ import annotations

from typing import Any

import pytest

import bridge
from bls.constraints.options import Surroundings
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.randomness import draws
from traces.statistics import comparison_table, paired, paired_comparisons
from traces.tables import rows_frame


@pytest.mark.parametrize(
    ("options", "drawn"),
    [
        ({"als": "recorded"}, False),
        ({"als": "recorded", "variation": 0.25}, False),  # nothing varies
        ({"als": "recorded", "bls": "expr:w/t"}, False),
        ({"als": "recorded", "bls": "mine.py:MINE"}, True),
        ({"als": "recorded", "allocator": "random"}, True),
        ({"als": "recorded", "allocator": "mine.py:MINE"}, True),
        ({"als": "recorded", "rules": Rules(estimates="within:10%")}, True),
        ({"als": "recorded", "rules": Rules(estimates="last-two")}, False),
        ({"als": "recorded", "rules": Rules(charge_decisions=True)}, True),
        ({"als": "recorded", "around": Surroundings(failures="mtbf:1d,mttr:1h")}, True),
        ({"als": "recorded", "around": Surroundings(failures="outages.csv")}, False),
        ({"als": "static", "variation": 0.0}, False),
        ({"als": "fsc:h=1e-6,sigma=0.2", "variation": 0.0}, False),
        ({"als": "nonmonotonic:dynamic,2", "variation": 0.0}, False),
        ({"als": "rnd", "variation": 0.0}, True),
        ({"als": "mine.py:MINE", "variation": 0.0}, True),
        ({"als": "select:gss,fac", "variation": 0.0}, True),  # not known: the candidates may be anything
        ({"als": "static", "level": ApplicationLevel(lengths="exponential")}, True),
        ({"als": "static", "level": ApplicationLevel(lengths="gamma"), "variation": 0.0}, False),
        ({"als": "static", "level": ApplicationLevel(lengths="equal")}, False),
        ({"als": "static", "level": ApplicationLevel(lengths="increasing")}, False),
        ({"als": "static", "level": ApplicationLevel(lengths="file:lengths.csv")}, False),
        ({"als": "static", "level": ApplicationLevel(speeds=("noise:sigma=0.1",))}, True),
        ({"als": "static", "around": Surroundings(malleable="0.5")}, True),
    ],
)
def test_whether_a_seed_can_change_a_run(options: dict[str, Any], drawn: bool) -> None:
    assert draws(bridge.Options(**options).names()) is drawn


@pytest.mark.parametrize("options", [{"als": "recorded"}, {"als": "gss", "variation": 0.0}, {"als": "static"}])
def test_what_draws_nothing_is_the_same_for_every_seed(options: dict[str, Any]) -> None:
    jobs = Workload.from_jobs([(k, 10 * k, 30 + 7 * k % 5, 1 + k % 3, 90) for k in range(1, 30)])
    assert not draws(bridge.Options(**options).names())
    found = [bridge.simulate(jobs, seed=seed, **options).jobs for seed in (0, 7)]
    assert found[0].equals(found[1])


def test_what_no_seed_changes_has_neither_an_interval_nor_a_star() -> None:
    same = paired([4.0] * 10, [3.0] * 10)
    assert (same.n, same.difference, same.ratio, same.share_greater) == (10, -1.0, 0.75, 0.0)
    assert not same.changed
    for value in (same.difference_low, same.difference_high, same.ratio_low, same.ratio_high, same.effect_size):
        assert value != value
    assert paired([4.0, 4, 4, 4, 5], [3.0] * 5).changed, "one of the two varies"
    row = {"workload": "w", "als": "recorded", "error": ""}
    rows = [
        row | {"bls": bls, "seed": k, "error": "", "m_ns": w} for bls, w in (("a", 4.0), ("b", 3.0)) for k in range(10)
    ]
    frame = rows_frame(rows)[["workload", "bls", "als", "seed", "error", "m_ns"]]
    text = comparison_table(paired_comparisons(frame, "bls", "a", ["m_ns"]))
    assert text.splitlines()[2].split()[2:7] == ["4.000", "3.000", "−1.000", "0.7500", "–"]
    assert "*" not in text
    assert "these runs draw nothing at random, so that more seeds would add nothing" in text
    assert "paired by window" in comparison_table(paired_comparisons(frame, "bls", "a", ["m_ns"]), paired_by="window")
