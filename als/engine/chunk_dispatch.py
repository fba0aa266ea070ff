"""Serve requests: hand out the tasks of one part of an application, chunk by chunk."""

from als.engine import codes
from als.engine import state as s
from als.engine.hooks import BEGIN_ON_DEVICE, RANK, SERVE_LAST, call_hook
from als.engine.releases import leave, release, released
from als.engine.requests import begin_ns, push_event, set_chunk_facts, set_request_facts
from als.engine.rule_table import FULL, LEARNS, PLACES
from als.engine.state import ApplicationState, part_kind
from als.techniques import contract as f
from als.techniques.contract import NEXT_CHUNK, NEXT_CHUNK_FULL
from traces.algorithms.event_heap import heap_drop_top, heap_replace_top
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import Array, caller, compiled

#: Answers of the hook SERVE_LAST about the next request: serve it; leave the remaining tasks to other cores; its core
#: leaves; its core should leave, but is the last one, and stays.
SERVED, YIELDS, LEAVES, STAYS = range(4)

call_plain, call_full = caller(NEXT_CHUNK), caller(NEXT_CHUNK_FULL)


@compiled(inner=True)
def arrival_ns(state: ApplicationState, t: int, c: int) -> int:
    """Arrival of a request that core ``c`` sends at ``t``; a serial part needs no message."""
    return t if part_kind(state) == s.SERIAL else int(t + state.latency_ns[c])


@compiled(inner=True)
def ask(state: ApplicationState, c: int, t: int) -> None:
    """Let core ``c``, which has no chunk, request one at ``t``."""
    state.cores.away[c] = 0
    push_event(state, arrival_ns(state, t, c), c)


@compiled()
def open_part(state: ApplicationState, t: int) -> None:
    """Begin a part: each present core that takes part requests a chunk at ``t``, in a serial part only the first one."""
    serial = part_kind(state) == s.SERIAL
    state.choose_ns = s.NEVER if serial else 0
    some = state.devices.on.size > 0
    if some:
        call_hook(state.hooks[RANK], (state, 0, 0.0))
    for c in range(state.speed.size):
        state.cores.away[c] = 1 if released(state, c) else 0
        if state.speed[c] > 0.0 and state.cores.away[c] == 0:
            if (serial and state.n_asking == 1) or (some and state.cores.rank[c] < 0):
                state.cores.away[c] = 1
                release(state, c, t)
            else:
                ask(state, c, t)


@compiled(inner=True)
def note_end(state: ApplicationState, c: int, idle_ns: int) -> None:
    """Note that core ``c`` has ended its chunk, and is idle from ``idle_ns`` on."""
    work = idle_ns - state.cores.work_ns[c]
    state.cores.busy_ns[c] += work
    state.cores.finish_ns[c] = idle_ns
    state.fruitless = 0
    set_chunk_facts(state, c, work, idle_ns)


@compiled(inner=True)
def reopen(state: ApplicationState, t: int) -> None:
    """Let the cores that were sent away ask again at ``t``: a core is absent, and they take its tasks."""
    for c in range(state.speed.size):
        if state.cores.away[c] == 1 and state.speed[c] > 0.0 and not released(state, c):
            ask(state, c, t)
    state.open = 1


@compiled(inner=True)
def put_back(state: ApplicationState) -> None:
    """Treat all tasks that are left as put back: the rule, which chooses its tasks, hands out no more."""
    first = state.part_first[state.part]
    for k in range(first, state.part_first[state.part + 1]):
        if state.taken[k] == 0:
            state.taken[k] = 2
    state.n_put_back, state.lowest_hole = state.n_left, first


@compiled(merged=True)
def _no_requests(state: ApplicationState, until_ns: int, left: int, places: bool) -> int:
    """Status of a part without requests; SUSPENDED if the cores that were sent away ask again, now or later."""
    state.n_asking = 0
    if left == 0:
        return codes.PART_DONE
    if state.n_present + state.n_released == state.speed.size:
        return codes.TASKS_LEFT
    if state.n_present == 0:
        return codes.ALL_LOST if until_ns == s.NEVER else codes.SUSPENDED
    if state.away_ns < until_ns:
        reopen(state, state.away_ns)
        if places:
            state.n_left = left
            put_back(state)
    return codes.SUSPENDED


@compiled(merged=True)
def _send_away(state: ApplicationState, t: int, c: int, latency: int, left: int, how: int) -> None:
    """Give core ``c``, which asked at ``t``, no tasks: it waits, leaves or is released."""
    state.cores.away[c] = 1
    state.away_ns = max(state.away_ns, t)
    state.barrier_ns = max(state.barrier_ns, t + latency)
    if how == LEAVES:
        leave(state, c, t + latency)
    elif left == 0 or state.n_present + state.n_released == state.speed.size:
        release(state, c, t + latency)  # otherwise it may have to take the tasks of an absent core


@compiled(merged=True)
def _are_free(taken: Array, first: int, stop: int) -> bool:
    free = True
    for k in range(first, stop):
        free = free and taken[k] == 0
    return free


@compiled(merged=True)
def _fill_hole(state: ApplicationState, size: int, task: int, places: bool) -> int:
    """Take at most ``size`` tasks from the first hole, and return their number; ``lowest_hole`` follows them."""
    taken, first = state.taken, state.lowest_hole
    while taken[first] == 1 or (places and taken[first] == 0):
        first += 1
    kind, run = taken[first], 1
    while run < size and first + run < task and taken[first + run] == kind:
        run += 1
    if kind == 2:
        state.n_put_back -= run
    state.n_holes -= run
    state.lowest_hole = first + run
    return run


@compiled(merged=True)
def _end_watched(state: ApplicationState, lengths: Array, c: int, first: int, stop: int, begin: int) -> int:
    """End of these tasks on core ``c``; the rule learns from their times, so their squares are summed."""
    gflops, t, squares = state.speed[c], begin, 0.0
    shift = duration_ns(lengths[first], gflops)
    for k in range(first, stop):
        took = duration_ns(lengths[k], gflops)
        t += took
        beyond = float(took - shift)
        squares += beyond * beyond
        if t >= MAX_NS:
            break
    state.cores.shift_ns[c] = shift
    state.cores.done_squares[c] = 0.0
    state.cores.squares[c] = squares
    return int(t)


@compiled(merged=True)
def _end_ns(lengths: Array, gflops: float, first: int, stop: int, begin: int) -> int:
    t = begin
    for k in range(first, stop):
        t += duration_ns(lengths[k], gflops)
        if t >= MAX_NS:
            break
    return int(t)


@compiled(merged=True)
def _record(state: ApplicationState, lengths: Array, c: int, first: int, stop: int, begin: int, chunks: int) -> int:
    """Record each of these tasks; return the end of the last one."""
    start_ns, end_ns, core, chunk = state.start_ns, state.end_ns, state.core, state.chunk
    number, gflops, t = state.core_number[c], state.speed[c], begin
    for k in range(first, stop):
        start_ns[k] = t
        t += duration_ns(lengths[k], gflops)
        end_ns[k] = t
        core[k] = number
        chunk[k] = chunks
        if t >= MAX_NS:
            break
    return int(t)


@compiled()
def serve(state: ApplicationState, until_ns: int) -> int:
    """Serve every request of the present part that arrives before ``until_ns``; return the reason to stop."""
    cores, facts, speed, lengths, taken = state.cores, state.facts, state.speed, state.lengths, state.taken
    ask_ns, ask_core, latency_ns = cores.ask_ns, cores.ask_core, state.latency_ns
    part, serial, keep = state.part, part_kind(state) == s.SERIAL, state.start_ns.size > 0
    rule, part_stop, overhead, master = state.rule, state.part_first[part + 1], state.overhead_ns, state.master != 0
    flags, call = state.table.flags[rule], state.table.calls[rule]
    params = state.table.params[state.table.params_first[rule] : state.table.params_stop[rule]]
    watched = (flags | state.table.flags[state.phases.rule[part % state.phases.kind.size]]) & LEARNS != 0
    learns, places = flags & LEARNS != 0 and not serial, flags & PLACES != 0 and not serial
    memo, n_tasks, base = state.memo[state.memo_lo : state.memo_hi], state.rule_tasks, state.rule_base
    knows, learns = not places and n_tasks > 0, learns and n_tasks > 0  # knows: of tasks that were put back
    task, left, requests, chunks = state.next_task, state.n_left, state.n_requests, state.n_chunks
    asking, choose_ns, scheduling = state.n_asking, state.choose_ns, state.scheduling_ns
    width, status = state.width, codes.SUSPENDED
    marked = (state.n_hinted > 0 and not serial and not places) or state.n_leaving > 0
    n_cores, asked_speed = (state.speed.size, state.speed) if width == 0 else (width, state.cores.ranked[:width])
    slots = state.devices.slots
    mixed = slots.kind.size > 0 and not serial
    while True:
        if asking == 0:
            status = _no_requests(state, until_ns, left, places)
            asking = state.n_asking
        if asking == 0 or ask_ns[0] >= until_ns:
            break
        t, wanted = ask_ns[0], cores.wanted[ask_core[0]] if marked else 0
        if t >= choose_ns and wanted != s.TO_LEAVE:  # a core that leaves concerns no technique
            status = codes.CHOOSE
            break
        how = SERVED if wanted == 0 else call_hook(state.hooks[SERVE_LAST], (state, asking, float(left)))
        if how == STAYS:
            status = codes.CHOOSE
            break
        if how == YIELDS:
            state.open = 1
        c = ask_core[0]  # the hook may have changed the first
        latency = 0 if serial else latency_ns[c]
        facts[f.LAST_SIZE] = 0.0
        if cores.held_size[c] > 0:
            note_end(state, c, t - latency)
            if mixed and slots.kind[c] != 0:
                facts[f.LAST_WORK_NS] = float(t - latency - slots.began_ns[c])
        size, first, chosen = left if serial and how == SERVED else 0, task, False
        if how == SERVED and not serial and not knows and state.n_put_back > 0:
            size = (left + state.n_present - 1) // state.n_present  # the technique does not know of these tasks
        elif how == SERVED and not serial and (left > 0 or learns):
            place = c if width == 0 else cores.rank[c]
            if flags & FULL != 0:
                set_request_facts(state, flags, t, chunks)
                size = call_full(call, (n_tasks, n_cores, place, requests, left, facts, asked_speed, params, memo))
            else:
                size = call_plain(call, (n_tasks, n_cores, place, requests, left, memo))
            size = 0 if left == 0 else size
            if size < 0 or size > left:
                state.answer = size
                status = codes.ANSWER_OUT_OF_RANGE
                break
            chosen = places and size > 0
            if size == 0 and left > 0 and state.open != 0 and not places:
                size = (left + state.n_present - 1) // state.n_present
        if size == 0:
            _send_away(state, t, c, latency, left, how)
            asking = heap_drop_top(ask_ns, ask_core, asking)
            continue
        if chosen:
            first = base + int(facts[f.FIRST])
            if not (base <= first and first + size <= part_stop and _are_free(taken, first, first + size)):
                state.answer = first - base
                status = codes.PLACE_TAKEN
                break
            state.n_holes -= size
        elif state.n_holes > 0:
            size = _fill_hole(state, size, task, places)
            first = state.lowest_hole - size
        else:
            task += size
        begin, stop = t if serial else begin_ns(state, t, latency, overhead, master), first + size
        if begin == MAX_NS:
            status = codes.OVERFLOW
            break
        if width != 0:
            begin += cores.owes_ns[c]
            cores.owes_ns[c] = 0
        scheduling += begin - (t - latency)
        cores.asked_ns[c] = t - latency
        cores.held_size[c], cores.held_first[c], cores.held_stop[c] = size, first, stop
        cores.work_ns[c] = cores.held_from_ns[c] = begin
        cores.held_work[c] = lengths[first]
        if mixed and slots.kind[c] != 0:
            state.n_chunks = chunks
            t = call_hook(state.hooks[BEGIN_ON_DEVICE], (state, begin, float(c)))
        else:
            if watched:
                t = _end_watched(state, lengths, c, first, stop, begin)
            elif not keep:
                t = _end_ns(lengths, speed[c], first, stop, begin)
            if keep:
                t = _record(state, lengths, c, first, stop, begin, chunks)
        if t >= MAX_NS - latency:
            status = codes.OVERFLOW
            break
        for k in range(first, stop):
            taken[k] = 1
        left, chunks, requests = left - size, chunks + 1, requests + 1
        heap_replace_top(ask_ns, ask_core, asking, t + latency, c)
    state.next_task, state.n_left, state.n_requests = task, left, requests
    state.n_chunks, state.n_asking, state.scheduling_ns = chunks, asking, scheduling
    return status
