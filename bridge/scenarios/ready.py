"""A scenario that is ready to run: one workload, one platform and one choice for both levels, checked. Before,
the jobs are selected and the batch policy is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from als import options as a
from als.core_speeds import CoreSpeeds, core_speeds
from als.lengths import TaskModel, check_variation
from als.network import BYTES_PER_GBIT, network_model, network_state
from als.network.state import NO_NETWORK, NetworkState
from als.planners import Planner
from als.planners.contract import Mapped
from als.programs.program import Program
from als.programs.table import Programs
from als.schedulers import AnyScheduler, scheduler
from als.techniques import Selection, Technique
from bls import options as b
from bls.allocators import ALLOCATORS, Allocator, allocator
from bls.constraints.job_constraints import JobConstraints, constrain
from bls.engine.features.presets.options import PRESET
from bls.inputs import check_rules
from bls.machine.platform import Platform
from bls.observers import AnyObserver, Observer, gives_data
from bls.policies import AnyPolicy, BatchPolicy, DecidingPolicy, Policy, ScoringPolicy, policy
from bls.policies.contract import OtherProgram, for_one_run
from bls.workloads import read_workload
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.scenarios.conflicts import DECIDED, READY, SCENARIO
from bridge.scenarios.scenario import RECORDED, Scenario
from traces.base.errors import InputError, PluginError, shown
from traces.base.options import check
from traces.base.plugins import resolve
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan
    from bls.simulator import BatchSimulator

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ReadyScenario:
    """Everything that determines the result of a run. :meth:`of` makes one."""

    workload: Workload  # fitted to the platform and selected
    platform: Platform
    options: Scenario
    policy: AnyPolicy
    allocator: Allocator
    technique: AnyScheduler | None  # of jobs whose application names none; None: jobs take their recorded run times
    model: TaskModel
    requested: Mapping[int, str] | None = None  # cores by job number, for the allocator ``given``
    constraints: JobConstraints = field(default_factory=JobConstraints)
    observers: tuple[AnyObserver, ...] = ()  # and objects that compute additional data for the policy
    applications: tuple[Program, ...] = ()  # programs of jobs; empty if jobs take their recorded run times
    programs: Programs | None = None  # the same, looked up
    program: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # int64 (n,): index of each job's program
    application: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # int64 (n,): index of its application
    #: int64 (programs, kinds of GPUs): which workers of a program are GPUs of hosts (``held_gpus``); -1: none
    gpu_rows: Array = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    speeds: CoreSpeeds = field(default_factory=lambda: core_speeds((), 1, 0))
    network: NetworkState = NO_NETWORK  # between hosts
    power: PowerPlan | None = None  # None without any power option

    @property
    def networked(self) -> bool:
        """Whether data between tasks take time."""
        return self.options.application.network != a.NETWORK.default

    @property
    def sends(self) -> bool:
        """Whether there are transfers: a job may have a graph, and there is a network."""
        return self.programs is not None and self.programs.has_graph and self.networked

    @property
    def fetches(self) -> bool:
        """Whether devices may get data over the network."""
        return any(kind.data == "first" for one in self.applications for kind in one.workers)

    @property
    def blind_to_switches(self) -> bool:
        """Whether the allocator is known to ignore switches."""
        known = ALLOCATORS.get(self.allocator.name)
        return known is not None and self.allocator.place is known.place and known.name != "topology"

    @property
    def notes(self) -> bool:
        """Whether an observer may note something: not all of them only compute additional data."""
        return any(isinstance(one, Observer) for one in self.observers)

    def for_one_run(self) -> ReadyScenario:
        """The same with a policy whose state is that of one run alone (``bls.policies.contract.for_one_run``)."""
        given = self.options.batch.decides
        named = isinstance(given, str)
        found = policy(given) if isinstance(given, str) and isinstance(self.policy, DecidingPolicy) else self.policy
        own = for_one_run(given if isinstance(given, type) else found, named)
        return self if own is self.policy else replace(self, policy=own)

    def batch_simulator(
        self, observers: Sequence[AnyObserver] = (), lasting: Workload | None = None, *, stranger: bool = False
    ) -> BatchSimulator:
        """The batch level. ``lasting``: the jobs with the run times that they will have, if these are known; ``stranger``:
        another program runs the applications and may lose cores by itself."""
        from bls.simulator import BatchSimulator  # not needed to check a scenario

        recorded = self.technique is None or lasting is not None
        return BatchSimulator(
            self.workload if lasting is None else lasting,
            self.platform,
            self.policy,
            self.allocator,
            rules=self.options.batch,
            constraints=self.constraints,
            observers=observers,
            seed=self.options.seed,
            slack=self.options.batch.slack,
            recorded=recorded,
            requested=self.requested,
            loses=not recorded and (stranger or self.speeds.loses),
            power=self.power,
        )

    @property
    def bytes_per_gflop(self) -> float:
        """How many bytes a link carries while the slowest core computes a GFLOP."""
        return self.platform.network.bandwidth_gbps * BYTES_PER_GBIT / self.platform.slowest_gflops

    @classmethod
    def of(
        cls,
        workload: Workload,
        platform: Platform,
        options: Scenario,
        requested: Mapping[int, str] | None = None,
        *,
        observers: Sequence[str | AnyObserver] = (),
        known_jobs: Array | None = None,
    ) -> ReadyScenario:
        """Check the options against each other, find the plug-ins, and read the constraints of jobs.

        Parameters
        ----------
        workload, platform : Workload, Platform
            Used unchanged.
        options : Scenario
            The parts ``workload`` and ``machine`` are ignored.
        requested : mapping of int to str, optional
            Cores by job number, for the allocator ``given``.
        observers : sequence of str, Observer or AdditionalData
        known_jobs : ndarray of int64, optional
            All job numbers that a file of requests may name, as those of a log before a selection.

        Returns
        -------
        ReadyScenario

        Raises
        ------
        InputError, PluginError
            If something is unknown or out of range.
        """
        level = options.application
        known = _technique(level.technique) if level.simulated else None
        check(SCENARIO, options)
        model = TaskModel(level.variation, level.tasks_per_core, options.seed)
        known_policy: object = options.batch.decides
        if isinstance(known_policy, type) and hasattr(known_policy, "decide"):
            known_policy = for_one_run(known_policy)
        chosen = cast(AnyPolicy, _found("bls", known_policy, BatchPolicy, policy, called="Policy"))
        if not isinstance(chosen, Policy | ScoringPolicy | DecidingPolicy):
            raise PluginError(f"{b.BLS}: {chosen.name} has neither keys() nor scored() nor decide()")
        check_rules(options.batch, chosen)
        placed = _found("allocator", options.batch.allocator, Allocator, allocator)
        seen = tuple(_observer(observer) for observer in observers)
        workload, constraints = constrain(workload, platform, options.batch, seed=options.seed, known_jobs=known_jobs)
        applications: tuple[Program, ...] = ()
        place = np.zeros(len(workload), np.int64)
        program, gpu_rows = place, np.zeros((0, 1), np.int64)
        programs = None
        if known is not None:
            plain = Program.plain(level.technique, level.lengths, level.tasks_per_core)
            if level.map is None:
                check_variation(level.lengths, level.variation)
                applications = (plain,)
                plain.check(workload.cores, workload.job_id, where="")
            else:
                applications, place = level.map.assign(workload, options.seed, plain)
            program, gpu_rows = place, np.full((len(applications), 1), -1)
            if any(kind.count is None for one in applications for kind in one.workers):
                from bridge.scenarios.held_gpus import with_held_gpus  # not needed by most runs

                applications, program, gpu_rows = with_held_gpus(
                    applications, place, workload, platform, constraints, level.map.source if level.map else ""
                )
            programs = Programs(applications, level.variation)
        links = platform.network
        network = network_state(
            network_model(level.network),
            links.topology,
            hosts=platform.n_hosts,
            bandwidth_gbps=links.bandwidth_gbps,
            latency_ns=links.latency_ns,
            memory_gbps=links.memory_gbps,
        )
        speeds = core_speeds(level.speeds, platform.n_cores, options.seed)
        power = _power(options, workload, platform, known_jobs, place, constraints)
        ready = cls(
            workload,
            platform,
            options,
            chosen,
            placed,
            known,
            model,
            requested,
            constraints,
            seen,
            applications,
            programs,
            program,
            place,
            gpu_rows,
            speeds,
            network,
            power,
        )
        check(READY, ready)
        return ready


def check_ready(scenario: object) -> None:
    """Raise InputError if this is not a scenario that is ready to run."""
    if not isinstance(scenario, ReadyScenario):
        allowed = "a bridge.ReadyScenario, as ReadyScenario.of returns it"
        raise InputError(f"scenario: {shown(scenario)}; allowed: {allowed}")


def _power(
    options: Scenario,
    workload: Workload,
    platform: Platform,
    known_jobs: Array | None,
    place: Array,
    constraints: JobConstraints,
) -> PowerPlan | None:
    if not options.power.asked:
        return None
    from bls.power.plan import power_plan  # not needed by most runs

    applications, asked = options.application.map, constraints.requests
    return power_plan(
        options.power,
        workload,
        platform,
        known_jobs=np.zeros(0, np.int64) if known_jobs is None else known_jobs,
        seed=options.seed,
        said=None if applications is None else partial(applications.allowed, place),
        drawn=None if applications is None else partial(applications.draws, place),
        gpus=None if asked is None or asked.gpus is None else asked.gpus.any,
    )


def _technique(given: object) -> AnyScheduler:
    if isinstance(given, str):
        return scheduler(given, where=str(a.ALS), also=(RECORDED,))
    if isinstance(given, Technique | Selection | Planner | Mapped):
        return given
    raise InputError(f"als: {shown(given)}; allowed: a name, a Technique, a Selection or a Planner")


def _observer(given: str | AnyObserver) -> AnyObserver:
    found: object = given
    if isinstance(given, str):
        found = resolve("observer", given, {}, "twolevel.observers", object, str(b.OBSERVE), also=("FILE.py:NAME",))
    if isinstance(found, Observer) or gives_data(found):
        return found
    if isinstance(given, str):
        raise InputError(f"{b.OBSERVE}: {given} is of type {type(found).__name__}; allowed: Observer, AdditionalData")
    raise InputError(f"observe: {shown(given)}; allowed: a name, an Observer or AdditionalData")


def _found(where: str, given: object, kind: type[T], find: Callable[[str], T], *, called: str = "") -> T:
    # A plug-in from the user's value: its name, or the object itself.
    if isinstance(given, str):
        return find(given)
    if isinstance(given, kind):
        return given
    raise InputError(f"{where}: {shown(given)}; allowed: a name or a {called or kind.__name__}")


def load_workload(
    workload: Workload | str | Path,
    platform: Platform,
    *,
    selection: str = b.SELECT.default,
    oversize: str = b.OVERSIZE.default,
    preset: bool | None = PRESET.default,
) -> Workload:
    """A workload, fitted to the platform and selected. Raises InputError if it cannot be read, or nothing is left."""
    whole = workload if isinstance(workload, Workload) else read_workload(workload)
    fitting = fit(whole, platform.n_cores, oversize)
    return select(fitting, selection, preset=preset, n_cores=platform.n_cores, whole=whole)


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
