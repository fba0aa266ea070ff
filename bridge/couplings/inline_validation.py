"""Invariants of the inline loop between two calls: outcomes of jobs, task records, and saved applications."""

import numpy as np

from als.engine.codes import ApplicationStatus
from bls.engine import state as b
from bls.engine.jobs import Jobs
from bls.engine.state import BatchState
from bridge.couplings.inline_state import InlineState
from traces.checks.faults import InvariantError
from traces.compiled import Array
from traces.kernels.slabs import LAID_AT, WHOLE, slab_fault


def validate_inline(state: BatchState, inline: InlineState) -> None:
    """Check the inline state between two calls of ``bridge.couplings.inline_kernel.drive``; the batch state must be valid.

    Raises InvariantError with the first wrong job.
    """
    rows = min(int(state.n_rows), len(inline.outcomes.n_rows))  # later attempts may have no room yet
    jobs, drawn = state.jobs.front(rows), inline.outcomes.n_rows[:rows]
    # Jobs with known run times are not simulated.
    done = (jobs.start_ns >= 0) & (jobs.end_ns >= 0) & (jobs.run_ns < 0)
    is_open = jobs.promise_ns >= 0  # they have received commands, or are about to run
    if len(inline.saved.flags):
        is_open |= (inline.saved.first[:rows] >= 0) & (jobs.end_ns < 0)
    ran, cut = inline.outcomes.n_tasks[:rows], jobs.cut != b.BY_ITSELF
    for wrong, what in (
        ((done != (drawn > 0)) & ~is_open, "has tasks but no end, or an end but no tasks"),
        ((ran < 0) | (ran > drawn), "ran more tasks than it has"),
        (done & (ran < drawn) & ~cut, "was not cut, and did not run all of its tasks"),
        (inline.outcomes.n_chunks[:rows] < 0, "has fewer than no chunks"),
    ):
        if len(bad := np.flatnonzero(wrong)):
            row = bad[0]
            _fault(
                state,
                f"{what}: start {jobs.start_ns[row]}, end {jobs.end_ns[row]} ns, {ran[row]} of {drawn[row]} tasks, "
                f"{inline.outcomes.n_chunks[row]} chunks",
                int(row),
            )
    if len(inline.tasks.start_ns):
        _check_records(state, inline, jobs, np.flatnonzero(done))
    elif inline.ledger_used:
        _fault(state, f"{inline.ledger_used} records of tasks, where none are kept")
    commanded = len(inline.saved.flags) or len(inline.journal.flags)
    sent = int(inline.outcomes.n_transfers[:rows].sum())
    if sent > inline.transfers_used or (sent < inline.transfers_used and not commanded):
        _fault(state, f"{inline.transfers_used} records of transfers; the jobs have {sent}")
    status = inline.shared.app.status
    ended = (ApplicationStatus.FINISHED, ApplicationStatus.STOPPED, ApplicationStatus.LOST)
    if done.any() and status not in ended and inline.fault_status == 0 and not len(inline.saved.flags):
        _fault(state, f"the application that ran last has status {status}")
    _check_kept(state, inline)


def _fault(state: BatchState, what: str, row: int = -1) -> None:
    who = "" if row < 0 else f"job {state.jobs.number[row]} "
    raise InvariantError(f"inline coupling at {state.now_ns} ns: {who}{what}")


def _check_kept(state: BatchState, inline: InlineState) -> None:
    saved, at = inline.saved, 0
    kept = np.flatnonzero(saved.first >= 0)
    for row in kept[np.argsort(saved.first[kept])].tolist():
        if saved.first[row] != at:
            _fault(state, f"is kept from word {saved.first[row]} on; those before end at {at}", row)
        if fault := slab_fault(inline.shared, saved.words, at):
            _fault(state, f"is kept in a slab that {fault}", row)
        if saved.ahead.item(LAID_AT) == saved.words[at + LAID_AT]:
            _fault(state, "was copied, and the copy has the pointers of what is kept", row)
        at += int(saved.words[at + WHOLE])
    if at != saved.used:
        _fault(state, f"{saved.used} words of kept applications; they end at {at}")


def _check_records(state: BatchState, inline: InlineState, jobs: Jobs, rows: Array) -> None:
    drawn = np.flatnonzero(inline.outcomes.n_rows[: len(jobs.number)])
    order = drawn[np.argsort(inline.outcomes.first[drawn], kind="stable")]
    first, count = inline.outcomes.first[order], inline.outcomes.n_rows[order]
    expected = np.cumsum(count) - count
    if len(bad := np.flatnonzero(first != expected)):
        row = int(order[bad[0]])
        _fault(state, f"has records of tasks from {first[bad[0]]} on; those before end at {expected[bad[0]]}", row)
    used = int(count.sum())
    if used != inline.ledger_used:
        _fault(state, f"{inline.ledger_used} records of tasks; the jobs have {used}")
    tasks, owner = inline.tasks.front(used), np.repeat(order, count)
    start, end, core = tasks.start_ns, tasks.end_ns, tasks.core
    began = start >= 0
    beyond = (start < jobs.start_ns[owner]) | (end < start) | (end > jobs.end_ns[owner]) | (core < 0)
    wrong = began & np.isin(owner, rows) & beyond
    if len(bad := np.flatnonzero(wrong)):
        k = bad[0]
        _fault(state, f"has a task from {start[k]} to {end[k]} ns on core {core[k]}", int(owner[k]))
    ran = np.bincount(owner[began], minlength=len(jobs.number))
    if len(bad := np.flatnonzero(ran[rows] != inline.outcomes.n_tasks[rows])):
        row = int(rows[bad[0]])
        _fault(state, f"ran {inline.outcomes.n_tasks[row]} tasks; {ran[row]} have begun", row)
