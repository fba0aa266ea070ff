"""The processes of a Dask cluster of this machine: one that watches, and one with its scheduler and the nannies of its workers.

The first is in a session of its own, so that an interrupt at the terminal does not reach it. When its stdin ends, whoever
started it is done or gone: it kills the process group of the second, with all workers, and removes the cluster's folder. The
second writes one line of JSON to stdout: the addresses, or why there is no cluster.
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

#: Files of the cluster's folder: what its processes and its client know each other by.
CERTIFICATE: Final = "certificate"
KEY: Final = "key"

_HOST: Final = "127.0.0.1"

#: Where the dashboard is looked for first, as Dask has it; where that is taken, the system chooses a port.
_DASHBOARD_PORT: Final = 8787

#: How long a worker that has died may be away, s: a busy machine takes a while to start one again, and Dask gives up after 15.
_PATIENCE_S: Final = 300


def security_of(folder: Path) -> Any:
    """Credentials of the cluster whose folder this is: TLS on every connection, with the same certificate at both ends."""
    from bridge.studies.executors.dask_library import dask_library

    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    of_role = {f"tls_{role}_{what}": path for role in _ROLES for what, path in (("cert", certificate), ("key", key))}
    return dask_library("distributed").Security(require_encryption=True, tls_ca_file=certificate, **of_role)


_ROLES: Final = ("client", "scheduler", "worker")


def main(workers: int, folder: str) -> None:
    """Watch over a cluster until stdin ends. ``folder`` has its credentials, and the files of its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that is started here inherits that
    keep_standard_streams()
    die_with_parent(os.getppid(), signal.SIGCONT)  # even one that was stopped is to find that its stdin has ended
    _start_tracker()
    ended, lives = os.pipe()
    watching = os.getpid()
    cluster = os.fork()
    if cluster == 0:
        os.setpgid(0, 0)
        os.close(ended)
        _be_cluster(workers, folder, watching)
    with contextlib.suppress(OSError):  # it may have done so already
        os.setpgid(cluster, cluster)
    os.close(lives)
    os.close(1)  # the answer is the other's; that it ends is to be seen
    select.select([0, ended], [], [])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(cluster, signal.SIGKILL)
    _, status = os.waitpid(cluster, 0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(max(0, os.waitstatus_to_exitcode(status)))


def _start_tracker() -> None:
    # It removes the semaphores of processes that were killed, and so is not to be killed with them; it would complain of each.
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
    os.dup2(2, 1)  # what a plug-in prints is no answer
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
        ("temporary-directory", str(folder)),  # the scheduler's; workers have theirs below
        ("distributed.deploy.lost-worker-timeout", f"{_PATIENCE_S}s"),
        ("distributed.comm.timeouts.connect", f"{_PATIENCE_S}s"),
    ):
        dask.config.set({key: value})
    warnings.simplefilter("ignore")  # that port 8787 is taken: the one that is used is said
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,  # a process runs one cell at a time
        processes=True,
        memory_limit=0,  # what a cell needs is for the system to give, as without a cluster
        host=_HOST,
        protocol="tls://",
        security=security_of(folder),
        dashboard_address=f"{_HOST}:{_DASHBOARD_PORT}",
        worker_dashboard_address=f"{_HOST}:0",
        local_directory=str(folder),
        silence_logs=50,
    )
