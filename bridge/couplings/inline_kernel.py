"""The compiled loop of the inline coupling, which drives both engines in this process.

The loop lets the batch engine run until jobs have started, runs each job's application to its end, and reports the outcomes. It
contains no rule of either level.
"""

import math

from als.engine.codes import FINISHED, LOST, STOPPED
from als.engine.loop import end_ns, total_gflop
from als.engine.state import show_slots
from als.lengths.draw import IMPOSSIBLE, NO_ROOM, length_cov
from als.metrics.loops import measure
from als.network.state import NONE
from als.network.state import message_ns_in_kernels as _message_ns
from als.programs.table import draw_program, show_phases
from bls.engine.features.report_results import ACCEPTED, FULL, REFUSED
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bridge.couplings import inline_state as i
from bridge.couplings.inline_state import InlineState, InlineStatus, call_hook
from traces.algorithms.copying import copy_first
from traces.compiled import compiled
from traces.kernels.signatures import Ints, Shorts

_PAUSED = int(BatchStatus.PAUSED)  # a kernel that returns members of two enumerations has no type


@compiled(merged=True)
def _take_cores(state: BatchState, inline: InlineState, job: int, n_cores: int) -> int:
    """Give the application the first ``n_cores`` cores of its job, and their hosts; returns the number of hosts."""
    work = inline.application
    graph = work.graph
    has_graph = graph.exists == 1
    c, hosts = 0, 0
    first, count = state.jobs.held_first[job], state.jobs.held_count[job]
    given_first, given_count = state.widths.given_first, state.widths.given_count
    if given_count.size > 0 and given_count[job] > 0:
        first, count = given_first[job], given_count[job]
    for k in range(first, first + count):
        for number in range(state.pool.lo[k], min(state.pool.hi[k], state.pool.lo[k] + n_cores - c)):
            gflops, host = inline.core_speed[number], state.host_of[number]
            inline.running.base_gflops[c] = gflops
            work.speed[c] = gflops
            work.core_number[c] = number
            work.latency_ns[c] = _message_ns(host, state.host_of[work.core_number[0]], inline.costs.latency_ns)
            if has_graph:
                # Cores, and therefore hosts, are in order.
                if hosts == 0 or graph.host_number[hosts - 1] != host:
                    graph.host_number[hosts] = host
                    hosts += 1
                graph.cores.host[c] = hosts - 1
            c += 1
    inline.running.master_host = state.host_of[work.core_number[0]]
    return hosts


@compiled(merged=True)
def stops_later(state: BatchState, inline: InlineState, job: int, status: int) -> bool:
    """Whether a job that ended with ``status`` was cut by a failure of hosts that it had released by then; it must then be
    simulated again with a later stop."""
    if inline.engines[i.RELEASE] == 0 or status != STOPPED:
        return False
    app = inline.running.app
    released_ns = app.cores.released_ns[: app.core_number.size]
    return bool(i.stop_after(inline.engines[i.STOP_AFTER], (state, job, app.core_number, released_ns)))


@compiled(merged=True)
def report_releases(state: BatchState, inline: InlineState, job: int, until_ns: int) -> int:
    """Report the releases and requests of a job before an instant; returns 0 or an ``InlineStatus``."""
    if inline.engines[i.RELEASE] == 0:
        return 0
    app, answer = inline.running.app, ACCEPTED
    released_ns = app.cores.released_ns[: app.core_number.size]
    if app.width_requests.size > 0:
        answer = i.request_width(
            inline.engines[i.REQUEST_WIDTH], (state, job, app.width_request_ns, app.width_requests, until_ns)
        )
    if answer == ACCEPTED:
        answer = i.release(inline.engines[i.RELEASE], (state, job, app.core_number, released_ns, until_ns))
    if answer == FULL:
        return InlineStatus.WIDTH_REQUESTS_FULL
    return InlineStatus.RELEASES_FAULT if answer == REFUSED else 0


@compiled(merged=True)
def set_up(state: BatchState, inline: InlineState, job: int, again: bool) -> int:
    """Draw a started job's tasks and put its application on its cores, ``again`` or not; returns 0 or an ``InlineStatus``."""
    work, jobs, table = inline.application, state.jobs, inline.table
    n_cores, origin = jobs.cores[job], jobs.origin[job]
    place = inline.program[origin]
    drawing = work.lengths, work.part_first, table, place, inline.seed[0], jobs.number[job], inline.room
    speeds = inline.costs.slowest_gflops, inline.costs.bytes_per_gflop
    n = draw_program(*drawing, inline.asked[origin], inline.core_gflop[origin], *speeds)
    if n in (NO_ROOM, IMPOSSIBLE):
        return InlineStatus.LENGTHS_FULL if n == NO_ROOM else InlineStatus.LENGTHS_FAULT
    keep_tasks = inline.tasks.start_ns.size > 0
    row = inline.outcomes.first[job] if again and keep_tasks else inline.ledger_used
    stop = row + n if keep_tasks else row
    if stop > inline.tasks.start_ns.size:
        return InlineStatus.LEDGER_FULL
    parts = (table.phase_stop[place] - table.phase_first[place]) * table.steps[place]
    sends = keep_tasks and work.graph.net.kind != NONE and inline.room.first[parts] > 0
    if sends and inline.transfers_used + inline.room.first[parts] > inline.transfers.source.size:
        return InlineStatus.TRANSFERS_FULL
    hosts = _take_cores(state, inline, job, n_cores)
    app, tasks = inline.running.app, inline.tasks
    show_phases(app.phases, table, place)
    app.lengths, app.part_first = work.lengths[:n], work.part_first[: parts + 1]
    show_slots(inline.running.app, n_cores)
    app.chosen = inline.outcomes.chosen[job]
    app.start_ns, app.end_ns = tasks.start_ns[row:stop], tasks.end_ns[row:stop]
    app.core, app.chunk = tasks.core[row:stop], tasks.chunk[row:stop]
    if work.width_requests.size > 0:
        call_hook(inline.hooks[i.WIDTH_REQUESTS], (state, inline, origin, 0))
    if inline.speeds.component.size > 0:
        call_hook(inline.hooks[i.SPEEDS], (state, inline, n_cores, jobs.start_ns[job]))
    if inline.device_slots.kind.size > 0:
        call_hook(inline.hooks[i.DEVICES], (state, inline, job, n_cores))
    if work.graph.exists == 1:
        of = inline.running
        app.graph.edge_first = inline.room.first[: parts + 1]
        app.graph.host_number = work.graph.host_number[:hosts]
        of.fastest = 0.0
        for c in range(n_cores):
            of.fastest = max(of.fastest, app.speed[c])
    return 0


@compiled(merged=True)
def keep_rows(inline: InlineState, job: int) -> None:
    """Assign the tasks drawn by :func:`set_up`, and rows of the records, to a job that has started."""
    app, found, keep_tasks = inline.running.app, inline.outcomes, inline.tasks.start_ns.size > 0
    found.n_rows[job] = app.lengths.size
    found.first[job] = inline.ledger_used if keep_tasks else -1
    inline.ledger_used += app.start_ns.size
    if keep_tasks:
        copy_first(inline.tasks.length_gflop[found.first[job] :], app.lengths, app.lengths.size)


@compiled(merged=True)
def report_end(state: BatchState, inline: InlineState, job: int, status: int) -> int:
    """Report the end of the current application to the batch level and store its outcome; 0 or an ``InlineStatus``."""
    if status != FINISHED and status != STOPPED and status != LOST:
        inline.fault_status = status
        return InlineStatus.APPLICATION_FAULT
    of, app, n_cores, found = inline.running, inline.running.app, inline.running.app.speed.size, inline.outcomes
    start_ns, stop_ns = state.jobs.start_ns[job], end_ns(app)
    need = report_releases(state, inline, job, stop_ns)
    if need != 0:
        return int(need)
    if inline.speeds.component.size > 0:  # metrics use the speeds at the start
        call_hook(inline.hooks[i.SPEEDS], (state, inline, n_cores, start_ns))
    elif app.scale != 0:
        for c in range(n_cores):
            app.speed[c] = of.base_gflops[c]
    total = total_gflop(app)
    found.n_tasks[job], found.n_chunks[job], found.ahead_chunks[job] = app.n_ran, app.n_chunks, app.ahead_chunks
    found.length_gflop[job] = total
    done, cov = total if status == FINISHED else math.nan, length_cov(app.lengths, 0, app.lengths.size)
    finish_ns, busy_ns = app.cores.finish_ns[:n_cores], app.cores.busy_ns[:n_cores]
    what = found.loops[job], start_ns, finish_ns, busy_ns, app.speed, done, cov
    measure(*what, app.scheduling_ns, app.n_chunks)
    if app.graph.exists == 1:
        call_hook(inline.hooks[i.GRAPHS], (state, inline, job, status != FINISHED))
    if status == LOST:
        last = app.last_lost
        core = app.core_number[last] if last >= 0 else last
        known = i.loss(inline.engines[i.LOSS], (state, job, stop_ns, core))
    else:
        known = i.outcome(inline.engines[i.OUTCOME], (state, job, stop_ns, status == STOPPED))
    return 0 if known else InlineStatus.OUTCOME_FAULT


@compiled(inner=True)
def _run_application(state: BatchState, inline: InlineState, job: int) -> int:
    """Run a started job's application to its end; returns 0 or an ``InlineStatus``."""
    need = set_up(state, inline, job, False)
    if need != 0:
        return int(need)
    app, jobs, costs, engines = inline.running.app, state.jobs, inline.costs, inline.engines
    start_ns, varies = jobs.start_ns[job], inline.speeds.component.size > 0
    while True:
        i.begin(engines[i.BEGIN], (app, start_ns, costs.overhead_ns, costs.master != 0, costs.releases != 0))
        if varies:
            status = call_hook(inline.hooks[i.VARYING], (state, inline, app.speed.size, jobs.stop_ns[job]))
        else:
            status = i.run(engines[i.RUN], (app, jobs.stop_ns[job]))
        if not stops_later(state, inline, job, status):
            break
        if varies:
            call_hook(inline.hooks[i.SPEEDS], (state, inline, app.speed.size, start_ns))
    need = report_end(state, inline, job, status)
    if need == 0:
        keep_rows(inline, job)
    return int(need)


@compiled()
def drive(state: BatchState, inline: InlineState, max_ends: int) -> int:
    """Run both levels until the end, a pause, a fault, or a need for more room; returns a status."""
    pause_at, keeps = state.n_ended + max_ends, inline.saved.flags.size > 0
    while True:
        while state.n_answered < state.n_started:
            inline.job = job = state.started[state.n_answered]
            if job >= inline.outcomes.n_rows.size:
                return InlineStatus.ROWS_SHORT
            if keeps:
                need = call_hook(inline.hooks[i.START], (state, inline, job, 0))
            else:
                need = _run_application(state, inline, job)
            if need != 0:
                return int(need)
        if state.n_interrupted > 0:  # includes jobs that have just started
            need = call_hook(inline.hooks[i.INTERRUPT], (state, inline, 0, 0))
            if need != 0:
                return int(need)
        status = i.advance(inline.engines[i.ADVANCE], (state, max_ends))
        if status == BatchStatus.DUE and keeps:
            need = call_hook(inline.hooks[i.COME_DUE], (state, inline, state.due_job, 0))
            if need != 0:
                return int(need)
        elif status != BatchStatus.STARTED and status != BatchStatus.INTERRUPTED:
            return int(status)
        elif state.n_ended >= pause_at:
            return _PAUSED  # started jobs are answered in the next call


@compiled()
def reorder(source: Shorts, target: Shorts, source_first: Ints, target_first: Ints) -> None:
    """Copy the rows of each started job from ``source_first`` to ``target_first``."""
    for job in range(source_first.size):
        if source_first[job] < 0:
            continue
        size = target_first[job + 1] - target_first[job]
        copy_first(target[target_first[job] :], source[source_first[job] :], size)
