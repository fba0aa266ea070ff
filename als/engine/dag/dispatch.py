"""Which waiting tasks of a graph a core gets when it asks: rounds, each of them a loop to the technique that hands it out."""

from __future__ import annotations

import math

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.ready_pool import begin_task, fetch, idle, wake
from als.engine.hooks import RANK, call_hook
from als.engine.releases import release
from als.engine.rule_table import FLAGS, FULL, LEARNS, MOMENTS, PARAMS_FIRST, PARAMS_STOP, PLACES, RANDOM
from als.engine.state import ApplicationState
from als.engine.status import ANSWER_OUT_OF_RANGE, OVERFLOW, PLACE_TAKEN
from als.engine.staying import stays
from als.streams import CHUNKS as CHUNK_STREAM
from als.streams import fill_words, uniform_from_word
from als.techniques import NEXT_CHUNK, NEXT_CHUNK_FULL
from als.techniques import contract as f
from traces.algorithms.event_heap import heap_push
from traces.algorithms.key_heap import key_pop
from traces.base.time import MAX_NS
from traces.compiled import caller, compiled

__all__ = ["dismiss", "end_round", "serve_request", "take_told"]

_call_plain = caller(NEXT_CHUNK)
_call_full = caller(NEXT_CHUNK_FULL)


@compiled(merged=True)
def _report(state: ApplicationState, c: int, idle_ns: int) -> None:
    """Write down the facts of the core's last chunk, for a rule that has not heard of it."""
    own, facts = state.cores, state.facts
    facts[f.LAST_SIZE] = 0.0
    size = own[s.HELD_SIZE, c]
    if size == 0:
        return
    own[s.HELD_SIZE, c] = 0
    work = own[s.WORK_NS, c]  # without the time in which a task's data were missing
    facts[f.LAST_SIZE] = float(size)
    facts[f.LAST_WORK_NS] = float(work)
    facts[f.LAST_TOTAL_NS] = float(idle_ns - own[s.ASKED_NS, c])
    beyond = float(work) - float(size) * float(own[s.SHIFT_NS, c])
    facts[f.LAST_SQUARES] = max(0.0, state.amounts[s.SQUARES, c] - beyond * beyond / size)


@compiled(merged=True)
def _ask(state: ApplicationState, c: int, t: int, left: int) -> int:
    """What the rule answers to core ``c`` at ``t``, with so many tasks left in its loop."""
    counters, facts, rules = state.counters, state.facts, state.table.rules
    rule = counters[s.RULE]
    flags, call = rules[rule, FLAGS], state.table.calls[rule]
    memo = state.memo[counters[s.MEMO_LO] : counters[s.MEMO_HI]]
    requests, n_tasks, width = counters[s.REQUESTS], counters[s.TASKS], counters[s.WIDTH]
    n_cores = state.speed.size if width == 0 else width
    place = c if width == 0 else state.cores[s.RANK, c]
    if flags & FULL == 0:
        return int(_call_plain(call, (n_tasks, n_cores, place, requests, left, memo)))
    facts[f.NOW_NS] = float(t)
    if flags & RANDOM != 0:
        fill_words(state.words, state.keys, counters[s.CHUNKS], CHUNK_STREAM)
        facts[f.UNIFORM] = uniform_from_word(state.words[0])
    params = state.table.params[rules[rule, PARAMS_FIRST] : rules[rule, PARAMS_STOP]]
    speed = state.speed if width == 0 else state.amounts[s.RANKED][:width]
    return int(_call_full(call, (n_tasks, n_cores, place, requests, left, facts, speed, params, memo)))


@compiled(merged=True)
def _waiting_task(state: ApplicationState, k: int) -> int:
    """The number in the job of the task at place k of the heap."""
    graph = state.graph
    first = graph.numbers[g.TASK_0]
    return int(first + graph.tasks[g.IN_POSITION, first + graph.waiting[k]])


@compiled(inner=True)
def _tell(state: ApplicationState, n_tasks: int, moments: bool) -> None:
    """Write down the facts of a round of the first ``n_tasks`` that wait; with ``moments`` their mean and deviation, too."""
    counters, speed, facts = state.counters, state.speed, state.facts
    present, total, messages = 0, 0.0, 0.0
    resized = counters[s.WIDTH] > 0
    for c in range(speed.size):
        if speed[c] > 0.0 and (not resized or stays(state, c)):
            present += 1
            total += speed[c]
            messages += 2.0 * float(state.latency_ns[c])
    facts[f.OVERHEAD_S] = (float(counters[s.OVERHEAD]) + messages / present) / 1e9
    # As of a loop, and each further round is a step more.
    step = counters[s.PART] // state.phases.shape[0] + state.graph.numbers[g.REPEATS]
    facts[f.STEP] = float(step)
    if not moments:
        return
    base = state.lengths[_waiting_task(state, 0)]
    beyond = 0.0
    for k in range(n_tasks):
        beyond += state.lengths[_waiting_task(state, k)] - base
    mean = base + beyond / n_tasks
    squares = 0.0
    for k in range(n_tasks):
        deviation = state.lengths[_waiting_task(state, k)] - mean
        squares += deviation * deviation
    a_core = total / present
    facts[f.MEAN_S] = mean / a_core
    facts[f.SIGMA_S] = math.sqrt(squares / n_tasks) / a_core


@compiled(inner=True)
def _begin_round(state: ApplicationState) -> None:
    """Begin a round: what waits now is a loop."""
    counters, graph = state.counters, state.graph
    numbers, cores, pools = graph.numbers, graph.cores, graph.pools
    flags = state.table.rules[counters[s.RULE], FLAGS]
    n_tasks = numbers[g.WAITING]
    if counters[s.WIDTH] > 0:
        call_hook(state.hooks[RANK], (state, 0, 0.0))  # some may be gone since the latest change
    if numbers[g.ROUND] >= 0:
        numbers[g.REPEATS] += 1
    numbers[g.ROUND] += 1
    numbers[g.ROUND_LEFT] = counters[s.TASKS] = n_tasks
    counters[s.REQUESTS] = 0
    numbers[g.PLACE_0] = 0
    if flags & LEARNS == 0:
        state.memo[counters[s.MEMO_LO] : counters[s.MEMO_HI]] = 0.0
    _tell(state, n_tasks, flags & MOMENTS != 0)
    if flags & PLACES != 0:
        for place in range(n_tasks):
            graph.listed[place] = graph.tasks[g.IN_POSITION, numbers[g.TASK_0] + graph.waiting[0]]
            pools[g.WAITING_SIZE, 0] = key_pop(graph.waiting, 0, pools[g.WAITING_SIZE, 0])
        numbers[g.WAITING] = 0
    numbers[g.ROUND_OPEN] = g.CLOSED
    for c in range(state.speed.size):
        does = cores[g.DOES, c]
        if does == g.COMPUTES or does == g.HEARS or does == g.LACKS:
            numbers[g.ROUND_OPEN] = g.OPEN


@compiled(inner=True)
def end_round(state: ApplicationState, t: int) -> None:
    """End a round whose tasks have all been handed out: those who were to wait for the next round wait for tasks."""
    graph = state.graph
    numbers, cores = graph.numbers, graph.cores
    if numbers[g.TURNED_AWAY] == 0:
        return
    numbers[g.TURNED_AWAY] = 0
    for c in range(state.speed.size):
        if cores[g.DOES, c] == g.AWAY:
            cores[g.DOES, c] = g.IDLES
            idle(state, c, 0)
    for _ in range(numbers[g.WAITING]):
        if not wake(state, 0, t):
            return


@compiled(inner=True)
def dismiss(state: ApplicationState, t: int) -> None:
    """The last task was handed out at ``t``: those who wait hear that there is nothing more."""
    graph = state.graph
    for c in range(state.speed.size):
        if graph.cores[g.DOES, c] == g.IDLES:
            _send_home(state, c, t)
        elif graph.cores[g.DOES, c] == g.AWAY:
            graph.cores[g.DOES, c] = g.DONE  # it has heard 0, and will hear nothing more
            release(state, c, t)
    graph.numbers[g.TURNED_AWAY] = 0


@compiled(inner=True)
def _send_home(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` hears that nothing is left; the answer to its request of ``t`` takes a message."""
    state.graph.cores[g.DOES, c] = g.DONE
    state.counters[s.BARRIER] = max(state.counters[s.BARRIER], t + state.latency_ns[c])
    release(state, c, t + state.latency_ns[c])


@compiled(merged=True)
def _take(state: ApplicationState, c: int, size: int, placed: bool) -> None:
    """Give core ``c`` a chunk of so many tasks: those first in order, or, ``placed``, those at places from ``FIRST`` on."""
    graph, counters = state.graph, state.counters
    numbers, tasks, pools = graph.numbers, graph.tasks, graph.pools
    flags = state.table.rules[counters[s.RULE], FLAGS]
    first, before = numbers[g.TASK_0], -1
    place = int(state.facts[f.FIRST]) if placed else numbers[g.PLACE_0]
    for _ in range(size):
        if flags & PLACES != 0:
            while graph.listed[place] < 0:
                place += 1
            k = graph.listed[place]
            graph.listed[place] = -1
            if not placed:
                numbers[g.PLACE_0] = place + 1
        else:
            k = tasks[g.IN_POSITION, first + graph.waiting[0]]
            pools[g.WAITING_SIZE, 0] = key_pop(graph.waiting, 0, pools[g.WAITING_SIZE, 0])
            numbers[g.WAITING] -= 1
        tasks[g.AT, first + k] = c
        tasks[g.CHUNK, first + k] = counters[s.CHUNKS]
        tasks[g.NEXT, first + k] = -1
        tasks[g.MISSING, first + k] = 0
        state.taken[first + k] = 1
        if before < 0:
            graph.cores[g.TASK, c] = k
            graph.cores[g.HEAD, c] = k
        else:
            tasks[g.NEXT, first + before] = k
        before = k
    state.cores[s.HELD_SIZE, c] = size
    counters[s.CHUNKS] += 1
    counters[s.LEFT] -= size


@compiled(inner=True)
def _run_of_places(state: ApplicationState, most: int) -> int:
    """How many tasks that nobody has follow one another, from the first such place on."""
    graph = state.graph
    place = graph.numbers[g.PLACE_0]
    while graph.listed[place] < 0:
        place += 1
    graph.numbers[g.PLACE_0] = place
    size = 1
    while size < most and place + size < state.counters[s.TASKS] and graph.listed[place + size] >= 0:
        size += 1
    return int(size)


@compiled(inner=True)
def _needs_data(state: ApplicationState, c: int) -> bool:
    """Whether anything that the chunk needs was computed by another core."""
    graph = state.graph
    first, edge_0 = graph.numbers[g.TASK_0], graph.numbers[g.EDGE_0]
    k = graph.cores[g.TASK, c]
    while k >= 0:
        for at in range(graph.in_first[k], graph.in_first[k + 1]):
            edge = edge_0 + graph.in_edge[at]
            if graph.bytes[edge] > 0.0 and graph.tasks[g.AT, first + graph.source[edge]] != c:
                return True
        k = graph.tasks[g.NEXT, first + k]
    return False


@compiled(inner=True)
def take_told(state: ApplicationState, c: int, t: int) -> None:
    """The answer has reached core ``c`` at ``t``: the data of its chunk are fetched, and it begins as soon as it can."""
    graph = state.graph
    cores, tasks, first = graph.cores, graph.tasks, graph.numbers[g.TASK_0]
    cores[g.FREE_NS, c] = t
    cores[g.DOES, c] = g.LACKS
    head = k = cores[g.TASK, c]
    single = graph.numbers[g.MODE] == g.PLANNED  # an orphan: what follows it is not of its chunk
    while k >= 0:
        tasks[g.SINCE_NS, first + k] = t
        # One more than it needs, so that it does not begin before all of its transfers have.
        tasks[g.MISSING, first + k] = graph.in_first[k + 1] - graph.in_first[k] + 1
        for at in range(graph.in_first[k], graph.in_first[k + 1]):
            fetch(state, graph.in_edge[at], t)
        tasks[g.MISSING, first + k] -= 1
        k = -1 if single else tasks[g.NEXT, first + k]
    if tasks[g.MISSING, first + head] == 0:
        begin_task(state, c, head, t)


@compiled(merged=True)
def serve_request(state: ApplicationState, c: int, t: int) -> None:
    """Serve the request of core ``c`` that has arrived, or waited until now, ``t``."""
    counters, graph, own = state.counters, state.graph, state.cores
    numbers = graph.numbers
    latency = state.latency_ns[c]
    flags = state.table.rules[counters[s.RULE], FLAGS]
    _report(state, c, state.finish_ns[c])
    if numbers[g.ROUND_LEFT] == 0:
        if flags & LEARNS != 0 and state.facts[f.LAST_SIZE] > 0.0 and numbers[g.ROUND] >= 0:
            _ask(state, c, t, 0)
            state.facts[f.LAST_SIZE] = 0.0
        if numbers[g.WAITING] == 0:
            if counters[s.LEFT] == 0:
                _send_home(state, c, t)
            else:
                graph.cores[g.DOES, c] = g.IDLES
                idle(state, c, 0)
            return
        _begin_round(state)
    left = numbers[g.ROUND_LEFT]
    share = (left + counters[s.PRESENT] - 1) // counters[s.PRESENT]
    chooses = flags & PLACES != 0
    if chooses and numbers[g.ROUND_OPEN] == g.LEFT_OVER:
        size, chooses = _run_of_places(state, share), False  # its own lists do not know of these any more
    else:
        size = _ask(state, c, t, left)
    if size < 0 or size > left:
        counters[s.ANSWER] = size
        numbers[g.FAULT] = ANSWER_OUT_OF_RANGE
        return
    placed = chooses and size > 0
    if size == 0:
        if numbers[g.ROUND_OPEN] == g.CLOSED or chooses:
            graph.cores[g.DOES, c] = g.AWAY
            numbers[g.TURNED_AWAY] += 1
            counters[s.AWAY_NS] = max(counters[s.AWAY_NS], t)
            counters[s.BARRIER] = max(counters[s.BARRIER], t + latency)
            wake(state, 0, t)
            return
        size = share
    if placed:
        place = int(state.facts[f.FIRST])
        good = place >= 0 and place + size <= counters[s.TASKS]
        if good:
            for k in range(place, place + size):
                good = good and graph.listed[k] >= 0
        if not good:
            counters[s.ANSWER] = place
            numbers[g.FAULT] = PLACE_TAKEN
            return
    begin = max(t, counters[s.MASTER_FREE]) if counters[s.MASTER] != 0 else t
    if begin >= MAX_NS - counters[s.OVERHEAD]:
        numbers[g.FAULT] = OVERFLOW
        return
    begin += counters[s.OVERHEAD]
    if counters[s.MASTER] != 0:
        counters[s.MASTER_FREE] = begin
    begin += latency
    counters[s.SCHEDULING] += begin - (t - latency)
    own[s.ASKED_NS, c] = t - latency
    _take(state, c, size, placed)
    numbers[g.ROUND_LEFT] -= size
    counters[s.REQUESTS] += 1
    if counters[s.LEFT] == 0:
        dismiss(state, t)
    elif numbers[g.ROUND_LEFT] == 0:
        end_round(state, t)
    if numbers[g.DATA] == 0 or not _needs_data(state, c):
        graph.cores[g.FREE_NS, c] = begin
        begin_task(state, c, graph.cores[g.TASK, c], begin)
    elif begin == t:
        take_told(state, c, t)
    else:
        graph.cores[g.DOES, c] = g.HEARS
        key = g.TOLD * graph.cores.shape[1] + c
        counters[s.ASKING] = heap_push(state.ask_ns, state.ask_core, counters[s.ASKING], begin, key)
