"""Commands to applications that cannot be kept, in the inline coupling: they are simulated again, with all their commands.

What an application did before a command comes out as it did before: it depends on nothing else. It is simulated as often as it
receives commands, and once more.
"""

from __future__ import annotations

from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.loop import begin
from als.engine.scaling import begin_varying
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_commands import advance_to, apply_scales, commanded_at, run_to
from bridge.couplings.inline_kernel import report_end, set_up, stops_later
from bridge.couplings.inline_state import InlineState
from bridge.couplings.inline_widths import apply_widths, slot_of
from traces.compiled import compiled


@compiled(merged=True)
def note(state: BatchState, inline: InlineState, job: int) -> bool:
    """Note the commands that a running job receives now, unless they are noted; False if there is no room."""
    journal, jobs, last = inline.journal, state.jobs, inline.journal.last[job]
    entry, at = inline.journal_used, inline.cores_used
    if last >= 0 and journal.told_first[last] == jobs.told_first[job]:
        return True
    if entry == journal.instant.size or at + jobs.held_cores[job] > journal.core.size:
        return False
    journal.instant[entry], journal.after[entry] = commanded_at(state, job), -1
    journal.told_first[entry], journal.core_first[entry] = jobs.told_first[job], at
    journal.told_stop[entry] = jobs.told_first[job] + jobs.told_count[job]
    if jobs.wanted[job] > 0:
        for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
            for core in range(state.pool.lo[k], state.pool.hi[k]):
                if state.hinted[core] == job + 1 and state.holder[core] == job:
                    journal.core[at] = core
                    at += 1
    journal.core_stop[entry] = at
    if last >= 0:
        journal.after[last] = entry
    else:
        journal.first[job] = entry
    journal.last[job] = entry
    inline.journal_used, inline.cores_used = entry + 1, at
    return True


@compiled(inner=True)
def _apply_again(state: BatchState, inline: InlineState, entry: int) -> int:
    """Apply the commands of an entry to the application that runs; returns its status."""
    run, journal, stop = inline.running.app, inline.journal, inline.journal.told_stop[entry]
    k = apply_widths(state, inline, journal.told_first[entry], stop)
    if k < stop and state.told.what[k] == b.HINTED:
        journal.flags[:] = 0
        for at in range(journal.core_first[entry], journal.core_stop[entry]):
            slot = slot_of(run, journal.core[at])
            if slot >= 0:
                journal.flags[slot] = 1
        hint(run, journal.flags[: run.speed.size])
    return int(apply_scales(state, inline, k, stop, journal.instant[entry]))


@compiled(inner=True)
def _replay(state: BatchState, inline: InlineState, job: int, stop_ns: int) -> int:
    """Run the application, which is at its start, to its end or its stop, with the commands of its job at their instants."""
    journal, entry = inline.journal, inline.journal.first[job]
    if inline.speeds.component.size > 0:
        status = begin_varying(inline.running.app, inline.speeds, inline.running.next_ns, stop_ns)
        if status != SUSPENDED:
            return int(status)
    while entry >= 0 and journal.instant[entry] < stop_ns:
        # All requests up to that instant were served before the batch level did anything at it.
        status = advance_to(inline, journal.instant[entry] + 1)
        if status == SUSPENDED:
            status = _apply_again(state, inline, entry)
        if status != SUSPENDED:
            return int(status)
        entry = journal.after[entry]
    return int(run_to(inline, stop_ns))


@compiled(inner=True)
def run_again(state: BatchState, inline: InlineState, job: int) -> int:
    """Run a job's application from its start to its end, with all its commands; returns 0, or an ``InlineStatus``."""
    while True:
        need = set_up(state, inline, job, True)  # again where it is to stop later: its width may have changed
        if need != 0:
            return int(need)
        app, costs = inline.running.app, inline.costs
        begin(app, state.jobs.start_ns[job], costs.overhead_ns, costs.master != 0, costs.releases != 0)
        status = _replay(state, inline, job, state.jobs.stop_ns[job])
        if not stops_later(state, inline, job, status):
            return int(report_end(state, inline, job, status))
