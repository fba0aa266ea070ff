"""The command ``twolevel replay``: the real Slurm as the batch level."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from als import options as a
from bridge.cli.run_commands import say_jobs
from bridge.options.bundles import TakenOptions, bundled
from bridge.options.declared import FORCE, OUT, TRACE, TRACE_DETAIL, WORKLOAD
from bridge.options.declared import TASKS_TABLE as TASKS
from bridge.options.output import PaperOptions
from bridge.options.slurm import ReportOptions, SlurmOptions
from bridge.runs.directory import check_target, fresh_directory, named_folder
from bridge.scenarios.conflicts import REPLAY, REPLAYED, TYPED, check_used
from bridge.scenarios.scenario import RECORDED, Scenario, given_platform, platform_for
from bridge.standard_error import lined_up, say
from traces.base.options import SEED, check, values

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bls.workloads.workload import Workload
    from bridge.replay.chosen import SlurmChoice
    from bridge.replay.report.asked import ReportRequest
    from bridge.replay.run import Replay
    from bridge.runs.tracing import TraceRequest
    from bridge.scenarios.ready import ReadyScenario

#: The command's options of a scenario; by default no application is simulated.
_TAKEN = TakenOptions(
    only=(WORKLOAD, SEED, *REPLAYED),
    instead=(replace(a.ALS, default=RECORDED, help=f"{a.ALS.help}; recorded: replay the logged run times"),),
)


@dataclass(frozen=True)
class ReplayTables:
    """Tables and traces to write in addition to the table of jobs."""

    tasks: Annotated[bool, TASKS] = TASKS.default
    trace: Annotated[str | None, TRACE] = TRACE.default


@bundled
def replay_command(
    *,
    shared: Annotated[Scenario, _TAKEN],
    out: Annotated[str, OUT],
    slurm: SlurmOptions,
    tables: ReplayTables,
    report: ReportOptions,
    paper: PaperOptions,
    force: Annotated[bool, FORCE] = FORCE.default,
) -> None:
    """Run a workload through the real Slurm on this computer, with a simulated clock; write the results as run does."""
    from bridge.replay.chosen import SlurmChoice, replay_options
    from bridge.replay.installed import installed_slurm
    from bridge.replay.report.asked import FOLDER, finished, given_plan, put_report
    from bridge.runs.kernels import prepare_run
    from bridge.runs.tracing import further_traces
    from bridge.scenarios.ready import ReadyScenario

    planned, only = given_plan(report, slurm.rate, slurm.phase, **vars(paper)), report.report == "only"
    target = named_folder(out)
    if not only:
        check_target(target, force)
    chosen = SlurmChoice(**vars(slurm))
    recorded = not shared.application.simulated
    if not only:
        installed_slurm()  # a missing Slurm is reported first
    given_platform(shared.machine.platform)  # a file is checked before a long log is read
    given = values(shared)
    check(TYPED, given | {"tasks": tables.tasks})
    check_used([given | {"bls": "fcfs"}])  # Slurm itself does not cut jobs either
    log = shared.log()
    machine = _machine(log, shared, chosen, replayed=recorded)
    selected, _ = shared.jobs(log, replayed=recorded, machine=machine)
    scenario = ReadyScenario.of(selected, machine, replay_options(shared), known_jobs=log.job_id)
    if planned is not None:
        planned.check(scenario, log.job_id)
    arguments = shared.source(selected) | chosen.names(machine, 0)
    trace = further_traces(tables.trace, TRACE_DETAIL.default)
    arguments |= {"tasks_table": tables.tasks, "trace": False if trace is None else list(trace.formats)}
    if planned is not None and only:
        known = finished(target, scenario, arguments, force=force)
        prepare_run(applications=not recorded)
        with paper.drawing():
            put_report(target, lambda folder: planned.write(scenario, *known, folder, log.job_id))
        say(f"report: {target / FOLDER}")
        return
    prepare_run(applications=not recorded)
    with paper.drawing():
        done, failed = _replay(scenario, chosen, planned, target, force, arguments, tables.tasks, trace, log)
    _say(done, shared, chosen, replayed=recorded)
    if trace is not None and (
        line := trace.note(machine.machine(), "add them with twolevel trace convert --trace-detail task")
    ):
        say(line)
    say(f"results: {target}" if failed is None else f"results: {target}, without a report")
    if failed is not None:
        raise failed


def _replay(
    scenario: ReadyScenario,
    chosen: SlurmChoice,
    planned: ReportRequest | None,
    target: Path,
    force: bool,
    arguments: dict[str, Any],
    tasks: bool,
    trace: TraceRequest | None,
    log: Workload,
) -> tuple[Replay, Exception | None]:
    # The replay, and the error of its report, if any: the results of the replay are kept.
    from bridge.live.progress import Progress
    from bridge.replay.report.asked import FOLDER
    from bridge.replay.report.sides import SLURM, of_result
    from bridge.replay.run import write_replay

    with fresh_directory(target, force) as folder, Progress(len(scenario.workload)) as watch:
        own = folder / "slurm"
        own.mkdir()
        traced = trace is not None and trace.needs_tasks(scenario.platform.machine())
        keep = scenario.technique is not None and (tasks or traced)
        done = chosen.replay(scenario, own, repeat=0, keep_tasks=keep, watch=watch)
        write_replay(done, folder, arguments, tasks=tasks, trace=trace)
        if planned is not None:
            try:
                side = of_result(SLURM, done.result)
                planned.write(scenario, side, done.cost, folder / FOLDER, log.job_id, chosen, watch, say)
            except Exception as error:
                shutil.rmtree(folder / FOLDER, ignore_errors=True)
                return done, error
    return done, None


def _machine(log: Workload, shared: Scenario, chosen: SlurmChoice, *, replayed: bool) -> Platform:
    machine = chosen.machine()
    check(REPLAY, {"platform": shared.machine.platform, "slurm_conf": chosen.slurm_conf})
    if machine is None:
        machine = platform_for(shared.machine.platform, log, replayed=replayed)
    chosen.phase_ns(chosen.configuration(machine), 0)  # impossible values are reported before jobs are selected
    return machine if shared.batch.switches is None else chosen.switched(machine)


def _say(done: Replay, shared: Scenario, chosen: SlurmChoice, *, replayed: bool) -> None:
    from bridge.replay.run import replay_rows
    from bridge.scenarios.remarks import log_words, machine_words, time_limit_words

    scenario = done.result.scenario
    log, machine, options = scenario.workload, scenario.platform, [scenario.options]
    say_jobs(log)
    if chosen.slurm_conf is None:
        for words in machine_words(log, machine, shared.machine.platform, replayed=replayed):
            say(words)
    for words in filter(None, (*log_words(log, machine, options), time_limit_words(log, options))):
        say(words)
    for words in done.found.replaced:
        say(f"{chosen.slurm_conf}: {words}")
    for words in done.notes:
        say(words)
    print(lined_up(replay_rows(done)))
