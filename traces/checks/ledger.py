"""Invariants of every run, of its jobs, cores, tasks and transfers: no core runs two tasks at once, no clock goes back, nothing
is left open. Fast enough for the end of a test, also with millions of tasks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from traces.base.errors import InputError
from traces.checks.core_bars import (
    CoreBars,
    TaskTimes,
    count_bars,
    first_holding_clash,
    first_task_outside,
    first_transfer_fault,
    place_bars,
)
from traces.checks.faults import InvariantError
from traces.compiled import Array
from traces.holdings import Holdings, changing, core_spans, gpu_ends, holdings, widening
from traces.ledger import STATES, WHY, JobRecords, Ledger, TaskRecords, TransferRecords
from traces.lifecycle import NEVER_RAN, RAN, Ending, Reason
from traces.records.gpus import WHOLE_GPU

_LEAST = np.iinfo(np.int64).min

_TASK_FAULTS = {
    1: "ends before it starts",
    2: "starts before its job",
    3: "ends after its job",
    4: "runs on a core that its job does not hold, or does not use",
}

_TRANSFER_FAULTS = {
    1: "leads to or from a task that does not exist; the job has {n_tasks} tasks",
    2: "leads to or from a task that never ran",
    3: "is between two tasks of one core, {source_core}",
    4: "begins at {sent} ns, before its data were made: the producer ends at {produced} ns",
    5: "arrives at {arrived} ns, before it began at {sent} ns",
    6: "arrives at {arrived} ns, after its consumer began at {consumed} ns",
    7: "brings {bytes} bytes",
    8: "does not follow the one before it, {before_source} -> {before_target}",
}


def _refuse(wrong: Array, words: Callable[[int], str]) -> None:
    """Raise InvariantError for the first wrong row, which ``words`` describes by its index."""
    if len(bad := np.flatnonzero(wrong)):
        raise InvariantError(words(int(bad[0])))


def _check_bounds(name: str, n_jobs: int, first: Array, *columns: Array) -> None:
    """Raise InvariantError unless ``first`` divides the rows of the columns into a range for each job."""
    rising = len(first) == n_jobs + 1 and first[0] == 0 and not np.any(np.diff(first) < 0)
    if not rising or any(len(one) != first[-1] for one in columns):
        raise InvariantError(f"{name}: the bounds do not divide the rows among the {n_jobs} jobs")


def _checked_tasks(ledger: Ledger) -> TaskRecords:
    """Return the task rows (none if they were not kept), after checking that all indices are within their arrays."""
    jobs, tasks, n_cores = ledger.jobs, ledger.tasks, ledger.machine.n_cores
    if tasks is None:
        tasks = replace(TaskRecords.empty(), first=np.zeros(len(jobs) + 1, np.int64))
    _check_bounds("jobs.allocation", len(jobs), jobs.allocation_first, jobs.allocation_lo, jobs.allocation_hi)
    _check_bounds("tasks", len(jobs), *(getattr(tasks, name) for name in TaskRecords.columns()))
    lo, hi = jobs.allocation_lo, jobs.allocation_hi
    known = f"the machine has cores 0 to {n_cores - 1}"
    wrong = (lo < 0) | (hi > n_cores) | (lo >= hi)
    _refuse(wrong, lambda k: f"job {jobs.job_id[jobs.owner[k]]} holds cores [{lo[k]}, {hi[k]}); {known}")
    bad = np.flatnonzero((tasks.core < 0) | (tasks.core >= n_cores))
    never = (tasks.start_ns[bad] == -1) & (tasks.end_ns[bad] == -1) & (tasks.core[bad] == -1) & (tasks.chunk[bad] == -1)
    for k in bad[~never][:1]:
        row = int(np.searchsorted(tasks.first, k, side="right")) - 1
        raise InvariantError(f"job {jobs.job_id[row]}, task {k - tasks.first[row]}: core {tasks.core[k]}; {known}")
    return tasks


def bar_times(ledger: Ledger, bars: CoreBars, which: slice) -> tuple[Array, Array]:
    """Return start and end (ns) of the bars ``which``."""
    job, task = bars.job[which].astype(np.int64), bars.task[which].astype(np.int64)
    start, end = ledger.jobs.start_ns[job], ledger.jobs.end_ns[job]
    of_task = task >= 0
    if ledger.tasks is not None:
        row = ledger.tasks.first[job[of_task]] + task[of_task]
        start[of_task], end[of_task] = ledger.tasks.start_ns[row], ledger.tasks.end_ns[row]
    return start, end


def core_bars(ledger: Ledger) -> CoreBars:
    """Return the bars of each core, in the order of time.

    - ``ledger``: any ledger. Besides the result, with 8 bytes per task, only a few numbers per core are allocated.

    Raises InvariantError if a core does two things at once, or a core, a job or a task row does not exist; InputError if jobs
    released cores and tasks were not kept, so that it is unknown what the other cores did.
    """
    if ledger.tasks is None and ledger.frees_cores:
        raise InputError("cores were released and no tasks were kept, so it is not known what each did; keep the tasks")
    jobs, n_cores = ledger.jobs, ledger.machine.n_cores
    when, tasks = Holdings.at_starts(jobs), TaskTimes.of(_checked_tasks(ledger))
    first = np.zeros(n_cores + 1, np.int64)
    count_bars(when, tasks, first[1:])
    np.cumsum(first, out=first)
    bars = CoreBars(first, np.empty(first[-1], np.int32), np.empty(first[-1], np.int32))
    doubtful = np.zeros(n_cores, np.bool_)
    # By (start, end, row), so that jobs on the same core are in the order in which they held it.
    order = np.lexsort((jobs.end_ns, jobs.start_ns)).astype(np.int64, copy=False)
    place_bars(order, when, tasks, first[:-1].copy(), bars, np.full(n_cores, _LEAST), doubtful)
    for core in np.flatnonzero(doubtful).tolist():
        # Another application simulator may start a core's tasks out of order, which alone is not a fault.
        here = slice(int(first[core]), int(first[core + 1]))
        order = np.lexsort(bar_times(ledger, bars, here)[::-1])
        bars.job[here], bars.task[here] = bars.job[here][order], bars.task[here][order]
        start, end = bar_times(ledger, bars, here)
        if len(bad := np.flatnonzero(end < start)):
            raise InvariantError(f"core {core}: {_bar(ledger, bars, here.start + bad[0])} ends before it starts")
        if len(bad := np.flatnonzero(start[1:] < end[:-1])):
            k = here.start + int(bad[0])
            raise InvariantError(
                f"core {core} does two things at {start[bad[0] + 1]} ns: {_bar(ledger, bars, k)} "
                f"and {_bar(ledger, bars, k + 1)}"
            )
    return bars


def _bar(ledger: Ledger, bars: CoreBars, k: int) -> str:
    name = f"job {ledger.jobs.job_id[bars.job[k]]}"
    return name if bars.task[k] < 0 else f"{name} task {bars.task[k]}"


def check_ledger(ledger: Ledger) -> None:
    """Check a run's records: every job and every task at a possible time, on its own cores.

    The rules: nothing is eligible before its submission, starts before it is eligible or ends before it starts. A job that
    never started was cancelled, and has no cores and no tasks. Attempts are consecutive, each after one that was cut and
    requeued. A job's intervals of cores are ascending and disjoint, and contain as many cores as its record says, at least its
    request unless it is moldable. No two jobs hold one core at once, nor more than all of a GPU. A job gets cores, and must
    return some, only while it runs. It releases only cores that it holds, and computes on a released core only after it gets it
    again. It receives hints only while it runs, for at most the cores that it holds. A job has as many rows of tasks that ran
    as its record says, or none, and rows of tasks that did not run only if it was cut. Every task is within its job's time and
    on the requested number of its first cores, or on cores that it was given. No core runs two tasks at once. Transfers are as
    :func:`check_transfers` says.

    Raises
    ------
    InvariantError
        For the first job, core or instant that is wrong.
    """
    jobs = ledger.jobs
    tasks = _checked_tasks(ledger)
    _check_jobs(jobs)
    _check_allocations(ledger)
    for events in ledger.events:
        for wrong, words in events.faults(ledger):
            if len(bad := np.flatnonzero(wrong)):
                raise InvariantError(f"job {jobs.job_id[events.job[bad[0]]]}: {words(int(bad[0]))}")
    _check_releases(ledger)
    _check_holdings(ledger)
    _check_gpus(ledger)
    _check_counts(jobs, tasks)
    owner = np.full(ledger.machine.n_cores, -1, np.int64)
    held, cores = _ever_held(ledger)
    row, task, fault = first_task_outside(held, TaskTimes.of(tasks), cores, owner)
    if fault:
        at = int(tasks.first[row]) + task
        raise InvariantError(
            f"job {jobs.job_id[row]}, task {task} {_TASK_FAULTS[fault]}: core {tasks.core[at]}, "
            f"{tasks.start_ns[at]} to {tasks.end_ns[at]} ns"
        )
    if not ledger.frees_cores or ledger.tasks is not None:  # else there are no bars to check releases with
        core_bars(ledger)
    if ledger.transfers is not None:
        check_transfers(jobs, ledger.tasks, ledger.transfers)


def _check_jobs(jobs: JobRecords) -> None:
    """Check the jobs' instants, words and attempts."""
    for name, place, words in (("why", jobs.why, WHY), ("state", jobs.state, STATES)):
        if len(bad := np.flatnonzero((place < 0) | (place >= len(words)))):
            raise InvariantError(
                f"job {jobs.job_id[bad[0]]} has {name} {place[bad[0]]}; allowed: the place of one of {', '.join(words)}"
            )
    _check_times(jobs)
    _check_attempts(jobs)


def _check_times(jobs: JobRecords) -> None:
    started = jobs.started
    nothing = (jobs.start_ns == -1) & (jobs.end_ns == -1) & (jobs.held_cores == 0) & (jobs.tasks == 0)
    for wrong, what in (
        # A job withdrawn before it could be eligible has -1.
        (
            (started | (jobs.eligible_ns != -1)) & (jobs.eligible_ns < jobs.begin_ns),
            "is eligible before its submission or its begin",
        ),
        (jobs.begin_ns < jobs.submit_ns, "may be eligible before its submission"),
        (started & (jobs.start_ns < jobs.submit_ns), "starts before its submission"),
        (started & (jobs.start_ns < jobs.eligible_ns), "starts before it is eligible"),
        (started & (jobs.end_ns < jobs.start_ns), "ends before it starts"),
        (~started & ~nothing, "never started, but has left something"),
        (~started & ~np.isin(jobs.state, [*NEVER_RAN]), "never started, but ended as only a job that ran can"),
        (started & ~np.isin(jobs.state, [*RAN]), "started, but ended as only a job that never ran can"),
        (started == (jobs.why == Reason.NEVER), "started, or did not, otherwise than it says"),
    ):
        if len(bad := np.flatnonzero(wrong)):
            row = bad[0]
            raise InvariantError(
                f"job {jobs.job_id[row]} {what}: submitted {jobs.submit_ns[row]}, eligible {jobs.eligible_ns[row]}, "
                f"started {jobs.start_ns[row]}, ended {jobs.end_ns[row]} ns, why {WHY[jobs.why[row]]}, "
                f"state {STATES[jobs.state[row]]}, {jobs.held_cores[row]} cores, {jobs.tasks[row]} tasks"
            )


def _check_attempts(jobs: JobRecords) -> None:
    order = np.lexsort((jobs.attempt, jobs.job_id))
    again = jobs.job_id[order[1:]] == jobs.job_id[order[:-1]]
    before, after = order[:-1][again], order[1:][again]  # consecutive attempts of one job
    first, last = np.ones(len(jobs), np.bool_), np.ones(len(jobs), np.bool_)
    first[after], last[before] = False, False
    for rows, what in (
        (np.flatnonzero(first & (jobs.attempt != 0)), "has no attempt before it"),
        (after[jobs.attempt[after] != jobs.attempt[before] + 1], "does not follow on the attempt before it"),
        (after[after < before], "stands before an earlier attempt"),
        (np.flatnonzero(last & (jobs.state == Ending.REQUEUED)), "was requeued, but no attempt follows"),
        (before[jobs.state[before] != Ending.REQUEUED], "was not requeued, but an attempt follows"),
        (after[jobs.eligible_ns[after] != jobs.end_ns[before]], "does not wait from the end of the attempt before it"),
        (1 + np.flatnonzero((jobs.attempt[:-1] > 0) & (jobs.attempt[1:] == 0)), "stands after later attempts"),
    ):
        if len(rows):
            raise InvariantError(f"job {jobs.job_id[rows[0]]}: attempt {jobs.attempt[rows[0]]} {what}")


def _check_counts(jobs: JobRecords, tasks: TaskRecords) -> None:
    rows = np.diff(tasks.first)
    upto = np.zeros(len(tasks) + 1, np.int64)
    np.cumsum(tasks.core >= 0, out=upto[1:])
    ran = np.diff(upto[tasks.first])
    wrong, job_id = (rows > 0) & (ran != jobs.tasks), jobs.job_id
    _refuse(wrong, lambda k: f"job {job_id[k]} has {ran[k]} rows of tasks that ran; it computed {jobs.tasks[k]} tasks")
    wrong = (ran < rows) & (jobs.state == STATES.index("completed"))
    _refuse(wrong, lambda k: f"job {job_id[k]} completed, but {rows[k] - ran[k]} tasks never ran")


def _check_allocations(ledger: Ledger) -> None:
    jobs = ledger.jobs
    lo, hi = jobs.allocation_lo, jobs.allocation_hi
    owner = jobs.owner
    wrong = (owner[1:] == owner[:-1]) & (lo[1:] < hi[:-1])
    _refuse(wrong, lambda k: f"job {jobs.job_id[owner[k]]}: its intervals of cores are not ascending and disjoint")
    held = np.zeros(len(jobs), np.int64)
    np.add.at(held, owner, hi - lo)
    wrong = held != jobs.held_cores
    _refuse(wrong, lambda k: f"job {jobs.job_id[k]} holds {held[k]} cores; it says {jobs.held_cores[k]}")
    if not ledger.moldable:
        wrong = jobs.started & (held < jobs.cores)
        _refuse(wrong, lambda k: f"job {jobs.job_id[k]} holds {held[k]} cores; it requests {jobs.cores[k]}")


def _check_holdings(ledger: Ledger) -> None:
    jobs, n_cores = ledger.jobs, ledger.machine.n_cores
    holder = np.full(n_cores, -1, np.int64)
    holds = holdings(ledger)
    order = np.lexsort((np.arange(len(holds)), holds.end_ns, holds.start_ns))
    row, core = first_holding_clash(order, holds, np.full(n_cores, _LEAST), holder)
    if row >= 0:
        one, other = jobs.job_id[holds.job[holder[core]]], jobs.job_id[holds.job[row]]
        raise InvariantError(f"core {core} is held by jobs {one} and {other} at {holds.start_ns[row]} ns")


def _check_gpus(ledger: Ledger) -> None:
    if (gpus := ledger.gpus) is None:
        return
    jobs, job, gpu, milli = ledger.jobs, gpus.job, gpus.gpu, gpus.milli
    end_ns = gpu_ends(ledger)
    wrong = (milli < 1) | (milli > WHOLE_GPU) | (gpu < 0) | ~jobs.started[job] | (end_ns < 0)
    _refuse(wrong, lambda k: f"job {jobs.job_id[job[k]]} cannot hold {milli[k]} thousandths of GPU {gpu[k]}")
    # Parts that are given back come first at an instant.
    which, instant = np.tile(gpu, 2), np.concatenate([end_ns, jobs.start_ns[job]])
    change = np.concatenate([-milli, milli])
    order = np.lexsort((change, instant, which))
    held, which, instant = np.cumsum(change[order]), which[order], instant[order]
    _refuse(held > WHOLE_GPU, lambda k: f"jobs hold {held[k]} thousandths of GPU {which[k]} at {instant[k]} ns")


def _ever_held(ledger: Ledger) -> tuple[Holdings, Array]:
    """Return the jobs with all cores that they ever held, and the number of the first cores that they may compute on."""
    jobs = ledger.jobs
    wider = np.zeros(len(jobs), np.bool_)
    for one in widening(ledger):
        wider[one.job] = True
    if not wider.any():
        return Holdings.at_starts(jobs), jobs.held_cores if ledger.moldable else jobs.cores
    owner = jobs.owner
    whole = ~wider[owner]
    known = core_spans(ledger, wider)
    first_cores = [owner[whole], jobs.allocation_lo[whole], jobs.allocation_hi[whole]]
    columns = np.concatenate([first_cores, np.unique([known.job, known.core, known.core + 1], axis=1)], axis=1)
    owner, lo, hi = columns[:, np.lexsort(columns[1::-1])]
    first = np.searchsorted(owner, np.arange(len(jobs) + 1))
    cores = np.where(wider, np.diff(first), jobs.cores)
    return Holdings.of(np.arange(len(jobs)), jobs.start_ns, jobs.end_ns, np.diff(first), first, lo, hi), cores


def _ever_given(ledger: Ledger, job: Array, core: Array) -> Array:
    """Return which cores these jobs have started with, or were given, bool (k,)."""
    held, _ = _ever_held(ledger)
    owner = np.repeat(np.arange(len(ledger.jobs)), np.diff(held.first))
    n_cores = ledger.machine.n_cores
    at = np.searchsorted(owner * n_cores + held.lo, job * n_cores + core, side="right") - 1
    return np.asarray((at >= 0) & (owner[at] == job) & (core < held.hi[at]))


def _check_releases(ledger: Ledger) -> None:
    jobs, tasks = ledger.jobs, ledger.tasks
    releases = [one for one in ledger.events if one.frees]
    if not releases:
        return
    job, core = (np.concatenate([getattr(one, name) for one in releases]) for name in ("job", "core"))
    apart = np.zeros(len(jobs), np.bool_)
    for one in changing(ledger):
        apart[one.job] = True
    given = _ever_given(ledger, job, core)
    _refuse(~given, lambda k: f"job {jobs.job_id[job[k]]} releases core {core[k]}, which it was not given")
    held = core_spans(ledger, apart)
    wrong = held.end_ns < held.start_ns
    same = (held.job[1:] == held.job[:-1]) & (held.core[1:] == held.core[:-1])
    wrong[:-1] |= same & (held.start_ns[1:] < held.end_ns[:-1])
    _refuse(
        wrong,
        lambda k: (
            f"job {jobs.job_id[held.job[k]]} is given core {held.core[k]}, which it holds, or releases it, which it does not "
            f"hold, at {held.start_ns[k]} to {held.end_ns[k]} ns"
        ),
    )
    if tasks is None or not apart.any():
        return
    owner = tasks.job
    ran = np.flatnonzero((tasks.core >= 0) & apart[owner])
    owner, on = owner[ran], tasks.core[ran].astype(np.int64)
    # The last time before the task's begin at which the job was given the core.
    spans = np.array([held.job, held.core, held.start_ns])
    asked = np.array([owner, on, tasks.start_ns[ran]])
    both = np.concatenate([spans, asked], axis=1)
    kind = np.repeat([0, 1], [spans.shape[1], asked.shape[1]])
    order = np.lexsort((kind, *both[::-1]))
    place = np.cumsum(kind[order] == 0) - 1
    at_span = np.empty(len(order), np.int64)
    at_span[order] = place
    mine = at_span[spans.shape[1] :]
    found = (mine >= 0) & (held.job[mine] == owner) & (held.core[mine] == on)
    start_ns, end_ns = tasks.start_ns[ran], tasks.end_ns[ran]
    _refuse(
        ~found | (end_ns > held.end_ns[mine]),
        lambda k: (
            f"job {jobs.job_id[owner[k]]}: a task runs on core {on[k]} from {start_ns[k]} to {end_ns[k]} "
            "ns, while the job does not hold the core for all of this time"
        ),
    )


def check_transfers(jobs: JobRecords, tasks: TaskRecords | None, transfers: TransferRecords) -> None:
    """Check the transfers of a run whose tasks have been checked.

    The rules: its two tasks exist, ran, and on different cores; it began at or after its producer's end, arrived no earlier
    than it began, and its consumer started at or after its arrival; its bytes are finite and not negative; a job's transfers
    are in the order of (source, target) without duplicates. Raises InvariantError for the first transfer that breaks one.
    """
    if tasks is None:
        if len(transfers):
            raise InvariantError("transfers: there are some, but the tasks between which they are were not kept")
        return
    columns = (transfers.source, transfers.target, transfers.bytes, transfers.sent_ns, transfers.arrived_ns)
    _check_bounds("transfers", len(jobs), *(getattr(transfers, name) for name in TransferRecords.columns()))
    job, row, fault = first_transfer_fault(transfers.first, *columns, TaskTimes.of(tasks))
    if not fault:
        return
    source, target = int(transfers.source[row]), int(transfers.target[row])
    found = {"n_tasks": int(tasks.first[job + 1] - tasks.first[job])}
    if fault > 1:
        producer, consumer = tasks.first[job] + source, tasks.first[job] + target
        found |= {
            "source_core": tasks.core[producer],
            "produced": tasks.end_ns[producer],
            "consumed": tasks.start_ns[consumer],
            "sent": transfers.sent_ns[row],
            "arrived": transfers.arrived_ns[row],
            "bytes": transfers.bytes[row],
            "before_source": transfers.source[row - 1],
            "before_target": transfers.target[row - 1],
        }
    raise InvariantError(
        f"job {jobs.job_id[job]}, transfer {source} -> {target} {_TRANSFER_FAULTS[fault].format(**found)}"
    )
