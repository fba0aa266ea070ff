"""A Dask cluster of this machine, for its dashboard: cells, workers and memory of a study in a browser while it runs."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from bridge.couplings import PeerOptions
from bridge.standard_error import say
from bridge.studies.executors.dask_library import dask_library, leave_garbage_to_python
from bridge.studies.executors.spawned import deaf_children, nothing_imported
from traces.base.errors import PeerError

__all__ = ["checked_workers", "local_cluster"]

#: Where the dashboard is looked for first, as Dask has it; where that is taken, the system chooses a port.
_DASHBOARD = "127.0.0.1:8787"

#: So long a worker that has died may be away, s: a busy machine takes a while to start one again, and Dask gives up after 15.
_PATIENCE_S = 300


def checked_workers(workers: int | None) -> int:
    """How many worker processes: so many, or one per processor.

    Raises
    ------
    InputError
        If it is no number of processes, or a library that the cluster or its dashboard needs is not installed.
    """
    for name in ("distributed", "bokeh"):
        dask_library(name)
    return PeerOptions(workers).how_many()


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """A scheduler and its worker processes on this machine, while the context lasts: the address of the scheduler.

    The address of its dashboard is said on stderr. All ports are on 127.0.0.1.

    Raises
    ------
    PeerError
        If it cannot be started.
    """
    distributed, dask = dask_library("distributed"), dask_library("dask")
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": f"{_PATIENCE_S}s"})
    with patience, nothing_imported(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that port 8787 is taken: the one that is used is said
        try:
            with deaf_children():  # its loop is a thread, which starts them
                cluster = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,  # a process runs one cell at a time
                    processes=True,
                    memory_limit=0,  # what a cell needs is for the system to give, as without a cluster
                    host="127.0.0.1",
                    dashboard_address=_DASHBOARD,
                    silence_logs=50,
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise PeerError(f"--cluster local: it could not be started: {error}") from None
        leave_garbage_to_python()
        with cluster:
            say(f"cluster local: {workers} worker processes; its dashboard: {cluster.dashboard_link}")
            yield str(cluster.scheduler_address)
