"""Jobs that run for longer than they asked for, as they promise, and release cores before their end: plans know both."""

from __future__ import annotations

import random

import pytest
from test_power_runs import PLATFORM
from test_reaching import jobs

import bridge
from bls import Rules
from bls.simulator import BatchSimulator


@pytest.mark.parametrize("backfill", ["easy", "2", "conservative"])
def test_what_is_released_of_a_job_that_promised_a_later_end_is_free(
    backfill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By cores: the profile, which is checked at each step, has them free from their release on, and not only until the end
    that was asked for."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    released = 0
    for seed in range(8):
        rules = Rules(backfill, coordination="release:host", estimates="application")
        found = bridge.simulate(
            *(jobs(random.Random(seed), 25), PLATFORM),
            als="ss",
            tasks_per_core=4,
            variation=0.5,
            seed=seed,
            allocator="contiguous",
            rules=rules,
        )
        released += len(found.releases)
    assert released > 40
