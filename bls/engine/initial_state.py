"""The state of the batch engine before the first event, from what is given as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bls.allocators.contract import PlacementRequest
from bls.availability.free_cores import new_free
from bls.engine import state as b
from bls.engine.hooks import HINT_AS_DECIDED, HOOKS, RESIZE, TOGETHER, wanted
from bls.engine.jobs import Jobs
from bls.engine.queue import new_queue
from bls.engine.settings import Settings
from bls.engine.state import BatchState, CoreProfile, DomainState, PowerState, SleepState, StopState
from traces.base.scale import WHOLE
from traces.compiled import Array, own

__all__ = [
    "Given",
    "grow_decisions",
    "grow_pool",
    "grow_profile",
    "grow_host_log",
    "grow_rows",
    "grow_told",
    "grow_wishes",
    "intervals_of",
    "kept_reservations",
    "new_state",
    "no_domains",
    "no_power",
]

_LONGEST_NS = 2**62 - 1


def _none() -> Array:
    return np.zeros(0, np.int64)


@dataclass
class Given:
    """Everything that the engine is told, n jobs in workload order on M cores of H hosts; int64 arrays.

    Attributes
    ----------
    submit_ns, estimate_ns, cores, rank, run_ns : (n,)
        ``run_ns`` is -1 where the application level decides. ``rank`` is the place in the order of a static policy; for
        others in the order of (tier, submit, row).
    host_first : (H + 1,)
        First core of each host, and M.
    number : (n,)
        Job numbers; row numbers by default.
    history_group, history_least, history : int64
        As of ``BatchState``; of no levels where nothing is predicted.
    columns : mapping of str to (n,)
        Further columns of ``Jobs`` by their names.
    masks : (P + W, words) or None
        Cores of partitions and windows; None: one partition of all cores.
    limits : (P, 5)
        Tier, then the four limits of each partition.
    power, domains, stops : PowerState, DomainState, StopState, optional
        Where the power of the machine is limited, and of parts of it, and where hosts are stopped for that.
    sleep_passages : (2, H), optional
        Where hosts that idle fall asleep, how long each takes to shut down, and to boot.
    settings : mapping of str to int
        Fields of ``Settings`` that differ from their defaults.
    """

    submit_ns: Array
    estimate_ns: Array
    cores: Array
    rank: Array
    run_ns: Array
    host_first: Array
    number: Array | None = None
    columns: dict[str, Array] = field(default_factory=dict)
    wanted_first: Array | None = None
    wanted_lo: Array = field(default_factory=_none)
    wanted_hi: Array = field(default_factory=_none)
    child_first: Array = field(default_factory=_none)
    child_row: Array = field(default_factory=_none)
    unmet: Array = field(default_factory=_none)
    n_users: int = 1
    masks: Array | None = None
    limits: Array | None = None
    windows: Array = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    amounts: Array = field(default_factory=_none)
    needs: Array = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    outage_first: Array = field(default_factory=_none)
    outage_down: Array = field(default_factory=_none)
    outage_up: Array = field(default_factory=_none)
    history_group: Array = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    history_least: Array = field(default_factory=_none)
    history: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    corrections_ns: Array = field(default_factory=_none)
    numbers: Array = field(default_factory=lambda: np.zeros((0, 0)))
    memory: Array = field(default_factory=lambda: np.zeros(0))
    switch_lo: Array = field(default_factory=_none)
    switch_hi: Array = field(default_factory=_none)
    switch_level: Array = field(default_factory=_none)
    switch_hosts: Array = field(default_factory=_none)
    parameters: tuple[int, ...] = ()
    power: PowerState | None = None
    domains: DomainState | None = None
    stops: StopState | None = None
    sleep_passages: Array | None = None
    at_most_mw: int = 0
    settings: dict[str, int] = field(default_factory=dict)
    keep_decisions: bool = False


def _jobs(given: Given) -> Jobs:
    n = len(given.submit_ns)
    estimate_ns = np.minimum(given.estimate_ns, _LONGEST_NS)
    columns = {
        "submit_ns": given.submit_ns,
        "begin_ns": given.submit_ns,
        "estimate_ns": estimate_ns,
        "walltime_ns": estimate_ns,
        "cores": given.cores,
        "rank": given.rank,
        "run_ns": given.run_ns,
        "number": np.arange(n) if given.number is None else given.number,
        "origin": np.arange(n),
    }
    return Jobs.new({"rows": n}, **columns | given.columns)


def _heap(of: str, size: int) -> dict[str, Array]:
    return {f"{of}_ns": np.empty(size, np.int64), f"{of}_job": np.empty(size, np.int64)}


def _columns(given: Given, *names: str) -> dict[str, Array]:
    # Those that are as they are given.
    return {name: own(getattr(given, name), np.int64) for name in names}


def _settings(given: Given) -> Settings:
    settings = Settings(**given.settings)
    n_hosts, n_cores = len(given.host_first) - 1, int(given.host_first[-1])
    # A job may be given all the cores.
    settings.widest = n_cores if settings.resizing or settings.molds else int(given.cores.max())
    _set_after_pass(settings, n_cores)
    settings.plans = int(settings.max_reservations > 0)
    learns = given.power is not None and len(given.power.seen) > 0
    settings.predicts = int(len(given.history_least) > 0 or learns)
    settings.n_windows = given.windows.shape[1]
    if given.power is not None:
        first = given.power.first
        if given.domains is not None:
            first = first + (given.domains.stair_first - given.domains.stair_first[:, :1]).sum(axis=0)
        settings.power_stairs = _most_stairs(first, charged=settings.charges_decisions == 1)
    if given.stops is not None:
        settings.host_log_room = 2 * given.stops.host.shape[1]
    if settings.sleeps:
        settings.host_log_room = 6 * n_hosts  # each may fall asleep, boot, and go down
    return settings


def _numbers(given: Given, settings: Settings, jobs: Jobs) -> dict[str, int]:
    # Numbers of the state that do not begin as they are declared.
    n, n_hosts = len(given.submit_ns), len(given.host_first) - 1
    found = {
        "n_rows": n,
        "n_predicted": n,
        "free_cores": int(given.host_first[-1]),
        "presets_left": int(jobs.preset.sum()),
        "end_slice": int(not settings.by_cores),
    }
    if given.power is not None:
        found["power_at_ns"] = int(given.power.ns[0])
    if given.stops is not None:
        found["max_mw"] = given.at_most_mw
    if settings.sleeps:
        found["n_idle"] = found["n_sleepy"] = n_hosts
    return found


def _most_stairs(first: Array, *, charged: bool) -> int:
    # As many steps of limits come to be known at an instant, and as many are over; where deciding takes time there is no pass
    # between such instants in which there could be seen to room.
    return int(2 * first[-1] if charged else 2 * np.diff(first).max(initial=0))


def _set_after_pass(settings: Settings, n_cores: int) -> None:
    # What running jobs are told after a pass, and how much of it there may be.
    settings.after_widths = RESIZE if settings.resizing else 0
    # Of a policy's directions: each core of a job, all of them, and its end.
    most = {
        settings.after_widths: 1,
        settings.after_hints: 1,
        settings.after_directions: 3,
        settings.after_levels: 2,
    }
    there = [slot for slot in most if slot]
    settings.max_told = n_cores * sum(most[slot] for slot in there)
    if len(there) == 1:
        settings.after_pass = there[0]
    elif there:
        settings.after_pass = TOGETHER
        settings.max_told *= 2  # to put it in order


def _host_events(given: Given) -> tuple[Array, Array, Array, int]:
    # The heap of each host's first outage. Ascending instants are a heap.
    n = max(0, len(given.outage_first) - 1)
    status = np.zeros((3, n), np.int64)
    status[b.NEXT_DOWN] = b.NEVER
    pending = []
    for v in range(n):
        first = int(given.outage_first[v])
        status[b.NEXT_OUTAGE, v] = first
        if first < given.outage_first[v + 1]:
            status[b.NEXT_DOWN, v] = given.outage_down[first]
            pending.append((int(given.outage_down[first]), n + v))
    ns, key = np.empty(n, np.int64), np.empty(n, np.int64)
    pending.sort()
    for k, (t, v) in enumerate(pending):
        ns[k], key[k] = t, v
    return ns, key, status, len(pending)


def _profiles(given: Given, settings: Settings, boundaries: Array, words: Array, most_running: int) -> dict[str, Any]:
    # The columns about what is free over time, and what of it a job is offered; ``words``: cores that are free first.
    n, n_cores = len(given.submit_ns), int(given.host_first[-1])
    by_cores, several = bool(settings.by_cores), settings.max_reservations > 1
    # No more jobs run at once than there are cores; in a plan, every waiting job may stand, too.
    slices = 0 if by_cores else 4 * (most_running + (n if several else 0)) + 2 * given.windows.shape[1] + 64
    free = np.zeros(slices, np.int64)
    free[:1] = n_cores
    profile = _core_profile(given, settings, boundaries, words)
    kept = 2 * n + n_cores if by_cores and settings.plans else 0
    return {
        "profile_ns": np.zeros(slices, np.int64),
        "profile_free": free,
        "plan_ns": np.zeros(slices if several else 0, np.int64),
        "plan_free": np.zeros(slices if several else 0, np.int64),
        "cores_profile": profile,
        **{f"{when}_words": profile.words.copy() for when in ("later", "offered")},
        **{f"{when}_hosts": profile.hosts.copy() for when in ("later", "offered")},
        **{f"{when}_amounts": profile.amounts.copy() for when in ("later", "offered", "passing")},
        "kept_lo": np.empty(kept, np.int64),
        "kept_hi": np.empty(kept, np.int64),
    }


def _core_profile(given: Given, settings: Settings, boundaries: Array, words: Array) -> CoreProfile:
    # It grows when it is full: most runs need far fewer slices than they could.
    by_cores = bool(settings.by_cores)
    by_hosts = by_cores and (settings.by_hosts or settings.whole_hosts or settings.n_resources > 0)
    at = boundaries[boundaries > 0] if by_cores else boundaries[:0]
    steps = 2 * int(settings.power_stairs)
    slices, changes = (64 + len(at) + steps, 256 + len(at) + steps) if by_cores else (0, 0)
    profile = CoreProfile(
        used=np.array([1 + len(at), len(at), len(at), -1], np.int64),
        ns=np.zeros(slices, np.int64),
        free=np.full(slices, int(given.host_first[-1]), np.int64),
        first=np.full(slices, -1, np.int64),
        lo=np.zeros(changes, np.int64),
        hi=np.zeros(changes, np.int64),
        amount=np.zeros(changes, np.int64),
        after=np.full(changes, -1, np.int64),
        words=words.copy() if by_cores else words[:0].copy(),
        hosts=np.diff(given.host_first) if by_hosts else _none(),
        amounts=own(given.amounts, np.int64).copy(),
    )
    # A job may fit from the end of a window on: slices begin there, at a change of nothing.
    profile.ns[1 : 1 + len(at)] = at
    profile.first[1 : 1 + len(at)] = np.arange(len(at))
    return profile


def _placement(given: Given, words: Array, starts: Array, host_first: Array) -> PlacementRequest:
    # What is empty here is set before each call.
    nothing = _none()
    return PlacementRequest(
        number=0,
        n_cores=0,
        unit_cores=1,
        limit=0,
        words=words,
        starts=starts,
        host_first=host_first,
        host_free=nothing,
        switch_lo=own(given.switch_lo, np.int64),
        switch_hi=own(given.switch_hi, np.int64),
        switch_level=own(given.switch_level, np.int64),
        switch_hosts=own(given.switch_hosts, np.int64),
        wanted_lo=nothing,
        wanted_hi=nothing,
        parameters=np.array(given.parameters, np.int64),
        out_lo=nothing,
        out_hi=nothing,
    )


def _releases(n_cores: int, wishes: bool) -> dict[str, Array]:
    sizes = {"left_lo": n_cores, "left_hi": n_cores}
    sizes |= dict.fromkeys(("releasing_ns", "releasing_key"), 2 * n_cores if wishes else n_cores)
    return {
        **{name: np.zeros(size, np.int64) for name, size in sizes.items()},
        "holder": np.full(n_cores, -1, np.int64),
        "releases": np.zeros((3, 4 * n_cores), np.int64),
        "wishes": np.zeros((4, 4 * n_cores if wishes else 0), np.int64),
    }


def _told(n_cores: int, most_running: int, settings: Settings, rows: int, amounts: Array) -> dict[str, Array]:
    # What is known of cores of running jobs that are told something.
    hinted = n_cores if settings.after_hints else 0
    resized = n_cores if settings.after_widths else 0
    directed = n_cores if settings.after_directions or settings.after_levels else 0
    by_policy = n_cores if settings.after_hints == HINT_AS_DECIDED else 0
    lengths = {"hinted": hinted, "wanted_of": hinted, "given_at": resized, "asked": resized}
    slots = (settings.after_widths, settings.after_hints, settings.after_directions, settings.after_levels)
    lengths |= {"reached": n_cores * sum(slot > 0 for slot in slots)}  # each may tell something to every job
    return {
        **{name: np.zeros(length, np.int64) for name, length in lengths.items()},
        "told": np.zeros((b.TOLD_ROWS, 4 * (min(hinted, most_running) + resized + directed)), np.int64),
        "resizing": np.zeros((5, resized), np.int64),
        "wishing": np.zeros((b.WISHING_ROWS, rows if resized else 0), np.int64),
        "totals": own(amounts, np.int64).copy() if resized else _none(),
        "directed": np.zeros((b.DIRECTED_ROWS, 3 * directed + 2 * by_policy), np.int64),
        "scaling": np.zeros((b.SCALING_ROWS, rows if directed else 0), np.int64),
        "core_scale": np.zeros((2, directed), np.int64),
    }


def _partitions(given: Given, leaves: Array) -> tuple[Array, Array]:
    # The table of partitions, and the cores of each (of all: ``leaves``) and of each window.
    masks = leaves[None, :].copy() if given.masks is None else own(given.masks, np.int64)
    limits = np.array([[0] + 4 * [b.NEVER // 2]]) if given.limits is None else given.limits
    table = np.zeros((len(limits), b.PARTITION_COLUMNS), np.int64)
    table[:, : limits.shape[1]] = limits
    table[:, b.MASKED] = np.any(masks[: len(limits)] != leaves, axis=1)
    return table, masks


def no_power() -> PowerState:
    """That of a machine whose power is not limited."""
    nowhere = np.zeros((2, 0), np.int64)
    return PowerState(
        ns=_none(),
        known=_none(),
        first=np.zeros(1, np.int64),
        stairs=np.zeros((3, 0), np.int64),
        more_mw=nowhere.copy(),
        speed=nowhere.copy(),
        first_core=_none(),
        planned=_none(),
        drawn=_none(),
        ends=nowhere.copy(),
        slowing=nowhere.copy(),
        room=_none(),
        states=0,
        kind=_none(),
        predicted=_none(),
        factor=_none(),
        alike=_none(),
        seen=np.zeros((0, 3), np.int64),
    )


def no_domains() -> DomainState:
    """That of a machine without parts whose power is limited by itself."""
    columns = {
        name: _none() for name in ("first", "lo", "hi", "idle_mw", "limit_mw", "level", "of_first", "of_host", "room")
    }
    tables = {name: np.zeros((0, 0), np.int64) for name in ("known", "stair_first", "stairs", "covers")}
    return DomainState(**columns, **tables)


def no_stops() -> StopState:
    """That of a machine of which no host is stopped."""
    first, two, three = np.zeros(1, np.int64), np.zeros((2, 0), np.int64), np.zeros((3, 0), np.int64)
    return StopState(first, two, _none(), _none(), two, three, three)


def _sleep(given: Given, settings: Settings, words: Array, profile: CoreProfile) -> SleepState:
    # All hosts are up, and idle, from the first submit on.
    passages = np.zeros((2, 0), np.int64) if given.sleep_passages is None else own(given.sleep_passages, np.int64)
    n_hosts = passages.shape[1]
    n_words = len(words) if n_hosts else 0
    by_cores = bool(settings.by_cores)
    n_counted = len(profile.hosts) if by_cores else n_hosts * int(settings.by_hosts)
    begin = int(np.min(given.submit_ns, initial=b.NEVER))
    host = np.zeros((b.SLEEP_ROWS, n_hosts), np.int64)
    host[b.IDLE_SINCE], host[b.IS_SLEEPY] = begin, 1
    return SleepState(
        passages=passages,
        host=host,
        sleepy_ns=np.full(n_hosts, begin + int(settings.sleep_after_ns), np.int64),
        sleepy_key=np.arange(n_hosts),
        booting_ns=np.zeros(n_hosts, np.int64),
        booting_host=np.zeros(n_hosts, np.int64),
        away=np.zeros(n_words, np.int64),
        booting=np.zeros(n_words, np.int64),
        words=np.zeros(n_words, np.int64),
        hosts=np.zeros(n_counted if n_hosts else 0, np.int64),
        saved_words=np.zeros(n_words if by_cores else 0, np.int64),
        saved_hosts=np.zeros(n_counted if n_hosts and by_cores else 0, np.int64),
    )


def new_state(given: Given) -> BatchState:
    """The state before the first event."""
    n = len(given.submit_ns)
    host_first = own(given.host_first, np.int64)
    n_cores, n_hosts = int(host_first[-1]), len(host_first) - 1
    most_running = min(n, n_cores) + 1
    jobs, settings = _jobs(given), _settings(given)
    by_rank = np.empty(n, np.int64)
    by_rank[given.rank] = np.arange(n)
    queue_words, queue_starts = new_queue(n)
    free_words, free_starts = new_free(n_cores)
    partitions, masks = _partitions(given, free_words[: free_starts[1]])
    boundaries = np.unique(given.windows)
    cancels = np.flatnonzero(jobs.cancel_ns < b.NEVER)
    alone = np.flatnonzero(jobs.depends_on < 0)
    host_ns, host_key, host_status, n_host_events = _host_events(given)
    waits_for_switches = settings.switch_wait_ns < b.NEVER
    pool = 4 * n + n_cores + 2 * int(settings.widest) + 2
    scored = n if settings.order == b.SCORED else 0
    decided = settings.order == b.DECIDED
    limits = 0 if given.power is None else len(given.power.ns)
    rarer = len(boundaries) + len(cancels) + len(host_ns) + len(given.child_first) + limits > 0
    settings.has_others = int(rarer or settings.keeps_reservations == 1 or waits_for_switches or decided)
    profiles = _profiles(given, settings, boundaries, free_words, most_running)
    stops = given.stops or no_stops()
    if settings.sleeps:
        stops = stops._replace(log=np.zeros((3, 2 * int(settings.host_log_room)), np.int64))
    state = BatchState(
        settings=settings,
        jobs=jobs,
        n_host_events=n_host_events,
        **_numbers(given, settings, jobs),
        by_rank=by_rank,
        arrivals=alone[np.argsort(jobs.begin_ns[alone], kind="stable")],
        queue_words=queue_words,
        queue_starts=queue_starts,
        free_words=free_words,
        free_starts=free_starts,
        pool_lo=np.empty(pool, np.int64),
        pool_hi=np.empty(pool, np.int64),
        wanted_first=np.zeros(n + 1, np.int64) if given.wanted_first is None else own(given.wanted_first, np.int64),
        started=np.empty(most_running, np.int64),
        masks=masks,
        history=own(given.history, np.int64).copy(),
        unmet=own(given.unmet, np.int64).copy(),
        cancel_order=cancels[np.lexsort((cancels, jobs.cancel_ns[cancels]))],
        host_first=host_first,
        host_free=np.diff(host_first),
        host_of=np.repeat(np.arange(n_hosts), np.diff(host_first)),
        host_ns=host_ns,
        host_key=host_key,
        host_status=host_status,
        boundaries=boundaries,
        partitions=partitions,
        user_tally=np.zeros((len(partitions), given.n_users, 2), np.int64),
        numbers=own(given.numbers, np.float64),
        memory=own(given.memory, np.float64),
        keys=np.zeros(scored),
        order=np.zeros(scored, np.int64),
        sorting=np.zeros((4, scored), np.int64),
        log=np.zeros(3 * n + 16 if settings.logs else 0, np.int64),
        chosen=np.zeros(n if decided else 0, np.int64),
        chosen_first=np.zeros(n + 1 if decided else 0, np.int64),
        chosen_lo=np.empty(n_cores if decided else 0, np.int64),
        chosen_hi=np.empty(n_cores if decided else 0, np.int64),
        decisions=np.zeros((4 + settings.may_not_fit, 2 * n + 16 if given.keep_decisions else 0), np.int64),
        wall_time=np.zeros(2, np.int64),
        placement=_placement(given, free_words, free_starts, host_first),
        **_releases(n_cores if settings.releases else 0, bool(settings.resizing == b.EVOLVE)),
        power=given.power or no_power(),
        domains=given.domains or no_domains(),
        stops=stops,
        sleep=_sleep(given, settings, free_words, profiles["cores_profile"]),
        **_told(n_cores, most_running, settings, len(jobs.number), given.amounts),
        functions=np.zeros(b.FUNCTIONS, np.int64),
        hooks=_none(),
        **_heap("running", most_running),
        **_heap("expected", n if settings.plans else 0),
        **_heap("arriving", 2 * n if len(given.child_first) or waits_for_switches else 0),
        **_columns(given, "needs", "windows", "wanted_lo", "wanted_hi", "child_first", "child_row"),
        **_columns(given, "outage_first", "outage_down", "outage_up"),
        **_columns(given, "history_group", "history_least", "corrections_ns"),
        **profiles,
    )
    state.hooks = HOOKS.filled(wanted(state))
    return state


def _longer(array: Array, size: int) -> Array:
    # With room for ``size`` along the last axis.
    grown = np.zeros((*array.shape[:-1], size), array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown


def grow_pool(state: BatchState) -> BatchState:
    """More room for allocations and for kept reservations, where it is short; reservations are moved together first."""
    settings = state.settings
    needed = int(state.pool_used + state.free_cores + 2 * settings.widest + 2)
    if needed > len(state.pool_lo):
        size = max(needed, 2 * len(state.pool_lo))
        state = state._replace(pool_lo=_longer(state.pool_lo, size), pool_hi=_longer(state.pool_hi, size))
    return kept_reservations(state, state.kept_lo, state.kept_hi) if len(state.kept_lo) else state


def intervals_of(first: Array, count: Array) -> Array:
    """The places ``first[i], … first[i] + count[i] - 1`` of all i, one behind the other."""
    return np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def kept_reservations(state: BatchState, kept_lo: Array, kept_hi: Array) -> BatchState:
    """The state with its kept reservations, which are somewhere in these columns, moved together, and room for more."""
    jobs = state.jobs
    rows = np.flatnonzero(jobs.slot_ns < b.NEVER)
    counts = jobs.plan_count[rows]
    source = intervals_of(jobs.plan_first[rows], counts)
    lo, hi = kept_lo[source], kept_hi[source]
    jobs.plan_first[rows] = np.cumsum(counts) - counts
    state.kept_used = len(lo)
    waits = (jobs.eligible_ns >= 0) & (jobs.start_ns < 0) & (jobs.state < 0)
    needed = len(lo) + int(jobs.cores[waits].sum())
    size = len(state.kept_lo) if needed <= len(state.kept_lo) else 2 * needed
    return state._replace(kept_lo=_longer(lo, size), kept_hi=_longer(hi, size))


def grow_rows(state: BatchState) -> BatchState:
    """More room for later attempts."""
    rows = len(state.jobs.number)
    size = rows + rows // 2 + 16
    # Wake-ups are told from arrivals by the number of rows.
    wakes = state.arriving_job[: state.n_arriving]
    wakes[wakes >= rows] += size - rows
    room = {"expected_ns": size, "expected_job": size, "arriving_ns": 2 * size, "arriving_job": 2 * size}
    room["log"] = 3 * size + 16
    columns: dict[str, Any] = {
        name: _longer(getattr(state, name), long) for name, long in room.items() if len(getattr(state, name))
    }
    predicted = state.power.predicted
    if len(predicted):
        columns["power"] = state.power._replace(predicted=np.append(predicted, np.full(size - rows, WHOLE)))
    state.jobs.grow(rows=size)
    return state._replace(
        numbers=_longer(state.numbers, size),
        needs=_longer(state.needs, size),
        scaling=_longer(state.scaling, size) if state.scaling.shape[1] else state.scaling,
        wishing=_longer(state.wishing, size) if state.wishing.shape[1] else state.wishing,
        **columns,
    )


def grow_profile(state: BatchState) -> BatchState:
    """More room for slices of the profile of cores, and for changes."""
    profile = state.cores_profile
    slices, changes = 2 * len(profile.ns), 2 * len(profile.lo)
    longer = {name: _longer(getattr(profile, name), slices) for name in ("ns", "free", "first")}
    longer |= {name: _longer(getattr(profile, name), changes) for name in ("lo", "hi", "amount", "after")}
    return state._replace(cores_profile=profile._replace(**longer))


def grow_told(state: BatchState) -> BatchState:
    """More room for the table of what running jobs were told, and for what one pass may tell them."""
    size = 2 * state.told.shape[1] + int(state.settings.max_told)
    return state._replace(told=_longer(state.told, size))


def grow_host_log(state: BatchState) -> BatchState:
    """More room for the table of states of hosts."""
    size = 2 * state.stops.log.shape[1] + 2 * int(state.settings.host_log_room)
    return state._replace(stops=state.stops._replace(log=_longer(state.stops.log, size)))


def grow_releases(state: BatchState) -> BatchState:
    """More room for the table of releases, and for those of one more job."""
    size = 2 * state.releases.shape[1] + len(state.holder)
    return state._replace(releases=_longer(state.releases, size))


def grow_wishes(state: BatchState, more: int) -> BatchState:
    """Room for so many more wishes, where there is too little, and for as many again as there are."""
    needed = int(state.n_wishes) + more
    if needed <= state.wishes.shape[1]:
        return state
    return state._replace(wishes=_longer(state.wishes, needed + state.wishes.shape[1]))


def grow_decisions(state: BatchState) -> BatchState:
    """More room for the table of decisions."""
    return state._replace(decisions=_longer(state.decisions, 2 * state.decisions.shape[1]))
