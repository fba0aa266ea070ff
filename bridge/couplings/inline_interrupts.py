"""Running jobs that receive commands in the inline coupling: hooks of the loop in ``bridge.couplings.inline_kernel``.

A started job is run to its end at once, and its state at the start is saved. When it receives commands, its reported end is
withdrawn, and its saved state advances in place to that instant only. Nothing of the job is visible until its next request (or,
without releases, until the end of its last chunk): this is its promise. When it expires, the saved state advances to that
instant, and so on. After many such steps, a copy is simulated ahead for a stride, which doubles each time, and its visible
actions are reported. If the scheduler uses promised ends, a copy is always run to its end.
"""

from als.engine.codes import SUSPENDED
from als.engine.features.hints import hint
from als.engine.loop import begin
from als.engine.scaling import apply_deferred, begin_varying, defer, look_ahead
from als.engine.state import GRAPH, NEVER
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings import inline_state as i
from bridge.couplings.inline_commands import (
    advance_to,
    apply_scales,
    apply_widths,
    commanded_at,
    copy_out,
    keep,
    leave,
    note,
    run_again,
    run_to,
    running_of,
)
from bridge.couplings.inline_kernel import keep_rows, report_end, report_releases, set_up, stops_later
from bridge.couplings.inline_state import HOOK, InlineState, InlineStatus
from traces.algorithms.copying import copy_first
from traces.compiled import compiled
from traces.kernels.slabs import CHANGING

_LEAST_STRIDE = 4096  #: the first stride is at least the job's elapsed run time divided by this number
_NUMBERS_A_STEP = 512  #: numbers copied in the time of a step from one promised instant to the next


@compiled(inner=True)
def _not_before(inline: InlineState, until_ns: int) -> int:
    """A lower bound of the end of the application, which has advanced to ``until_ns``; the last task may have ended before."""
    run = inline.running.app
    asking = run.n_asking
    if asking == 0:
        return until_ns
    in_graph = run.phases.kind[run.part % run.phases.kind.size] == GRAPH
    latest = 0
    for at in range(asking):
        c = run.cores.ask_core[at]
        if in_graph:
            if c < run.graph.cores.does.size:  # the key of a task's end
                latest = max(latest, run.cores.ask_ns[at])
        elif run.cores.held_size[c] > 0:
            latest = max(latest, run.cores.ask_ns[at] - run.latency_ns[c])
    return min(until_ns, latest)


@compiled(inner=True)
def _goes_on_until(inline: InlineState, now: int) -> int:
    """The instant until which nothing of the current application is visible without commands; now if unknown.

    It releases cores and ends only when a request is served. Without releases it ends no sooner than its last present chunk,
    unless a speed varies before. Unknown with latencies, a master, or graphs.
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
    """Report the end of the current application, a copy, and store its records; returns 0 or an ``InlineStatus``."""
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
    """Run the current application, a copy, to its end and report it; returns 0 or an ``InlineStatus``."""
    while True:
        status = run_to(inline, state.jobs.stop_ns[job])
        if not stops_later(state, inline, job, status):
            return _report_end(state, inline, job, status)
        copy_out(inline, job)


@compiled(HOOK)
def start(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Run the application of a started job and save its state at the start; returns 0 or an ``InlineStatus``."""
    if inline.saved.first[job] < 0:  # otherwise the batch level had to make room for its releases
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
    """Promise that nothing of a job is visible before an instant; returns 0 or an ``InlineStatus``."""
    kept = i.promise(inline.engines[i.PROMISE], (state, job, not_before_ns))
    return 0 if kept else InlineStatus.OUTCOME_FAULT


@compiled(inner=True)
def _promise_rest(state: BatchState, inline: InlineState, job: int, until_ns: int) -> int:
    """Report the current application's releases and requests before ``until_ns``; promise that nothing else is visible."""
    run, need = inline.running.app, 0
    if run.n_released > 0 or run.width_requests.size > 0:
        need = report_releases(state, inline, job, until_ns)
    return int(need) if need != 0 else _promise(state, inline, job, until_ns)


@compiled(inner=True)
def _steps(state: BatchState, inline: InlineState, job: int, until: int) -> bool:
    """Whether to advance the current application in place to ``until`` later; a copy ahead is cheaper than many steps."""
    now, saved, of = commanded_at(state, job), inline.saved, inline.running
    if until <= now or until >= state.jobs.stop_ns[job] or state.settings.promises != 0:
        return False
    few = of.steps <= saved.words[saved.first[job] + CHANGING] // _NUMBERS_A_STEP
    return bool(few or until - now > of.stride_ns)


@compiled(inner=True)
def _run_ahead(state: BatchState, inline: InlineState, job: int) -> int:
    """Simulate a copy of a job's application ahead for a stride and report its actions; 0 or an ``InlineStatus``."""
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
    """Apply the latest commands of its job to the current application; returns its status."""
    run, flags, first = inline.running.app, inline.saved.flags, state.jobs.command_first[job]
    stop = first + state.jobs.command_count[job]
    k = apply_widths(state, inline, first, stop)
    if k < stop and state.commands.what[k] == b.HINTED:
        for slot in range(run.speed.size):
            core, there = run.core_number[slot], run.cores.released_ns[slot] == NEVER
            flags[slot] = 1 if there and state.hinted[core] == job + 1 and state.holder[core] == job else 0
        hint(run, flags)
    return int(apply_scales(state, inline, k, stop, now))


@compiled(inner=True)
def _arrive(inline: InlineState, now: int) -> int:
    """Advance the current application in place to an instant, after its requests; returns its status."""
    of = inline.running
    status = apply_deferred(of.app, of.base_gflops[: of.app.speed.size], inline.own_gflops)
    return advance_to(inline, now + 1) if status == SUSPENDED else int(status)


@compiled(inner=True)
def _only_scale(state: BatchState, job: int) -> int:
    """The scale that the latest commands of a job set for all cores; 0 if they do anything else."""
    k, commands = state.jobs.command_first[job], state.commands
    alone = state.jobs.command_count[job] == 1 and commands.what[k] == b.SCALED and commands.core[k] < 0
    return int(commands.value[k]) if alone else 0


@compiled(inner=True)
def _command(state: BatchState, inline: InlineState, job: int) -> int:
    """Apply the commands of a running job and report or promise its future; returns 0 or an ``InlineStatus``."""
    now, of = commanded_at(state, job), running_of(inline, job)
    if inline.applied_upto > inline.interrupted_at:  # applied before there was room for its releases
        return _run_ahead(state, inline, job)
    of.steps = 0
    if of.commanded_ns < now:
        since_start = now - state.jobs.start_ns[job]
        of.stride_ns = max(1, since_start // _LEAST_STRIDE, 2 * (now - of.commanded_ns))
        of.commanded_ns = now
    scale = _only_scale(state, job) if state.settings.directs != 0 and state.settings.promises == 0 else 0
    until = defer(of.app, scale, now, state.jobs.stop_ns[job]) if scale > 0 else 0
    if until > 0:
        return _promise(state, inline, job, until)
    inline.running = of
    # Requests of this instant are served before its commands.
    status = _arrive(inline, now)
    if status == SUSPENDED:
        status = _apply(state, inline, job, now)
    inline.applied_upto = inline.interrupted_at + 1
    return _go_ahead(state, inline, job, status)


@compiled(inner=True)
def _go_ahead(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """Report or promise the future of the current application, in place; returns 0 or an ``InlineStatus``."""
    now, of = commanded_at(state, job), inline.running
    if status != SUSPENDED:
        copy_out(inline, job)  # there may be commands at this instant
        return _report_end(state, inline, job, status)
    until = _goes_on_until(inline, now)
    if state.settings.directs != 0 and inline.costs.latency_ns == 0 and inline.speeds.component.size == 0:
        look_ahead(of.app, now, inline.engines[i.RELEASE] != 0)
    if _steps(state, inline, job, until):
        of.steps += 1
        return _promise_rest(state, inline, job, until)
    if of.steps > 0:  # many steps without commands
        of.stride_ns = max(of.stride_ns, now - of.commanded_ns)
    need = _run_ahead(state, inline, job)
    of.stride_ns *= 2
    return int(need)


@compiled(HOOK)
def come_due(state: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Advance a job to now, the end of its promise, and report or promise its future; returns 0 or an ``InlineStatus``."""
    # Its releases of this instant are reported before the batch level handles releases.
    inline.job, inline.running = job, running_of(inline, job)
    need = _go_ahead(state, inline, job, _arrive(inline, state.now_ns))
    leave(inline)
    return int(need)


@compiled(HOOK)
def interrupt(state: BatchState, inline: InlineState, _job: int, _flag: int) -> int:
    """Give running jobs the commands of the latest pass; returns 0 or an ``InlineStatus``."""
    replays = inline.saved.flags.size == 0
    while inline.interrupted_at < state.n_interrupted:
        inline.job = job = state.interrupted[inline.interrupted_at]
        # After making room, both of these are repeated without effect.
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
        inline.interrupted_at += 1
    state.n_interrupted = inline.interrupted_at = inline.applied_upto = 0
    return 0
