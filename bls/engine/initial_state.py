"""The state of the batch engine before the first event, from what is given as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bls.allocators.contract import PlacementRequest
from bls.availability.free_cores import new_free
from bls.engine import state as b
from bls.engine.hooks import HINT_AS_DECIDED, HOOKS, RESIZE, TOGETHER, wanted
from bls.engine.jobs import Jobs
from bls.engine.queue import new_queue
from bls.engine.settings import Settings
from bls.engine.state import (
    BatchState,
    CoreProfile,
    DomainState,
    HostLog,
    HostStatus,
    Partitions,
    PowerState,
    Scaling,
    SleepHosts,
    SleepState,
    StopState,
    Windows,
    Wishing,
)
from bls.engine.status import BatchStatus
from traces.compiled import Array, own
from traces.kernels.state import fields_of

__all__ = ["GROW", "Given", "grow_releases", "grow_wishes", "intervals_of", "keep_reservations", "new_state"]

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
    partitions : mapping of str to (P,)
        Columns of ``Partitions`` by their names; a single partition without limits by default.
    placement : mapping of str to int64
        Columns of ``PlacementRequest`` that stay the same, by their names.
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
    partitions: dict[str, Array] = field(default_factory=lambda: {"tier": np.zeros(1, np.int64)})
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
    placement: dict[str, Array] = field(default_factory=dict)
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


def _columns(given: Given) -> dict[str, Array]:
    # The columns of the state that begin as they are given.
    named = ((name, field.dtype, getattr(given, name, None)) for name, field in fields_of(BatchState).items())
    return {name: own(value, dtype) for name, dtype, value in named if dtype is not None and value is not None}


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
        settings.host_log_room = 2 * given.stops.host.state.size
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
    most = {settings.after_widths: 1, settings.after_hints: 1, settings.after_directions: 3, settings.after_levels: 2}
    there = [slot for slot in most if slot]
    settings.max_told = n_cores * sum(most[slot] for slot in there)
    if len(there) == 1:
        settings.after_pass = there[0]
    elif there:
        settings.after_pass = TOGETHER
        settings.max_told *= 2  # to put it in order


def _host_status(given: Given) -> tuple[HostStatus, Array, Array]:
    # Of each list of outages; and the heap of their first ones: instants and keys. Ascending instants are a heap.
    n = max(0, len(given.outage_first) - 1)
    first = own(given.outage_first[:n], np.int64)
    some = np.flatnonzero(first < given.outage_first[1:]) if n else first
    begin = np.full(n, b.NEVER)
    begin[some] = given.outage_down[first[some]]
    pending = some[np.argsort(begin[some], kind="stable")]
    return HostStatus.new({"outages": n}, next_outage=first, next_down_ns=begin), begin[pending], n + pending


def _core_profile(given: Given, settings: Settings, boundaries: Array, words: Array) -> CoreProfile:
    # It grows when it is full: most runs need far fewer slices than they could.
    by_cores = settings.by_cores == 1
    by_hosts = by_cores and (settings.by_hosts or settings.whole_hosts or settings.n_resources > 0)
    at = boundaries[boundaries > 0] if by_cores else boundaries[:0]
    n, steps, n_cores = len(at), 2 * settings.power_stairs, int(given.host_first[-1])
    profile = CoreProfile.new(
        {
            "slices": 64 + n + steps if by_cores else 0,
            "changes": 256 + n + steps if by_cores else 0,
            "words": len(words) if by_cores else 0,
            "hosts": len(given.host_first) - 1 if by_hosts else 0,
            "amounts": len(given.amounts),
        },
        free=n_cores,
        words=words if by_cores else words[:0],
        hosts=np.diff(given.host_first) if by_hosts else 0,
        amounts=given.amounts,
        n_slices=1 + n,
        n_changes=n,
        n_ever=n,
    )
    # A job may fit from the end of a window on: slices begin there, at a change of nothing.
    profile.ns[1 : 1 + n] = at
    profile.first[1 : 1 + n] = np.arange(n)
    return profile


def _partitions(given: Given, leaves: Array) -> tuple[Partitions, Array]:
    # The table of partitions, and the cores of each (of all: ``leaves``) and of each window.
    masks = leaves[None, :].copy() if given.masks is None else own(given.masks, np.int64)
    n = len(given.partitions["tier"])
    masked = np.any(masks[:n] != leaves, axis=1)
    return Partitions.new({"partitions": n}, masked=masked, **given.partitions), masks


def _sleep(given: Given, settings: Settings, words: Array, profile: CoreProfile) -> SleepState:
    # All hosts are up, and idle, from the first submit on.
    passages = np.zeros((2, 0), np.int64) if given.sleep_passages is None else own(given.sleep_passages, np.int64)
    n, by_cores = passages.shape[1], settings.by_cores == 1
    counted = len(profile.hosts) if by_cores else n * settings.by_hosts
    sizes = {
        "hosts": n,
        "words": len(words) if n else 0,
        "counted": counted if n else 0,
        "saved_words": len(words) if n and by_cores else 0,
        "saved": counted if n and by_cores else 0,
    }
    begin = int(np.min(given.submit_ns, initial=b.NEVER))
    return SleepState.new(
        sizes,
        passages=passages,
        host=SleepHosts.new(sizes, idle_since_ns=begin),
        sleepy_ns=begin + settings.sleep_after_ns,
        sleepy_key=np.arange(n),
    )


def _sizes(given: Given, settings: Settings, jobs: Jobs) -> dict[str, int]:
    # How much room there is for what is the state's own.
    n, n_cores, n_hosts = len(given.submit_ns), int(given.host_first[-1]), len(given.host_first) - 1
    running = min(n, n_cores) + 1  # no more jobs run at once than there are cores
    by_cores, several = settings.by_cores == 1, settings.max_reservations > 1
    by_hosts = by_cores and (settings.by_hosts or settings.whole_hosts or settings.n_resources > 0)
    decided, scored = settings.order == b.DECIDED, settings.order == b.SCORED
    # In a plan every waiting job may stand beside those that run.
    slices = 0 if by_cores else 4 * (running + (n if several else 0)) + 2 * given.windows.shape[1] + 64
    words = len(new_free(n_cores)[0])
    held = n_cores if settings.releases else 0
    evolves = settings.resizing == b.EVOLVE
    hinted = n_cores if settings.after_hints else 0
    resized = n_cores if settings.after_widths else 0
    directed = n_cores if settings.after_directions or settings.after_levels else 0
    by_policy = n_cores if settings.after_hints == HINT_AS_DECIDED else 0
    slots = (settings.after_widths, settings.after_hints, settings.after_directions, settings.after_levels)
    waits = len(given.child_first) > 0 or settings.switch_wait_ns < b.NEVER
    return {
        "jobs": n,
        "hosts": n_hosts,
        "outages": max(0, len(given.outage_first) - 1),
        "partitions": len(given.partitions["tier"]),
        "users": given.n_users,
        "windows": given.windows.shape[1],
        "running": running,
        "expected": n if settings.plans else 0,
        "arriving": 2 * n if waits else 0,
        "queue_words": len(new_queue(n)[0]),
        "free_words": words,
        "pool": 4 * n + n_cores + 2 * settings.widest + 2,
        "slices": slices,
        "plan_slices": slices if several else 0,
        "kept": 2 * n + n_cores if by_cores and settings.plans else 0,
        "offered_words": words if by_cores else 0,
        "offered_hosts": n_hosts if by_hosts else 0,
        "amounts": len(given.amounts),
        "needs": given.needs.shape[0],
        "needed": given.needs.shape[1],
        "groups": given.history.shape[0],
        "history": given.history.shape[1],
        "children": len(given.unmet),
        "numbers": given.numbers.shape[0],
        "numbered": given.numbers.shape[1],
        "memory": len(given.memory),
        "scored": n if scored else 0,
        "log": 3 * n + 16 if settings.logs else 0,
        "chosen": n if decided else 0,
        "chosen_first": n + 1 if decided else 0,
        "named": n_cores if decided else 0,
        "decisions": 2 * n + 16 if given.keep_decisions else 0,
        # Where running jobs release cores, or are told something:
        "held": held,
        "releasing": 2 * held if evolves else held,
        "releases": 4 * held,
        "wishes": 4 * held if evolves else 0,
        "hinted": hinted,
        "reached": n_cores * sum(slot > 0 for slot in slots),  # each may tell something to every job
        "told": 4 * (min(hinted, running) + resized + directed),
        "resizing": resized,
        "totals": len(given.amounts) if resized else 0,
        "directed": 3 * directed + 2 * by_policy,
        "scaled": directed,
    }


def new_state(given: Given) -> BatchState:
    """The state before the first event."""
    n = len(given.submit_ns)
    host_first = own(given.host_first, np.int64)
    n_cores, n_hosts = int(host_first[-1]), len(host_first) - 1
    jobs, settings = _jobs(given), _settings(given)
    queue_starts = new_queue(n)[1]
    free_words, free_starts = new_free(n_cores)
    columns = {"wanted_first": np.zeros(n + 1, np.int64)} | _columns(given)
    partitions, columns["masks"] = _partitions(given, free_words[: free_starts[1]])
    boundaries = np.unique(given.windows)
    cancels = np.flatnonzero(jobs.cancel_ns < b.NEVER)
    alone = np.flatnonzero(jobs.depends_on < 0)
    host_status, event_ns, event_key = _host_status(given)
    limits = 0 if given.power is None else len(given.power.ns)
    rarer = len(boundaries) + len(cancels) + len(host_status.next_outage) + len(given.child_first) + limits > 0
    settings.has_others = int(
        rarer or settings.keeps_reservations == 1 or settings.switch_wait_ns < b.NEVER or settings.order == b.DECIDED
    )
    sizes = _sizes(given, settings, jobs)
    profile = _core_profile(given, settings, boundaries, free_words)
    placement = {name: own(column, np.int64) for name, column in given.placement.items()}
    rows = n if sizes["scaled"] else 0
    state = BatchState.new(
        sizes,
        settings=settings,
        jobs=jobs,
        **_numbers(given, settings, jobs),
        arrivals=alone[np.argsort(jobs.begin_ns[alone], kind="stable")],
        queue_starts=queue_starts,
        free_words=free_words,
        free_starts=free_starts,
        **columns,
        cancel_order=cancels[np.lexsort((cancels, jobs.cancel_ns[cancels]))],
        host_free=np.diff(host_first),
        host_of=np.repeat(np.arange(n_hosts), np.diff(host_first)),
        n_host_events=len(event_ns),
        host_status=host_status,
        windows=Windows.new(sizes, begin_ns=given.windows[0], end_ns=given.windows[1]),
        boundaries=boundaries,
        partitions=partitions,
        profile_free=n_cores if sizes["slices"] else 0,
        cores_profile=profile,
        later_words=profile.words,
        later_hosts=profile.hosts,
        later_amounts=profile.amounts,
        offered_words=profile.words,
        offered_hosts=profile.hosts,
        offered_amounts=profile.amounts,
        passing_amounts=profile.amounts,
        placement=PlacementRequest.none(  # the rest is set before each call
            unit_cores=1, words=free_words, starts=free_starts, host_first=host_first, **placement
        ),
        totals=given.amounts if sizes["totals"] else 0,
        scaling=Scaling.new({"rows": rows}),
        wishing=Wishing.new({"rows": n if sizes["resizing"] else 0}),
        power=given.power or PowerState.none(),
        domains=given.domains or DomainState.none(),
        stops=given.stops or StopState.none(log=HostLog.new({"host_log": 2 * settings.host_log_room})),
        sleep=_sleep(given, settings, free_words, profile),
        functions=np.zeros(b.FUNCTIONS, np.int64),
        hooks=np.zeros(0, np.int64),
    )
    state.by_rank[given.rank] = np.arange(n)
    state.host_ns[: len(event_ns)], state.host_key[: len(event_key)] = event_ns, event_key
    state.placement.words = state.free_words
    state.hooks = HOOKS.filled(wanted(state))
    return state


def intervals_of(first: Array, count: Array) -> Array:
    """The places ``first[i], … first[i] + count[i] - 1`` of all i, one behind the other."""
    return np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def grow_pool(state: BatchState) -> None:
    """More room for allocations and for kept reservations, where it is short; reservations are moved together first."""
    needed = state.pool_used + state.free_cores + 2 * state.settings.widest + 2
    if needed > len(state.pool.lo):
        state.pool.grow(pool=max(needed, 2 * len(state.pool.lo)))
    if len(state.kept_lo):
        keep_reservations(state, state.kept_lo, state.kept_hi)


def keep_reservations(state: BatchState, kept_lo: Array, kept_hi: Array) -> None:
    """Move kept reservations, which are somewhere in these columns, together into the state's, with room for more."""
    jobs = state.jobs
    rows = np.flatnonzero(jobs.slot_ns < b.NEVER)
    counts = jobs.plan_count[rows]
    source = intervals_of(jobs.plan_first[rows], counts)
    lo, hi = kept_lo[source], kept_hi[source]
    jobs.plan_first[rows] = np.cumsum(counts) - counts
    state.kept_used = len(lo)
    waits = (jobs.eligible_ns >= 0) & (jobs.start_ns < 0) & (jobs.state < 0)
    needed = len(lo) + int(jobs.cores[waits].sum())
    if needed > len(state.kept_lo):
        state.grow(kept=2 * needed)
    state.kept_lo[: len(lo)], state.kept_hi[: len(lo)] = lo, hi


def grow_rows(state: BatchState) -> None:
    """More room for later attempts."""
    rows = len(state.jobs.number)
    size = rows + rows // 2 + 16
    # Wake-ups are told from arrivals by the number of rows.
    wakes = state.arriving_job[: state.n_arriving]
    wakes[wakes >= rows] += size - rows
    room = {"expected": size, "arriving": 2 * size, "log": 3 * size + 16, "numbered": size, "needed": size}
    there = (state.expected_ns, state.arriving_ns, state.log, state.numbers.T, state.needs.T)
    state.grow(**{name: long for (name, long), column in zip(room.items(), there, strict=True) if len(column)})
    for table in (state.jobs, state.scaling, state.wishing):
        if table is state.jobs or len(next(iter(table))):
            table.grow(rows=size)
    if len(state.power.predicted):
        state.power.grow(predicted=size)


def grow_releases(state: BatchState) -> None:
    """More room for the table of releases, and for those of one more job."""
    state.releases.grow(releases=2 * len(state.releases.job) + len(state.holder))


def grow_wishes(state: BatchState, more: int) -> None:
    """Room for so many more wishes, where there is too little, and for as many again as there are."""
    needed = state.n_wishes + more
    if needed > len(state.wishes.job):
        state.wishes.grow(wishes=needed + len(state.wishes.job))


#: What is done about a status that asks for room.
GROW: dict[int, Callable[[BatchState], None]] = {
    BatchStatus.POOL_FULL: grow_pool,
    BatchStatus.ROWS_FULL: grow_rows,
    BatchStatus.PROFILE_FULL: lambda state: state.cores_profile.grow(
        slices=2 * len(state.cores_profile.ns), changes=2 * len(state.cores_profile.lo)
    ),
    BatchStatus.DECISIONS_FULL: lambda state: state.decisions.grow(decisions=2 * len(state.decisions.at_ns)),
    BatchStatus.TOLD_FULL: lambda state: state.told.grow(told=2 * len(state.told.job) + state.settings.max_told),
    BatchStatus.HOST_LOG_FULL: lambda state: state.stops.log.grow(
        host_log=2 * (len(state.stops.log.host) + state.settings.host_log_room)
    ),
}
