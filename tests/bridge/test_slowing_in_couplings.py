"""Jobs in states of their own, which compute loops and graphs: the same in every coupling, and whichever way it is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_power_runs import PLATFORM, assert_same, hosts_make_the_machine, scenario

import bridge
from als.techniques import Technique
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel

MAP = """
[default]
tasks_per_core = 3

[[application]]
name = "factorisation"
match = { share = 0.4 }
graph = "cholesky:tiles=3,ccr=0.2"
"""


def slowed(seed: int, order: str) -> tuple[Workload, dict[str, Any]]:
    workload, options = scenario(seed)
    options["power"] = replace(options["power"], fallback=f"dvfs:slow={order}")
    return workload, options


@pytest.mark.parametrize("order", ["fewest", "widest", "narrowest", "latest", "earliest", "least-sensitive"])
def test_in_place_or_simulated_again_it_is_the_same(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = 0
    for seed in range(6):
        workload, options = slowed(seed, order)
        kept = bridge.simulate(workload, PLATFORM, **options)
        hosts_make_the_machine(kept)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, PLATFORM, **options))
        scaled += 0 if kept.ledger.scales is None else len(kept.scales)
    assert scaled > 50


@pytest.mark.parametrize(
    ("seed", "als", "order", "coupling"),
    [(1, "gss", "fewest", "pool"), (4, "af", "latest", "process"), (6, "af", "least-sensitive", "pool")],
)
def test_in_every_coupling(seed: int, als: str, order: str, coupling: str, tmp_path: Path) -> None:
    applications = tmp_path / "map.toml"
    applications.write_text(MAP)
    workload, options = slowed(seed, order)
    options |= {"als": als, "level": ApplicationLevel(applications=applications)}
    one = bridge.simulate(workload, PLATFORM, **options)
    assert len(one.scales) > 10
    assert_same(one, bridge.simulate(workload, PLATFORM, **options, coupling=coupling, workers=2))
