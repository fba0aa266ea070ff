"""Declaration of numbered GPUs."""

from typing import Any

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun, RunColumns
from bls.engine.features.gpus.tallies import carry_tallies
from bls.engine.status import BatchStatus
from bls.machine.partitions import NO_LIMIT
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.records.gpus import WHOLE_GPU, GpuRecords

_HERE = "bls.engine.features.gpus"
_MEMO = 2**20  #: numbers in an allocator's memo, unless that is less than a row for each host


def _requested(run: RunColumns) -> dict[str, Any]:
    chosen, platform, cores = run.chosen, run.chosen.platform, run.jobs.cores
    requests, totals, table = chosen.constraints.requests, run.state["totals"], platform.partition_table
    asked = None if requests is None else requests.gpus
    if asked is None and not chosen.allocator.by_units:
        return {}
    none, of_host = np.zeros(len(cores), np.int64), np.diff(platform.first_gpu)
    per_unit, per_host, milli, kinds = (none, none, none + WHOLE_GPU, none) if asked is None else asked.columns
    hosts = np.minimum(cores, np.count_nonzero(of_host))
    gpus = {
        "per_unit": per_unit,
        "per_host": per_host,
        "milli": milli,
        "kinds": kinds,
        "of_host": platform.first_gpu,
        "host": np.repeat(np.arange(len(of_host)), of_host),
        "kind": platform.gpu_kind_of_host,
        "most": per_unit * (cores // run.jobs.unit_cores) + per_host * hosts,
    }
    if min(table.max_running_gpus.min(), table.max_gpus_per_user.min()) < NO_LIMIT:
        gpus |= {"most_running": table.max_running_gpus, "most_of_user": table.max_gpus_per_user}
    whole = np.full(platform.n_gpus, WHOLE_GPU)
    given = {"gpus": gpus, "totals": np.insert(totals, len(totals) - run.settings["n_licences"], whole)}
    if chosen.allocator.by_classes and asked is not None:
        units, gpus["own_class"], jobs = requests.classes
        given["placement"] = _with_classes(run.state["placement"], np.column_stack([jobs, units]), of_host)
    return given


def _with_classes(placement: Any, classes: Array, of_host: Array) -> Any:
    """The input of an allocator that reads ``HostAmounts.classes``, with room for its memo."""
    width, n_hosts = classes.shape[1] - 3 + int(of_host.max()), len(of_host)
    memo = np.full((max(n_hosts, min(_MEMO // width, 2 * len(classes) * n_hosts)), width), -1)
    return placement._replace(more=placement.more._replace(classes=classes, memo=memo))


def _most_per_core(run: FeatureRun) -> dict[str, int]:
    asked = run.given.state["gpus"]
    return {"others_per_core": int(max(asked["per_unit"].max(), asked["per_host"].max()))}


def _sizes(run: FeatureRun) -> dict[str, int]:
    most = int(run.given.state["gpus"]["most"].max())
    return {"gpus": run.jobs, "gpu_lists": run.jobs, "other_amounts": most, "offered_hosts": run.hosts}


def _place(state: b.BatchState) -> None:
    # In ``Offer.amounts`` the GPUs are before the licences.
    state.gpus.amount = len(state.totals) - state.settings.n_licences - len(state.gpus.host)


def _carry(old: b.BatchState, new: b.BatchState) -> None:
    gpus = new.gpus
    rows = np.flatnonzero(gpus.first >= 0)
    most = gpus.most[new.jobs.origin[rows]]
    # Rooms of the last arrivals follow.
    used = old.gpus.lists.gpu.take(intervals_of(gpus.first[rows], most), mode="clip")
    gpus.first[rows] = np.cumsum(most) - most
    gpus.n_used = len(used)
    gpus.lists.grow(gpu_lists=len(used) + len(gpus.lists.gpu))
    gpus.lists.gpu[: len(used)] = used


def _records(state: b.BatchState) -> dict[str, GpuRecords]:
    gpus, jobs = state.gpus, state.jobs.front(state.n_rows)
    rows = np.flatnonzero(jobs.start_ns >= 0)
    count = gpus.count[rows]
    job, held = np.repeat(rows, count), intervals_of(gpus.first[rows], count)
    return {"gpus": GpuRecords.of(state.n_rows, job, gpus.lists.gpu[held], gpus.milli[jobs.origin[job]])}


def _is_counted(run: FeatureRun) -> bool:
    gpus, scores = run.given.state.get("gpus"), run.given.state.get("scores", {})
    return gpus is not None and ("most_running" in gpus or scores.get("held_gpus", -1) >= 0)


GPUS = Feature(
    lambda run: "gpus" in run.given.state,
    given=_requested,
    on={h.ARRIVED: f"{_HERE}.devices:reserve_list", h.BEFORE_PASS: f"{_HERE}.devices:room_for_lists"},
    plays={
        h.HOST_ROOM: f"{_HERE}.devices:room_on_host",
        h.CHOOSE_PARTS: f"{_HERE}.devices:choose_lowest",
        h.OTHER_AMOUNTS: f"{_HERE}.devices:list_changes",
        h.PLACE_UNITS: f"{_HERE}.devices:place_units",
    },
    settings=_most_per_core,
    sizes=_sizes,
    begin=_place,
    grow={BatchStatus.GPUS_FULL: lambda state: (state.gpus.lists, state.gpus.n_used)},
    carried=("gpu_lists",),
    carry=_carry,
    records=_records,
    check=f"{_HERE}.validation:check_gpus",
)

#: Counts of GPUs for limits of partitions and accounts of policies.
TALLIES = Feature(
    _is_counted,
    on=dict.fromkeys((h.TAKEN, h.FREED), f"{_HERE}.tallies:count_held") | {h.BLOCKED: f"{_HERE}.tallies:is_beyond"},
    sizes=lambda run: {"users": int(run.given.jobs.user.max()) + 1},
    carried=("users",),
    carry=carry_tallies,
    check=f"{_HERE}.tallies:check_tallies",
    overtakes=True,
)
