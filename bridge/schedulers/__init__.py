"""Another program as the batch level: started, connected, told what happens, and asked what starts."""

from dataclasses import replace

from bls.policies.contract import OtherProgram
from bridge.scenarios.conflicts import DECIDED
from bridge.scenarios.scenario import Scenario
from traces.base.options import check

__all__ = ["decided"]


def decided(scenario: Scenario) -> Scenario:
    """The scenario with its policy: that of ``batch``, the default one, or the program of ``execution``. Raises InputError if
    there are a policy and a program."""
    policy, command = scenario.batch.policy, scenario.execution.bls_command
    if isinstance(policy, OtherProgram):
        return scenario
    if command is None:
        return replace(scenario, batch=replace(scenario.batch, policy=scenario.batch.decides))
    check((DECIDED,), scenario)
    from bridge.schedulers.external import ExternalScheduler  # which other runs need not load

    scheduler = ExternalScheduler(command, scenario.execution.timeout_s, scenario.execution.socket)
    return replace(scenario, batch=replace(scenario.batch, policy=scheduler))
