"""A simulation that can be paused at an instant, forked, and continued."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from bls.constraints.outages import drainable as drain_hosts
from bridge.couplings.inline import InlineRun
from bridge.runs.kernels import prepare_run
from bridge.runs.result import Result
from bridge.runs.simulation import ResultRequest, result_of
from bridge.scenarios.conflicts import RUN
from bridge.scenarios.ready import ReadyScenario, check_ready
from bridge.scenarios.scenario import Execution
from traces.base.errors import InputError, whole
from traces.base.options import check
from traces.base.time import MAX_NS, format_ns
from traces.intervals import check_ends, parse_intervals


class Simulation:
    """A simulation of both levels that can be paused at any instant, forked, and continued.

    Its result is byte-identical to that of an uninterrupted run. The page ``docs/how-to/what-if.md`` has an example.

    Parameters
    ----------
    scenario : ReadyScenario
        What to simulate (:meth:`bridge.ReadyScenario.of`); its policy must be compiled, and observers are not allowed.
    keep_tasks : bool
        Whether to keep a record of every task. Without records a fork is cheaper.
    drainable : bool
        Whether hosts may be drained with :meth:`drain`.

    Raises
    ------
    InputError
        If the policy decides in Python or there are observers, as they may keep their own state; or if jobs have their
        recorded run times, so that there is no application level.
    """

    def __init__(self, scenario: ReadyScenario, *, keep_tasks: bool = True, drainable: bool = False) -> None:
        check_ready(scenario)
        if scenario.technique is None:
            raise InputError("als: recorded: no application is simulated; allowed: a technique")
        check(RUN, ResultRequest(scenario, Execution(), keep_tasks))
        if drainable:
            outages = drain_hosts(scenario.constraints.outages, scenario.platform.n_hosts)
            scenario = replace(scenario, constraints=replace(scenario.constraints, outages=outages))
        prepare_run(applications=True)
        self.scenario, self._drainable = scenario.for_one_run(), drainable
        self._simulator = self.scenario.batch_simulator(self.scenario.observers)
        if self._simulator.is_seen:
            raise InputError(
                f"batch policy {self.scenario.policy.name} decides in Python, or the run has observers, which may keep "
                "their own state; allowed: policies of keys or scores, no observers"
            )
        self._run = InlineRun(self.scenario, self._simulator, keep_tasks=keep_tasks)
        self._until_ns, self.done = -1, False
        self._drained = np.zeros(0, np.int64)

    @property
    def now_ns(self) -> int:
        """The instant up to and including which everything is simulated; -1 before the start."""
        return self._until_ns

    def run(self, until_ns: int | None = None) -> Self:
        """Simulate up to and including an instant.

        Parameters
        ----------
        until_ns : int, optional
            The instant; None: to the end.

        Returns
        -------
        Simulation
            This one.

        Raises
        ------
        InputError
            If that is in the past.
        TwolevelError
            If a plug-in fails.
        """
        upto_ns = MAX_NS if until_ns is None else whole("until_ns", until_ns, 0, MAX_NS)
        if upto_ns < self._until_ns:
            now = format_ns(self._until_ns)
            raise InputError(f"until_ns: {format_ns(upto_ns)} is past; the simulation is at {now}")
        if not self.done:
            self._simulator.pause_after(until_ns)
            self.done = self._run.go_on(lambda ended, now_ns: None)
        self._until_ns = upto_ns
        return self

    def fork(self) -> Simulation:
        """Return an independent copy at this instant."""
        other = copy(self)
        other._simulator = self._simulator.fork()
        other._run = self._run.fork(other._simulator)
        return other

    def drain(self, hosts: str, until_ns: int | None = None) -> Self:
        """Drain hosts from the next nanosecond on: running jobs continue, and no other starts there.

        Parameters
        ----------
        hosts : str
            As ``"0-3 8"``. Each may be drained once.
        until_ns : int, optional
            When they return to service; None: never.

        Returns
        -------
        Simulation
            This one.

        Raises
        ------
        InputError
            If there is no such host, or one was drained before; or if the simulation has ended, or is not ``drainable``.
        """
        if not self._drainable:
            raise InputError("drain: the simulation is not drainable; allowed: Simulation(…, drainable=True)")
        if self.done:
            raise InputError("drain: the simulation has ended; allowed: before its end")
        n_hosts = self.scenario.platform.n_hosts
        found = parse_intervals(hosts, "drain: hosts", n_hosts)
        check_ends(found, n_hosts, "drain: hosts", f"the machine has hosts 0 to {n_hosts - 1}")
        numbers = np.array([host for lo, hi in found for host in range(lo, hi)], np.int64)
        from_ns = self._until_ns + 1
        if until_ns is not None:
            whole("until_ns", until_ns, from_ns + 1, MAX_NS)
        if len(twice := numbers[np.isin(numbers, self._drained)]):
            raise InputError(f"drain: host {twice[0]} was drained before; allowed: each host once")
        self._simulator.drain(numbers, from_ns, until_ns)
        self._drained = np.concatenate([self._drained, numbers])
        return self

    def result(self) -> Result:
        """Simulate the rest; return the result of the whole run."""
        self.run()
        return result_of(self.scenario, self._simulator, self._run.applications(), {"name": "inline"})
