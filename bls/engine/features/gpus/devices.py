"""GPUs of jobs: where they fit, which ones a job gets, and the changes of the profile.

The profile counts the thousandths that are left of each GPU as an amount (``Offer.amounts``). A unit of a job, or its part of a
host, takes different GPUs of the host, ``milli`` of each. Placing a unit lowers the number of units for which there is room by
one, whichever GPUs it takes, so the allocator chooses the cores first. Each job then gets the lowest GPUs that can give its
units their parts; they are held until the job has left their host.
"""

from bls.allocators.contract import accepts
from bls.engine import state as b
from bls.engine.features.gpus.state import GpuState, requested_parts
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import ask_allocator, cores_on_host
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def reserve_list(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Reserve entries for the GPUs of a job that arrives; the next pass makes room."""
    gpus = state.gpus
    gpus.first[job] = gpus.n_used
    gpus.n_used += gpus.most[state.jobs.origin[job]]
    return 0


@compiled(HOOK)
def room_for_lists(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Return 0 if there is room for the GPUs of all jobs that have arrived, else a ``BatchStatus``."""
    return BatchStatus.GPUS_FULL if state.gpus.n_used > state.gpus.lists.gpu.size else 0


@compiled(inner=True)
def _times(gpus: GpuState, origin: int, left: int) -> int:
    """How often a GPU with thousandths left can give a job its part: once per host, else once for each unit."""
    times = max(left, 0) // gpus.milli[origin]
    return int(min(times, 1) if gpus.per_host[origin] > 0 else times)


@compiled(HOOK)
def room_on_host(state: b.BatchState, job: int, host: int, units: int, _sign: int) -> int:
    """The units of a job, at most ``stop``, for which the offered GPUs of host ``begin`` suffice; host -1 has none."""
    gpus, origin = state.gpus, state.jobs.origin[job]
    if gpus.most[origin] == 0:
        return units
    if host < 0 or not accepts(gpus.kinds[origin], gpus.kind[host]):
        return 0
    parts = 0
    for gpu in range(gpus.of_host[host], gpus.of_host[host + 1]):
        parts += _times(gpus, origin, state.offered.amounts[gpus.amount + gpu])
    if gpus.per_host[origin] > 0:
        return units if parts >= gpus.per_host[origin] else 0
    return int(min(units, parts // gpus.per_unit[origin]))


@compiled(inner=True)
def _parts_on(state: b.BatchState, job: int, host: int, cores: int, missing: int) -> tuple[int, int]:
    """The units of a job, at most ``missing``, on its cores of a host, and the number of GPUs, or shares, for them."""
    unit = state.jobs.unit_cores[job]
    units = int(min(cores // unit, state.offered.hosts[host] // unit, missing))  # a whole host may have more cores
    return units, requested_parts(state.gpus, state.jobs.origin[job], units, min(units, 1))


@compiled(inner=True)
def _choose(state: b.BatchState, job: int, count: int) -> None:
    """Choose the lowest offered GPUs for a job on the ``count`` intervals at the end of the pool."""
    gpus, jobs, origin = state.gpus, state.jobs, state.jobs.origin[job]
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    k, core, missing, n = 0, lo[0], jobs.cores[job] // jobs.unit_cores[job], gpus.first[job]
    while k < count:
        host = state.host_of[core]
        cores, k, core = cores_on_host(state, lo, hi, count, k, core)
        units, parts = _parts_on(state, job, host, cores, missing)
        missing -= units
        for gpu in range(gpus.of_host[host], gpus.of_host[host + 1]):
            times = min(parts, _times(gpus, origin, state.offered.amounts[gpus.amount + gpu]))
            gpus.lists.gpu[n : n + times] = gpu
            n, parts = n + times, parts - times
    gpus.count[job] = n - gpus.first[job]


@compiled(inner=True)
def _are_right(state: b.BatchState, job: int, count: int) -> bool:
    """Whether the GPUs in a job's list, ascending, are as requested, and offered, on the hosts of these intervals."""
    gpus, jobs, origin = state.gpus, state.jobs, state.jobs.origin[job]
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    k, core, missing, n = 0, lo[0], jobs.cores[job] // jobs.unit_cores[job], gpus.first[job]
    stop = n + gpus.count[job]
    while k < count:
        host = state.host_of[core]
        cores, k, core = cores_on_host(state, lo, hi, count, k, core)
        units, parts = _parts_on(state, job, host, cores, missing)
        missing -= units
        if parts > 0 and not accepts(gpus.kinds[origin], gpus.kind[host]):
            return False
        for gpu in range(gpus.of_host[host], gpus.of_host[host + 1]):
            times = min(parts, _times(gpus, origin, state.offered.amounts[gpus.amount + gpu]))
            while times > 0 and n < stop and gpus.lists.gpu[n] == gpu:
                n, parts, times = n + 1, parts - 1, times - 1
        if parts > 0:
            return False
    return bool(n == stop)


@compiled(HOOK)
def choose_lowest(state: b.BatchState, job: int, _begin: int, count: int, _sign: int) -> int:
    """Choose the lowest offered GPUs for a job on the ``stop`` intervals at the end of the pool."""
    state.gpus.count[job] = 0
    if state.gpus.most[state.jobs.origin[job]] > 0:
        _choose(state, job, count)
    return 0


@compiled(HOOK)
def place_units(state: b.BatchState, job: int, limit: int, _stop: int, _sign: int) -> int:
    """Let an allocator that places unit by unit choose offered cores and GPUs; returns the number of intervals."""
    gpus, origin, more, amounts = state.gpus, state.jobs.origin[job], state.placement.more, state.offered.amounts
    first = gpus.first[job]
    for r in range(state.settings.n_resources):
        more.needs[r] = state.needs[r, job]
    more.gpus, more.gpus_per_host = gpus.per_unit[origin], gpus.per_host[origin]
    more.gpu_milli, more.gpu_kinds = gpus.milli[origin], gpus.kinds[origin]
    more.own_class = gpus.own_class[origin] if gpus.own_class.size > 0 else 0
    more.amounts, more.gpu_left = amounts, amounts[gpus.amount : gpus.amount + gpus.host.size]
    more.gpu_first, more.gpu_kind = gpus.of_host, gpus.kind
    more.out_gpu = gpus.lists.gpu[first : first + gpus.most[origin]]
    more.n_gpus = 0
    count = ask_allocator(state, job, limit, state.offered.words, state.offered.hosts)
    n = more.n_gpus if 0 <= more.n_gpus <= more.out_gpu.size else 0
    gpus.count[job] = n
    for k in range(1, n):  # into ascending order
        gpu, place = more.out_gpu[k], k
        while place > 0 and more.out_gpu[place - 1] > gpu:
            more.out_gpu[place] = more.out_gpu[place - 1]
            place -= 1
        more.out_gpu[place] = gpu
    if count > 0 and gpus.most[origin] > 0 and not _are_right(state, job, count):
        gpus.count[job] = 0
        state.placement.out_hi[0] = state.placement.out_lo[0]  # an impossible answer
    return count


@compiled(inner=True)
def _is_on(state: b.BatchState, job: int, host: int) -> bool:
    """Whether a job has, or will have, cores on the host of one of its GPUs."""
    if state.settings.releases == b.NO_RELEASES or state.jobs.start_ns[job] < 0:
        return True
    cores = 0
    for core in range(state.host_first[host], state.host_first[host + 1]):
        cores += state.releases.holder[core] == job
    return cores > 0


@compiled(HOOK)
def list_changes(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Write the thousandths that a job takes of its GPUs to ``state.others``; returns the number of entries."""
    gpus, others, n, last, there = state.gpus, state.others, 0, -1, False
    milli, first = gpus.milli[state.jobs.origin[job]], gpus.first[job]
    for k in range(first, first + gpus.count[job]):
        gpu = gpus.lists.gpu[k]
        if gpus.host[gpu] != last:
            last = gpus.host[gpu]
            there = _is_on(state, job, last)
        if there and n > 0 and others.index[n - 1] == gpus.amount + gpu:
            others.amount[n - 1] += milli
        elif there:
            others.index[n], others.amount[n] = gpus.amount + gpu, milli
            n += 1
    return n
