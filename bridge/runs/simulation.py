"""Running a scenario: both levels from the first submit to the last end, and the ledger of what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from als.options import ALS, OVERHEAD, TASKS_PER_CORE, VARIATION
from als.schedulers import AnyScheduler
from bls.allocators import Allocator
from bls.constraints.options import ConstraintOptions
from bls.engine.status import BatchStatus
from bls.estimates import AnyEstimator
from bls.fair_start import check_fair_start, fair_starts
from bls.machine.platform import Platform
from bls.options import (
    ALLOCATOR,
    BLS,
    BLS_COMMAND,
    CANCELLED,
    FAIR_START,
    FALLBACK,
    OVERSIZE,
    POWER_OF,
    PRESET,
    SELECT,
    SLACK,
    SLEEP_AFTER,
)
from bls.policies import AnyPolicy
from bls.policies.contract import OtherProgram
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.view import AnyObserver
from bls.workloads.seeded import given_workload
from bls.workloads.workload import Workload
from bridge.couplings import Applications, Coupling, PeerOptions, RunWatch, Watch, coupling
from bridge.couplings.contract import BatchLevel, nothing_done
from bridge.options.declared import (
    ALS_COMMAND,
    ALS_TIMEOUT,
    BLS_TIMEOUT,
    CERTIFICATE,
    COUPLING,
    KEEP_TASKS,
    LISTEN,
    SOCKET,
    TOKEN_FILE,
    WORKERS,
)
from bridge.runs.kernels import prepare_run, prepare_workers
from bridge.runs.result import ApplicationNotes, BatchNotes, Result
from bridge.runs.shared_outcomes import lasting_as_in, outcomes_of
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.companions import check_used
from bridge.scenarios.machine import given_platform, platform_for, warn_of_paper_machine
from bridge.scenarios.options import SchedulerOptions
from bridge.scenarios.scenario import RECORDED, Options, Scenario, load_workload
from bridge.schedulers import scheduler_of
from bridge.watches import Pace
from traces.base.errors import InputError, at
from traces.base.memory import free_memory_bytes, give_back_memory
from traces.base.shared_options import SEED
from traces.compiled import Array
from traces.kernels.progress import working_s
from traces.ledger import JobRecords, Ledger, PassRecords

if TYPE_CHECKING:
    from bls.power.options import PowerOptions

#: Memory of one task's record while it is made, and of one transfer's.
_RECORD_BYTES, _TRANSFER_BYTES = 36, 32

#: So many times a run is checked, about, where that is asked for: a check looks at every job.
_CHECKS = 1000


def _unwatched(ended: int, now_ns: int) -> None:
    pass


def _check_memory(scenario: Scenario) -> None:
    # Better one line now than to be killed for want of memory after an hour.
    assert scenario.programs is not None
    tasks = scenario.programs.expected_tasks(scenario.program, scenario.workload.cores)
    transfers = scenario.programs.expected_edges(scenario.program, scenario.workload.cores) if scenario.sends else 0
    needed = tasks * _RECORD_BYTES + transfers * _TRANSFER_BYTES
    free = free_memory_bytes()
    if free is not None and needed > free:
        records = f"{tasks} tasks" + f" and {transfers} transfers" * (transfers > 0)
        raise InputError(
            f"the records of about {records} need {needed / 2**30:.1f} GiB and {free / 2**30:.1f} are free; "
            f"run without them ({KEEP_TASKS:False}, with no table of them)"
        )


def _check_widths(scenario: Scenario, coupling_name: str) -> None:
    from bridge.protocol.message_fields import MAX_CORES  # which inline no message needs

    if (widest := int(scenario.workload.cores.max())) > MAX_CORES:
        raise InputError(
            f"{COUPLING:{coupling_name}}: a job asks for {widest} cores; a message of the bridge holds up to {MAX_CORES}; "
            f"use {COUPLING:inline}"
        )


def _run_batch_level(simulator: BatchSimulator, watch: Watch) -> None:
    pace = Pace()
    while simulator.advance(pace.ends()) != BatchStatus.DONE:
        watch(simulator.ended, simulator.now_ns)


def ledger_of(scenario: Scenario, level: BatchLevel, applications: Applications) -> Ledger:
    workload, columns = scenario.workload, level.columns()
    origin = columns.origin

    def of_rows(values: Array) -> Array:
        # Without later attempts the rows are those of the workload.
        return values if level.rows == len(workload) else values[origin]

    def kept(values: Array, usual: Array) -> Array:
        # A copy of what belongs to the batch level, or, where it is what is known already, that.
        return usual if np.array_equal(values, usual) else values.copy()

    submit_ns, cores = of_rows(workload.submit_ns), of_rows(workload.cores)
    jobs = JobRecords(
        of_rows(workload.job_id),
        submit_ns,
        columns.start_ns.copy(),
        columns.end_ns.copy(),
        of_rows(workload.estimate_ns),
        of_rows(level.deadline_ns),
        cores,
        applications.tasks,
        applications.chunks,
        applications.length_gflop,
        applications.metric("imbalance"),
        applications.metric("cov"),
        *level.allocations(),
        attempt=columns.attempt.copy(),
        why=columns.why.astype(np.int8),
        state=columns.state.astype(np.int8),
        eligible_ns=kept(columns.eligible_ns, submit_ns),
        begin_ns=of_rows(workload.earliest_ns) if workload.held.any() else submit_ns,
        held_cores=kept(columns.held_cores, cores),
        left_ns=np.where(columns.start_ns < 0, columns.cancel_ns, -1),
        user=of_rows(workload.user),
    )
    told: dict[str, Any] = {}
    if isinstance(level, BatchSimulator):
        told = level.records()
        if level.rules.keep_decisions:
            decided = level.decision_columns()
            told["passes"] = PassRecords(decided["now_ns"], decided["waiting"], decided["started"])
    machine = scenario.platform.machine()
    return Ledger(machine, jobs, applications.records, applications.transfers, ids=workload.ids, **told)


def _loops(scenario: Scenario, applications: Applications, ledger: Ledger) -> Array:
    if ledger.widths is None:
        return applications.loops
    from bridge.runs.presence import efficient  # which only such runs need

    return efficient(ledger, applications.loops, scenario.platform.core_speed_gflops)


def application_notes(
    scenario: Scenario, origin: Array, applications: Applications, ledger: Ledger
) -> ApplicationNotes:
    programs, known = scenario.programs, scenario.options.level.map
    rules = () if programs is None else tuple(programs.rules.names)
    names = () if known is None else (*(one.name for one in known.applications), "default")
    return ApplicationNotes(
        np.asfortranarray(_loops(scenario, applications, ledger)),  # whoever reads it reads a column
        None if applications.chosen is None else (rules, applications.chosen),
        applications.ahead_chunks,
        None if known is None else (names, scenario.program[origin]),
        applications.graphs,
    )


def batch_simulator(
    scenario: Scenario,
    observers: Sequence[AnyObserver] = (),
    lasting: Workload | None = None,
    *,
    stranger: bool = False,
) -> BatchSimulator:
    """The batch level of a scenario; ``stranger``: its applications are another program's, which may lose cores by itself."""
    recorded = scenario.technique is None or lasting is not None
    return BatchSimulator(
        scenario.workload if lasting is None else lasting,
        scenario.platform,
        scenario.policy,
        scenario.allocator,
        rules=scenario.options.rules,
        constraints=scenario.constraints,
        observers=observers,
        seed=scenario.options.seed,
        slack=scenario.options.slack,
        recorded=recorded,
        requested=scenario.requested,
        loses=not recorded and (stranger or scenario.speeds.loses),
        power=scenario.power,
    )


def _notes(scenario: Scenario, simulator: BatchSimulator, fair_start: bool) -> BatchNotes:
    dependencies, workload, power = scenario.constraints.dependencies, scenario.workload, scenario.power
    rows = simulator.columns().origin.tolist() if workload.names or workload.ids else None
    return BatchNotes(
        decisions=simulator.decisions(),
        decision_columns=simulator.decision_columns(),
        observations=simulator.observations,
        downtime=simulator.downtime(),
        missing_dependencies=0 if dependencies is None else dependencies.missing,
        fair_start_ns=fair_starts(simulator, batch_simulator(scenario)) if fair_start else None,
        planned_ns=simulator.columns().estimate_ns.copy() if simulator.rules.estimates_differ else None,
        rejections=simulator.rejections,
        start_reasons=simulator.start_reasons,
        names=None if rows is None else [workload.job_name(row) or "" for row in rows],
        host_states=simulator.host_states() if power is not None and (power.stops or power.sleeps) else None,
        boot_wait_ns=simulator.boot_wait_ns() if power is not None and power.sleeps else None,
        predicted_power=simulator.predicted_power(),
        predicted=simulator.predicted,
    )


def check_records(scenario: Scenario, keep_tasks: bool) -> None:
    """See that the records of tasks are kept where they are needed.

    Raises
    ------
    InputError
        If they are not.
    """
    if scenario.power is not None and scenario.power.options.of == "working" and not keep_tasks:
        raise InputError(
            f"{POWER_OF:working}: needs records of tasks, and there is no run without them ({KEEP_TASKS:False}); "
            f"allowed: {KEEP_TASKS}, or held"
        )


def run(
    scenario: Scenario,
    *,
    coupling_name: str = COUPLING.default,
    keep_tasks: bool = True,
    fair_start: bool = False,
    peers: PeerOptions | None = None,
    watch: Watch = _unwatched,
    like: Result | None = None,
    check: bool = False,
) -> Result:
    """Run a scenario.

    Parameters
    ----------
    scenario : Scenario
        What to simulate.
    coupling_name : str
        ``inline``, ``pool`` or ``process``; the result is the same, only the cost differs.
    keep_tasks : bool
        Whether to keep a record of every task.
    fair_start : bool
        Whether to find out when each job would have started if no later one had come (``bls.fair_start``).
    peers : PeerOptions, optional
        How application processes are run.
    watch : Watch
        Notified of the progress; and shown the run, if it is a ``bridge.couplings.RunWatch``.
    like : Result, optional
        Of a scenario that differs in its policy, rules and allocator only, where all applications are the same as in this one
        (``bridge.runs.shared_outcomes``): they are not simulated again. Records of tasks are not kept then.
    check : bool
        Whether the states of the engines that run in this process are checked while they run, some 1,000 times at the most,
        and the ledger at the end (``traces.checks``). The result is the same.

    Returns
    -------
    Result

    Raises
    ------
    TwolevelError
        If a plug-in or an application process fails; an InvariantError, if a check does.
    """
    peers = peers or PeerOptions()
    couple = coupling(coupling_name)
    if peers.command is not None and coupling_name == "inline":
        raise InputError(f"{ALS_COMMAND} needs {COUPLING:pool} or process: inline runs no other program")
    if peers.listen is not None and (coupling_name == "inline" or scenario.technique is None):
        what = (
            f"with {ALS:recorded} there are no applications"
            if scenario.technique is None
            else "inline runs no other process"
        )
        raise InputError(f"{LISTEN} needs {COUPLING:pool} or process: {what}")
    if peers.command is not None and scenario.technique is None:
        raise InputError(f"{at(str(ALS_COMMAND), peers.command)}: with {ALS:recorded} no application is simulated")
    check_records(scenario, keep_tasks)
    if fair_start:
        check_fair_start(scenario.policy, scenario.options.rules)
        if (depends := scenario.constraints.dependencies) is not None and depends.several:
            raise InputError(
                f"{FAIR_START}: not with jobs that wait for several others; allowed: one preceding job each"
            )
        if scenario.power is not None and scenario.power.limits_jobs:
            raise InputError(
                f"{FAIR_START}: not with {FALLBACK}, as who is slowed runs otherwise; allowed: {FALLBACK:none}"
            )
        if scenario.power is not None and scenario.power.sleeps:
            raise InputError(
                f"{FAIR_START}: not with {SLEEP_AFTER}, as it is not known who would have slept; allowed: without it"
            )
    if keep_tasks and scenario.technique is not None and like is None:
        _check_memory(scenario)
    if coupling_name != "inline":
        _check_widths(scenario, coupling_name)
    give_back_memory(len(scenario.workload))  # of a log that was read, and of which some jobs were taken
    prepare_run(applications=scenario.technique is not None)
    if coupling_name != "inline" and peers.command is None:
        prepare_workers()
    scenario = scenario.for_one_run()
    policy: Any = scenario.policy
    with policy if isinstance(policy, AbstractContextManager) else nullcontext():
        result = _simulated(scenario, couple, coupling_name, keep_tasks, fair_start, peers, watch, like, check)
    give_back_memory(len(result.ledger.jobs))
    return result


def _simulated(
    scenario: Scenario,
    couple: Coupling,
    coupling_name: str,
    keep_tasks: bool,
    fair_start: bool,
    peers: PeerOptions,
    watch: Watch,
    like: Result | None,
    check: bool,
) -> Result:
    began = working_s()
    lasting = None if like is None else lasting_as_in(scenario.workload, like)
    simulator = batch_simulator(scenario, scenario.observers, lasting, stranger=peers.command is not None)
    if check:
        few = max(1, len(scenario.workload) // _CHECKS)
        inline = coupling_name == "inline" or scenario.technique is None or like is not None
        # Inline the engine is run until so many jobs have ended; else until some have started, however few.
        simulator.most_ends, simulator.checks = few, 1 if inline else few
    if isinstance(watch, RunWatch):
        watch.begin(scenario, simulator, coupling_name)
    if like is not None:
        _run_batch_level(simulator, watch)
        applications = outcomes_of(like)
    elif scenario.technique is None:
        _run_batch_level(simulator, watch)
        applications = nothing_done(scenario, simulator)
    else:
        applications = couple(scenario, simulator, keep_tasks=keep_tasks, watch=watch, peers=peers)
    if isinstance(watch, RunWatch):
        watch.finish()
    cost = {"name": coupling_name, "simulation_s": working_s() - began, **applications.cost}
    if isinstance(scenario.policy, OtherProgram):
        cost["scheduler"] = dict(scenario.policy.cost)
    origin = simulator.columns().origin.copy()
    ledger, notes = ledger_of(scenario, simulator, applications), _notes(scenario, simulator, fair_start)
    if check:
        from traces.checks.ledger import check_ledger

        check_ledger(ledger)
    del simulator  # its state is larger than all that is kept of it
    return Result(scenario, ledger, cost, notes, application_notes(scenario, origin, applications, ledger))


def result_of(
    scenario: Scenario, simulator: BatchSimulator, applications: Applications, cost: dict[str, Any]
) -> Result:
    """The result of a simulation that is over, and stays."""
    ledger, notes = ledger_of(scenario, simulator, applications), _notes(scenario, simulator, fair_start=False)
    own_notes = application_notes(scenario, simulator.columns().origin.copy(), applications, ledger)
    return Result(scenario, ledger, cost, notes, own_notes)


def _rules(rules: Rules, backfill: str | int | None, estimates: str | AnyEstimator | None) -> Rules:
    given: dict[str, Any] = {"backfill": None if backfill is None else str(backfill), "estimates": estimates}
    return replace(rules, **{name: value for name, value in given.items() if value is not None})


def _deciding(bls: str | AnyPolicy, command: str | None, timeout_s: float, socket: str) -> str | AnyPolicy:
    if command is None:
        return bls
    said = None if bls == BLS.default else str(bls)  # a default that is written out cannot be told from one that is not
    return scheduler_of(SchedulerOptions(said, command, timeout_s), socket)


def simulate(
    workload: Workload | str | Path,
    platform: Platform | str | Path | None = None,
    *,
    bls: str | AnyPolicy = BLS.default,
    als: str | AnyScheduler = ALS.default,
    variation: float = VARIATION.default,
    seed: int = SEED.default,
    select: str = SELECT.default,
    oversize: str = OVERSIZE.default,
    tasks_per_core: int = TASKS_PER_CORE.default,
    overhead_ns: int = OVERHEAD.default,
    slack: float = SLACK.default,
    allocator: str | Allocator = ALLOCATOR.default,
    backfill: str | int | None = None,
    estimates: str | AnyEstimator | None = None,
    rules: Rules | None = None,
    constraints: ConstraintOptions | None = None,
    level: ApplicationLevel | None = None,
    power: PowerOptions | None = None,
    preset: bool | None = PRESET.default,
    cancelled: bool = CANCELLED.default,
    observers: Sequence[str | AnyObserver] = (),
    requested: Mapping[int, str] | None = None,
    coupling: str = COUPLING.default,
    workers: int | None = WORKERS.default,
    als_command: str | None = ALS_COMMAND.default,
    als_timeout_s: float = ALS_TIMEOUT.default,
    bls_command: str | None = BLS_COMMAND.default,
    bls_timeout_s: float = BLS_TIMEOUT.default,
    socket: str = SOCKET.default,
    listen: str | None = LISTEN.default,
    token_file: str | None = TOKEN_FILE.default,
    certificate: str | None = CERTIFICATE.default,
    keep_tasks: bool = True,
    fair_start: bool = False,
) -> Result:
    """Simulate a workload on a platform at both levels.

    Parameters
    ----------
    workload : Workload, str or Path
        A workload, the path of one in any format of ``bls.workloads``, plain or compressed, ``sample``: the shipped one, or
        ``FILE.py:NAME``, a function that makes one of the seed.
    platform : Platform, str or Path, optional
        A platform, the path of a TOML file, ``paper`` (the two-level paper's 4 hosts × 64 cores), another one of
        ``bls.machine.published``, as ``demand-response``, or ``log``: the machine that the log names. Default with
        ``als="recorded"`` ``log``, where it names one; else ``paper``.
    bls, als, variation, seed, tasks_per_core, overhead_ns, slack, allocator
        See :class:`bridge.scenarios.scenario.Options`.
    select : str
        As :func:`bls.workloads.selection.select`.
    oversize : str
        What becomes of jobs wider than the platform: ``reject`` or ``clamp``.
    backfill : str or int, optional
        ``none``, ``easy``, ``conservative``, or a number of reservations: that of ``rules`` by default.
    estimates : str or estimator, optional
        Who says how long jobs run (``bls.estimates``): that of ``rules`` by default.
    rules : Rules, optional
        How the batch level behaves: see :class:`bls.scheduler_options.Rules`.
    constraints : ConstraintOptions, optional
        Memory, requests, windows, failures, dependencies, switches: see :class:`bls.constraints.options.ConstraintOptions`.
    level : ApplicationLevel, optional
        Task lengths, messages, the applications' map, core speeds: see
        :class:`bridge.scenarios.application_level.ApplicationLevel`.
    power : PowerOptions, optional
        What the machine draws is to be found out, perhaps under limits: see :class:`bls.power.options.PowerOptions`.
    preset : bool, optional
        Whether a selected window starts with the jobs that, according to the log, run or wait then, or with an empty
        machine. By default with these jobs, where the log records their starts and the platform has room for them;
        ``result.scenario.workload.window_text`` says which.
    cancelled : bool
        With the jobs that were withdrawn before they started.
    observers : sequence of str, Observer or AdditionalData
        Who looks at the run, as objects or ``FILE.py:NAME``.
    requested : mapping of int to str, optional
        The cores each job requests, as ``{17: "0-3 8"}``, for the allocator ``given``.
    coupling : str
        ``inline``, ``pool`` or ``process``; the result is the same, only the cost differs.
    workers, als_command, als_timeout_s, socket, listen, token_file, certificate
        See :class:`bridge.couplings.PeerOptions`.
    bls_command, bls_timeout_s
        A command line that starts a scheduler of the user's own, which decides in place of ``bls`` (left as it is by default),
        and how long it may take to answer.
    keep_tasks : bool
        Whether to keep a record of every task, which ``result.tasks`` and a trace of tasks need.
    fair_start : bool
        Whether to find out when each job would have started if no later one had come (``bls.fair_start``): a column
        ``fair_start_ns`` of ``jobs``, and the metrics of unfairness.

    Returns
    -------
    Result
        With ``jobs``, ``tasks``, ``metrics`` and ``write_trace``.

    Raises
    ------
    InputError
        If something given cannot be used.
    PluginError, PeerError
        If a plug-in, an application simulator or a scheduler fails.

    Examples
    --------
    >>> from bls.workloads.workload import Workload
    >>> result = simulate(Workload.from_jobs([(1, 0, 60, 256, 60), (2, 5, 30, 1, 60)]), als="gss")
    >>> result.jobs.start_ns.tolist()
    [0, 60000000000]
    """
    prepare_run(applications=als != RECORDED)
    given_platform(platform)  # a file is checked before a long log is read
    options = Options(
        bls=_deciding(bls, bls_command, bls_timeout_s, socket),
        als=als,
        variation=variation,
        tasks_per_core=tasks_per_core,
        seed=seed,
        slack=slack,
        overhead_ns=overhead_ns,
        allocator=allocator,
        rules=_rules(rules or Rules(), backfill, estimates),
        constraints=constraints or ConstraintOptions(),
        level=level or ApplicationLevel(),
        power=power,
    )
    check_used([{"slack": slack, "bls": options.bls}])
    log = given_workload(workload, seed, cancelled=cancelled) if isinstance(workload, str | Path) else workload
    machine = platform_for(platform, log, replayed=als == RECORDED)
    jobs = load_workload(log, machine, selection=select, oversize=oversize, preset=preset)
    if platform is None:
        warn_of_paper_machine(jobs, machine)
    scenario = Scenario.of(jobs, machine, options, requested, observers=observers, known_jobs=log.job_id)
    peers = PeerOptions(workers, als_timeout_s, als_command, socket, listen, token_file, certificate)
    return run(scenario, coupling_name=coupling, keep_tasks=keep_tasks, fair_start=fair_start, peers=peers)
