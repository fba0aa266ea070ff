"""The power that jobs draw above idle in a domain (the first is the machine), and planned run times."""

import numpy as np

from bls.engine import state as b
from bls.engine.features.gpus.state import requested_parts
from bls.engine.hooks import OTHER_AMOUNTS, call_hook
from bls.engine.job_lifecycle import under_way
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled

MACHINE = 0  #: the domain that is the whole machine


@compiled(inner=True)
def planned_state(state: b.BatchState, job: int) -> int:
    """The planned power state of a job: 0 (full speed) if it may not be slowed."""
    planned = state.power.planned
    return int(planned[state.jobs.origin[job]]) if planned.size > 0 else 0


@compiled(merged=True)
def place_of(state: b.BatchState, job: int, at: int) -> int:
    """The row of the tables for a state of the job's class."""
    kind = state.power.kind
    return int(at + kind[state.jobs.origin[job]] * state.power.states) if kind.size > 0 else at


@compiled(merged=True)
def drawn_mw(state: b.BatchState, job: int, at: int, group: int) -> int:
    """The draw above idle of a core of a group on which the job works in a state, mW."""
    return int(state.power.more_mw[place_of(state, job, at), group])


@compiled(merged=True)
def _planned_mw(state: b.BatchState, draws: Array, job: int, at: int, group: int) -> int:
    """A draw from ``more_mw`` or ``gpu_mw`` as planned: predicted, if there are predictions."""
    predicted = state.power.predicted
    if predicted.size == 0:
        return int(draws[place_of(state, job, at), group])
    # Times a factor in parts per billion, at most 10, rounded half up.
    mw, factor = draws[at, group], predicted[job]
    whole, part, high, low = mw // WHOLE, mw % WHOLE, factor // WHOLE, factor % WHOLE
    return int(whole * factor + part * high + (part * low + WHOLE // 2) // WHOLE)


@compiled(merged=True)
def more_mw(state: b.BatchState, job: int, at: int, group: int) -> int:
    """The same of a core as planned."""
    return _planned_mw(state, state.power.more_mw, job, at, group)


@compiled(inner=True)
def gpu_mw(state: b.BatchState, job: int, group: int, n: int) -> int:
    """The draw above idle of ``n`` requested parts of GPUs of a group in the job's planned state, mW."""
    milli = n * state.gpus.milli[state.jobs.origin[job]]
    return int(milli * _planned_mw(state, state.power.gpu_mw, job, planned_state(state, job), group))


@compiled(inner=True)
def gpus_mw(state: b.BatchState, job: int, domain: int, at: int, planned: bool) -> int:
    """The draw above idle, as planned or true, of the GPUs chosen for a job that are in a domain, in a state, mW."""
    power, domains, others, total = state.power, state.domains, state.others, 0
    count = call_hook(state.roles[OTHER_AMOUNTS], (state, job, 0, 0, 0))
    for part in range(domains.first[domain], domains.first[domain + 1]):
        milli, group = 0, domains.group[part]
        for k in range(count):
            core = power.gpu_core[others.index[k] - state.gpus.amount]
            if domains.lo[part] <= core < domains.hi[part]:
                milli += others.amount[k]
        if milli > 0 and planned:
            total += milli * _planned_mw(state, power.gpu_mw, job, at, group)
        elif milli > 0:
            total += milli * power.gpu_mw[place_of(state, job, at), group]
    return int(total)


@compiled(merged=True)
def speed_in(state: b.BatchState, job: int, at: int, group: int) -> int:
    """The speed of a core of a group for the job in a state, parts per billion."""
    return int(state.power.speed[place_of(state, job, at), group])


@compiled(inner=True)
def cores_mw(state: b.BatchState, job: int, domain: int, lo: Array, hi: Array, count: int) -> int:
    """The draw above idle of ``count`` intervals of cores, and of the GPUs chosen with them, as far as they are in a domain, in
    the job's planned state, mW."""
    domains, at, total = state.domains, planned_state(state, job), 0
    for part in range(domains.first[domain], domains.first[domain + 1]):
        cores = 0
        for i in range(count):
            cores += max(0, min(hi[i], domains.hi[part]) - max(lo[i], domains.lo[part]))
        if cores > 0:
            total += cores * more_mw(state, job, at, domains.group[part])
    if state.power.gpu_mw.size > 0:
        total += gpus_mw(state, job, domain, at, True)
    return int(total)


@compiled(inner=True)
def group_of(state: b.BatchState, core: int) -> int:
    """The group of a core."""
    power, group = state.power, 0
    while power.first_core.size > 2 and core >= power.first_core[group + 1]:
        group += 1
    return group


@compiled(inner=True)
def core_mw(state: b.BatchState, job: int, core: int) -> int:
    """The draw above idle of a core of a job in its planned state, mW."""
    return more_mw(state, job, planned_state(state, job), group_of(state, core))


@compiled(inner=True)
def least_mw(state: b.BatchState, job: int) -> int:
    """A draw above idle that a waiting job has at least, on any cores and GPUs, mW."""
    at = planned_state(state, job)
    least = more_mw(state, job, at, 0)
    for group in range(1, state.power.first_core.size - 1):
        least = min(least, more_mw(state, job, at, group))
    least *= state.jobs.cores[job]
    if state.power.gpu_mw.size > 0:
        least += _least_of_gpus(state, job)
    return int(least)


@compiled(inner=True)
def _least_of_gpus(state: b.BatchState, job: int) -> int:
    """The same of its GPUs."""
    gpus, origin, least = state.gpus, state.jobs.origin[job], b.NEVER
    n = requested_parts(gpus, origin, state.jobs.cores[job] // state.jobs.unit_cores[job], 1)
    for group in range(state.power.first_core.size - 1):
        least = min(least, gpu_mw(state, job, group, n))
    return int(least)


@compiled(inner=True)
def held_in(state: b.BatchState, job: int, part: int) -> int:
    """The number of cores that a job holds in a part of a domain."""
    jobs, begin, stop, total = state.jobs, state.domains.lo[part], state.domains.hi[part], 0
    if begin == 0 and stop == state.host_of.size:
        return int(jobs.held_cores[job])
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        lo, hi = max(state.pool.lo[k], begin), min(state.pool.hi[k], stop)
        if state.settings.releases == b.NO_RELEASES:
            total += max(0, hi - lo)
            continue
        for core in range(lo, hi):
            total += state.releases.holder[core] == job
    return int(total)


@compiled(inner=True)
def fits_within(state: b.BatchState, job: int, domain: int, lo: Array, hi: Array, count: int, room: int) -> bool:
    """Whether a job on intervals of cores fits the power ``room`` of a domain; always if no core is in it."""
    domains = state.domains
    for part in range(domains.first[domain], domains.first[domain + 1]):
        for i in range(count):
            if lo[i] < domains.hi[part] and hi[i] > domains.lo[part]:
                return bool(cores_mw(state, job, domain, lo, hi, count) <= room)
    return True


@compiled(inner=True)
def held_mw(state: b.BatchState, job: int, domain: int) -> int:
    """The draw above idle of the cores and GPUs that a job holds in a domain, in its planned state, mW."""
    domains, at, total = state.domains, planned_state(state, job), 0
    for part in range(domains.first[domain], domains.first[domain + 1]):
        total += held_in(state, job, part) * more_mw(state, job, at, domains.group[part])
    if state.power.gpu_mw.size > 0:
        total += gpus_mw(state, job, domain, at, True)
    return int(total)


@compiled(inner=True)
def sum_within(state: b.BatchState, job: int, domain: int, table: Array, at: int) -> int:
    """Sum the entries of a table (states × groups) in a state over the cores that a job holds in a domain."""
    domains, place, total = state.domains, place_of(state, job, at), 0
    for part in range(domains.first[domain], domains.first[domain + 1]):
        total += held_in(state, job, part) * table[place, domains.group[part]]
    return int(total)


@compiled(inner=True)
def drawn_within(state: b.BatchState, job: int, domain: int, at: int) -> int:
    """The draw above idle of the cores and GPUs that a job holds in a domain, in a state, mW."""
    total = sum_within(state, job, domain, state.power.more_mw, at)
    if state.power.gpu_mw.size > 0:
        total += gpus_mw(state, job, domain, at, False)
    return total


@compiled(inner=True)
def next_limit_ns(state: b.BatchState) -> int:
    """The next change of the known limits."""
    ns = state.power.ns
    return int(ns[state.power.next]) if state.power.next < ns.size else b.NEVER


@compiled(inner=True)
def left_mw(state: b.BatchState, domain: int) -> int:
    """The known limit of a domain minus the draw of its idle cores, mW; ``NEVER`` without a limit."""
    limit = state.domains.limit_mw[domain]
    return int(limit - state.domains.idle_mw[domain] if limit != b.NEVER else limit)


@compiled(inner=True)
def room_mw(state: b.BatchState, domain: int) -> int:
    """The same, minus the planned draw of all running jobs."""
    left = left_mw(state, domain)
    if left == b.NEVER:
        return left
    for k in range(state.running.n + state.n_started):
        left -= held_mw(state, under_way(state, k), domain)
    return left


@compiled()
def power_left(state: b.BatchState) -> int:
    """The power left under the machine's known limit, mW, for callers outside the engine."""
    return room_mw(state, MACHINE) if state.domains.limit_mw.size > 0 else b.NEVER


def planned_more_mw(state: b.BatchState, row: int, *, gpus: bool = False) -> Array:
    """The draw above idle of a core of each group (or, with ``gpus``, of a thousandth of a GPU) in the planned state of a row's
    job, mW: int64 (G,)."""
    power, origin = state.power, state.jobs.origin[row]
    draws = power.gpu_mw if gpus else power.more_mw
    at = int(power.planned[origin]) if len(power.planned) else 0
    if len(power.predicted):
        factor = int(power.predicted[row])
        return np.array([(2 * mw * factor + WHOLE) // (2 * WHOLE) for mw in draws[at].tolist()], np.int64)
    kind = int(power.kind[origin]) if len(power.kind) else 0
    return np.asarray(draws[at + kind * power.states])


@compiled(inner=True)
def scaled(rest_ns: int, before: int, after: int, most: int) -> int:
    """``rest_ns`` times ``before`` / ``after``, rounded up, at most ``most``."""
    whole, part = rest_ns // after, rest_ns % after
    if whole > most // before:
        return most
    return int(min(most, whole * before + (part * before + after - 1) // after))


@compiled(inner=True)
def planned_ns(state: b.BatchState, job: int) -> int:
    """The planned run time of a waiting job: its estimate, longer if its power state or level slows its slowest cores."""
    return planned_with(state, job, state.jobs.estimate_ns[job]) + state.late_ns


@compiled(inner=True)
def planned_with(state: b.BatchState, job: int, estimate: int) -> int:
    """The same with another estimate."""
    powered, domains, level = state.settings.powered, state.domains, 0
    if powered <= b.HOLD:
        return int(estimate)
    planned = planned_state(state, job)
    if powered == b.LEVELS:  # the slowest domain that contains its partition counts
        for domain in range(domains.level.size):
            if domains.covers[state.jobs.partition[job], domain] == 1:
                level = max(level, domains.level[domain])
        planned = min(planned, level)
    if planned == 0:
        return int(estimate)
    speed = WHOLE
    for group in range(state.power.first_core.size - 1):
        speed = min(speed, speed_in(state, job, planned, group))
    return scaled(estimate, WHOLE, speed, max(estimate, MAX_NS))
