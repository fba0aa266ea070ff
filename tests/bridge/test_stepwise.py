"""Simulations that are paused, forked and continued: the bytes of an uninterrupted run; and hosts that are drained on the way.

``test_both_levels.py`` forks every pair of features; here are drains, instants, and what is refused.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directors import Director
from one_result import different
from pages import ROOT, blocks
from scenarios import crowd
from test_power_runs import PLATFORM as POWERED
from test_power_runs import varied

import bridge
from bls.constraints.options import ConstraintOptions
from bls.constraints.outages import OutageModel, modelled_outages
from bls.scheduler_options import Rules
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError

S = 10**9
CASE = crowd(51, 60, policy="sjf", technique="fac", variation=0.25, tasks_per_core=2)


def scenario(**options: Any) -> ReadyScenario:
    given: dict[str, Any] = {"bls": "sjf", "als": "fac", "variation": 0.25, "rules": Rules("easy")}
    return ReadyScenario.of(CASE.workload(), CASE.options()["platform"], Scenario.flat(**given | options))


def test_drained_hosts_are_as_if_a_file_had_said_so(tmp_path: Path) -> None:
    """They are drained behind the events of an instant: the file says 1 ns later."""
    text = "host,down_s,up_s,state\n0,100.000000001,400,drain\n2,100.000000001,400,drain\n"
    (tmp_path / "drains.csv").write_text(text)
    expected = run(scenario(constraints=ConstraintOptions(failures=str(tmp_path / "drains.csv"))))
    plain = run(scenario())
    simulation = bridge.Simulation(scenario(), drainable=True).run(100 * S)
    drained = simulation.fork().drain("0 2", 400 * S)
    for _ in range(2):  # once more, too
        assert different(simulation.result(), plain) == ""
        assert simulation.done
    assert different(drained.result(), expected) == ""
    assert different(expected, plain) != ""


def test_hosts_that_are_drained_fail_by_their_model_as_before(tmp_path: Path) -> None:
    """A file says all that the model draws, and the drains 1 ns later than they are told."""
    model = OutageModel(40 * S, 3 * S, 1)
    said = modelled_outages(model, 3, 512)
    hosts = np.repeat(np.arange(3), 512)
    rows = zip(hosts.tolist(), said.down_ns.tolist(), said.up_ns.tolist(), strict=True)
    lines = [f"{host},{down / S:.9f},{up / S:.9f},down" for host, down, up in rows]
    drains = ["0,100.000000001,150,drain", "2,100.000000001,150,drain"]
    (tmp_path / "failures.csv").write_text("\n".join(["host,down_s,up_s,state", *lines, *drains]) + "\n")
    rules = Rules("easy", max_attempts=1000)
    expected = run(scenario(constraints=ConstraintOptions(failures=str(tmp_path / "failures.csv")), rules=rules))
    failing = scenario(constraints=ConstraintOptions(failures="mtbf:40s,mttr:3s,seed:1"), rules=rules)
    simulation = bridge.Simulation(failing, drainable=True).run(100 * S)
    drained = simulation.fork().drain("0 2", 150 * S)
    assert different(drained.result(), expected) == ""
    assert different(simulation.result(), run(failing)) == ""
    assert expected.jobs.end_ns.max() > 500 * S  # the model was asked for more than once


@pytest.mark.parametrize("kind", ["plain", "ordered", "graphs", "drawing", "promised"])
def test_forks_of_runs_whose_power_is_limited(kind: str) -> None:
    workload, options = varied(kind, 2)
    if options["als"] == "recorded":
        options["als"] = "fac"
    whole = bridge.simulate(workload, POWERED, **options)
    simulation = bridge.Simulation(whole.scenario)
    assert whole.ledger.scales is not None
    instants = np.unique([*whole.ledger.scales.command_ns, *whole.jobs.start_ns])
    forks = [simulation.run(int(instant)).fork() for instant in instants[instants >= 0][::4]]
    assert len(forks) > 3
    for one in (*forks, simulation):
        assert different(one.result(), whole) == ""


def test_bad_input_is_refused() -> None:
    simulation = bridge.Simulation(scenario(), drainable=True).run(5 * S)
    with pytest.raises(InputError, match=r"^until_ns: 4 s is past; the simulation is at 5 s$"):
        simulation.run(4 * S)
    with pytest.raises(InputError, match="drain: hosts: 3-9 goes beyond what exists: the machine has hosts 0 to 2"):
        simulation.drain("3-9")
    with pytest.raises(InputError, match=r"^drain: host 1 was drained before; allowed: each host once$"):
        simulation.drain("1").fork().drain("0-1")
    with pytest.raises(InputError, match=re.escape("allowed: Simulation(…, drainable=True)")):
        bridge.Simulation(scenario()).drain("0")
    with pytest.raises(InputError, match="als: recorded: no application is simulated"):
        bridge.Simulation(scenario(als="recorded", variation=0.0))
    director = Director(1, 0.5, 0.05)
    with pytest.raises(InputError, match="decides in Python, or the run has observers"):
        bridge.Simulation(scenario(bls=director, rules=Rules(max_attempts=1000)))
    ended = bridge.Simulation(scenario(), drainable=True).run()
    with pytest.raises(InputError, match=r"^drain: the simulation has ended; allowed: before its end$"):
        ended.drain("0")
    drained = replace(bridge.Simulation(scenario(), drainable=True).scenario)
    with pytest.raises(InputError, match="failures: hosts are drained; allowed: state down"):
        bridge.Simulation(drained, drainable=True)


def test_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs/how-to/what-if.md"
    (example,) = blocks(page, "python")
    exec(example, {})
    printed = capsys.readouterr().out
    assert "".join(f"    {line}\n" for line in printed.splitlines()) in page.read_text(encoding="utf-8")
    assert printed.count("mean wait") == 2
