"""Dask clusters whose workers are jobs of a real Slurm, by dask_jobqueue."""

from __future__ import annotations

import contextlib
import inspect
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from bridge.held_interrupts import interrupts_held
from bridge.options.declared import CLUSTER_WORKERS
from bridge.studies.executors.dask_library import Cluster, dask_library, leave_garbage_to_python
from traces.base.errors import InputError, one_of, shown, whole

#: Keys of [cluster.slurm] that are ours; all others are dask_jobqueue's,
_OURS = ("jobs", "adaptive")

#: but for these of its arguments.
_NOT_SETTINGS = ("self", "job_cls", "loop", "asynchronous", "config_name")


def slurm_settings(given: Mapping[str, object], workers: int | None) -> dict[str, Any]:
    """The settings of a cluster of Slurm jobs, checked. ``given``: ``[cluster.slurm]``: ours, and those of
    ``dask_jobqueue.SLURMCluster``. Raises InputError if one is unknown or missing, or is no number of jobs."""
    jobqueue = dask_library("dask_jobqueue")
    core, slurm = dask_library("dask_jobqueue.core"), dask_library("dask_jobqueue.slurm")
    known = set(_OURS)
    for kind in (jobqueue.SLURMCluster, core.JobQueueCluster, slurm.SLURMJob, core.Job):
        known |= set(inspect.signature(kind.__init__).parameters) - set(_NOT_SETTINGS)
    settings = dict(given)
    for name in settings:
        if name not in known:
            raise one_of("setting", name, sorted(known), "[cluster.slurm]")
    for name in ("cores", "memory"):
        if name not in settings:
            raise InputError(f"[cluster.slurm] {name}: missing; allowed: what a Slurm job of workers has")
    if "adaptive" in settings:
        _check_adaptive(settings["adaptive"])
    if workers is not None:
        settings["workers"] = CLUSTER_WORKERS.check(workers)
    elif "adaptive" not in settings:
        settings["jobs"] = whole("[cluster.slurm] jobs", settings.get("jobs", 1), 1, CLUSTER_WORKERS.highest)
    return settings


def _check_adaptive(given: object) -> None:
    where = "[cluster.slurm] adaptive"
    if not isinstance(given, dict) or "maximum" not in given:
        raise InputError(f"{where}: {shown(given)}; allowed: {{minimum = …, maximum = …}}, numbers of worker processes")
    for name in given:
        if name not in ("minimum", "maximum"):
            raise one_of("key", name, ("minimum", "maximum"), where)
    least = whole(f"{where} minimum", given.get("minimum", 0), 0, 1_000_000)
    whole(f"{where} maximum", given["maximum"], max(1, least), 1_000_000)


@contextlib.contextmanager
def slurm_cluster(settings: Mapping[str, Any]) -> Iterator[Cluster]:
    """A cluster whose workers are jobs of Slurm, while the context lasts; its scheduler runs here. Raises InputError if
    there is no Slurm here, or it cannot be so."""
    jobqueue = dask_library("dask_jobqueue")
    if shutil.which("sbatch") is None:
        raise InputError("--cluster slurm: there is no command sbatch here; begin it where jobs are submitted to Slurm")
    given = {name: value for name, value in settings.items() if name not in (*_OURS, "workers")}
    try:
        cluster = jobqueue.SLURMCluster(**given)
    except (TypeError, ValueError) as error:
        raise InputError(f"[cluster.slurm]: {error}") from None
    leave_garbage_to_python()
    try:
        if "workers" in settings:
            cluster.scale(settings["workers"])
        elif "adaptive" in settings:
            cluster.adapt(**dict(settings["adaptive"]))
        else:
            cluster.scale(jobs=settings["jobs"])
        yield Cluster(str(cluster.scheduler_address), "slurm", cluster.security)
    finally:
        with interrupts_held():
            cluster.close()
