"""Running jobs that receive commands, in the inline coupling: hooks of the loop in ``bridge.couplings.inline_kernel``.

A job that has started is run to its end at once, as there, and its state at its start is kept. When it receives commands, its
reported end is taken back; it is advanced, in place, to that instant, and no further. Until its next request, or where nothing
is released the end of its last chunk, nothing of it is visible: that is promised, and as the promise comes due the job is
advanced to there, and so on. After many such steps a copy is run ahead for a stride, and what it does by then is reported; as
that comes due, the job is advanced to that instant, and a copy is run ahead for twice as long. So what is computed in vain is
at the most a few times what lies between two commands, however often a job receives some.

Where jobs are planned with the ends that they promise, a copy is always run to its end. Where a technique keeps objects of
Python's, or transfers share a network, nothing is kept, and a job is simulated again from its beginning (``inline_kept``).
"""

from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.loop import begin
from als.engine.scaling import begin_varying
from als.engine.state import GRAPH, NEVER
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings import inline_state as i
from bridge.couplings.inline_commands import advance_to, apply_scales, apply_widths, commanded_at, run_to
from bridge.couplings.inline_deferred import apply_deferred, defer, look_ahead
from bridge.couplings.inline_kept import copy_out, keep, leave, note, run_again, running_of
from bridge.couplings.inline_kernel import keep_rows, report_end, report_releases, set_up, stops_later
from bridge.couplings.inline_state import HOOK, InlineState, InlineStatus
from traces.algorithms.copying import copy_first
from traces.compiled import compiled
from traces.kernels.slabs import CHANGING

#: The first stride is not shorter than this part of the time for which the job has run.
_LEAST_STRIDE = 4096

#: So many numbers are copied in the time of a step from one sure instant to the next.
_NUMBERS_A_STEP = 512


@compiled(inner=True)
def _not_before(inline: InlineState, until_ns: int) -> int:
    """Before this instant the application, which was advanced to ``until_ns``, does not end.

    A core that asks may have ended the last task before: a request is under way for a while.
    """
    run = inline.running.app
    asking = run.n_asking
    if asking == 0:
        return until_ns
    in_graph = run.phases.kind[run.part % run.phases.kind.size] == GRAPH
    latest = 0
    for at in range(asking):
        c = run.cores.ask_core[at]
        if in_graph:
            if c < run.graph.cores.does.size:  # the kind of an event is in its key: a task ends
                latest = max(latest, run.cores.ask_ns[at])
        elif run.cores.held_size[c] > 0:
            latest = max(latest, run.cores.ask_ns[at] - run.latency_ns[c])
    return min(until_ns, latest)


@compiled(inner=True)
def _goes_on_until(inline: InlineState, now: int) -> int:
    """Up to this instant nothing is visible of the application that runs, without commands; now where that is not known.

    Cores are released, and it ends, only as a request is served; without releases it ends no sooner than the last chunk that
    is under way, unless a speed changes by itself before. Messages that are under way make it another matter, and graphs.
    """
    of, run, costs = inline.running, inline.running.app, inline.costs
    if run.n_asking == 0 or costs.latency_ns != 0 or costs.master != 0 or run.graph.exists == 1:
        return now
    until = run.cores.ask_ns[0] if inline.engines[i.RELEASE] != 0 else _not_before(inline, NEVER)
    if inline.speeds.component.size > 0:
        for c in range(run.speed.size):
            until = min(until, of.next_ns[c])
    return int(until)


@compiled(inner=True)
def _report_end(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """Report how the application that runs, which is a copy, ends, and note its records; returns 0, or an ``InlineStatus``."""
    need = report_end(state, inline, job, status)
    if need != 0:
        return int(need)
    run, tasks, row = inline.running.app, inline.tasks, inline.outcomes.first[job]
    copy_first(inline.outcomes.chosen[job], run.chosen, run.chosen.size)
    n = run.start_ns.size
    if n > 0:
        copy_first(tasks.start_ns[row:], run.start_ns, n)
        copy_first(tasks.end_ns[row:], run.end_ns, n)
        copy_first(tasks.core[row:], run.core, n)
        copy_first(tasks.chunk[row:], run.chunk, n)
    return 0


@compiled(inner=True)
def _run_to_end(state: BatchState, inline: InlineState, job: int) -> int:
    """Run the application, which is a copy, to its end, and report it; returns 0, or an ``InlineStatus``."""
    while True:
        status = run_to(inline, state.jobs.stop_ns[job])
        if not stops_later(state, inline, job, status):
            return _report_end(state, inline, job, status)
        copy_out(inline, job)


@compiled(HOOK)
def start(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Run the application of a job that has started, and keep its state at its start; returns 0, or an ``InlineStatus``."""
    if inline.saved.first[job] < 0:  # otherwise the batch level had to make room for what it releases
        need = set_up(state, inline, job, False)
        if need != 0:
            return int(need)
        if not keep(state, inline, job):
            return InlineStatus.SAVED_FULL
        keep_rows(inline, job)
        of, costs = inline.running, inline.costs
        begin(of.app, state.jobs.start_ns[job], costs.overhead_ns, costs.master != 0, costs.releases != 0)
        if inline.speeds.component.size > 0:
            begin_varying(of.app, inline.speeds, of.next_ns, state.jobs.stop_ns[job])
    copy_out(inline, job)
    need = _run_to_end(state, inline, job)
    leave(inline)
    return int(need)


@compiled(inner=True)
def _promise(state: BatchState, inline: InlineState, job: int, not_before_ns: int) -> int:
    """Promise that nothing of a job is visible before an instant; returns 0, or an ``InlineStatus``."""
    kept = i.promise(inline.engines[i.PROMISE], (state, job, not_before_ns))
    return 0 if kept else InlineStatus.OUTCOME_FAULT


@compiled(inner=True)
def _promise_rest(state: BatchState, inline: InlineState, job: int, until_ns: int) -> int:
    """Promise that nothing is visible before ``until_ns`` but what the application that runs releases, and requests."""
    run, need = inline.running.app, 0
    if run.n_released > 0 or run.wishes.size > 0:
        need = report_releases(state, inline, job, until_ns)
    return int(need) if need != 0 else _promise(state, inline, job, until_ns)


@compiled(inner=True)
def _steps(state: BatchState, inline: InlineState, job: int, until: int) -> bool:
    """Whether the application that runs, in place, goes on to ``until``, which is sure, and is not run ahead in a copy.

    A step is cheaper than a copy, but not if many follow.
    """
    now, saved, of = commanded_at(state, job), inline.saved, inline.running
    if until <= now or until >= state.jobs.stop_ns[job] or state.settings.promises != 0:
        return False
    few = of.steps <= saved.words[saved.first[job] + CHANGING] // _NUMBERS_A_STEP
    return bool(few or until - now > of.stride_ns)


@compiled(inner=True)
def _run_ahead(state: BatchState, inline: InlineState, job: int) -> int:
    """Run a copy of a job's application ahead for a stride, and report what is sure by that; 0, or an ``InlineStatus``."""
    now, stop = commanded_at(state, job), state.jobs.stop_ns[job]
    copy_out(inline, job)
    stride = inline.running.stride_ns
    if stride >= stop - now or state.settings.promises != 0:
        return _run_to_end(state, inline, job)
    status = advance_to(inline, now + stride)
    if status != SUSPENDED:
        return _report_end(state, inline, job, status)
    bound = _not_before(inline, now + stride)
    if bound <= now:
        return _run_to_end(state, inline, job)
    return _promise_rest(state, inline, job, bound)


@compiled(inner=True)
def _apply(state: BatchState, inline: InlineState, job: int, now: int) -> int:
    """Apply the latest commands of its job to the application that runs; returns its status."""
    run, flags, first = inline.running.app, inline.saved.flags, state.jobs.told_first[job]
    stop = first + state.jobs.told_count[job]
    k = apply_widths(state, inline, first, stop)
    if k < stop and state.told.what[k] == b.HINTED:
        for slot in range(run.speed.size):
            core, there = run.core_number[slot], run.cores.released_ns[slot] == NEVER
            flags[slot] = 1 if there and state.hinted[core] == job + 1 and state.holder[core] == job else 0
        hint(run, flags)
    return int(apply_scales(state, inline, k, stop, now))


@compiled(inner=True)
def _arrive(inline: InlineState, now: int) -> int:
    """Let the application that runs, in place, be at an instant, after the requests at it; returns its status."""
    status = apply_deferred(inline)
    return advance_to(inline, now + 1) if status == SUSPENDED else int(status)


@compiled(inner=True)
def _command(state: BatchState, inline: InlineState, job: int) -> int:
    """Give a running job its commands, and see how far it goes on; returns 0, or an ``InlineStatus``."""
    now, of = commanded_at(state, job), running_of(inline, job)
    if inline.applied_upto > inline.reached_at:  # room had to be made for what it releases
        return _run_ahead(state, inline, job)
    of.steps = 0
    if of.commanded_ns < now:
        since_start = now - state.jobs.start_ns[job]
        of.stride_ns = max(1, since_start // _LEAST_STRIDE, 2 * (now - of.commanded_ns))
        of.commanded_ns = now
    if state.settings.directs != 0 and state.settings.promises == 0:
        until = defer(state, inline, job)
        if until > 0:
            return _promise(state, inline, job, until)
    inline.running = of
    # All requests up to this instant were served before the batch level did anything at it.
    status = _arrive(inline, now)
    if status == SUSPENDED:
        status = _apply(state, inline, job, now)
    inline.applied_upto = inline.reached_at + 1
    return _go_ahead(state, inline, job, status)


@compiled(inner=True)
def _go_ahead(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """See how far the application that runs, in place, goes on; returns 0, or an ``InlineStatus``."""
    now, of = commanded_at(state, job), inline.running
    if status != SUSPENDED:
        copy_out(inline, job)  # there may be commands at this very instant
        return _report_end(state, inline, job, status)
    until = _goes_on_until(inline, now)
    if state.settings.directs != 0:
        look_ahead(state, inline, job)
    if _steps(state, inline, job, until):
        of.steps += 1
        return _promise_rest(state, inline, job, until)
    if of.steps > 0:  # many steps, and there were no commands meanwhile
        of.stride_ns = max(of.stride_ns, now - of.commanded_ns)
    need = _run_ahead(state, inline, job)
    of.stride_ns *= 2
    return int(need)


@compiled(HOOK)
def come_due(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Advance a job to now, which its promise was for, and see how far it goes on; returns 0, or an ``InlineStatus``."""
    # What it releases at this very instant is reported before the batch level inspects any.
    inline.job, inline.running = job, running_of(inline, job)
    need = _go_ahead(state, inline, job, _arrive(inline, state.now_ns))
    leave(inline)
    return int(need)


@compiled(HOOK)
def reach(state: BatchState, inline: InlineState, _job: int, _flag: int) -> int:
    """Give running jobs the commands of the latest pass; returns 0, or an ``InlineStatus``."""
    replays = inline.saved.flags.size == 0
    while inline.reached_at < state.n_reached:
        inline.job = job = state.reached[inline.reached_at]
        # Where room had to be made for what follows, both are done again, and change nothing.
        if replays and not note(state, inline, job):
            return InlineStatus.JOURNAL_FULL
        i.take_back(inline.engines[i.TAKE_BACK], (state, job))
        if replays:
            need = run_again(state, inline, job)
        else:
            need = _command(state, inline, job)
            leave(inline)
        if need != 0:
            return int(need)
        inline.reached_at += 1
    state.n_reached = inline.reached_at = inline.applied_upto = 0
    return 0
