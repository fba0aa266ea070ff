"""Run a scenario: both levels from the first submit to the last end; the outcome is a ledger."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from als.metrics.loops import LOOP_METRICS
from bls.engine.status import BatchStatus
from bls.machine.platform import Platform
from bls.observers import AnyObserver
from bls.policies.contract import OtherProgram
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from bridge.couplings import Applications, BatchLevel, check_execution, coupling, nothing_done
from bridge.options.declared import COUPLING, NO_TASKS
from bridge.runs.kernels import prepare_run, prepare_workers
from bridge.runs.result import ApplicationNotes, BatchNotes, Result
from bridge.scenarios.conflicts import RUN, check_used
from bridge.scenarios.ready import ReadyScenario, check_ready, decided
from bridge.scenarios.scenario import Execution, Scenario, given_platform, spelled_as_parts, warn_of_paper_machine
from bridge.watches import Pace, RunWatch, Watch
from traces.base.errors import InputError
from traces.base.options import check as check_conflicts
from traces.base.process import free_memory_bytes, give_back_memory
from traces.checks.ledger import check_ledger
from traces.compiled import Array
from traces.holdings import core_spans, widening
from traces.kernels.units import working_s
from traces.ledger import JobRecords, Ledger
from traces.lifecycle import Ending
from traces.records.gpus import GpuRecords

_RECORD_BYTES, _TRANSFER_BYTES = 36, 32  #: memory per record of a task while it is made, and per record of a transfer
_CHECKS = 1000  #: approximate number of checks in a run with ``check``: each reads every job


def _check_memory(scenario: ReadyScenario) -> None:
    # Refuse now rather than be killed for lack of memory after an hour.
    assert scenario.programs is not None
    tasks = scenario.programs.expected_tasks(scenario.program, scenario.workload.cores)
    transfers = scenario.programs.expected_edges(scenario.program, scenario.workload.cores) if scenario.sends else 0
    needed = tasks * _RECORD_BYTES + transfers * _TRANSFER_BYTES
    if (free := free_memory_bytes()) is not None and needed > free:
        records = f"{tasks} tasks" + f" and {transfers} transfers" * (transfers > 0)
        need = f"the records of about {records} need {needed / 2**30:.1f} GiB and {free / 2**30:.1f} are free"
        raise InputError(f"{need}; run without them ({NO_TASKS}, with no table of them)")


def _check_widths(scenario: ReadyScenario, coupling_name: str) -> None:
    from bridge.protocol.messages import MAX_CORES  # not needed inline

    if (widest := int(scenario.workload.cores.max())) > MAX_CORES:
        what = f"a job requests {widest} cores; a message of the bridge holds up to {MAX_CORES}"
        raise InputError(f"{COUPLING:{coupling_name}}: {what}; use {COUPLING:inline}")


def _run_batch_level(level: BatchLevel, watch: Watch) -> None:
    pace = Pace()
    while level.advance(pace.ends()) != BatchStatus.DONE:
        watch(level.ended, level.now_ns)


def _outcomes_of(result: Result) -> Applications:
    """The outcomes of the applications of a result, as its coupling returned them; without records of tasks."""
    jobs, notes = result.ledger.jobs, result.application_notes
    return Applications(
        jobs.tasks,
        jobs.chunks,
        jobs.length_gflop,
        notes.loops,
        None if notes.chosen is None else notes.chosen[1],
        notes.ahead_chunks,
        None,
        graphs=notes.graphs,
    )


def ledger_of(scenario: ReadyScenario, level: BatchLevel, applications: Applications) -> Ledger:
    workload, column = scenario.workload, level.column
    origin = column("origin")

    def of_rows(values: Array) -> Array:
        # Without later attempts the rows are the workload's.
        return values if level.rows == len(workload) else values[origin]

    def kept(values: Array, usual: Array) -> Array:
        # A copy of an array of the batch level; or the known array if the two are equal.
        return usual if np.array_equal(values, usual) else values.copy()

    submit_ns, cores = of_rows(workload.submit_ns), of_rows(workload.cores)
    jobs = JobRecords(
        of_rows(workload.job_id),
        submit_ns,
        column("start_ns").copy(),
        column("end_ns").copy(),
        of_rows(workload.estimate_ns),
        of_rows(level.deadline_ns),
        cores,
        applications.tasks,
        applications.chunks,
        applications.length_gflop,
        applications.metric("imbalance"),
        applications.metric("cov"),
        *level.allocations(),
        attempt=column("attempt").copy(),
        why=column("why").astype(np.int8),
        state=column("state").astype(np.int8),
        eligible_ns=kept(column("eligible_ns"), submit_ns),
        begin_ns=of_rows(workload.earliest_ns) if workload.held.any() else submit_ns,
        held_cores=kept(column("held_cores"), cores),
        left_ns=np.where(column("start_ns") < 0, column("cancel_ns"), -1),
        user=of_rows(workload.user),
    )
    records = level.records()
    if scenario.platform.n_gpus:
        records = {"gpus": GpuRecords.none(len(jobs))} | records
    machine = scenario.platform.machine()
    return Ledger(machine, jobs, applications.records, applications.transfers, ids=workload.ids, **records)


def _loops(scenario: ReadyScenario, applications: Applications, ledger: Ledger) -> Array:
    # If a job's width has changed, its efficiency is relative to the work that its cores could have done while it held them.
    jobs = ledger.jobs
    changed = np.zeros(len(jobs), np.bool_)
    for one in widening(ledger):
        changed[one.job[one.of_core]] = True
    if not changed.any():
        return applications.loops
    held, speed = core_spans(ledger, changed), scenario.platform.core_speed_gflops
    could = np.bincount(held.job, (held.end_ns - held.start_ns) * speed[held.core] * 1e-9, len(jobs))
    done = changed & (jobs.state == Ending.COMPLETED) & (could > 0)
    found = applications.loops.copy()
    found[done, [name for name, _ in LOOP_METRICS].index("efficiency")] = jobs.length_gflop[done] / could[done]
    return found


def application_notes(
    scenario: ReadyScenario, origin: Array, applications: Applications, ledger: Ledger
) -> ApplicationNotes:
    programs, known = scenario.programs, scenario.options.application.map
    rules = () if programs is None else tuple(programs.rules.names)
    names = () if known is None else (*(one.name for one in known.applications), "default")
    return ApplicationNotes(
        np.asfortranarray(_loops(scenario, applications, ledger)),  # readers take single columns
        None if applications.chosen is None else (rules, applications.chosen),
        applications.ahead_chunks,
        None if known is None else (names, scenario.application[origin]),
        applications.graphs,
    )


def _notes(scenario: ReadyScenario, simulator: BatchSimulator) -> BatchNotes:
    dependencies, workload = scenario.constraints.dependencies, scenario.workload
    rows = simulator.column("origin").tolist() if workload.names or workload.ids else None
    return BatchNotes(
        decisions=simulator.decisions(),
        decision_columns=simulator.decision_columns(),
        observations=simulator.observations,
        downtime=simulator.downtime(),
        missing_dependencies=0 if dependencies is None else dependencies.missing,
        planned_ns=simulator.column("estimate_ns").copy() if simulator.rules.estimates_differ else None,
        rejections=simulator.rejections,
        start_reasons=simulator.start_reasons,
        names=None if rows is None else [workload.job_name(row) or "" for row in rows],
        host_states=simulator.host_states(),
        feature_columns=simulator.feature_columns(),
        predicted_power=simulator.predicted_power(),
        predicted=simulator.predicted,
    )


@dataclass(frozen=True)
class ResultRequest:
    """A requested run, for the table of conflicts ``bridge.scenarios.conflicts.RUN``."""

    ready: ReadyScenario
    execution: Execution
    keep_tasks: bool


def run(
    scenario: ReadyScenario,
    *,
    execution: Execution | None = None,
    keep_tasks: bool = True,
    watch: Watch = lambda ended, now_ns: None,
    like: Result | None = None,
    check: bool = False,
) -> Result:
    """Run a scenario.

    Parameters
    ----------
    scenario : ReadyScenario
        The scenario to simulate.
    execution : Execution, optional
        Overrides how applications are run; the result is the same, only the cost differs.
    keep_tasks : bool
        Whether to keep a record of every task.
    watch : Watch
        Called with the progress; a ``bridge.watches.RunWatch`` also gets the run itself.
    like : Result, optional
        The result of a scenario with the same applications and outcomes (``bridge.studies.unit.same_anywhere``): they are not
        simulated again, and records of tasks are not kept.
    check : bool
        Whether to check the states of the engines in this process during the run, at most about 1,000 times, and the ledger
        at the end (``traces.checks``). The result is the same.

    Returns
    -------
    Result

    Raises
    ------
    TwolevelError
        If a plug-in or an application process fails; InvariantError if a check does.
    """
    check_ready(scenario)
    execution = execution or scenario.options.execution
    check_execution(execution)
    check_conflicts(RUN, ResultRequest(scenario, execution, keep_tasks))
    if keep_tasks and scenario.technique is not None and like is None:
        _check_memory(scenario)
    inline = execution.coupling == "inline"
    if not inline:
        _check_widths(scenario, execution.coupling)
    give_back_memory(len(scenario.workload))  # left from reading a log of which only some jobs are used
    prepare_run(applications=scenario.technique is not None)
    if not inline and execution.als_command is None:
        prepare_workers()
    scenario = scenario.for_one_run()
    policy: Any = scenario.policy
    with policy if isinstance(policy, AbstractContextManager) else nullcontext():
        result = _simulated(scenario, execution, keep_tasks, watch, like, check)
    give_back_memory(len(scenario.workload))
    return result


def _simulated(
    scenario: ReadyScenario, execution: Execution, keep_tasks: bool, watch: Watch, like: Result | None, check: bool
) -> Result:
    began, coupling_name, lasting = working_s(), execution.coupling, None
    if like is not None:
        lasting = replace(scenario.workload, run_ns=like.ledger.jobs.end_ns - like.ledger.jobs.start_ns)
    simulator = scenario.batch_simulator(scenario.observers, lasting, stranger=execution.als_command is not None)
    simulated = like is None and scenario.technique is not None
    if check:
        few = max(1, len(scenario.workload) // _CHECKS)
        # Inline, run the engine until a number of jobs have ended; else until any job has started.
        simulator.most_ends, simulator.checks = few, few if simulated and coupling_name != "inline" else 1
    if isinstance(watch, RunWatch):
        watch.begin(scenario, simulator, coupling_name)
    if not simulated:
        _run_batch_level(simulator, watch)
        applications = nothing_done(scenario, simulator) if like is None else _outcomes_of(like)
    else:
        couple = coupling(coupling_name)
        applications = couple(scenario, simulator, keep_tasks=keep_tasks, watch=watch, execution=execution)
    if isinstance(watch, RunWatch):
        watch.finish()
    cost = {"name": coupling_name, "simulation_s": working_s() - began, **applications.cost}
    if isinstance(scenario.policy, OtherProgram):
        cost["scheduler"] = dict(scenario.policy.cost)
    origin = simulator.column("origin").copy()
    ledger, notes = ledger_of(scenario, simulator, applications), _notes(scenario, simulator)
    if check:
        check_ledger(ledger)
    del simulator  # its state is larger than the result
    return Result(scenario, ledger, cost, notes, application_notes(scenario, origin, applications, ledger))


def result_of(
    scenario: ReadyScenario, simulator: BatchSimulator, applications: Applications, cost: dict[str, Any]
) -> Result:
    """The result of a finished simulation, independent of the simulator."""
    ledger, notes = ledger_of(scenario, simulator, applications), _notes(scenario, simulator)
    own_notes = application_notes(scenario, simulator.column("origin").copy(), applications, ledger)
    return Result(scenario, ledger, cost, notes, own_notes)


def simulate(
    workload: Workload | str | Path | Scenario,
    platform: Platform | str | Path | None = None,
    *,
    observers: Sequence[str | AnyObserver] = (),
    requested: Mapping[int, str] | None = None,
    keep_tasks: bool = True,
    **options: Any,
) -> Result:
    """Simulate a workload on a platform at both levels.

    Parameters
    ----------
    workload : Workload, str, Path or Scenario
        As described in :class:`bridge.scenarios.scenario.JobSelection`; or a scenario with all options.
    platform : Platform, str or Path, optional
        As described in :class:`bridge.scenarios.scenario.Machine`.
    observers : sequence of str, Observer or AdditionalData
        Observers of the run, as objects or ``FILE.py:NAME``.
    requested : mapping of int to str, optional
        The cores each job requests, as ``{17: "0-3 8"}``, for the allocator ``given``.
    keep_tasks : bool
        Whether to keep a record of every task, which ``result.tasks`` and a trace of tasks need.
    **options
        Other options of the scenario by their keywords, as ``bls="sjf", backfill="easy", overhead_ns=5000``, or whole parts,
        as ``batch=Batch(policy="sjf")`` (:meth:`bridge.scenarios.scenario.Scenario.flat`).

    Returns
    -------
    Result
        With ``jobs``, ``tasks``, ``metrics`` and ``write_trace``.

    Raises
    ------
    InputError
        If an argument is not allowed.
    PluginError, PeerError
        If a plug-in, an application simulator or a scheduler fails.

    Examples
    --------
    >>> from bls.workloads.workload import Workload
    >>> result = simulate(Workload.from_jobs([(1, 0, 60, 256, 60), (2, 5, 30, 1, 60)]), als="gss")
    >>> result.jobs.start_ns.tolist()
    [0, 60000000000]
    """
    if platform is not None:
        options["platform"] = platform
    nested = isinstance(workload, Scenario) and not options
    with spelled_as_parts() if nested else nullcontext():
        if isinstance(workload, Scenario):
            scenario = workload.with_options(**options)
        else:
            scenario = Scenario.flat(workload=workload, **options)
        ready = _ready(decided(scenario), observers, requested)
        return run(ready, keep_tasks=keep_tasks)


def _ready(
    scenario: Scenario, observers: Sequence[str | AnyObserver], requested: Mapping[int, str] | None
) -> ReadyScenario:
    given, replayed = scenario.machine.platform, not scenario.application.simulated
    prepare_run(applications=not replayed)
    given_platform(given)  # check the file before a long log is read
    check_used([{"slack": scenario.batch.slack, "bls": scenario.batch.policy}])
    log = scenario.log()
    jobs, machine = scenario.jobs(log, replayed=replayed)
    if given is None:
        warn_of_paper_machine(jobs, machine)
    return ReadyScenario.of(jobs, machine, scenario, requested, observers=observers, known_jobs=log.job_id)
