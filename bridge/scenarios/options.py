"""The options of ``run`` that say what is simulated, on which machine, under which rules: those of a study's cell, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

# Everything else is imported where it is needed, so that --help is quick.
from als import options as a
from bls import options as b
from bls.options import BACKFILL, CONSERVATIVE, DECISION_COST
from bridge.options.declared import BLS_TIMEOUT
from traces.base.shared_options import SEED

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bls.policies import AnyPolicy
    from bls.power.options import PowerOptions
    from bls.scheduler_options import Rules
    from bls.workloads.workload import Workload
    from bridge.scenarios.scenario import Options


@dataclass(frozen=True)
class SchedulerOptions:
    """Who schedules at the batch level: a policy, where None is what was not said, or another program."""

    bls: Annotated[str | None, b.BLS] = None
    bls_command: Annotated[str | None, b.BLS_COMMAND] = b.BLS_COMMAND.default
    bls_timeout: Annotated[float, BLS_TIMEOUT] = BLS_TIMEOUT.default

    def names(self) -> dict[str, object]:
        """The other program as plain values, for a record of the run; nothing of a run without one."""
        if self.bls_command is None:
            return {}
        return {"bls_command": self.bls_command, "bls_timeout_s": self.bls_timeout}


@dataclass(frozen=True)
class ApplicationOptions:
    """Which scheduler the application level has, and how much the lengths of tasks vary."""

    als: Annotated[str, replace(a.ALS, help=f"{a.ALS.help}; or recorded: none")] = a.ALS.default
    variation: Annotated[float, a.VARIATION] = a.VARIATION.default


@dataclass(frozen=True)
class ScenarioOptions:
    """As given on the command line, where None is what was not said; checked as they are used."""

    seed: Annotated[int, SEED] = SEED.default
    select: Annotated[str, b.SELECT] = b.SELECT.default
    oversize: Annotated[str, b.OVERSIZE] = b.OVERSIZE.default
    platform: Annotated[str | None, b.PLATFORM] = b.PLATFORM.default
    tasks_per_core: Annotated[int, a.TASKS_PER_CORE] = a.TASKS_PER_CORE.default
    lengths: Annotated[str, a.LENGTHS] = a.LENGTHS.default
    applications: Annotated[str | None, a.APPLICATIONS] = a.APPLICATIONS.default
    overhead: Annotated[int, a.OVERHEAD] = a.OVERHEAD.default
    latency: Annotated[int, a.LATENCY] = a.LATENCY.default
    assignment: Annotated[str, a.ASSIGNMENT] = a.ASSIGNMENT.default
    resize_cost: Annotated[int, a.RESIZE_COST] = a.RESIZE_COST.default
    speeds: Annotated[list[str] | None, a.SPEEDS] = None
    network: Annotated[str, a.NETWORK] = a.NETWORK.default
    slack: Annotated[float, b.SLACK] = b.SLACK.default
    allocator: Annotated[str, b.ALLOCATOR] = b.ALLOCATOR.default
    backfill: Annotated[str, b.BACKFILL] = b.BACKFILL.default
    conservative: Annotated[str | None, b.CONSERVATIVE] = None
    kill_at_walltime: Annotated[bool, b.KILL_AT_WALLTIME] = b.KILL_AT_WALLTIME.default
    estimates: Annotated[str, b.ESTIMATES] = b.ESTIMATES.default
    on_failure: Annotated[str, b.ON_FAILURE] = b.ON_FAILURE.default
    coordination: Annotated[str, b.COORDINATION] = b.COORDINATION.default
    malleable: Annotated[str | None, b.MALLEABLE] = b.MALLEABLE.default
    resize: Annotated[str | None, b.RESIZE] = None
    max_attempts: Annotated[int, b.MAX_ATTEMPTS] = b.MAX_ATTEMPTS.default
    charge_decisions: Annotated[bool, b.CHARGE_DECISIONS] = b.CHARGE_DECISIONS.default
    decision_cost: Annotated[str | None, b.DECISION_COST] = b.DECISION_COST.default
    memory: Annotated[str, b.MEMORY] = b.MEMORY.default
    requests: Annotated[str | None, b.REQUESTS] = b.REQUESTS.default
    windows: Annotated[str | None, b.WINDOWS] = b.WINDOWS.default
    failures: Annotated[str | None, b.FAILURES] = b.FAILURES.default
    dependencies: Annotated[bool, b.DEPENDENCIES] = b.DEPENDENCIES.default
    switches: Annotated[str | None, b.SWITCHES] = b.SWITCHES.default
    power: Annotated[bool, b.POWER] = b.POWER.default
    power_of: Annotated[str, b.POWER_OF] = b.POWER_OF.default
    limits: Annotated[str | None, b.LIMITS] = b.LIMITS.default
    reaction: Annotated[str | None, b.REACTION] = None
    notice: Annotated[str | None, b.NOTICE] = None
    fallback: Annotated[str, b.FALLBACK] = b.FALLBACK.default
    allowed: Annotated[str, b.ALLOWED] = b.ALLOWED.default
    job_power: Annotated[str | None, b.JOB_POWER] = b.JOB_POWER.default
    power_estimates: Annotated[str, b.POWER_ESTIMATES] = b.POWER_ESTIMATES.default
    signals: Annotated[str | None, b.SIGNALS] = b.SIGNALS.default
    pue: Annotated[str | None, b.PUE] = b.PUE.default
    stretch_walltime: Annotated[bool, b.STRETCH_WALLTIME] = b.STRETCH_WALLTIME.default
    sleep_after: Annotated[str | None, b.SLEEP_AFTER] = b.SLEEP_AFTER.default
    keep_awake: Annotated[int, b.KEEP_AWAKE] = b.KEEP_AWAKE.default
    preset: Annotated[bool | None, b.PRESET] = b.PRESET.default
    cancelled: Annotated[bool, b.CANCELLED] = b.CANCELLED.default

    def options(
        self,
        bls: str | AnyPolicy,
        als: str,
        variation: float,
        backfill: tuple[str, ...] | None = None,
        *,
        keep_decisions: bool = False,
    ) -> Options:
        """What to simulate, how; ``backfill`` are all kinds of it that a grid has, the first one that of the options."""
        from bls.constraints.options import ConstraintOptions
        from bridge.scenarios.application_level import ApplicationLevel
        from bridge.scenarios.scenario import Options

        rules = self._rules(backfill or (self.backfill,), keep_decisions)
        return Options(
            bls=bls,
            als=als,
            variation=variation,
            **self._given("tasks_per_core", "seed", "slack", "allocator"),
            overhead_ns=self.overhead,
            rules=rules,
            constraints=ConstraintOptions(
                **self._given("memory", "requests", "windows", "failures", "dependencies", "switches", "malleable")
            ),
            level=ApplicationLevel(
                **self._given("lengths", "assignment", "applications", "network"),
                latency_ns=self.latency,
                resize_ns=self.resize_cost,
                speeds=tuple(self.speeds or ()),
            ),
            power=self._power(),
        )

    def _power(self) -> PowerOptions | None:
        given = (
            "limits",
            "reaction",
            "notice",
            "fallback",
            "allowed",
            "power_of",
            "job_power",
            "power_estimates",
            "signals",
            "pue",
            "stretch_walltime",
            "sleep_after",
            "keep_awake",
        )
        if not self.power and all(getattr(self, name) == getattr(ScenarioOptions, name) for name in given):
            return None
        from bls.power.options import PowerOptions
        from traces.base.time import parse_duration_ns, parse_instant_ns

        return PowerOptions(
            of=self.power_of,
            reaction_ns=0 if self.reaction is None else parse_instant_ns(self.reaction, str(b.REACTION)),
            notice_ns=0 if self.notice is None else parse_instant_ns(self.notice, str(b.NOTICE)),
            **self._given(
                "limits", "fallback", "allowed", "job_power", "signals", "pue", "stretch_walltime", "keep_awake"
            ),
            estimates=self.power_estimates,
            sleep_after_ns=None
            if self.sleep_after is None
            else parse_duration_ns(self.sleep_after, str(b.SLEEP_AFTER)),
        )

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _rules(self, backfill: tuple[str, ...], keep_decisions: bool) -> Rules:
        from bls.scheduler_options import Rules
        from traces.base.errors import InputError
        from traces.base.time import parse_duration_ns

        if self.conservative is not None and "conservative" not in backfill:
            raise InputError(f"{CONSERVATIVE:{self.conservative}}: needs {BACKFILL:conservative}")
        cost = self.decision_cost
        return Rules(
            backfill=backfill[0],
            conservative=self.conservative or b.CONSERVATIVE.default,
            **self._given(
                "kill_at_walltime", "estimates", "on_failure", "coordination", "max_attempts", "charge_decisions"
            ),
            resize=self.resize or (b.RESIZE.default if self.malleable is None else b.RESIZED),
            decision_cost_ns=None if cost is None else parse_duration_ns(cost, str(DECISION_COST)),
            keep_decisions=keep_decisions,
        )

    def jobs(self, log: Workload, *, replayed: bool, machine: Platform | None = None) -> tuple[Workload, Platform]:
        """The machine for a log, if none is given, and its jobs, fitted to that and selected; ``replayed``: all last as long as
        recorded."""
        from bridge.scenarios.machine import platform_for
        from bridge.scenarios.scenario import load_workload

        if machine is None:
            machine = platform_for(self.platform, log, replayed=replayed)
        jobs = load_workload(log, machine, selection=self.select, oversize=self.oversize, preset=self.preset)
        return jobs, machine

    def source(self, workload: str, jobs: Workload | None = None) -> dict[str, Any]:
        """Where the jobs come from, for a record of the run; the selected ``jobs`` say whether a window has preset ones."""
        window = None if jobs is None else jobs.window
        return {
            "workload": workload,
            **self._given("select", "oversize", "platform"),
            "preset": window is not None and not window.empty,
            "cancelled": self.cancelled,
        }
