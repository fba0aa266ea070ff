"""The options of ``run`` that say what is simulated, on which machine, under which rules: those of a study's cell, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

# Everything else is imported where it is needed, so that --help is quick.
from bridge.options.shared import (
    TECHNIQUES_HELP,
    AllocatorOption,
    ApplicationsOption,
    AssignmentOption,
    BackfillOption,
    CancelledOption,
    ChargeOption,
    ConservativeOption,
    CostOption,
    DependenciesOption,
    EstimatesOption,
    FailuresOption,
    KillOption,
    LatencyOption,
    LengthsOption,
    MaxAttemptsOption,
    MemoryOption,
    NetworkOption,
    OnFailureOption,
    OverheadOption,
    OversizeOption,
    PlatformOption,
    PresetOption,
    RequestsOption,
    SeedOption,
    SelectOption,
    SlackOption,
    SpeedsOption,
    SwitchesOption,
    TasksPerCoreOption,
    WindowsOption,
)

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bls.scheduler_options import Rules
    from bls.workloads.workload import Workload
    from bridge.scenarios.scenario import Options
    from traces.compiled import Array

__all__ = ["LevelOptions", "ScenarioOptions"]


@dataclass(frozen=True)
class LevelOptions:
    """Which scheduler each level has, and how much the lengths of tasks vary."""

    bls: Annotated[
        str, typer.Option(help="Batch policy by name (fcfs, sjf, wfp3 …), expr:EXPRESSION, or FILE.py:NAME.")
    ] = "fcfs"
    als: Annotated[str, typer.Option(help=f"Application technique: {TECHNIQUES_HELP}; or recorded: none.")] = "static"
    variation: Annotated[float, typer.Option(help="Task variation factor: σ over µ of task lengths.")] = 0.0


@dataclass(frozen=True)
class ScenarioOptions:
    """As given on the command line; checked as they are used."""

    seed: SeedOption = 0
    select: SelectOption = "all"
    oversize: OversizeOption = "reject"
    platform: PlatformOption = None
    tasks_per_core: TasksPerCoreOption = 1
    lengths: LengthsOption = ""
    applications: ApplicationsOption = None
    overhead: OverheadOption = 0
    latency: LatencyOption = 0
    assignment: AssignmentOption = "distributed"
    speeds: SpeedsOption = None
    network: NetworkOption = "none"
    slack: SlackOption = 2.0
    allocator: AllocatorOption = "first-fit"
    backfill: BackfillOption = "none"
    conservative: ConservativeOption = None
    kill_at_walltime: KillOption = False
    estimates: EstimatesOption = "requested"
    on_failure: OnFailureOption = "requeue"
    max_attempts: MaxAttemptsOption = 1000
    charge_decisions: ChargeOption = False
    decision_cost: CostOption = None
    memory: MemoryOption = "none"
    requests: RequestsOption = None
    windows: WindowsOption = None
    failures: FailuresOption = None
    dependencies: DependenciesOption = False
    switches: SwitchesOption = None
    preset: PresetOption = False
    cancelled: CancelledOption = False

    def options(
        self,
        bls: str,
        als: str,
        variation: float,
        backfill: tuple[str, ...] | None = None,
        *,
        keep_decisions: bool = False,
    ) -> Options:
        """What to simulate, how; ``backfill`` are all kinds of it that a grid has, the first one that of the options."""
        from bls.constraints.options import Surroundings
        from bridge.scenarios.application_level import ApplicationLevel
        from bridge.scenarios.scenario import Options

        rules = self._rules(backfill or (self.backfill,), keep_decisions)
        return Options(
            bls,
            als,
            variation,
            self.tasks_per_core,
            self.seed,
            self.slack,
            self.overhead,
            self.allocator,
            rules,
            Surroundings(self.memory, self.requests, self.windows, self.failures, self.dependencies, self.switches),
            ApplicationLevel(
                self.lengths, self.latency, self.assignment, self.applications, tuple(self.speeds or ()), self.network
            ),
        )

    def _rules(self, backfill: tuple[str, ...], keep_decisions: bool) -> Rules:
        from bls.scheduler_options import Rules
        from traces.base.errors import InputError
        from traces.base.time import parse_duration_ns

        if self.conservative is not None and "conservative" not in backfill:
            raise InputError(f"--conservative {self.conservative}: needs --backfill conservative")
        cost = self.decision_cost
        return Rules(
            backfill=backfill[0],
            conservative=self.conservative or "keep",
            kill_at_walltime=self.kill_at_walltime,
            estimates=self.estimates,
            on_failure=self.on_failure,
            max_attempts=self.max_attempts,
            charge_decisions=self.charge_decisions,
            decision_cost_ns=None if cost is None else parse_duration_ns(cost, "--decision-cost"),
            keep_decisions=keep_decisions,
        )

    def machine(self) -> Platform:
        """The platform."""
        from bridge.scenarios.scenario import platform_of

        return platform_of(self.platform)

    def jobs(self, workload: str, machine: Platform) -> tuple[Workload, Array]:
        """The workload, fitted to the machine and selected; and all job numbers of the log."""
        from bls.workloads import read_workload, sample_path
        from bridge.scenarios.scenario import load_workload

        log = read_workload(sample_path() if workload == "sample" else workload, cancelled=self.cancelled)
        jobs = load_workload(log, machine, selection=self.select, oversize=self.oversize, preset=self.preset)
        return jobs, log.job_id

    def source(self, workload: str) -> dict[str, Any]:
        """Where the jobs come from, for a record of the run."""
        return {
            "workload": workload,
            "select": self.select,
            "oversize": self.oversize,
            "platform": self.platform,
            "preset": self.preset,
            "cancelled": self.cancelled,
        }
