"""Cells on stock Dask workers that have this project installed.

Each cell and seed is one task. Shared data are tasks as well, which Dask sends to each worker once and can compute again."""

import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import KW_ONLY, dataclass
from queue import Empty, SimpleQueue
from typing import Any

from bridge.held_interrupts import interrupts_held
from bridge.options.declared import CLUSTER, WORKERS
from bridge.standard_error import say
from bridge.studies.executors.clusters import checked_workers, local_cluster, slurm_cluster, slurm_settings
from bridge.studies.executors.dask_library import Cluster, dask_library
from bridge.studies.executors.dask_tasks import Tasks, Terms, terms_of, unfit
from bridge.studies.executors.executor import Executor, Prepared, Unit, UnitOutcome, WorkSummary
from bridge.studies.study import Study
from traces.base.errors import InputError, PeerError, one_of, shown

_STARTED = ("local", "slurm")  #: kinds of clusters that a study can start

#: Time limit for a scheduler's answer, s; and for its first worker, if workers are not started by the study.
_TIMEOUT_S = 30

#: Interval at which the main thread waits, s; and, at the end, the time limit for the thread.
_LOOK_S, _PART_S = 1.0, 1.0


def cluster_executor(where: str, study: Study, workers: int | None) -> Callable[[WorkSummary], Executor]:
    """The executor of cells on a cluster: at the address of a Dask scheduler, ``tcp://host:8786``; ``local``, on this
    machine; or ``slurm``, as jobs of Slurm. ``workers`` is for the latter two. Raises InputError."""
    if where == "local":
        n = checked_workers(workers)
        return lambda needs: DaskCells(lambda: local_cluster(n), needs, waits=False)
    if where == "slurm":
        settings = slurm_settings(study.cluster.get(where, {}), workers)
        return lambda needs: DaskCells(lambda: slurm_cluster(settings), needs, waits=True)
    if "://" not in where:
        raise one_of("kind of cluster", where, ("tcp://HOST:PORT", *_STARTED), str(CLUSTER))
    if workers is not None:
        raise InputError(f"{WORKERS:{workers}}: the cluster at {where} has its own workers")
    there = Cluster(where, where, connect_s=_TIMEOUT_S)
    return lambda needs: DaskCells(lambda: contextlib.nullcontext(there), needs, waits=False)


@dataclass(frozen=True)
class DaskCells:
    """Runs cells on a Dask cluster."""

    cluster: Callable[[], contextlib.AbstractContextManager[Cluster]]
    needs: WorkSummary
    _: KW_ONLY
    waits: bool  # whether workers may come late, such as jobs of a batch system

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[UnitOutcome]:
        """See ``bridge.studies.executors.executor.Executor``."""
        dask_library("distributed")  # in the main thread, which some of its modules require
        with contextlib.ExitStack() as stack:
            talk = _Talk(self, units, prepared)
            # Called after the cluster has ended: if the study started it, nothing that the thread waits for can arrive.
            stack.callback(talk.end)
            cluster = stack.enter_context(self.cluster())
            stack.callback(talk.stop)
            yield from talk.outcomes(cluster)

    def check(self, client: Any, terms: Terms, cluster: Cluster) -> None:
        """Check the workers before anything is run; later ones are checked with their first cell."""
        if not self.waits:
            try:
                client.wait_for_workers(1, timeout=cluster.connect_s)
            except TimeoutError:
                raise InputError(f"{CLUSTER:{cluster.name}}: its scheduler has no worker") from None
        try:
            found = client.run(unfit, terms)
        except Exception as error:  # errors while loading its modules are the best explanation
            what = f"a worker cannot run cells: {type(error).__name__}: {error}"
            raise InputError(f"{CLUSTER:{cluster.name}}: {what}; it needs twolevel installed, as here") from None
        for worker, why in sorted(found.items()):
            if why:
                raise InputError(f"{CLUSTER:{cluster.name}}: worker {worker}: {why}")
        threads = client.nthreads()
        if idle := sum(threads.values()) - len(threads):
            say(
                f"cluster {cluster.name}: {len(threads)} worker processes with {sum(threads.values())} threads; each process "
                f"runs one cell at a time, so {idle} threads have no work: start workers with --nthreads 1"
            )


class _Talk:
    """Communicates with a scheduler in its own thread: Dask does not support interrupts, so the main thread only waits."""

    def __init__(self, cells: DaskCells, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> None:
        self._cells, self._units, self._prepared = cells, units, prepared
        self._said: SimpleQueue[UnitOutcome | BaseException | None] = SimpleQueue()
        self._stopped = threading.Event()
        self._begun = False  # whether there may be tasks
        self._withdraw_s = 0.0
        self._thread: threading.Thread | None = None

    def outcomes(self, cluster: Cluster) -> Iterator[UnitOutcome]:
        """The outcomes of all units; errors in the thread are raised here."""
        self._withdraw_s = cluster.withdraw_s
        self._thread = threading.Thread(target=self._talk, args=(cluster,), name="twolevel-dask", daemon=True)
        self._thread.start()
        while (said := self._next()) is not None:
            if isinstance(said, BaseException):
                raise said
            yield said

    def _next(self) -> UnitOutcome | BaseException | None:
        while True:
            # A signal may reach another thread, and Python raises it only between two steps.
            with contextlib.suppress(Empty):
                return self._said.get(timeout=_LOOK_S)

    def stop(self) -> None:
        """Withdraw tasks under way, and wait for a while until that is done; return at once if all is done."""
        self._stopped.set()
        if self._begun and self._thread is not None and self._thread.is_alive():
            with interrupts_held():
                self._thread.join(self._withdraw_s)

    def end(self) -> None:
        """Wait a little for the thread; it may be waiting for a scheduler that does not answer, and ends with the program."""
        if self._thread is not None and self._thread.is_alive():
            with interrupts_held():
                self._thread.join(_PART_S)

    def _talk(self, cluster: Cluster) -> None:
        try:
            for outcome in self._outcomes(cluster):
                self._said.put(outcome)
        except BaseException as error:
            self._said.put(error)
        else:
            self._said.put(None)

    def _outcomes(self, cluster: Cluster) -> Iterator[UnitOutcome]:
        distributed, dask = dask_library("distributed"), dask_library("dask")
        token = f"twolevel-{secrets.token_hex(8)}"
        needs = self._cells.needs
        probe = None if needs.folder is None else needs.folder / f".{token}"
        with contextlib.ExitStack() as stack:
            # A workload is sent once; no warning about its size is needed.
            stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}))
            stack.enter_context(_quiet())
            client = stack.enter_context(_client(distributed, cluster))
            if probe is not None:
                probe.touch()
                stack.callback(probe.unlink, missing_ok=True)
            terms = terms_of(needs, token)
            tasks = Tasks(client, self._prepared, terms, cluster.name, self._cells.waits, self._stopped)
            try:
                self._cells.check(client, terms, cluster)
                self._begun = True
                yield from tasks.outcomes(iter(self._units))
            except (CancelledError, OSError, TimeoutError) as error:
                # Not raised by our code: a cell that fails is an outcome. In other threads the client has logged more.
                if client.status == "running" and not isinstance(error, CancelledError):
                    raise
                what = f"{CLUSTER:{cluster.name}}: the scheduler is gone; finished cells are kept"
                raise PeerError(f"{what}; repeat the command to continue") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    # Lost connections are reported by us, in one line, not by Dask as a traceback.
    logs = [logging.getLogger(name) for name in ("distributed.client", "distributed.batched", "distributed.comm")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


def _client(distributed: Any, cluster: Cluster) -> Any:
    try:
        how = {"timeout": cluster.connect_s, "set_as_default": False, "security": cluster.security}
        return distributed.Client(cluster.address, **how)
    except (OSError, TimeoutError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{CLUSTER:{shown(cluster.name)}}: no Dask scheduler answers there: {said}") from None
