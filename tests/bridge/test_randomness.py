"""Which runs a seed can change."""

from typing import Any

import pytest
from tables import table_rows

import bridge
from bls.workloads.workload import Workload
from bridge.scenarios.randomness import draws
from traces.statistics import comparison_table, paired, paired_comparisons
from traces.tables import rows_frame


@pytest.mark.parametrize(("options", "drawn"), table_rows(__file__, "whether_a_seed_can_change_a_run"))
def test_whether_a_seed_can_change_a_run(options: dict[str, Any], drawn: bool) -> None:
    groups = [value if isinstance(value, dict) else {name: value} for name, value in options.items()]
    given = {name: value for group in groups for name, value in group.items()}
    assert draws(bridge.Scenario.flat(**given).names()) is drawn


@pytest.mark.parametrize("options", [{"als": "recorded"}, {"als": "gss", "variation": 0.0}, {"als": "static"}])
def test_what_draws_nothing_is_the_same_for_every_seed(options: dict[str, Any]) -> None:
    jobs = Workload.from_jobs([(k, 10 * k, 30 + 7 * k % 5, 1 + k % 3, 90) for k in range(1, 30)])
    assert not draws(bridge.Scenario.flat(**options).names())
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
    assert "nothing is random in these runs, so one seed is enough" in text
    assert "paired by window" in comparison_table(paired_comparisons(frame, "bls", "a", ["m_ns"]), paired_by="window")
