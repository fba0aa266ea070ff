"""The command ``twolevel replay``: the real Slurm as the batch level."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

# Everything else is imported by the command that needs it, so that --help is quick.
from als import options as a
from bls import options as b
from bridge.options.bundles import bundled
from bridge.options.declared import (
    FORCE,
    OUT,
    PRIORITIES,
    RATE,
    SETTLE,
    SLURM_CONF,
    SLURM_SET,
    SLURM_TOPOLOGY,
    TRACE,
    WORKLOAD,
)
from bridge.options.declared import TASKS_TABLE as TASKS
from bridge.standard_error import lined_up, say
from traces.base.shared_options import SEED

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bls.workloads.workload import Workload
    from bridge.replay.configuration import Configuration
    from bridge.scenarios.options import ScenarioOptions

__all__ = ["replay_command"]

_RECORDED = "recorded"

#: Two passes of backfilling are made in this time, and one of all else that Slurm does by itself, but for priorities.
_SETTLE_S = 70.0


@dataclass(frozen=True)
class ReplayedJobs:
    """Which jobs, on which machine; as of ``run``."""

    seed: Annotated[int, SEED] = SEED.default
    select: Annotated[str, b.SELECT] = b.SELECT.default
    oversize: Annotated[str, b.OVERSIZE] = b.OVERSIZE.default
    platform: Annotated[str | None, b.PLATFORM] = b.PLATFORM.default
    preset: Annotated[bool, b.PRESET] = b.PRESET.default
    cancelled: Annotated[bool, b.CANCELLED] = b.CANCELLED.default


@dataclass(frozen=True)
class ReplayedSurroundings:
    """What jobs ask for, what they wait for, and what becomes of nodes; as of ``run``."""

    memory: Annotated[str, b.MEMORY] = b.MEMORY.default
    requests: Annotated[str | None, b.REQUESTS] = b.REQUESTS.default
    windows: Annotated[str | None, b.WINDOWS] = b.WINDOWS.default
    failures: Annotated[str | None, b.FAILURES] = b.FAILURES.default
    on_failure: Annotated[str, b.ON_FAILURE] = b.ON_FAILURE.default
    max_attempts: Annotated[int, b.MAX_ATTEMPTS] = b.MAX_ATTEMPTS.default
    dependencies: Annotated[bool, b.DEPENDENCIES] = b.DEPENDENCIES.default
    switches: Annotated[str | None, b.SWITCHES] = b.SWITCHES.default


@dataclass(frozen=True)
class ReplayedApplications:
    """How applications run; as of ``run``, and none by default."""

    als: Annotated[
        str, replace(a.ALS, default=_RECORDED, help=f"{a.ALS.help}; recorded: jobs last as long as the log says")
    ] = _RECORDED
    variation: Annotated[float, a.VARIATION] = a.VARIATION.default
    tasks_per_core: Annotated[int, a.TASKS_PER_CORE] = a.TASKS_PER_CORE.default
    lengths: Annotated[str, a.LENGTHS] = a.LENGTHS.default
    applications: Annotated[str | None, a.APPLICATIONS] = a.APPLICATIONS.default
    overhead: Annotated[int, a.OVERHEAD] = a.OVERHEAD.default
    latency: Annotated[int, a.LATENCY] = a.LATENCY.default
    assignment: Annotated[str, a.ASSIGNMENT] = a.ASSIGNMENT.default
    network: Annotated[str, a.NETWORK] = a.NETWORK.default


@dataclass(frozen=True)
class SlurmOptions:
    """Which Slurm, under which clock."""

    slurm_conf: Annotated[str | None, SLURM_CONF] = SLURM_CONF.default
    topology: Annotated[str | None, SLURM_TOPOLOGY] = SLURM_TOPOLOGY.default
    priorities: Annotated[str, PRIORITIES] = PRIORITIES.default
    set: Annotated[list[str] | None, SLURM_SET] = None
    settle: Annotated[float | None, SETTLE] = SETTLE.default
    rate: Annotated[float, RATE] = RATE.default


@dataclass(frozen=True)
class ReplayTables:
    """What is written beside the table of jobs."""

    tasks: Annotated[bool, TASKS] = TASKS.default
    trace: Annotated[bool, TRACE] = TRACE.default


@bundled
def replay_command(
    *,
    workload: Annotated[str, WORKLOAD],
    out: Annotated[str, OUT],
    jobs: ReplayedJobs,
    around: ReplayedSurroundings,
    slurm: SlurmOptions,
    level: ReplayedApplications,
    tables: ReplayTables,
    force: Annotated[bool, FORCE] = FORCE.default,
) -> None:
    """Run a workload through the real Slurm of this computer, under a clock of ours; write what a run writes."""
    from bls.workloads.seeded import given_workload
    from bridge.live.progress import Progress
    from bridge.replay.installed import installed_slurm
    from bridge.replay.record import replay_rows, write_replay
    from bridge.replay.run import ReplayOptions, replay
    from bridge.runs.directory import check_target, fresh_directory, named_folder
    from bridge.runs.kernels import prepare_run
    from bridge.scenarios.machine import given_platform
    from bridge.scenarios.options import ScenarioOptions
    from bridge.scenarios.scenario import Scenario, load_workload
    from traces.base.errors import InputError
    from traces.base.time import NS_PER_S

    target = named_folder(out)
    check_target(target, force)
    given_s, rate = None if slurm.settle is None else SETTLE.check(slurm.settle), RATE.check(slurm.rate)
    if given_s and rate:
        raise InputError("--settle: not with --rate, by which the clock runs without a jump; allowed: one of them")
    recorded = level.als == _RECORDED
    if tables.tasks and recorded:
        raise InputError("--tasks: with --als recorded there are no tasks")
    installed = installed_slurm()
    given_platform(jobs.platform)  # a file is checked before a long log is read
    shared = ScenarioOptions(
        **_values(jobs), **_values(around), **{key: value for key, value in _values(level).items() if key not in _OTHER}
    )
    log = given_workload(workload, jobs.seed, cancelled=jobs.cancelled)
    machine, found = _machine(log, shared, slurm, replayed=recorded)
    priorities = PRIORITIES.check(slurm.priorities)
    settle_s = given_s if given_s is not None else 0.0 if rate or found.recalculates else _SETTLE_S
    plain = shared.options("fcfs", level.als, level.variation)
    rules = replace(plain.rules, kill_at_walltime=True)  # as Slurm does
    given = {one.name: getattr(plain, one.name) for one in fields(plain)} | {"rules": rules}
    if around.switches is not None:
        given["allocator"] = "topology"  # Slurm's is
    options = ReplayOptions(**given)
    selected = load_workload(log, machine, selection=jobs.select, oversize=jobs.oversize, preset=jobs.preset)
    scenario = Scenario.of(selected, machine, options, known_jobs=log.job_id)
    prepare_run(applications=not recorded)
    arguments = shared.source(workload) | {"slurm_conf": slurm.slurm_conf, "set": list(slurm.set or ())}
    arguments |= {"topology": slurm.topology, "priorities": priorities}
    arguments |= {"settle_s": settle_s, "rate": rate, "tasks_table": tables.tasks, "trace": tables.trace}
    with fresh_directory(target, force) as folder, Progress(len(scenario.workload)) as watch:
        own = folder / "slurm"
        own.mkdir()
        settle_ns = round(settle_s * NS_PER_S)
        keep = not recorded and (tables.tasks or tables.trace)
        done = replay(
            scenario,
            found,
            installed,
            own,
            settle_ns=settle_ns,
            rate=rate,
            recorded_priorities=priorities == "recorded",
            keep_tasks=keep,
            watch=watch,
        )
        write_replay(done, folder, arguments, tasks=tables.tasks, trace=tables.trace)
    _say(done, shared, slurm, replayed=recorded)
    print(lined_up(done.result.summary() + replay_rows(done)))
    say(f"results: {target}")


#: What of the application level is no option of a scenario.
_OTHER = ("als", "variation")


def _values(bundle: Any) -> dict[str, Any]:
    return {one.name: getattr(bundle, one.name) for one in fields(bundle)}


def _machine(
    log: Workload, shared: ScenarioOptions, slurm: SlurmOptions, *, replayed: bool
) -> tuple[Platform, Configuration]:
    from bridge.replay.configuration import of_machine, settings
    from bridge.replay.site import of_site
    from bridge.scenarios.machine import platform_for
    from traces.base.errors import InputError

    given = settings(slurm.set or ())
    if slurm.slurm_conf is not None and shared.platform is not None:
        raise InputError("--platform: not with --slurm-conf, whose nodes are the machine; allowed: one of them")
    if slurm.slurm_conf is not None:
        found = of_site(slurm.slurm_conf, given)
    else:
        machine = platform_for(shared.platform, log, replayed=replayed)
        found = of_machine(given, machine)
    if slurm.topology is not None:
        found = found.with_switches(slurm.topology)
    try:
        switches = found.platform_switches() if shared.switches is not None else ()
    except InputError as error:
        raise InputError(f"--switches: {error}") from None
    if slurm.slurm_conf is not None:
        machine = found.platform()
    return (replace(machine, switches=switches) if switches else machine), found


def _say(done: Any, shared: ScenarioOptions, slurm: SlurmOptions, *, replayed: bool) -> None:
    from bls.workloads.workload import rejects_text
    from bridge.scenarios.machine import machine_words
    from bridge.scenarios.time_limits import time_limit_words

    scenario = done.result.scenario
    log = scenario.workload
    # Every line of the file is accounted for.
    rejected = "rejected: " if any(log.rejects.values()) else ""
    say(f"workload: {len(log)} jobs selected; {log.n_lines} lines, {rejected}{rejects_text(log.rejects)}")
    if slurm.slurm_conf is None:
        for words in machine_words(log, scenario.platform, shared.platform, replayed=replayed):
            say(words)
    if words := time_limit_words(log, [scenario.options]):
        say(words)
    for words in done.found.replaced:
        say(f"{slurm.slurm_conf}: {words}")
    for words in done.notes:
        say(words)
