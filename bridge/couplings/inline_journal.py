"""Applications that are told something while they run, in the inline coupling: they are simulated again, and told it all again.

So it is where the state of those that run cannot be kept (``inline_reaching``). What an application did before it was told
comes out as it did before: it depends on nothing else. It is simulated as often as it was told something, and once more.
"""

from __future__ import annotations

from als.engine import loop as engine
from als.engine.features.hints import hint
from als.engine.status import SUSPENDED
from als.engine.varying_speeds import advance_varying, begin_varying
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_scaling import scale_core, scales_changed
from bridge.couplings.inline_state import FLAGS_USED, HOOK, JOURNAL_USED, InlineState
from bridge.couplings.inline_widths import ask_core, give_core, width_changed
from traces.compiled import compiled

__all__ = ["note", "replay"]

_advance, _run_until_stop, _hint = engine.advance, engine.run_until_stop, hint


@compiled(merged=True)
def note(state: BatchState, inline: InlineState, job: int) -> bool:
    """Write down what a running job is told now; False if there is no room."""
    cursor, journal, jobs = inline.cursor, inline.journal, state.jobs
    n_cores = jobs[b.CORES, job]
    entry, at = cursor[JOURNAL_USED], cursor[FLAGS_USED]
    resizes, directs = inline.costs.resizes != 0, inline.costs.directs != 0
    count = jobs[b.TOLD_COUNT, job] if resizes or directs else n_cores
    if entry == journal.instant.size or at + count > (journal.core.size if resizes or directs else journal.wanted.size):
        return False
    journal.instant[entry], journal.at[entry], journal.after[entry] = state.clock[b.NOW], at, -1
    journal.count[entry] = count
    if resizes:
        for k in range(count):
            told = jobs[b.TOLD_FIRST, job] + k
            journal.core[at] = (state.told[2, told] + 1) * state.told[3, told]
            at += 1
    elif directs:
        for k in range(count):
            told = jobs[b.TOLD_FIRST, job] + k
            journal.core[at] = state.told[2, told]
            journal.scale[at] = state.told[4, told] if state.told[3, told] == b.SCALED else 0
            at += 1
    else:
        left = n_cores
        for k in range(jobs[b.HELD_FIRST, job], jobs[b.HELD_FIRST, job] + jobs[b.HELD_COUNT, job]):
            for number in range(state.pool_lo[k], min(state.pool_hi[k], state.pool_lo[k] + left)):
                journal.wanted[at] = 1 if state.hinted[number] == job + 1 and state.holder[number] == job else 0
                at += 1
                left -= 1
    if journal.last[job] >= 0:
        journal.after[journal.last[job]] = entry
    else:
        journal.first[job] = entry
    journal.last[job] = entry
    cursor[JOURNAL_USED], cursor[FLAGS_USED] = entry + 1, at
    return True


@compiled(inner=True)
def _scale_again(inline: InlineState, entry: int) -> int:
    """Scale the speeds of the application that runs as an entry says; returns its status."""
    journal, scales = inline.journal, False
    for k in range(journal.at[entry], journal.at[entry] + journal.count[entry]):
        if journal.scale[k] > 0:
            scale_core(inline, journal.core[k], journal.scale[k])
            scales = True
    return scales_changed(inline, journal.instant[entry]) if scales else int(SUSPENDED)


@compiled(HOOK)
def replay(inline: InlineState, job: int, stop_ns: int) -> int:
    """Run the application, which is at its start, to its end or its stop, and tell it what its job was told, when it was."""
    app, journal, n_cores = inline.app, inline.journal, inline.app.speed.size
    steady = inline.speeds.component.size == 0
    if inline.costs.resizes != 0:
        inline.fastest[0] = 0.0
        for c in range(n_cores):
            inline.fastest[0] = max(inline.fastest[0], app.speed[c])
    base = inline.base_gflops[:n_cores]
    if not steady:
        status = begin_varying(app, inline.speeds, inline.next_ns, stop_ns)
        if status != SUSPENDED:
            return int(status)
    entry = journal.first[job]
    while entry >= 0 and journal.instant[entry] < stop_ns:
        # All requests up to that instant were served before the batch level did anything at it.
        until = journal.instant[entry] + 1
        if steady:
            status = _advance(app, until)
        else:
            status = advance_varying(app, inline.speeds, base, inline.next_ns, until)
        if status != SUSPENDED:
            return int(status)
        at = journal.at[entry]
        if inline.costs.directs != 0:
            status = _scale_again(inline, entry)
            if status != SUSPENDED:
                return status
        elif inline.costs.resizes == 0:
            _hint(app, journal.wanted[at : at + n_cores])
        else:
            for k in range(at, at + journal.count[entry]):
                if journal.core[k] > 0:
                    give_core(inline, journal.core[k] - 1)
                else:
                    ask_core(inline, -journal.core[k] - 1)
            width_changed(inline)
            base = inline.base_gflops[: app.speed.size]
        entry = journal.after[entry]
    if steady:
        return int(_run_until_stop(app, stop_ns))
    status = advance_varying(app, inline.speeds, base, inline.next_ns, stop_ns)
    return int(_run_until_stop(app, stop_ns)) if status == SUSPENDED else int(status)
