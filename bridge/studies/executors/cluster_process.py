"""The processes of a Dask cluster on this machine: a watcher, and one with the scheduler and the nannies of its workers.

The watcher is in its own session, so that an interrupt at the terminal does not reach it. When its stdin ends, its parent is
finished or dead: it kills the process group of the second process, with all workers, and removes the cluster's folder. The
second process writes one line of JSON to stdout: the addresses, or why there is no cluster.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import warnings
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, Final, NoReturn

from bridge.standard_error import keep_standard_streams
from bridge.workers.process_names import die_with_parent

CERTIFICATE: Final = "certificate"  #: files of the cluster's folder: the credentials of its processes and its client
KEY: Final = "key"

_HOST: Final = "127.0.0.1"

#: First port to try for the dashboard, Dask's default; if it is taken, the system chooses one.
_DASHBOARD_PORT: Final = 8787

#: Time in which a dead worker must return, s: restarting takes a while on a busy machine, and Dask gives up after 15.
_PATIENCE_S: Final = 300


def security_of(folder: Path) -> Any:
    """Credentials of the cluster with this folder: TLS on every connection, with the same certificate at both ends."""
    from bridge.studies.executors.dask_library import dask_library

    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    of_role = {f"tls_{role}_{what}": path for role in _ROLES for what, path in (("cert", certificate), ("key", key))}
    return dask_library("distributed").Security(require_encryption=True, tls_ca_file=certificate, **of_role)


_ROLES: Final = ("client", "scheduler", "worker")


def main(workers: int, folder: str) -> None:
    """Watch a cluster until stdin ends. ``folder`` has its credentials, and the files of its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # child processes inherit this
    keep_standard_streams()
    die_with_parent(os.getppid(), signal.SIGCONT)  # so that even a stopped watcher notices the end of its stdin
    _start_tracker()
    ended, lives = os.pipe()
    watching = os.getpid()
    cluster = os.fork()
    if cluster == 0:
        os.setpgid(0, 0)
        os.close(ended)
        _be_cluster(workers, folder, watching)
    with contextlib.suppress(OSError):  # it may have ended already
        os.setpgid(cluster, cluster)
    os.close(lives)
    os.close(1)  # only the second process answers, and its end must be noticed
    select.select([0, ended], [], [])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(cluster, signal.SIGKILL)
    _, status = os.waitpid(cluster, 0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(max(0, os.waitstatus_to_exitcode(status)))


def _start_tracker() -> None:
    # The tracker removes semaphores of killed processes, so it must survive them; it would also complain of each.
    nothing, stderr = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(nothing, 2)
    resource_tracker.ensure_running()
    os.dup2(stderr, 2)
    os.close(nothing)
    os.close(stderr)


def _be_cluster(workers: int, folder: str, watching: int) -> NoReturn:
    die_with_parent(watching)
    answers, nothing = os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # output of plug-ins must not mix with the answer
    os.close(nothing)
    try:
        cluster = _cluster(workers, Path(folder))
    except (OSError, RuntimeError, TimeoutError) as error:
        said = {"error": " ".join(str(error).split()) or type(error).__name__}
    else:
        said = {"address": cluster.scheduler_address, "dashboard": cluster.dashboard_link}
    os.write(answers, (json.dumps(said) + "\n").encode())
    os.close(answers)
    while True:
        signal.pause()


def _cluster(workers: int, folder: Path) -> Any:
    from bridge.studies.executors.dask_library import dask_library

    distributed, dask = dask_library("distributed"), dask_library("dask")
    for key, value in (
        ("temporary-directory", str(folder)),  # of the scheduler; workers use folders in it
        ("distributed.deploy.lost-worker-timeout", f"{_PATIENCE_S}s"),
        ("distributed.comm.timeouts.connect", f"{_PATIENCE_S}s"),
    ):
        dask.config.set({key: value})
    warnings.simplefilter("ignore")  # such as that port 8787 is taken: the port in use is reported
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,  # a process runs one cell at a time
        processes=True,
        memory_limit=0,  # no limit for cells, like without a cluster
        host=_HOST,
        protocol="tls://",
        security=security_of(folder),
        dashboard_address=f"{_HOST}:{_DASHBOARD_PORT}",
        worker_dashboard_address=f"{_HOST}:0",
        local_directory=str(folder),
        silence_logs=50,
    )
