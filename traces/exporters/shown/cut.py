"""A part of a ledger: a window of time, some cores, some jobs."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError, shown_name
from traces.base.options import PART_JOBS
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array
from traces.intervals import Intervals, check_ends, intervals_text, within
from traces.ledger import Ledger, MachineShape, TaskRecords


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
      has not started. For cores: these cores, and the jobs that held some of them, without their other cores. For jobs: only
      these.

    The ledger is for writers only: its jobs have their numbers of cores and tasks in the whole run. Raises InputError if the
    part is empty.
    """
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
    changed |= {one.name: one.of_jobs(kept) for one in ledger.events}
    if ledger.technique is not None:
        changed["technique"] = ledger.technique[rows]
    because = {int(place[row]): why for row, why in ledger.cut_because.items() if kept[row]}
    return replace(ledger, cut_because=because, **changed)


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
    return MachineShape(machine.name, names, first_core, machine.own_numbers[shown]), shown


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
    for events in ledger.events:
        changed[events.name], whose = events.of_cores(shown)
        touched[whose] = True
    if ledger.tasks is not None:
        changed["tasks"] = _tasks(ledger.tasks, np.append(shown, False)[ledger.tasks.core], place)
    cut = replace(ledger, machine=smaller, power=None, **changed)
    return _of_rows(_with_transfers(cut), touched)


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
    kept = (arrived < end) & ((gone > begin) | ((gone == arrived) & (gone == begin)))
    if not kept.any():
        span = f"{format_ns(int(arrived.min()))} to {format_ns(int(gone.max()))}" if len(jobs) else "no jobs"
        until = f"to {format_ns(end)}" if end < MAX_NS else "on"
        raise InputError(f"window from {format_ns(begin)} {until}: no job is in it; the run: {span}")
    if not kept.all():
        ledger = _of_rows(ledger, kept)
        jobs = ledger.jobs
    last = int(max(np.where(jobs.started, jobs.end_ns, np.maximum(jobs.left_ns, jobs.submit_ns)).max(), begin))
    end = min(end, last)
    ran = jobs.started & (jobs.start_ns < end)
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
    if (tasks := ledger.tasks) is not None:
        inside = (tasks.start_ns < end) & (tasks.end_ns > begin) & (tasks.start_ns >= 0)
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
    changed |= {one.name: one.within(begin, end) for one in ledger.events}
    if (power := ledger.power) is not None and len(power):
        rows = np.flatnonzero(power.instant_ns < end)
        rows = rows[max(0, int(np.searchsorted(power.instant_ns[rows], begin, side="right")) - 1) :]
        changed["power"] = power.take(rows, instant_ns=np.maximum(power.instant_ns[rows], begin))
    return _with_transfers(replace(ledger, window_ns=(begin, end), **changed))
