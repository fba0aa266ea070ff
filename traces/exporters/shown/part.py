"""The part of a run that a trace shows (a window of time, some cores, some jobs), and its detail (rows, events of cores)."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError, shown_name
from traces.base.options import PART_JOBS
from traces.base.time import MAX_NS, format_ns
from traces.checks.core_bars import CoreBars
from traces.checks.ledger import core_bars
from traces.compiled import Array
from traces.holdings import gpu_ends, holdings
from traces.intervals import Intervals, check_ends, intervals_of, intervals_text, within
from traces.ledger import Ledger, MachineShape, TaskRecords
from traces.records.gpus import GpuRecords

DETAILS = ("lane", "host", "job", "chunk", "task")  #: from the least to the most

#: Viewers open traces with this number of cores, or of hosts; some need an open file for each row. On larger machines, only
#: cores and hosts that are used have rows.
MOST_CORES, MOST_HOSTS = 4096, 1000


class Excerpt(NamedTuple):
    """Half-open intervals of time (ns), of global core numbers and of job numbers; None: everything.

    ``job_words`` is the user's text for the jobs, for errors.
    """

    window_ns: tuple[int, int] | None = None
    cores: Intervals | None = None
    jobs: Intervals | None = None
    job_words: str = ""


WHOLE = Excerpt()  #: the whole run


def cut_ledger(ledger: Ledger, part: Excerpt) -> Ledger:
    """Return the part of a ledger; instants keep their values.

    - ``part``: for a window: everything that is in it at least partly, cut at its ends; a job that waits at the window's end
      has not started. For cores: these cores, the GPUs of their hosts, and the jobs that held some of these cores, without
      their other cores and GPUs. For jobs: only these.

    The ledger is for writers only: its jobs have their numbers of cores and tasks in the whole run. Raises InputError if the
    part is empty.
    """
    if ledger.gpus is not None and part != WHOLE:
        # The cores in the part do not say when a job has left a host.
        ledger = replace(ledger, gpus=replace(ledger.gpus, left_ns=gpu_ends(ledger)))
    if part.cores is not None:
        ledger = _of_cores(ledger, part.cores)
    if part.jobs is not None:
        kept = within(ledger.jobs.job_id, part.jobs)
        if not kept.any():
            there = "there is no such job" if part.cores is None else "no such job held one of these cores"
            raise InputError(f"{PART_JOBS}: {there}: {shown_name(part.job_words or intervals_text(part.jobs))}")
        ledger = _of_rows(ledger, kept)
    if part.window_ns is not None:
        ledger = _of_window(ledger, *part.window_ns)
    return ledger


def _of_rows(ledger: Ledger, kept: Array) -> Ledger:
    rows = np.flatnonzero(kept)
    place = np.full(len(kept), -1, np.int64)
    place[rows] = np.arange(len(rows))
    changed: dict[str, Any] = {"jobs": ledger.jobs.of_rows(rows)}
    for name, records in (("tasks", ledger.tasks), ("transfers", ledger.transfers)):
        changed[name] = None if records is None else records.of_jobs(rows)
    if ledger.gpus is not None:
        changed["gpus"] = ledger.gpus.of_jobs(rows)
    if ledger.technique is not None:
        changed["technique"] = ledger.technique[rows]
    because = {int(place[row]): why for row, why in ledger.cut_because.items() if kept[row]}
    return replace(ledger, cut_because=because, **changed).with_events(*(one.of_jobs(kept) for one in ledger.events))


def cut_machine(machine: MachineShape, chosen: Intervals) -> tuple[MachineShape, Array]:
    """Return the part of a machine with these cores, and which cores they are, bool (n_cores,). Raises InputError if the
    machine does not have one of them."""
    check_ends(chosen, machine.n_cores, "cores", f"the machine has 0-{machine.n_cores - 1}")
    shown = within(np.arange(machine.n_cores), chosen)
    place = np.concatenate([[0], np.cumsum(shown)])
    count = place[machine.first_core[1:]] - place[machine.first_core[:-1]]
    host = np.flatnonzero(count)
    names = tuple(machine.host_names[one] for one in host.tolist())
    first_core = np.concatenate([[0], np.cumsum(count[host])])
    first_gpu, kinds = None, tuple(machine.gpu_kinds[one] for one in host.tolist() if machine.gpu_kinds)
    if machine.first_gpu is not None:
        first_gpu = np.concatenate([[0], np.cumsum(np.diff(machine.first_gpu)[host])])
    return MachineShape(machine.name, names, first_core, machine.own_numbers[shown], first_gpu, kinds), shown


def _of_cores(ledger: Ledger, chosen: Intervals) -> Ledger:
    jobs = ledger.jobs
    smaller, shown = cut_machine(ledger.machine, chosen)
    # The number of a core among the kept cores; at the machine's end their number.
    place = np.concatenate([[0], np.cumsum(shown)])
    lo, hi = place[jobs.allocation_lo], place[jobs.allocation_hi]
    owner, some = jobs.owner, hi > lo
    first = np.concatenate([[0], np.cumsum(np.bincount(owner[some], minlength=len(jobs)))])
    upto = np.bincount(owner, hi - lo, len(jobs)).astype(np.int64)
    held: dict[str, Any] = {"allocation_lo": lo[some], "allocation_hi": hi[some], "allocation_first": first}
    changed: dict[str, Any] = {"jobs": replace(jobs, **held, held_cores=upto)}
    touched = upto > 0
    on_cores = [one.of_cores(shown) for one in ledger.events]
    for _, whose in on_cores:
        touched[whose] = True
    if ledger.tasks is not None:
        changed["tasks"] = _tasks(ledger.tasks, np.append(shown, False)[ledger.tasks.core], place)
    if ledger.gpus is not None and (first_gpu := ledger.machine.first_gpu) is not None:
        changed["gpus"] = _gpus_of_hosts(ledger.gpus, ledger.machine, first_gpu, shown)
    cut = replace(ledger, machine=smaller, power=None, **changed).with_events(*(events for events, _ in on_cores))
    return _of_rows(_with_transfers(cut), touched)


def _gpus_of_hosts(gpus: GpuRecords, machine: MachineShape, first_gpu: Array, shown: Array) -> GpuRecords:
    # GPUs are numbered over the hosts that have a shown core.
    kept = np.isin(np.arange(machine.n_hosts), machine.host_of(np.flatnonzero(shown)))
    kept = np.repeat(kept, np.diff(first_gpu))
    gpus = gpus.where(kept[gpus.gpu])
    return replace(gpus, gpu=(np.cumsum(kept) - 1)[gpus.gpu])


def _tasks(tasks: TaskRecords, ran: Array, place: Array | None = None) -> TaskRecords:
    # Tasks that did not run in the part become tasks that never ran, so that the other tasks keep their numbers.
    core = tasks.core if place is None else place[tasks.core].astype(np.int32)
    return replace(
        tasks,
        start_ns=np.where(ran, tasks.start_ns, -1),
        end_ns=np.where(ran, tasks.end_ns, -1),
        core=np.where(ran, core, -1).astype(np.int32),
        chunk=np.where(ran, tasks.chunk, -1).astype(np.int32),
    )


def _with_transfers(ledger: Ledger) -> Ledger:
    # Keep the transfers between kept tasks.
    tasks, transfers = ledger.tasks, ledger.transfers
    if tasks is None or transfers is None:
        return replace(ledger, transfers=None)
    first_task, ran = tasks.first[transfers.job], tasks.start_ns >= 0
    kept = ran[first_task + transfers.source] & ran[first_task + transfers.target]
    return replace(ledger, transfers=transfers.where(kept))


def _of_window(ledger: Ledger, begin: int, end: int) -> Ledger:
    jobs = ledger.jobs
    arrived = np.where(jobs.attempt == 0, jobs.submit_ns, jobs.eligible_ns)
    gone = np.where(jobs.started, jobs.end_ns, np.maximum(jobs.left_ns, arrived))
    # What has no length, and is at the begin, is in the window.
    latest = np.where(jobs.started, jobs.start_ns, arrived)
    kept = (arrived < end) & ((gone > begin) | ((gone == latest) & (gone == begin)))
    if not kept.any():
        span = f"{format_ns(int(arrived.min()))} to {format_ns(int(gone.max()))}" if len(jobs) else "no jobs"
        until = f"to {format_ns(end)}" if end < MAX_NS else "on"
        raise InputError(f"window from {format_ns(begin)} {until}: no job is in it; the run: {span}")
    if not kept.all():
        ledger = _of_rows(ledger, kept)
        jobs = ledger.jobs
    ran = jobs.started & (jobs.start_ns < end)
    last = int(max(np.where(jobs.started, jobs.end_ns, np.maximum(jobs.left_ns, jobs.submit_ns)).max(), begin))
    stop, end = end, min(end, last)
    later = jobs.started & ~ran
    eligible = np.where(jobs.eligible_ns < 0, -1, np.clip(jobs.eligible_ns, begin, end))
    left = np.where(ran, -1, np.where(later, end, np.minimum(jobs.left_ns, end)))
    owner = jobs.owner
    held = ran[owner]
    changed: dict[str, Any] = {
        "jobs": replace(
            jobs,
            start_ns=np.where(ran, np.maximum(jobs.start_ns, begin), -1),
            end_ns=np.where(ran, np.minimum(jobs.end_ns, end), -1),
            eligible_ns=eligible,
            left_ns=left,
            held_cores=np.where(ran, jobs.held_cores, 0),
            allocation_lo=jobs.allocation_lo[held],
            allocation_hi=jobs.allocation_hi[held],
            allocation_first=np.concatenate([[0], np.cumsum(np.bincount(owner[held], minlength=len(jobs)))]),
        )
    }
    if (gpus := ledger.gpus) is not None and gpus.left_ns is not None:
        start = jobs.start_ns[gpus.job]
        inside = (start < stop) & ((gpus.left_ns > begin) | ((start == begin) & (gpus.left_ns == begin)))
        changed["gpus"] = replace(gpus, left_ns=np.minimum(gpus.left_ns, end)).where(inside)
    if (tasks := ledger.tasks) is not None:
        ended = (tasks.end_ns > begin) | ((tasks.start_ns == begin) & (tasks.end_ns == begin))
        inside = (tasks.start_ns < stop) & (tasks.start_ns >= 0) & ended
        cut = _tasks(tasks, inside)
        changed["tasks"] = replace(
            cut,
            start_ns=np.where(inside, np.maximum(cut.start_ns, begin), -1),
            end_ns=np.where(inside, np.minimum(cut.end_ns, end), -1),
        )
        if (transfers := ledger.transfers) is not None:
            within = (transfers.sent_ns >= begin) & (transfers.arrived_ns < end)
            changed["transfers"] = transfers.where(within)
    if (passes := ledger.passes) is not None:
        changed["passes"] = passes.take(np.flatnonzero((passes.now_ns >= begin) & (passes.now_ns < end)))
    if (power := ledger.power) is not None and len(power):
        rows = np.flatnonzero(power.instant_ns < end)
        rows = rows[max(0, int(np.searchsorted(power.instant_ns[rows], begin, side="right")) - 1) :]
        changed["power"] = power.take(rows, instant_ns=np.maximum(power.instant_ns[rows], begin))
    shown = replace(ledger, window_ns=(begin, end), **changed)
    return _with_transfers(shown.with_events(*(one.within(begin, end) for one in ledger.events)))


def automatic_detail(machine: MachineShape) -> str:
    """Return the most detail that a viewer can open: ``task``; with many cores ``host``; also with many hosts ``lane``."""
    if machine.n_cores <= MOST_CORES:
        return "task"
    return "host" if machine.n_hosts <= MOST_HOSTS else "lane"


def _used_cores(ledger: Ledger) -> Array:
    held = holdings(ledger)
    steps = np.zeros(ledger.machine.n_cores + 1, np.int64)
    np.add.at(steps, held.lo, 1)
    np.add.at(steps, held.hi, -1)
    return np.flatnonzero(np.cumsum(steps)[:-1] > 0)


def shown_gpus(ledger: Ledger) -> Array | None:
    """Return the GPUs that have rows, int64: all, or those that a job ever held (on large machines); None if no GPU has any."""
    if ledger.shows != "cores" or ledger.gpus is None or ledger.machine.first_gpu is None:
        return None
    n_cores, n_gpus = ledger.machine.n_cores, ledger.machine.n_gpus
    return np.arange(n_gpus) if max(n_cores, n_gpus) <= MOST_CORES else np.unique(ledger.gpus.gpu)


def shown_bars(ledger: Ledger) -> CoreBars:
    """Return the bars of cores in a trace: none if it shows no cores. Raises InvariantError, InputError as
    :func:`traces.checks.ledger.core_bars`."""
    if ledger.shows == "cores":
        return core_bars(ledger)
    nothing = np.zeros(0, np.int32)
    return CoreBars(np.zeros(ledger.machine.n_cores + 1, np.int64), nothing, nothing)


def shown_cores(ledger: Ledger, *, used: bool = False) -> Array:
    """Return the cores that have rows, int64: all, those that a job ever held (``used``, or on large machines), or none."""
    if ledger.shows != "cores":
        return np.zeros(0, np.int64)
    n = ledger.machine.n_cores
    return _used_cores(ledger) if used or n > MOST_CORES else np.arange(n)


def shown_hosts(ledger: Ledger) -> Array:
    """Return the hosts that have rows, int64: all, those with cores that a job ever held (on large machines), or none."""
    machine = ledger.machine
    if ledger.shows == "lanes":
        return np.zeros(0, np.int64)
    if machine.n_cores <= MOST_CORES:
        return np.arange(machine.n_hosts)
    return np.unique(machine.host_of(_used_cores(ledger)))


def with_detail(ledger: Ledger, detail: str) -> Ledger:
    """Return the ledger that a writer shows in this detail.

    - ``detail``: ``lane``: jobs on lanes, without rows of hosts or cores. ``host``: also the number of busy cores of each
      host. The others also have rows of cores. ``task``: everything. ``chunk``: chunk k of a job instead of its tasks, as
      task k, from the start of the first to the end of the last task; if a chunk's tasks ran on several cores, each core
      has a row, the further ones after all chunks. ``job``: each job on its cores while it held them. Transfers, which are
      between tasks, are shown with tasks only.
    """
    tasks = ledger.tasks
    if detail in ("lane", "host"):
        return replace(ledger, tasks=None, transfers=None, shows=f"{detail}s")
    if detail == "task" or tasks is None:
        return ledger
    if detail == "chunk":
        return replace(ledger, tasks=_chunks(ledger, tasks), transfers=None)
    held = _held(ledger) if ledger.frees_cores else None
    return replace(ledger, tasks=held, transfers=None, computes=False)


def _chunks(ledger: Ledger, tasks: TaskRecords) -> TaskRecords:
    n_jobs = len(ledger.jobs)
    ran = np.flatnonzero(tasks.start_ns >= 0)
    job = np.searchsorted(tasks.first[1:], ran, side="right")
    chunk, core = tasks.chunk[ran].astype(np.int64), tasks.core[ran].astype(np.int64)
    order = np.lexsort((tasks.start_ns[ran], core, chunk, job))
    job, chunk, core, ran = job[order], chunk[order], core[order], ran[order]
    another = np.ones(len(ran), np.bool_)
    another[1:] = (job[1:] != job[:-1]) | (chunk[1:] != chunk[:-1]) | (core[1:] != core[:-1])
    begin = np.flatnonzero(another)
    whose, number = job[begin], chunk[begin]
    again = np.zeros(len(begin), np.bool_)
    again[1:] = (whose[1:] == whose[:-1]) & (number[1:] == number[:-1])
    # Row k of a job is its chunk k, even if it never ran; the further cores of chunks follow.
    most = np.zeros(n_jobs, np.int64)
    np.maximum.at(most, whose, number + 1)
    further = np.bincount(whose[again], minlength=n_jobs)
    known = np.diff(tasks.first) > 0
    first = np.concatenate([[0], np.cumsum(np.maximum(most + further, known))])
    place = first[whose] + number
    nth = np.cumsum(again) - np.concatenate([[0], np.cumsum(further)])[whose] - 1
    place[again] = (first[whose] + most[whose] + nth)[again]
    rows = int(first[-1])

    def column(values: Array, missing: int, kind: type) -> Array:
        out: Array = np.full(rows, missing, kind)
        out[place] = values
        return out

    ends, lengths = tasks.end_ns[ran], tasks.length_gflop[ran]
    total = np.add.reduceat(lengths, begin) if len(begin) else lengths
    last = np.maximum.reduceat(ends, begin) if len(begin) else ends
    return TaskRecords(
        first,
        column(tasks.start_ns[ran][begin], -1, np.int64),
        column(last, -1, np.int64),
        column(core[begin], -1, np.int32),
        column(number, -1, np.int32),
        column(total, 0, np.float64),
    )


def _held(ledger: Ledger) -> TaskRecords:
    # If jobs released or got cores: a row for each core that a job held instead of tasks.
    held = holdings(ledger)
    width = held.hi - held.lo
    row = np.repeat(np.repeat(np.arange(len(held)), np.diff(held.first)), width)
    core = intervals_of(held.lo, width)
    first = np.searchsorted(held.job[row], np.arange(len(ledger.jobs) + 1))
    nothing = np.zeros(len(row))
    return TaskRecords(
        first, held.start_ns[row], held.end_ns[row], core.astype(np.int32), np.zeros(len(row), np.int32), nothing
    )
