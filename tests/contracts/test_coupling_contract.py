"""What every coupling keeps: these tests run over the registry, so a new coupling is tested by its line there."""

from __future__ import annotations

import pytest
from scenarios import assert_as_expected, crowd

from bls.engine import state as b
from bls.machine.platform import Platform
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bridge.couplings import COUPLINGS, PeerOptions, coupling
from bridge.scenarios.scenario import Options, Scenario

pytestmark = pytest.mark.whole

CASE = crowd(51, 30, policy="sjf", technique="gss", variation=0.25, tasks_per_core=2)


@pytest.mark.parametrize("name", COUPLINGS)
def test_it_gives_the_one_result(name: str) -> None:
    result = CASE.simulated(coupling=name, workers=2)
    assert_as_expected(result, CASE.expected())
    assert result.coupling["name"] == name
    assert result.coupling["simulation_s"] > 0


@pytest.mark.parametrize("name", COUPLINGS)
def test_it_drives_the_batch_level_to_its_end_and_tells_who_watches(name: str) -> None:
    options = CASE.options()
    platform: Platform = options["platform"]
    scenario = Scenario.of(CASE.workload(), platform, Options("fcfs", "ss", variation=0.25, seed=4))
    simulator = BatchSimulator(scenario.workload, platform, POLICIES["fcfs"], scenario.allocator)
    seen: list[tuple[int, int]] = []
    applications = coupling(name)(
        scenario,
        simulator,
        keep_tasks=False,
        watch=lambda ended, now_ns: seen.append((ended, now_ns)),
        peers=PeerOptions(workers=1),
    )
    n = len(scenario.workload)
    assert simulator.ended == n
    assert (simulator.column(b.END) > simulator.column(b.START)).all()
    assert applications.records is None
    columns = (applications.tasks, applications.chunks, applications.length_gflop, applications.metric("imbalance"))
    assert all(column.shape == (n,) for column in columns)
    assert (applications.tasks > 0).all()
    assert (applications.chunks <= applications.tasks).all()
    assert all(isinstance(value, int | float) for value in applications.cost.values())
    # An observer sees the clock and the count go forward, never beyond the end.
    assert seen == sorted(seen)
    assert seen
    assert seen[-1] <= (n, int(simulator.column(b.END).max()))
