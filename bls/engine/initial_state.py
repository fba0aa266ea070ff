"""Initial state of the batch engine, made from arrays."""

from typing import Any

import numpy as np

from bls.availability.free_cores import new_free, new_tree
from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun, RunColumns
from bls.engine.features.order import FEATURES, features_for
from bls.engine.settings import Settings
from traces.compiled import function_table, own
from traces.kernels.state import State, fields_of

_LONGEST_NS = 2**62 - 1

#: Fields of the state that are states with given columns themselves.
_GIVEN_STATES = {
    name
    for name, field in fields_of(b.BatchState).items()
    if isinstance(field.kind, type) and any(one.dtype and one.dims is None for one in fields_of(field.kind).values())
}


def _features(given: RunColumns, settings: Settings) -> tuple[FeatureRun, dict[int, Feature]]:
    """Features of a run, by place; also set the settings that follow from them."""
    host_first = given.state["host_first"]
    run = FeatureRun(given, settings, len(given.jobs.rank), len(host_first) - 1, int(host_first[-1]))
    run.sizes["presets"] = int(np.count_nonzero(given.jobs.preset))
    run.sizes["cancels"] = int(np.count_nonzero(given.jobs.cancel_ns < b.NEVER))
    settings.plans, settings.widest = int(settings.max_reservations > 0), int(given.jobs.cores.max())
    settings.profiled = settings.plans
    found = {}
    for place, feature in features_for(run):
        found[place] = feature
        for name, value in feature.settings(run).items():
            setattr(settings, name, max(value, getattr(settings, name)))
        settings.command_sources += int(feature.commands > 0)
        settings.max_commands += run.cores * feature.commands
    if settings.command_sources > 1:
        settings.max_commands *= 2  # room for sorting
    return run, found


def _size(run: FeatureRun, features: list[Feature], bounds: int) -> None:
    # Set the size of each dimension; 0 if the run does not need it.
    n, settings, given = run.jobs, run.settings, run.given
    by_counts = not any(h.HOLD_POOL in feature.plays for feature in features)
    running = min(n, run.cores) + 1  # at most one job per core runs at once
    run.sizes.update(
        jobs=n,
        hosts=run.hosts,
        boundaries=bounds,
        partitions=len(given.partitions["tier"]),
        running=running,
        queue_words=len(new_tree(n)[0]),
        free_words=len(new_free(run.cores)[0]),
        pool=4 * n + run.cores + 2 * settings.widest + 2,
        slices=4 * running + 64 if by_counts else 0,
        expected=n if settings.plans else 0,
        log=3 * n + 16 if settings.logs else 0,
        host_log=2 * settings.host_log_room,
    )
    for feature in features:
        for dim, long in feature.sizes(run).items():
            run.sizes[dim] = max(long, run.sizes[dim])


def _owned(kind: type[State], columns: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    # Given columns as kernels need them, and nested states with such columns; also set the sizes of their dimensions.
    fields, found = fields_of(kind), {}
    for name, given in columns.items():
        field = fields[name]
        found[name] = given
        if isinstance(given, dict):
            found[name] = field.kind.none(sizes, **_owned(field.kind, given, sizes))
        elif field.dtype is not None:
            found[name] = own(given, field.dtype)
            sizes.update((str(dim), long) for dim, long in zip(field.dims or (), given.shape, strict=False))
    return found


def _call_features(state: b.BatchState, features: list[Feature]) -> None:
    # Register the kernels of features.
    roles = {role: where for feature in features for role, where in feature.plays.items()}
    state.roles = h.ROLES.filled_with(roles)
    state.played = np.array([role in roles for role in h.ROLES.slots], np.int64)
    of_events = [[feature.on[event] for feature in features if event in feature.on] for event in range(h.EVENTS)]
    state.first_subscriber = np.cumsum([0, *map(len, of_events)])
    state.subscribers = function_table([h.ROLES.kernel(where) for event in of_events for where in event])


def new_state(given: RunColumns) -> b.BatchState:
    """Make the state before the first event."""
    n, fields, settings = len(given.jobs.rank), fields_of(b.BatchState), Settings(**given.settings)
    run, places = _features(given, settings)
    features = [*places.values()]
    jobs = given.jobs
    np.minimum(jobs.estimate_ns, _LONGEST_NS, out=jobs.estimate_ns)
    host_cores = np.diff(given.state["host_first"])
    n_hosts, n_cores = len(host_cores), int(host_cores.sum())
    free_words, free_starts = new_free(n_cores)
    leaves = free_words[: free_starts[1]]
    windows = given.state.get("windows", b.WindowColumns.none())
    boundaries = np.array(sorted({*windows.begin_ns.tolist(), *windows.end_ns.tolist()}), np.int64)
    alone = np.flatnonzero(jobs.depends_on < 0)
    _size(run, features, len(boundaries))
    sizes = run.sizes
    columns = _owned(b.BatchState, {"masks": leaves[None]} | given.state, sizes)
    masked = np.any(columns["masks"][: sizes["partitions"]] != leaves, axis=1)
    for name in _GIVEN_STATES - columns.keys():  # of absent features
        columns[name] = fields[name].kind.none()
    for feature in features:
        columns |= feature.state(run)
    state = b.BatchState.none(
        sizes,
        settings=settings,
        jobs=jobs,
        n_rows=n,
        free_cores=n_cores,
        presets_left=sizes["presets"],
        arrivals=alone[np.argsort(jobs.begin_ns[alone], kind="stable")],
        queue_starts=new_tree(n)[1],
        free_words=free_words,
        free_starts=free_starts,
        host_free=host_cores,
        host_of=np.repeat(np.arange(n_hosts), host_cores),
        boundaries=boundaries,
        partitions=b.Partitions.new(sizes, masked=masked, **given.partitions),
        functions=np.zeros(b.FUNCTIONS, np.int64),
        **columns,
    )
    state.profile.free[:] = n_cores
    state.profile.end = min(1, len(state.profile.ns))
    state.by_rank[jobs.rank] = np.arange(n)
    for feature in features:
        feature.begin(state)
    state.features = np.isin(np.arange(len(FEATURES)), list(places)).astype(np.int64)
    _call_features(state, features)
    return state
