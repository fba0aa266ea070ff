"""Dask clusters that a study starts: one on this machine, with a dashboard, or one whose workers are jobs of a real Slurm."""

import contextlib
import inspect
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bridge.held_interrupts import interrupts_held
from bridge.options.declared import CLUSTER, CLUSTER_WORKERS
from bridge.scenarios.scenario import Execution
from bridge.scratch import remove_abandoned, scratch_folder
from bridge.standard_error import say
from bridge.studies.executors.cluster_process import CERTIFICATE, KEY, security_of
from bridge.studies.executors.dask_library import Cluster, dask_library, leave_garbage_to_python
from bridge.workers.credentials import make_certificate
from bridge.workers.process_names import how_ended
from traces.base.errors import InputError, PeerError, one_of, shown, whole
from traces.base.given_file import parse_json

_START_S = 600.0  #: time limit for the start of a cluster, s: far longer than it takes, even on a busy machine
_END_S = 10.0  #: time limit for killing its processes, s
_LOOK_S = 1.0  #: interval between checks whether it has started, s; interrupts are noticed at once

#: The cluster's process gets the module path of this process, regardless of the working directory.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from bridge.studies.executors.cluster_process import main; main(int(sys.argv[2]), sys.argv[3])"
)


def checked_workers(workers: int | None) -> int:
    """The number of workers, by default one per processor. Raises InputError if it is out of range, or a library is missing."""
    for name in ("distributed", "bokeh"):
        dask_library(name)
    return Execution(workers=workers).how_many()


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """A scheduler and workers on this machine, with TLS on 127.0.0.1; stderr shows the dashboard's address. An interrupt ends
    it at any time, with every process and file. Raises InputError without a certificate, PeerError if it cannot be started."""
    with scratch_folder() as folder:
        make_certificate(folder / KEY, folder / CERTIFICATE, f"{CLUSTER:local}", ("serverAuth", "clientAuth"))
        with _process(workers, folder) as process:
            said = _answer(process)
            if "error" in said:
                raise PeerError(f"{CLUSTER:local}: it could not be started: {said['error']}")
            say(f"cluster local: {workers} worker processes; its dashboard: {said['dashboard']}")
            yield Cluster(said["address"], "local", security_of(folder), connect_s=_START_S, withdraw_s=0.0)


@contextlib.contextmanager
def _process(workers: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(workers), str(folder)]
    with interrupts_held() as held:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        try:
            held.let_through()
            yield process
        finally:
            try:
                held.hold()
            finally:
                _end(process)
    remove_abandoned()  # including folders of workers


def _end(process: subprocess.Popen[bytes]) -> None:
    # Everything of value has been received by now.
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:  # it was stopped; its child processes die with it
        process.kill()
        process.wait()
    process.stdout.close()


def _answer(process: subprocess.Popen[bytes]) -> dict[str, str]:
    assert process.stdout is not None
    text, deadline = b"", time.monotonic() + _START_S
    while not text.endswith(b"\n"):
        if time.monotonic() > deadline:
            raise PeerError(f"{CLUSTER:local}: it has not started within {_START_S:.0f} s")
        if select.select([process.stdout], [], [], _LOOK_S)[0]:
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                raise PeerError(f"{CLUSTER:local}: it could not be started: its process {how_ended(process.wait())}")
            text += more
    found: dict[str, str] = parse_json(text, f"{CLUSTER:local}")
    return found


_OURS = ("jobs", "adaptive")  #: keys of [cluster.slurm] that are ours; all others are arguments of dask_jobqueue,
_NOT_SETTINGS = ("self", "job_cls", "loop", "asynchronous", "config_name")  #: except these


def slurm_settings(given: Mapping[str, object], workers: int | None) -> dict[str, Any]:
    """The checked settings ``[cluster.slurm]``: our keys, and arguments of ``SLURMCluster``. Raises InputError."""
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
            raise InputError(f"[cluster.slurm] {name}: missing; allowed: the resources of a Slurm job of workers")
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
    """A cluster whose workers are Slurm jobs, while the context lasts. Raises InputError if it cannot be started."""
    jobqueue = dask_library("dask_jobqueue")
    if shutil.which("sbatch") is None:
        where_to = "start it where jobs are submitted to Slurm"
        raise InputError(f"{CLUSTER:slurm}: there is no command sbatch here; {where_to}")
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
