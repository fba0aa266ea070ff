"""The process of a Dask cluster of this machine: its scheduler, and the nannies that start its workers.

It leads a process group of its own, so that an interrupt at the terminal does not reach it, and so that whoever started it ends
all of it at once. It writes one line of JSON to stdout: the addresses, or why there is no cluster. When its stdin ends, whoever
started it is gone: it removes the cluster's folder and kills its group, itself included.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Final

from bridge.standard_error import keep_standard_streams
from bridge.workers.process_names import die_with_parent

__all__ = ["CERTIFICATE", "KEY", "main", "security_of"]

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
    """Run the cluster until stdin ends.

    Parameters
    ----------
    workers : int
        How many worker processes.
    folder : str
        Has the credentials; workers write there what they do not keep in memory.
    """
    keep_standard_streams()
    answers, parent = os.dup(1), os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what a plug-in prints is no answer
    os.close(nothing)
    die_with_parent(os.getppid(), signal.SIGCONT)  # even one that was stopped is to find that its stdin has ended
    threading.Thread(target=_watch, args=(parent, folder), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # workers inherit that
    try:
        cluster = _cluster(workers, Path(folder))
    except (OSError, RuntimeError, TimeoutError) as error:
        said = {"error": " ".join(str(error).split()) or type(error).__name__}
    else:
        said = {"address": cluster.scheduler_address, "dashboard": cluster.dashboard_link}
    os.write(answers, (json.dumps(said) + "\n").encode())
    os.close(answers)
    threading.Event().wait()


def _watch(parent: int, folder: str) -> None:
    os.read(parent, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


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


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
