"""The state of the batch engine before the first event, from what is given as arrays."""

from __future__ import annotations

from collections import defaultdict
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
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import Array, own
from traces.kernels.state import State, fields_of

_LONGEST_NS = 2**62 - 1


@dataclass
class Given:
    """Everything that the engine is told, n jobs in workload order on M cores of H hosts; int64 arrays.

    Attributes
    ----------
    jobs : mapping of str to (n,)
        Columns of ``Jobs`` by their names. ``run_ns`` is -1 where the application level decides. ``rank`` is the place in the
        order of a static policy; for others in the order of (tier, submit, row).
    host_first : (H + 1,)
        First core of each host, and M.
    partitions : mapping of str to (P,)
        Columns of ``Partitions`` by their names.
    state : mapping of str to array
        Columns of ``BatchState`` by their names, among them the outages; of no entries where they are missing.
    windows : (2, W)
        When windows begin and end.
    amounts : int64
        What there is of other resources, power and licences, as ``Offer.amounts`` has them.
    masks : (P + W, words) or None
        Cores of partitions and windows; None: one partition of all cores.
    placement : mapping of str to int64
        Columns of ``PlacementRequest`` that stay the same, by their names.
    power, domains, stops : PowerState, DomainState, StopState, optional
        Where the power of the machine is limited, and of parts of it, and where hosts are stopped for that.
    sleep_passages : (2, H), optional
        Where hosts that idle fall asleep, how long each takes to shut down, and to boot.
    settings : mapping of str to int
        Fields of ``Settings`` that differ from their defaults.
    """

    jobs: dict[str, Array]
    host_first: Array
    partitions: dict[str, Array]
    state: dict[str, Array]
    n_users: int = 1
    windows: Array = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    amounts: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    masks: Array | None = None
    placement: dict[str, Array] = field(default_factory=dict)
    power: b.PowerState | None = None
    domains: b.DomainState | None = None
    stops: b.StopState | None = None
    sleep_passages: Array | None = None
    at_most_mw: int = 0
    settings: dict[str, int] = field(default_factory=dict)
    keep_decisions: bool = False


def _settings(given: Given) -> Settings:
    settings = Settings(**given.settings)
    n_hosts, n_cores = len(given.host_first) - 1, int(given.host_first[-1])
    # A job may be given all the cores.
    settings.widest = n_cores if settings.resizing or settings.molds else int(given.jobs["cores"].max())
    settings.after_widths = RESIZE if settings.resizing else 0
    # What running jobs are told after a pass, and how much of it there may be: of a policy's directions each core of a job, all
    # of them, and its end.
    most = {settings.after_widths: 1, settings.after_hints: 1, settings.after_directions: 3, settings.after_levels: 2}
    there = [slot for slot in most if slot]
    settings.max_told = n_cores * sum(most[slot] for slot in there)
    if len(there) == 1:
        settings.after_pass = there[0]
    elif there:
        settings.after_pass = TOGETHER
        settings.max_told *= 2  # to put it in order
    settings.plans = int(settings.max_reservations > 0)
    learns = given.power is not None and len(given.power.seen) > 0
    settings.predicts = int("history_least" in given.state or learns)
    settings.n_windows = given.windows.shape[1]
    if given.power is not None:
        # As many steps of limits come to be known at an instant, and as many are over; where deciding takes time there is no
        # pass between such instants in which there could be seen to room.
        steps = np.diff(given.power.first, axis=1).sum(axis=0)
        settings.power_stairs = 2 * int(steps.sum() if settings.charges_decisions else steps.max(initial=0))
    if given.stops is not None:
        settings.host_log_room = 2 * given.stops.host.state.size
    if settings.sleeps:
        settings.host_log_room = 6 * n_hosts  # each may fall asleep, boot, and go down
    return settings


def _host_status(outage_first: Array, outage_down: Array) -> b.HostStatus:
    # Of each list of outages.
    first = outage_first[:-1]
    some = np.flatnonzero(first < outage_first[1:])
    status = b.HostStatus.new({"outages": len(first)}, next_outage=first)
    status.next_down_ns[some] = outage_down[first[some]]
    return status


def _core_profile(sizes: dict[str, int], given: Given, boundaries: Array, words: Array) -> b.CoreProfile:
    # It grows when it is full: most runs need far fewer slices than they could.
    profile = b.CoreProfile.new(sizes, free=int(given.host_first[-1]))
    profile.now.words[:], profile.now.amounts[:] = words[: len(profile.now.words)], given.amounts
    profile.now.hosts[:] = np.diff(given.host_first)[: len(profile.now.hosts)]
    if len(profile.ns):
        # A job may fit from the end of a window on: slices begin there, at a change of nothing.
        at = boundaries[boundaries > 0]
        n = profile.n_changes = profile.n_ever = len(at)
        profile.n_slices = 1 + n
        profile.ns[1 : 1 + n], profile.first[1 : 1 + n] = at, np.arange(n)
    return profile


def _sleep(given: Given, settings: Settings, sizes: dict[str, int]) -> b.SleepState:
    # All hosts are up, and idle, from the first submit on.
    if given.sleep_passages is None:
        return b.SleepState.none()
    sleep = b.SleepState.new(sizes, passages=own(given.sleep_passages, np.int64))
    n = sizes["hosts"]
    sleep.host.idle_since_ns[:] = begin = int(np.min(given.jobs["submit_ns"], initial=b.NEVER))
    sleep.sleepy.refill(np.full(n, begin + settings.sleep_after_ns), np.arange(n))
    return sleep


def _sizes(given: Given, settings: Settings, columns: dict[str, Array], n_boundaries: int) -> defaultdict[str, int]:
    # How much room there is for what is the state's own; none for what is not here.
    n, n_cores, n_hosts = len(given.jobs["rank"]), int(given.host_first[-1]), len(given.host_first) - 1
    running = min(n, n_cores) + 1  # no more jobs run at once than there are cores
    words, steps = len(new_free(n_cores)[0]), n_boundaries + 2 * settings.power_stairs
    by_cores, several = settings.by_cores == 1, settings.max_reservations > 1
    by_hosts = settings.by_hosts or (by_cores and (settings.whole_hosts or settings.n_resources > 0))
    # In a plan every waiting job may stand beside those that run.
    slices = 4 * (running + (n if several else 0)) + 2 * settings.n_windows + 64
    slots = (settings.after_widths, settings.after_hints, settings.after_directions, settings.after_levels)
    resized, hinted, by_policy, by_level = (n_cores * (slot > 0) for slot in slots)
    directed = max(by_policy, by_level)
    named = n_cores if settings.after_hints == HINT_AS_DECIDED else 0
    found: defaultdict[str, int] = defaultdict(int)
    found |= {
        "jobs": n,
        "hosts": n_hosts,
        "outages": max(0, len(columns["outage_first"]) - 1),
        "partitions": len(given.partitions["tier"]),
        "users": given.n_users,
        "running": running,
        "queue_words": len(new_queue(n)[0]),
        "free_words": words,
        "pool": 4 * n + n_cores + 2 * settings.widest + 2,
        "amounts": len(given.amounts),
        # Where running jobs are told something:
        "reached": n_cores * sum(slot > 0 for slot in slots),  # each may tell something to every job
        "told": 4 * (min(hinted, running) + resized + directed),
        "hinted": hinted,
        "resizing": resized,
        "totals": len(given.amounts) if resized else 0,
        "directed": 3 * directed + 2 * named,
        "scaled": directed,
    }
    for there, more in (
        (settings.plans, {"expected": n}),
        ("child_first" in columns or settings.switch_wait_ns < b.NEVER, {"arriving": 2 * n}),
        (not by_cores, {"slices": slices}),
        (not by_cores and several, {"plan_slices": slices}),
        (by_cores, {"core_slices": 64 + steps, "changes": 256 + steps}),
        (by_cores and settings.plans, {"kept": 2 * n + n_cores}),
        (by_cores or settings.sleeps, {"offered_words": words, "offered_hosts": n_hosts if by_hosts else 0}),
        (settings.order == b.SCORED, {"scored": n}),
        (settings.order == b.DECIDED, {"chosen": n, "chosen_first": n + 1, "named": n_cores}),
        (settings.logs, {"log": 3 * n + 16}),
        (given.keep_decisions, {"decisions": 2 * n + 16}),
        (settings.releases, {"held": n_cores, "releasing": n_cores, "releases": 4 * n_cores}),
        (settings.resizing == b.EVOLVE, {"releasing": 2 * n_cores, "wishes": 4 * n_cores}),
    ):
        found |= more if there else {}
    fields = fields_of(BatchState)
    for name, column in columns.items():
        found |= {str(dim): long for dim, long in zip(fields[name].dims or (), column.shape, strict=False)}
    return found


def new_state(given: Given) -> BatchState:
    """The state before the first event."""
    n, fields = len(given.jobs["rank"]), fields_of(BatchState)
    host_first = own(given.host_first, np.int64)
    n_cores, n_hosts = int(host_first[-1]), len(host_first) - 1
    jobs, settings = Jobs.new({"rows": n}, origin=np.arange(n), **given.jobs), _settings(given)
    np.minimum(jobs.estimate_ns, _LONGEST_NS, out=jobs.estimate_ns)
    queue_starts = new_queue(n)[1]
    free_words, free_starts = new_free(n_cores)
    leaves = free_words[: free_starts[1]]
    columns = given.state | {"masks": leaves[None] if given.masks is None else given.masks}
    columns = {name: own(value, fields[name].dtype) for name, value in columns.items()}
    boundaries = np.unique(given.windows)
    cancels = np.flatnonzero(jobs.cancel_ns < b.NEVER)
    alone = np.flatnonzero(jobs.depends_on < 0)
    host_status = _host_status(columns["outage_first"], columns["outage_down"])
    limits = 0 if given.power is None else len(given.power.ns)
    rarer = len(boundaries) + len(cancels) + len(host_status.next_outage) + limits > 0 or "child_first" in columns
    settings.has_others = int(
        rarer or settings.keeps_reservations == 1 or settings.switch_wait_ns < b.NEVER or settings.order == b.DECIDED
    )
    sizes = _sizes(given, settings, columns, len(boundaries))
    masked = np.any(columns["masks"][: sizes["partitions"]] != leaves, axis=1)
    windows = b.Windows.new({"windows": settings.n_windows}, begin_ns=given.windows[0], end_ns=given.windows[1])
    state = BatchState.none(
        sizes,
        settings=settings,
        jobs=jobs,
        n_rows=n,
        n_predicted=n,
        free_cores=n_cores,
        presets_left=int(jobs.preset.sum()),
        power_at_ns=b.NEVER if given.power is None else int(given.power.ns[0]),
        max_mw=0 if given.stops is None else given.at_most_mw,
        n_idle=n_hosts if settings.sleeps else 0,
        arrivals=alone[np.argsort(jobs.begin_ns[alone], kind="stable")],
        queue_starts=queue_starts,
        free_words=free_words,
        free_starts=free_starts,
        **columns,
        cancel_order=cancels[np.lexsort((cancels, jobs.cancel_ns[cancels]))],
        host_first=host_first,
        host_free=np.diff(host_first),
        host_of=np.repeat(np.arange(n_hosts), np.diff(host_first)),
        host_status=host_status,
        windows=windows,
        boundaries=boundaries,
        partitions=b.Partitions.new(sizes, masked=masked, **given.partitions),
        profile=b.Slices.new(sizes, free=n_cores, end=int(not settings.by_cores)),
        cores_profile=_core_profile(sizes, given, boundaries, free_words),
        placement=PlacementRequest.none(  # the rest is set before each call
            unit_cores=1,
            words=free_words,
            starts=free_starts,
            host_first=host_first,
            **{name: own(column, np.int64) for name, column in given.placement.items()},
        ),
        totals=given.amounts if sizes["totals"] else 0,
        scaling=b.Scaling.new({"rows": n if sizes["scaled"] else 0}),
        wishing=b.Wishing.new({"rows": n if sizes["resizing"] else 0}),
        power=given.power or b.PowerState.none(),
        domains=given.domains or b.DomainState.none(),
        stops=given.stops or b.StopState.none(log=b.HostLog.new({"host_log": 2 * settings.host_log_room})),
        sleep=_sleep(given, settings, sizes),
        functions=np.zeros(b.FUNCTIONS, np.int64),
    )
    state.by_rank[jobs.rank] = np.arange(n)
    down = np.flatnonzero(np.diff(state.outage_first))  # also of a drain that may be told later
    state.host_events.refill(host_status.next_down_ns[down], len(host_status.next_down_ns) + down)
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
    if len(state.kept.lo):
        keep_reservations(state, state.kept)


def keep_reservations(state: BatchState, kept: b.Pool) -> None:
    """Move kept reservations, which are somewhere in a pool, together into the state's, with room for more."""
    jobs = state.jobs
    rows = np.flatnonzero(jobs.slot_ns < b.NEVER)
    counts = jobs.plan_count[rows]
    source = intervals_of(jobs.plan_first[rows], counts)
    lo, hi = kept.lo[source], kept.hi[source]
    jobs.plan_first[rows] = np.cumsum(counts) - counts
    state.kept_used = len(lo)
    waits = (jobs.eligible_ns >= 0) & (jobs.start_ns < 0) & (jobs.state < 0)
    needed = len(lo) + int(jobs.cores[waits].sum())
    if needed > len(state.kept.lo):
        state.kept.grow(pool=2 * needed)
    state.kept.lo[: len(lo)], state.kept.hi[: len(lo)] = lo, hi


def grow_rows(state: BatchState) -> None:
    """More room for later attempts."""
    rows = len(state.jobs.number)
    size = rows + rows // 2 + 16
    # Wake-ups are told from arrivals by the number of rows.
    _, wakes = state.arriving.entries()
    wakes[wakes >= rows] += size - rows
    state.jobs.grow(rows=size)
    for part, column, room in (
        (state, state.log, {"log": 3 * size + 16}),
        (state, state.numbers.T, {"numbered": size}),
        (state, state.needs.T, {"needed": size}),
        (state.expected, state.expected.ns, {"entries": size}),
        (state.arriving, state.arriving.ns, {"entries": 2 * size}),
        (state.scaling, state.scaling.scale, {"rows": size}),
        (state.wishing, state.wishing.wish, {"rows": size}),
        (state.power, state.power.predicted, {"predicted": size}),
    ):
        if len(column):
            part.grow(**room)


def _double(table: State, more: int = 0) -> None:
    # Twice as much room for all that a table has, and ``more``.
    fields = [(name, field.dims[0]) for name, field in fields_of(type(table)).items() if field.dtype and field.dims]
    table.grow(**{str(dim): 2 * len(getattr(table, name)) + more for name, dim in fields})


def grow_releases(state: BatchState) -> None:
    """More room for the table of releases, and for those of one more job."""
    _double(state.releases, len(state.holder))


def grow_wishes(state: BatchState, more: int) -> None:
    """Room for so many more wishes, where there is too little, and for as many again as there are."""
    needed = state.n_wishes + more
    if needed > len(state.wishes.job):
        state.wishes.grow(wishes=needed + len(state.wishes.job))


#: What is done about a status that asks for room.
GROW: dict[int, Callable[[BatchState], None]] = {
    BatchStatus.POOL_FULL: grow_pool,
    BatchStatus.ROWS_FULL: grow_rows,
    BatchStatus.PROFILE_FULL: lambda state: _double(state.cores_profile),
    BatchStatus.DECISIONS_FULL: lambda state: _double(state.decisions),
    BatchStatus.TOLD_FULL: lambda state: _double(state.told, state.settings.max_told),
    BatchStatus.HOST_LOG_FULL: lambda state: _double(state.stops.log, 2 * state.settings.host_log_room),
}
