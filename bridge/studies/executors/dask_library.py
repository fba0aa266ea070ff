"""The only module that imports Dask's libraries, an extra (``pip install 'twolevel[cluster]'``); and a cluster of theirs."""

import asyncio
import pickle
import signal
import threading
from importlib import import_module
from typing import Any, NamedTuple

from bridge.options.declared import CLUSTER
from traces.base.errors import InputError, PeerError

_PAUSE_S = 0.05  #: time between two questions to a nanny, s


def dask_library(name: str) -> Any:
    """A module of Dask, by its name. Raises InputError if it is not installed."""
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"{CLUSTER}: {error}; pip install 'twolevel[cluster]' installs what it needs") from None
    finally:
        # dask_jobqueue turns Ctrl-C into an exit when it is imported: a notebook or a script would never see it again.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != interrupted:
            signal.signal(signal.SIGINT, interrupted)


def leave_garbage_to_python() -> None:
    """Stop a scheduler's monitoring of garbage collections: in a callback of the collector an interrupt would be lost."""
    dask_library("distributed.gc").disable_gc_diagnosis(force=True)


def await_nanny() -> None:
    """Wait until the nanny of the calling worker, if any, knows that it runs: it would not restart a worker that dies before.
    Raises PeerError if the nanny cannot answer."""
    distributed = dask_library("distributed")
    try:
        worker = distributed.get_worker()
    except ValueError:  # not called on a worker
        return
    if worker.nanny:
        distributed.utils.sync(worker.loop, _known, worker)


async def _known(worker: Any) -> None:
    while True:
        said = await worker.rpc(worker.nanny).run(function=pickle.dumps(_runs))
        if said["status"] != "OK":
            raise PeerError(f"the nanny of a worker could not be asked: {said['exception_text']}")
        if said["result"]:
            return
        await asyncio.sleep(_PAUSE_S)


def _runs(dask_worker: Any) -> bool:
    # Runs on the nanny; Dask passes the nanny under this name.
    return bool(dask_worker.status.name == dask_worker.process.status.name == "running")


class Cluster(NamedTuple):
    """A cluster that can be connected to."""

    address: str  # of its scheduler
    name: str  # the user's name for it, for messages
    security: Any = None  # credentials
    connect_s: float = 30.0  # time limit for its answer
    withdraw_s: float = 5.0  # time to wait until tasks are withdrawn from it; 0: it ends with the study
