"""The command ``twolevel replay``: the real Slurm as the batch level."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

# Everything else is imported by the command that needs it, so that --help is quick.
from als import options as a
from bls import options as b
from bridge.options.bundles import TakenOptions, bundled
from bridge.options.declared import (
    BESIDE,
    CLEANUP,
    FORCE,
    OUT,
    PHASE,
    PRIORITIES,
    RATE,
    RATES,
    REPEATS,
    REPORT,
    REPORT_ONLY,
    SETTLE,
    SIZES,
    SLURM_CONF,
    SLURM_SET,
    SLURM_TOPOLOGY,
    TRACE,
    TRACE_DETAIL,
    WORKLOAD,
)
from bridge.options.declared import TASKS_TABLE as TASKS
from bridge.scenarios.scenario import RECORDED, Scenario
from bridge.standard_error import lined_up, say
from traces.base.declaration import values
from traces.base.shared_options import SEED

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bls.workloads.workload import Workload
    from bridge.replay.chosen import SlurmChoice

#: What a replay takes of a scenario; by default no application is simulated.
REPLAYED = TakenOptions(
    only=(
        *(WORKLOAD, SEED, b.SELECT, b.OVERSIZE, b.PLATFORM, b.PRESET, b.CANCELLED),
        *(b.MEMORY, b.REQUESTS, b.WINDOWS, b.FAILURES, b.ON_FAILURE, b.MAX_ATTEMPTS, b.DEPENDENCIES, b.SWITCHES),
        *(
            a.ALS,
            a.VARIATION,
            a.TASKS_PER_CORE,
            a.LENGTHS,
            a.APPLICATIONS,
            a.OVERHEAD,
            a.LATENCY,
            a.ASSIGNMENT,
            a.NETWORK,
        ),
    ),
    instead=(replace(a.ALS, default=RECORDED, help=f"{a.ALS.help}; recorded: jobs last as long as the log says"),),
)


@dataclass(frozen=True)
class SlurmOptions:
    """Which Slurm, under which clock."""

    slurm_conf: Annotated[str | None, SLURM_CONF] = SLURM_CONF.default
    topology: Annotated[str | None, SLURM_TOPOLOGY] = SLURM_TOPOLOGY.default
    priorities: Annotated[str, PRIORITIES] = PRIORITIES.default
    set: Annotated[list[str] | None, SLURM_SET] = None
    settle: Annotated[float | None, SETTLE] = SETTLE.default
    rate: Annotated[float, RATE] = RATE.default
    phase: Annotated[float | None, PHASE] = PHASE.default
    cleanup: Annotated[float, CLEANUP] = CLEANUP.default


@dataclass(frozen=True)
class ReplayTables:
    """What is written beside the table of jobs."""

    tasks: Annotated[bool, TASKS] = TASKS.default
    trace: Annotated[str | None, TRACE] = TRACE.default


@dataclass(frozen=True)
class ReplayReport:
    """What a replay is compared with, and how often it is repeated."""

    report: Annotated[bool, REPORT] = REPORT.default
    report_only: Annotated[bool, REPORT_ONLY] = REPORT_ONLY.default
    beside: Annotated[str, BESIDE] = BESIDE.default
    repeats: Annotated[int, REPEATS] = REPEATS.default
    rates: Annotated[str | None, RATES] = None
    sizes: Annotated[str | None, SIZES] = None


@bundled
def replay_command(
    *,
    shared: Annotated[Scenario, REPLAYED],
    out: Annotated[str, OUT],
    slurm: SlurmOptions,
    tables: ReplayTables,
    report: ReplayReport,
    force: Annotated[bool, FORCE] = FORCE.default,
) -> None:
    """Run a workload through the real Slurm of this computer, under a clock of ours; write what a run writes."""
    from bridge.live.progress import Progress
    from bridge.replay.chosen import given_choice, replay_options
    from bridge.replay.installed import installed_slurm
    from bridge.replay.record import replay_rows, write_replay
    from bridge.replay.report.asked import given_plan
    from bridge.replay.report.finished import FOLDER, finished, put_report
    from bridge.runs.directory import check_target, fresh_directory, named_folder
    from bridge.runs.kernels import prepare_run
    from bridge.runs.tracing import further_traces
    from bridge.scenarios.conflicts import TYPED, check_used
    from bridge.scenarios.machine import given_platform
    from bridge.scenarios.ready import ReadyScenario
    from traces.base.conflicts import check

    planned = given_plan(
        report.report,
        report.beside,
        report.repeats,
        report.rates,
        report.sizes,
        slurm.rate,
        slurm.phase,
        only=report.report_only,
    )
    target = named_folder(out)
    if not report.report_only:
        check_target(target, force)
    chosen = given_choice(
        slurm.slurm_conf,
        slurm.set,
        slurm.settle,
        slurm.rate,
        slurm.phase,
        slurm.topology,
        slurm.priorities,
        slurm.cleanup,
    )
    recorded = not shared.application.simulated
    if not report.report_only:
        installed_slurm()  # it is said first if there is none
    given_platform(shared.machine.platform)  # a file is checked before a long log is read
    given = values(shared)
    check(TYPED, given | {"tasks": tables.tasks})
    check_used([given | {"bls": "fcfs"}])  # Slurm cuts no job by itself either
    log = shared.log()
    machine = _machine(log, shared, chosen, replayed=recorded)
    options = replay_options(shared)
    selected, _ = shared.jobs(log, replayed=recorded, machine=machine)
    scenario = ReadyScenario.of(selected, machine, options, known_jobs=log.job_id)
    if planned is not None:
        planned.check(scenario, log.job_id)
    arguments = shared.source(selected) | chosen.names(machine, 0)
    trace = further_traces(tables.trace, TRACE_DETAIL.default)
    arguments |= {"tasks_table": tables.tasks, "trace": False if trace is None else list(trace.formats)}
    if planned is not None and report.report_only:
        known = finished(target, scenario, arguments, force=force)
        prepare_run(applications=not recorded)
        put_report(target, lambda folder: planned.write_again(scenario, known, folder, log.job_id))
        say(f"report: {target / FOLDER}")
        return
    prepare_run(applications=not recorded)
    failed: Exception | None = None
    with fresh_directory(target, force) as folder, Progress(len(scenario.workload)) as watch:
        own = folder / "slurm"
        own.mkdir()
        traced = trace is not None and trace.needs_tasks(scenario.platform.machine())
        keep = not recorded and (tables.tasks or traced)
        done = chosen.replay(scenario, own, repeat=0, keep_tasks=keep, watch=watch)
        write_replay(done, folder, arguments, tasks=tables.tasks, trace=trace)
        if planned is not None:
            try:
                planned.write(scenario, chosen, done, folder / FOLDER, log.job_id, watch, say)
            except Exception as error:  # what the replay itself has found stays
                shutil.rmtree(folder / FOLDER, ignore_errors=True)
                failed = error
    _say(done, shared, slurm, replayed=recorded)
    print(lined_up(replay_rows(done)))
    if trace is not None and (
        line := trace.note(scenario.platform.machine(), "add them with twolevel trace convert --detail task")
    ):
        say(line)
    say(f"results: {target}" if failed is None else f"results: {target}, without a report")
    if failed is not None:
        raise failed


def _machine(log: Workload, shared: Scenario, chosen: SlurmChoice, *, replayed: bool) -> Platform:
    from bridge.scenarios.conflicts import REPLAY
    from bridge.scenarios.machine import platform_for
    from traces.base.conflicts import check

    machine = chosen.machine()
    check(REPLAY, {"platform": shared.machine.platform, "slurm_conf": chosen.slurm_conf})
    if machine is None:
        machine = platform_for(shared.machine.platform, log, replayed=replayed)
    chosen.phase(chosen.configuration(machine), 0)  # what it cannot be is said before jobs are selected
    return machine if shared.batch.switches is None else chosen.switched(machine)


def _say(done: Any, shared: Scenario, slurm: SlurmOptions, *, replayed: bool) -> None:
    from bls.workloads.rejected import rejects_text
    from bridge.scenarios.remarks import log_words, machine_words, time_limit_words

    scenario = done.result.scenario
    log = scenario.workload
    # Every line of the file is accounted for.
    rejected = "rejected: " if any(log.rejects.values()) else ""
    say(f"workload: {log.selected_text}; {log.n_lines} lines, {rejected}{rejects_text(log.rejects, log.rejected)}")
    for remark in log.remarks:
        say(f"workload: {remark}")
    if words := log.window_words:
        say(words)
    if slurm.slurm_conf is None:
        for words in machine_words(log, scenario.platform, shared.machine.platform, replayed=replayed):
            say(words)
    for words in (*log_words(log, scenario.platform, [scenario.options]), time_limit_words(log, [scenario.options])):
        if words:
            say(words)
    for words in done.found.replaced:
        say(f"{slurm.slurm_conf}: {words}")
    for words in done.notes:
        say(words)
