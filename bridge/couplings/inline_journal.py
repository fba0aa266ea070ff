"""Applications that are told something while they run, in the inline coupling: they are simulated again, and told it all again.

So it is where the state of those that run cannot be kept (``inline_reaching``). What an application did before it was told
comes out as it did before: it depends on nothing else. It is simulated as often as it was told something, and once more.
"""

from __future__ import annotations

from als.engine import loop as engine
from als.engine import state as app
from als.engine.features.hints import hint
from als.engine.status import SUSPENDED
from als.engine.varying_speeds import advance_varying, begin_varying
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_scaling import scale_core, scales_changed, told_at
from bridge.couplings.inline_state import HOOK, InlineState
from bridge.couplings.inline_widths import ask_core, give_core, width_changed
from traces.compiled import compiled

__all__ = ["advance_to", "note", "replay"]

_advance, _run_until_stop, _hint = engine.advance, engine.run_until_stop, hint


@compiled(inner=True)
def advance_to(inline: InlineState, until_ns: int) -> int:
    """Advance the application that runs, with the changes of its cores' speeds."""
    run = inline.app
    if inline.speeds.component.size == 0:
        return int(_advance(run, until_ns))
    return int(advance_varying(run, inline.speeds, inline.base_gflops[: run.speed.size], inline.next_ns, until_ns))


@compiled(inner=True)
def _put(inline: InlineState, at: int, core: int, what: int, scale: int) -> int:
    """Write down what becomes of a core; returns the place behind it."""
    inline.journal.core[at], inline.journal.what[at], inline.journal.scale[at] = core, what, scale
    return at + 1


@compiled(inner=True)
def _put_wanted(state: BatchState, inline: InlineState, job: int, at: int) -> int:
    """Write down for which cores of a running job others wait; returns the place behind them."""
    jobs = state.jobs
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if state.hinted[core] == job + 1 and state.holder[core] == job:
                at = _put(inline, at, core, b.HINTED, 0)
    return at


@compiled(merged=True)
def note(state: BatchState, inline: InlineState, job: int) -> bool:
    """Write down what a running job is told now; False if there is no room."""
    journal, jobs = inline.journal, state.jobs
    entry, begin = inline.journal_used, inline.flags_used
    first, count = jobs.told_first[job], jobs.told_count[job]
    # Of a hint each core that is wanted, beside itself.
    if entry == journal.instant.size or begin + count + jobs.held_cores[job] > journal.core.size:
        return False
    at = begin
    for k in range(first, first + count):
        what = state.told.what[k]
        if what != b.ENDED_BY:
            core = -1 if what == b.HINTED else state.told.core[k]
            at = _put(inline, at, core, what, state.told.value[k])
        if what == b.HINTED:
            at = _put_wanted(state, inline, job, at)
    journal.instant[entry], journal.after[entry] = told_at(state, job), -1
    journal.at[entry], journal.count[entry] = begin, at - begin
    if journal.last[job] >= 0:
        journal.after[journal.last[job]] = entry
    else:
        journal.first[job] = entry
    journal.last[job] = entry
    inline.journal_used, inline.flags_used = entry + 1, at
    return True


@compiled(inner=True)
def _hear_again(inline: InlineState, entry: int) -> int:
    """Let the application that runs hear what an entry says; returns its status."""
    run, journal, at = inline.app, inline.journal, inline.journal.at[entry]
    stop, widths, hinted, scales = at + journal.count[entry], False, False, False
    while at < stop and (journal.what[at] == b.GIVEN or journal.what[at] == b.ASKED_FOR):
        if journal.what[at] == b.GIVEN:
            give_core(inline, journal.core[at])
        else:
            ask_core(inline, journal.core[at])
        widths = True
        at += 1
    if widths:
        width_changed(inline)
    while at < stop and journal.what[at] == b.HINTED:
        if not hinted:
            journal.flags[:] = 0
            hinted = True
        for slot in range(run.speed.size):
            if run.core_number[slot] == journal.core[at] and run.cores.released_ns[slot] == app.NEVER:
                journal.flags[slot] = 1
        at += 1
    if hinted:
        _hint(run, journal.flags[: run.speed.size])
    while at < stop:
        scale_core(inline, journal.core[at], journal.scale[at])
        scales = True
        at += 1
    return scales_changed(inline, journal.instant[entry]) if scales else int(SUSPENDED)


@compiled(HOOK)
def replay(inline: InlineState, job: int, stop_ns: int) -> int:
    """Run the application, which is at its start, to its end or its stop, and tell it what its job was told, when it was."""
    run, journal, n_cores = inline.app, inline.journal, inline.app.speed.size
    steady = inline.speeds.component.size == 0
    if inline.costs.resizes != 0:
        inline.fastest[0] = 0.0
        for c in range(n_cores):
            inline.fastest[0] = max(inline.fastest[0], run.speed[c])
    if not steady:
        status = begin_varying(run, inline.speeds, inline.next_ns, stop_ns)
        if status != SUSPENDED:
            return int(status)
    entry = journal.first[job]
    while entry >= 0 and journal.instant[entry] < stop_ns:
        # All requests up to that instant were served before the batch level did anything at it.
        status = advance_to(inline, journal.instant[entry] + 1)
        if status != SUSPENDED:
            return int(status)
        status = _hear_again(inline, entry)
        if status != SUSPENDED:
            return status
        entry = journal.after[entry]
    if steady:
        return int(_run_until_stop(run, stop_ns))
    status = advance_to(inline, stop_ns)
    return int(_run_until_stop(run, stop_ns)) if status == SUSPENDED else int(status)
