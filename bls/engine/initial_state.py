"""The state of the batch engine before the first event, from what is given as arrays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from bls.availability.bitset import new_tree
from bls.availability.free_cores import new_free
from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.features.sleep.state import all_awake
from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from bls.engine.state import BatchState
from traces.compiled import Array, own
from traces.kernels.state import fields_of

_LONGEST_NS = 2**62 - 1


@dataclass
class RunColumns:
    """What the engine is told of a run, n jobs in workload order on M cores of H hosts; int64 arrays.

    Attributes
    ----------
    jobs, partitions : mapping of str to array
        Columns of ``Jobs`` and ``Partitions`` by their names.
    settings : mapping of str to int
        Fields of ``Settings`` that differ from their defaults.
    state : mapping of str to array, int or state
        Further fields of ``BatchState`` by their names, among them the hosts and the outages; what is missing has no entries.
    sleep_passages : (2, H), optional
        Where hosts that idle fall asleep, how long each takes to shut down, and to boot.
    keep_decisions : bool
    """

    jobs: dict[str, Array]
    partitions: dict[str, Array]
    settings: dict[str, int]
    state: dict[str, Any]
    sleep_passages: Array | None = None
    keep_decisions: bool = False


def _settings(given: RunColumns) -> Settings:
    settings, power = Settings(**given.settings), given.state.get("power")
    n_hosts, n_cores = len(given.state["host_first"]) - 1, int(given.state["host_first"][-1])
    # A job may be given all the cores.
    settings.widest = n_cores if settings.resizing or settings.molds else int(given.jobs["cores"].max())
    settings.after_widths = h.RESIZE if settings.resizing else 0
    # What running jobs are told after a pass, and how much of it there may be: of a policy's directions each core of a job, all
    # of them, and its end.
    most = {settings.after_widths: 1, settings.after_hints: 1, settings.after_directions: 3, settings.after_levels: 2}
    most.pop(0, None)
    settings.max_told = n_cores * sum(most.values()) * (2 if len(most) > 1 else 1)  # to put it in order
    settings.after_pass = h.TOGETHER if len(most) > 1 else sum(most)
    by_counts = h.POWER_PLAN if settings.powered != b.UNPOWERED else h.PLAN if settings.max_reservations > 1 else 0
    planners = {b.DECIDED: h.CHOSEN, b.REJECTED: h.TURN_AWAY}
    settings.planner = planners.get(settings.order, h.PLAN if settings.by_cores else by_counts)
    settings.plans = int(settings.max_reservations > 0)
    settings.predicts = int("history_least" in given.state or (power is not None and len(power.seen) > 0))
    if power is not None:
        # As many steps of limits come to be known at an instant, and as many are over; where deciding takes time there is no
        # pass between such instants in which there could be seen to room.
        steps = np.diff(power.first, axis=1).sum(axis=0)
        settings.power_stairs = 2 * int(steps.sum() if settings.charges_decisions else steps.max(initial=0))
    # Each may fall asleep, boot, and go down.
    settings.host_log_room = n_hosts * (6 if settings.sleeps else 2 if "stops" in given.state else 0)
    return settings


def _host_status(outage_first: Array, outage_down: Array) -> b.HostStatus:
    # Of each list of outages.
    first = outage_first[:-1]
    some = np.flatnonzero(first < outage_first[1:])
    status = b.HostStatus.new({"outages": len(first)}, next_outage=first)
    status.next_down_ns[some] = outage_down[first[some]]
    return status


def _begin_profiles(state: BatchState) -> None:
    # All is free. That of cores grows when it is full: most runs need far fewer slices than they could.
    profile, now = state.cores_profile, state.cores_profile.now
    state.profile.free[:] = profile.free[:] = state.free_cores
    state.profile.end = min(1, len(state.profile.ns))
    now.words[:], now.hosts[:] = state.free_words[: len(now.words)], state.host_free[: len(now.hosts)]
    now.amounts[:] = state.totals
    if len(profile.ns):
        # A job may fit from the end of a window on: slices begin there, at a change of nothing.
        at = state.boundaries[state.boundaries > 0]
        n = profile.n_changes = profile.n_ever = len(at)
        profile.n_slices = 1 + n
        profile.ns[1 : 1 + n], profile.first[1 : 1 + n] = at, np.arange(n)


def _needs(
    given: RunColumns, settings: Settings, columns: dict[str, Any], bounds: int
) -> tuple[dict[str, int], set[int]]:
    # The size of each dimension of the state's own columns, 0 for what the run does not need; and the hooks that it needs.
    n, host_first = len(given.jobs["rank"]), given.state["host_first"]
    n_hosts, n_cores = len(host_first) - 1, int(host_first[-1])
    running = min(n, n_cores) + 1  # no more jobs run at once than there are cores
    words, steps = len(new_free(n_cores)[0]), bounds + 2 * settings.power_stairs
    by_cores, several = settings.by_cores == 1, settings.max_reservations > 1
    by_hosts = settings.by_hosts or (by_cores and (settings.whole_hosts or settings.n_resources > 0))
    # In a plan every waiting job may stand beside those that run.
    slices = 4 * (running + (n if several else 0)) + 64
    slots = (settings.after_widths, settings.after_hints, settings.after_directions, settings.after_levels)
    resized, hinted, by_policy, by_level = (n_cores * (slot > 0) for slot in slots)
    directed = max(by_policy, by_level)
    named = n_cores if settings.after_hints == h.HINT_AS_DECIDED else 0
    found: defaultdict[str, int] = defaultdict(int)
    found |= {
        "jobs": n,
        "hosts": n_hosts,
        "outages": max(0, len(columns["outage_first"]) - 1),
        "partitions": len(given.partitions["tier"]),
        "users": int(given.jobs["user"].max()) + 1,
        "running": running,
        "queue_words": len(new_tree(n)[0]),
        "free_words": words,
        "pool": 4 * n + n_cores + 2 * settings.widest + 2,
        "host_log": 2 * settings.host_log_room,
        # Where running jobs are told something:
        "reached": n_cores * sum(slot > 0 for slot in slots),  # each may tell something to every job
        "told": 4 * (min(hinted, running) + resized + directed),
        "hinted": hinted,
        "resizing": resized,
        "wishing": n if resized else 0,
        "directed": 3 * directed + 2 * named,
        "scaled": directed,
        "scaling": n if directed else 0,
    }
    hooks = {settings.planner, settings.after_pass, *slots} - {0}
    outages, releases = found["outages"] > 0, settings.releases != b.NO_RELEASES
    domains = "domains" in columns and len(columns["domains"].limit_mw) > 1
    for there, needed, more in (
        (settings.plans, (), {"expected": n}),
        ("child_first" in columns or settings.switch_wait_ns < b.NEVER, (), {"arriving": 2 * n}),
        (not by_cores, (), {"slices": slices, "plan_slices": slices if several else 0}),
        (by_cores, (h.HOLD_POOL, h.HOLD_HOST, h.MOVE_PROFILE), {"core_slices": 64 + steps, "changes": 256 + steps}),
        (by_cores, (h.HOLD_KEPT, h.EARLIEST, h.ROOM), {"kept": 2 * n + n_cores if settings.plans else 0}),
        (by_cores or settings.sleeps, (), {"offered_words": words, "offered_hosts": n_hosts if by_hosts else 0}),
        (settings.sleeps, (h.HOSTS_SLEEP, h.PLACE_AWAKE, h.SLOT_AWAKE, h.BOOT_HOSTS), {}),
        (settings.order == b.SCORED, (h.ORDER,), {"scored": n}),
        (settings.order == b.DECIDED, (), {"chosen": n, "chosen_first": n + 1, "named": n_cores}),
        (settings.logs, (), {"log": 3 * n + 16}),
        (given.keep_decisions, (), {"decisions": 2 * n + 16}),
        (releases, (h.TAKE_UP, h.GIVE_UP), {"held": n_cores, "releasing": n_cores, "releases": 4 * n_cores}),
        (releases, (h.DRAIN if settings.releases == b.BY_DRAIN else h.RELEASE,), {}),
        (settings.resizing == b.EVOLVE, (h.WISH,), {"releasing": 2 * n_cores, "wishes": 4 * n_cores}),
        (settings.molds, (h.MOLD_BESIDE if several else h.MOLD,), {}),
        (outages, (h.HOST_EVENTS, h.OUTAGES_SHORT), {}),
        (outages or settings.loses or settings.directs & b.CUTS, (h.AGAIN,), {}),
        (settings.has_others, (h.OTHERS, h.NEXT_OTHER), {}),
        (settings.predicts, (h.PREDICT, h.LEARN), {}),
        (settings.promises, (h.HEAR,), {}),
        (given.jobs["preset"].any(), (h.PRESETS,), {}),
        (settings.powered != b.UNPOWERED, (h.LIMITS,), {}),
        (domains, (h.DOMAIN_OFFER,), {}),
        ("stops" in columns, (h.STOP_HOSTS,), {}),
    ):
        if there:
            hooks |= set(needed)
            found |= more
    fields = fields_of(BatchState)
    for name, column in columns.items():
        if fields[name].dtype is not None:
            found |= {str(dim): long for dim, long in zip(fields[name].dims or (), column.shape, strict=False)}
    return found, hooks


def new_state(given: RunColumns) -> BatchState:
    """The state before the first event."""
    n, fields, settings = len(given.jobs["rank"]), fields_of(BatchState), _settings(given)
    jobs = Jobs.new({"rows": n}, origin=np.arange(n), **given.jobs)
    np.minimum(jobs.estimate_ns, _LONGEST_NS, out=jobs.estimate_ns)
    host_cores = np.diff(given.state["host_first"])
    n_hosts, n_cores = len(host_cores), int(host_cores.sum())
    free_words, free_starts = new_free(n_cores)
    leaves = free_words[: free_starts[1]]
    columns = {"masks": leaves[None]} | given.state
    columns = {name: own(one, fields[name].dtype) if fields[name].dtype else one for name, one in columns.items()}
    power, windows = given.state.get("power"), given.state.get("windows")
    boundaries = np.unique([windows.begin_ns, windows.end_ns]) if windows else np.zeros(0, np.int64)
    cancels, alone = np.flatnonzero(jobs.cancel_ns < b.NEVER), np.flatnonzero(jobs.depends_on < 0)
    host_status = _host_status(columns["outage_first"], columns["outage_down"])
    rarer = len(boundaries) + len(cancels) + len(host_status.next_outage) + (0 if power is None else len(power.ns))
    waits = settings.keeps_reservations == 1 or settings.switch_wait_ns < b.NEVER or settings.order == b.DECIDED
    settings.has_others = int(rarer > 0 or waits or "child_first" in columns)
    sizes, needed = _needs(given, settings, columns, len(boundaries))
    masked = np.any(columns["masks"][: sizes["partitions"]] != leaves, axis=1)
    # Of features that are not here:
    for name in ("power", "domains", "stops", "sleep"):
        columns.setdefault(name, fields[name].kind.none())
    if given.sleep_passages is not None:
        first_ns = int(np.min(given.jobs["submit_ns"], initial=b.NEVER))
        columns["sleep"] = all_awake(given.sleep_passages, sizes, first_ns, settings.sleep_after_ns)
    state = BatchState.none(
        sizes,
        settings=settings,
        jobs=jobs,
        n_rows=n,
        n_predicted=n,
        free_cores=n_cores,
        presets_left=int(jobs.preset.sum()),
        power_at_ns=b.NEVER if power is None else int(power.ns[0]),
        n_idle=n_hosts if settings.sleeps else 0,
        arrivals=alone[np.argsort(jobs.begin_ns[alone], kind="stable")],
        queue_starts=new_tree(n)[1],
        free_words=free_words,
        free_starts=free_starts,
        cancel_order=cancels[np.lexsort((cancels, jobs.cancel_ns[cancels]))],
        host_free=host_cores,
        host_of=np.repeat(np.arange(n_hosts), host_cores),
        host_status=host_status,
        boundaries=boundaries,
        partitions=b.Partitions.new(sizes, masked=masked, **given.partitions),
        functions=np.zeros(b.FUNCTIONS, np.int64),
        **columns,
    )
    _begin_profiles(state)
    state.by_rank[jobs.rank] = np.arange(n)
    down = np.flatnonzero(np.diff(state.outage_first))  # also of a drain that may be told later
    state.host_events.refill(host_status.next_down_ns[down], len(host_status.next_down_ns) + down)
    state.hooks = h.HOOKS.filled(needed)
    return state
