"""Chunks of a loop on devices (``als.engine.devices``): launch, transfer in, tasks one after another, transfer out.

The two directions of a link, and a device, serve their chunks in the order of assignment. So all instants of a
chunk are known when it is assigned, and there is one event for each chunk, as on a core.
"""

import math

import numpy as np

from als.engine.devices import CORE
from als.engine.hooks import HOOK
from als.engine.requests import forget
from als.engine.state import ApplicationState
from als.streams import DEVICE_WORK, fill_words, normal_from_word
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Words


@compiled(inner=True)
def factor_of(keys: Array, words: Array, kind: int, task: int, spread: float) -> float:
    """The factor between a task's length and its work on devices of a kind; ``keys`` are those of the job's streams."""
    fill_words(words, keys, task // 4, DEVICE_WORK + (kind << 32))
    return math.exp(spread * normal_from_word(words[task % 4]) - 0.5 * spread * spread)


@compiled()
def multiply_by_factors(gflop: Floats, keys: Words, words: Words, kind: int, spread: float) -> None:
    """Multiply the lengths of all tasks by their factors on devices of a kind."""
    for task in range(gflop.size):
        gflop[task] *= factor_of(keys, words, kind, task, spread)


@compiled(inner=True)
def _work(state: ApplicationState, kind: int, task: int) -> float:
    """The work of a task on a device of this kind, GFLOP."""
    devices = state.devices
    if devices.gflop.size > 0:
        return float(devices.gflop[kind * state.lengths.size + task])
    spread = devices.spread[kind]
    if spread == 0.0:
        return float(state.lengths[task])
    return float(state.lengths[task] * factor_of(state.keys, state.words, kind, task, spread))


@compiled(inner=True)
def _transfer_ns(link_ns: int, task_ns: float, n: int) -> int:
    """The time of a transfer of ``n`` tasks' data; ``MAX_NS`` beyond the end of time."""
    exact = n * task_ns
    return int(link_ns + int(np.rint(exact))) if exact < MAX_NS - link_ns else MAX_NS


@compiled(HOOK)
def begin_on_device(state: ApplicationState, begin: int, slot: float) -> int:
    """Compute the chunk of a slot, which can begin at ``begin``; returns its end, ``MAX_NS`` beyond the end of time."""
    devices, slots, cores, c = state.devices, state.devices.slots, state.cores, int(slot)
    kind, device, first, stop = slots.kind[c], slots.device[c], cores.held_first[c], cores.held_stop[c]
    t, n, keep, link = begin + devices.launch_ns[kind], stop - first, state.start_ns.size > 0, slots.link[device]
    if t >= MAX_NS:
        return MAX_NS
    if slots.in_task_ns[device] > 0.0:
        t = max(t, slots.in_free_ns[link]) + _transfer_ns(slots.in_link_ns[device], slots.in_task_ns[device], n)
        slots.in_free_ns[link] = t
    slots.began_ns[c] = begin
    slots.works_ns[c] = t = max(t, slots.free_ns[device])
    gflops, shift, squares = state.speed[c] * devices.streams[kind], 0, 0.0
    for k in range(first, stop):
        if t >= MAX_NS:
            return MAX_NS
        took = duration_ns(_work(state, kind, k), gflops)
        if k == first:
            shift = took
        squares += float(took - shift) * float(took - shift)
        if keep:
            state.start_ns[k], state.end_ns[k] = t, t + took
            state.core[k], state.chunk[k] = state.core_number[c], state.n_chunks
        t += took
    if t >= MAX_NS:
        return MAX_NS
    slots.worked_ns[c] = slots.free_ns[device] = t
    if slots.out_task_ns[device] > 0.0:
        t = max(t, slots.out_free_ns[link]) + _transfer_ns(slots.out_link_ns[device], slots.out_task_ns[device], n)
        slots.out_free_ns[link] = t
    slots.done_ns[c] = t
    cores.shift_ns[c], cores.done_squares[c], cores.squares[c] = shift, 0.0, squares
    cores.work_ns[c] = t - (slots.worked_ns[c] - slots.works_ns[c])  # so that only work counts as such
    if keep and devices.asked_ns.size > 0:
        devices.asked_ns[first], devices.ended_ns[first] = cores.asked_ns[c], t
    return int(t)


@compiled(HOOK)
def cut_on_devices(state: ApplicationState, _t: int, _slot: float) -> int:
    """Cut the chunks of devices, as the application is stopped now; returns how many have not ended."""
    slots, cores, now, cut = state.devices.slots, state.cores, state.now_ns, 0
    for at in range(state.n_asking):
        c = cores.ask_core[at]
        if slots.kind[c] == CORE or cores.held_size[c] == 0:
            continue
        if slots.done_ns[c] <= now:  # only its message is on the way
            cores.held_first[c], cores.held_from_ns[c] = cores.held_stop[c], slots.done_ns[c]
            continue
        cut += 1
        cores.busy_ns[c] += max(0, min(now, slots.worked_ns[c]) - slots.works_ns[c])
        t, k, stop_at = slots.works_ns[c], cores.held_first[c], cores.held_stop[c]
        gflops = state.speed[c] * state.devices.streams[slots.kind[c]]
        while k < stop_at and t < now:
            t += duration_ns(_work(state, slots.kind[c], k), gflops)
            if state.start_ns.size > 0:
                state.end_ns[k] = min(t, now)
            k += 1
        state.n_ran -= stop_at - k
        forget(state, k, stop_at)
        cores.held_size[c] = 0
    return cut
