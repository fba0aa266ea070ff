"""Serving requests: the part of the application engine that hands out the tasks of one part, chunk by chunk."""

from __future__ import annotations

from als.engine import state as s
from als.engine.hooks import SERVE_LAST, call_hook
from als.engine.releases import leave, release, released
from als.engine.rule_table import FLAGS, FULL, LEARNS, PARAMS_FIRST, PARAMS_STOP, PLACES, RANDOM
from als.engine.state import ApplicationState
from als.engine.status import (
    ALL_LOST,
    ANSWER_OUT_OF_RANGE,
    CHOOSE,
    OVERFLOW,
    PART_DONE,
    PLACE_TAKEN,
    SUSPENDED,
    TASKS_LEFT,
)
from als.streams import CHUNKS as CHUNK_STREAM
from als.streams import fill_words, uniform_from_word
from als.techniques import NEXT_CHUNK, NEXT_CHUNK_FULL
from als.techniques import contract as f
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_replace_top
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import Array, caller, compiled

__all__ = ["LEAVES", "SERVED", "STAYS", "YIELDS", "arrival_ns", "is_serial", "note_end", "open_part", "reopen", "serve"]

#: What the hook SERVE_LAST says of the request that is served next: it is served; what is left is left to others; its core
#: leaves; its core was to leave, but is the last, and stays.
SERVED, YIELDS, LEAVES, STAYS = range(4)

_call_plain = caller(NEXT_CHUNK)
_call_full = caller(NEXT_CHUNK_FULL)


@compiled(inner=True)
def is_serial(state: ApplicationState) -> bool:
    """Whether the present part is a serial one."""
    return bool(state.phases[state.counters[s.PART] % state.phases.shape[0], s.KIND] == s.SERIAL)


@compiled(inner=True)
def arrival_ns(state: ApplicationState, t: int, c: int) -> int:
    """When a request that core ``c`` sends at ``t`` arrives; a serial part is nobody's to hand out."""
    return t if is_serial(state) else int(t + state.latency_ns[c])


@compiled()
def open_part(state: ApplicationState, t: int) -> None:
    """Let the part that is due begin at ``t``: the cores that are there are about to ask."""
    counters, cores = state.counters, state.cores
    part = counters[s.PART]
    serial = is_serial(state)
    first = state.part_first[part]
    counters[s.NEXT] = counters[s.LOWEST] = counters[s.BASE] = first
    counters[s.LEFT] = counters[s.TASKS] = state.part_first[part + 1] - first
    counters[s.HOLES] = counters[s.PUT_BACK] = counters[s.OPEN] = counters[s.REQUESTS] = 0
    counters[s.AWAY_NS] = counters[s.BARRIER] = t
    counters[s.CHOOSE_NS] = s.NEVER if serial else 0
    asking = 0
    for c in range(state.speed.size):
        cores[s.AWAY, c] = 1 if released(state, c) else 0
        if state.speed[c] > 0.0 and cores[s.AWAY, c] == 0:
            if serial and asking == 1:
                cores[s.AWAY, c] = 1
                release(state, c, t)
            else:
                asking = heap_push(state.ask_ns, state.ask_core, asking, arrival_ns(state, t, c), c)
    counters[s.ASKING] = asking


@compiled(inner=True)
def note_end(state: ApplicationState, c: int, idle_ns: int, told: Array) -> None:
    """Core ``c`` has ended its chunk, and been idle from ``idle_ns``; ``told`` are the facts to write it down in."""
    cores = state.cores
    size = cores[s.HELD_SIZE, c]
    work = idle_ns - cores[s.WORK_NS, c]
    state.busy_ns[c] += work
    state.finish_ns[c] = idle_ns
    cores[s.HELD_SIZE, c] = 0
    told[f.LAST_SIZE] = float(size)
    told[f.LAST_WORK_NS] = float(work)
    told[f.LAST_TOTAL_NS] = float(idle_ns - cores[s.ASKED_NS, c])
    state.counters[s.FRUITLESS] = 0
    beyond = float(work) - float(size) * float(cores[s.SHIFT_NS, c])
    told[f.LAST_SQUARES] = max(0.0, state.amounts[s.SQUARES, c] - beyond * beyond / size)


@compiled(inner=True)
def reopen(state: ApplicationState, t: int) -> int:
    """Those who were sent away ask again at ``t``: a core is absent, and what it has left or not taken is theirs."""
    asking = state.counters[s.ASKING]
    for c in range(state.speed.size):
        if state.cores[s.AWAY, c] == 1 and state.speed[c] > 0.0 and not released(state, c):
            state.cores[s.AWAY, c] = 0
            asking = heap_push(state.ask_ns, state.ask_core, asking, arrival_ns(state, t, c), c)
    state.counters[s.OPEN] = 1
    state.counters[s.ASKING] = asking
    return int(asking)


@compiled()
def serve(state: ApplicationState, until_ns: int) -> int:
    """Serve every request of the present part that arrives before ``until_ns``; returns why it stopped."""
    counters, cores, amounts = state.counters, state.cores, state.amounts
    ask_ns, ask_core, latency_ns = state.ask_ns, state.ask_core, state.latency_ns
    lengths, speed, facts, taken = state.lengths, state.speed, state.facts, state.taken
    start_ns, end_ns, core, chunk = state.start_ns, state.end_ns, state.core, state.chunk
    keep = start_ns.size > 0
    overhead, master = counters[s.OVERHEAD], counters[s.MASTER] != 0
    part = counters[s.PART]
    serial = is_serial(state)
    part_stop = state.part_first[part + 1]
    rule = counters[s.RULE]
    flags = state.table.rules[rule, FLAGS]
    watched = (flags | state.table.rules[state.phases[part % state.phases.shape[0], s.PHASE_RULE], FLAGS]) & LEARNS != 0
    full, learns, places = flags & FULL != 0, flags & LEARNS != 0 and not serial, flags & PLACES != 0 and not serial
    params = state.table.params[state.table.rules[rule, PARAMS_FIRST] : state.table.rules[rule, PARAMS_STOP]]
    call = state.table.calls[rule]
    memo = state.memo[counters[s.MEMO_LO] : counters[s.MEMO_HI]]
    n_tasks, base = counters[s.TASKS], counters[s.BASE]
    knows, learns = not places and n_tasks > 0, learns and n_tasks > 0  # of tasks that were put back
    task, left, requests, chunks = counters[s.NEXT], counters[s.LEFT], counters[s.REQUESTS], counters[s.CHUNKS]
    asking, scheduling, choose_ns = counters[s.ASKING], counters[s.SCHEDULING], counters[s.CHOOSE_NS]
    marked = (counters[s.HINTED] > 0 and not serial and not places) or counters[s.LEAVING] > 0
    width = counters[s.WIDTH]
    n_cores = speed.size if width == 0 else width
    asked_speed = speed if width == 0 else amounts[s.RANKED][:width]
    status = SUSPENDED
    while True:
        if asking == 0:
            if left == 0:
                status = PART_DONE
            elif counters[s.PRESENT] + counters[s.RELEASED] == speed.size:
                status = TASKS_LEFT
            elif counters[s.PRESENT] > 0:
                if counters[s.AWAY_NS] >= until_ns:
                    break
                counters[s.ASKING] = 0
                asking = reopen(state, counters[s.AWAY_NS])
                if places:
                    # It has nothing more for anybody: all that is left is as if put back.
                    for k in range(state.part_first[part], part_stop):
                        if taken[k] == 0:
                            taken[k] = 2
                    counters[s.PUT_BACK], counters[s.LOWEST] = left, state.part_first[part]
                continue
            elif until_ns == s.NEVER:
                status = ALL_LOST
            break
        t = ask_ns[0]
        if t >= until_ns:
            break
        if t >= choose_ns and not (
            marked and cores[s.WANTED, ask_core[0]] == s.TO_LEAVE
        ):  # of whom no technique need hear
            status = CHOOSE
            break
        how = SERVED
        if marked and cores[s.WANTED, ask_core[0]] != 0:
            how = call_hook(state.hooks[SERVE_LAST], (state, asking, float(left)))
            if how == YIELDS:
                counters[s.OPEN] = 1
            elif how == STAYS:
                status = CHOOSE
                break
        c = ask_core[0]
        latency = 0 if serial else latency_ns[c]
        facts[f.LAST_SIZE] = 0.0
        if cores[s.HELD_SIZE, c] > 0:
            note_end(state, c, t - latency, facts)
        size, first, chosen = 0, task, False
        if serial and how == SERVED:
            size = left
        elif how != SERVED:
            size = 0
        elif not knows and counters[s.PUT_BACK] > 0:
            size = (left + counters[s.PRESENT] - 1) // counters[s.PRESENT]  # its own lists do not know of these
        elif left > 0 or learns:
            place = c if width == 0 else cores[s.RANK, c]
            if full:
                facts[f.NOW_NS] = float(t)
                if flags & RANDOM != 0:
                    fill_words(state.words, state.keys, chunks, CHUNK_STREAM)
                    facts[f.UNIFORM] = uniform_from_word(state.words[0])
                size = _call_full(call, (n_tasks, n_cores, place, requests, left, facts, asked_speed, params, memo))
            else:
                size = _call_plain(call, (n_tasks, n_cores, place, requests, left, memo))
            if left == 0:
                size = 0
            if size < 0 or size > left:
                counters[s.ANSWER] = size
                status = ANSWER_OUT_OF_RANGE
                break
            chosen = places and size > 0
            if size == 0 and left > 0 and counters[s.OPEN] != 0 and not places:
                size = (left + counters[s.PRESENT] - 1) // counters[s.PRESENT]
        if size == 0:
            cores[s.AWAY, c] = 1
            counters[s.AWAY_NS] = max(counters[s.AWAY_NS], t)
            counters[s.BARRIER] = max(counters[s.BARRIER], t + latency)
            if how == LEAVES:
                leave(state, c, t + latency)
            elif left == 0 or counters[s.PRESENT] + counters[s.RELEASED] == speed.size:
                release(state, c, t + latency)  # else it may be asked to do what was to be an absent core's
            asking = heap_drop_top(ask_ns, ask_core, asking)
            continue
        if chosen:
            first = base + int(facts[f.FIRST])
            good = base <= first and first + size <= part_stop
            if good:
                for k in range(first, first + size):
                    good = good and taken[k] == 0
            if not good:
                counters[s.ANSWER] = first - base
                status = PLACE_TAKEN
                break
            counters[s.HOLES] -= size
        elif counters[s.HOLES] > 0:
            first = counters[s.LOWEST]
            while taken[first] == 1 or (places and taken[first] == 0):
                first += 1
            kind = taken[first]
            run = 1
            while run < size and first + run < task and taken[first + run] == kind:
                run += 1
            size = run
            if kind == 2:
                counters[s.PUT_BACK] -= size
            counters[s.HOLES] -= size
            counters[s.LOWEST] = first + size
        else:
            task += size
        begin = t
        if not serial:
            if master:
                begin = max(t, counters[s.MASTER_FREE])
            if begin >= MAX_NS - overhead:
                status = OVERFLOW
                break
            begin += overhead
            if master:
                counters[s.MASTER_FREE] = begin
            begin += latency
        if width != 0:
            begin += cores[s.OWES_NS, c]
            cores[s.OWES_NS, c] = 0
        scheduling += begin - (t - latency)
        stop = first + size
        gflops = speed[c]
        cores[s.HELD_SIZE, c] = size
        cores[s.HELD_FIRST, c] = first
        cores[s.HELD_STOP, c] = stop
        cores[s.ASKED_NS, c] = t - latency
        cores[s.WORK_NS, c] = cores[s.HELD_FROM_NS, c] = begin
        amounts[s.HELD_WORK, c] = lengths[first]
        t = begin
        if watched:
            shift = duration_ns(lengths[first], gflops)
            squares = 0.0
            for k in range(first, stop):
                took = duration_ns(lengths[k], gflops)
                t += took
                beyond = float(took - shift)
                squares += beyond * beyond
                if t >= MAX_NS:
                    break
            cores[s.SHIFT_NS, c] = shift
            amounts[s.DONE_SQUARES, c] = 0.0
            amounts[s.SQUARES, c] = squares
        elif not keep:
            for k in range(first, stop):
                t += duration_ns(lengths[k], gflops)
                if t >= MAX_NS:
                    break
        if keep:
            number = state.core_number[c]
            t = begin
            for k in range(first, stop):
                start_ns[k] = t
                t += duration_ns(lengths[k], gflops)
                end_ns[k] = t
                core[k] = number
                chunk[k] = chunks
                if t >= MAX_NS:
                    break
        if t >= MAX_NS - latency:
            status = OVERFLOW
            break
        for k in range(first, stop):
            taken[k] = 1
        left -= size
        chunks += 1
        requests += 1
        heap_replace_top(ask_ns, ask_core, asking, t + latency, c)
    counters[s.NEXT], counters[s.LEFT], counters[s.REQUESTS] = task, left, requests
    counters[s.CHUNKS], counters[s.ASKING], counters[s.SCHEDULING] = chunks, asking, scheduling
    return status
