"""Other programs as the batch level: start, connect, report events, and request decisions."""

from dataclasses import replace

from bls.policies.contract import OtherProgram
from bridge.scenarios.conflicts import DECIDED
from bridge.scenarios.scenario import Scenario
from traces.base.options import check


def decided(scenario: Scenario) -> Scenario:
    """The scenario with its policy: that of ``batch``, the default one, or the program of ``execution``. Raises InputError if
    both a policy and a program are given."""
    policy, command = scenario.batch.policy, scenario.execution.bls_command
    if isinstance(policy, OtherProgram):
        return scenario
    if command is None:
        return replace(scenario, batch=replace(scenario.batch, policy=scenario.batch.decides))
    check((DECIDED,), scenario)
    from bridge.schedulers.external import ExternalScheduler  # not needed by other runs

    scheduler = ExternalScheduler(command, scenario.execution.timeout_s, scenario.execution.socket)
    return replace(scenario, batch=replace(scenario.batch, policy=scheduler))
