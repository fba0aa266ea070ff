"""The one door to Dask: cells on the workers of a cluster. Workers are stock Dask workers that have this project installed.

Each cell and seed is one task. What several need, a workload and a platform, is a task as well, whose result Dask sends to a
worker once; as it can be made again, a worker that dies takes nothing with it.
"""

from __future__ import annotations

import contextlib
import inspect
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from bridge.studies.executor import Executor, Needs, Outcome, Prepared, Unit
from bridge.studies.fitness import Terms, do_on_worker, terms_of, unfit
from bridge.studies.study import Study
from traces.errors import InputError, PeerError, one_of, shown
from traces.ranges import whole

__all__ = ["cluster_executor"]

#: Kinds of clusters that are started here.
_STARTED = ("slurm",)

#: A scheduler answers within so long, s; and has a worker, where it is not for us to start one.
_TIMEOUT_S = 30

#: So many tasks a thread are at the scheduler at once: enough that no worker waits, few enough for any memory.
_AT_HAND = 8

#: Keys of [cluster.slurm] that are ours; all others are dask_jobqueue's.
_OURS = ("jobs", "adaptive")


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"--cluster: {error}; pip install 'twolevel[cluster]' brings what it needs") from None


def cluster_executor(where: str, study: Study, workers: int | None) -> Callable[[Needs], Executor]:
    """Who runs the cells of a study on a cluster.

    Parameters
    ----------
    where : str
        The address of a Dask scheduler, as ``tcp://host:8786``; or ``slurm``: workers are jobs of a real Slurm.
    study : Study
        Its settings of clusters count.
    workers : int or None
        For ``slurm``: how many worker processes.

    Raises
    ------
    InputError
        If there is no such kind of cluster, or a setting is unknown.
    """
    if where in _STARTED:
        settings = _slurm_settings(study.cluster.get(where, {}), workers)
        return lambda needs: DaskCells(lambda: _slurm(settings), needs, waits=True)
    if "://" not in where:
        raise one_of("kind of cluster", where, ("tcp://HOST:PORT", *_STARTED), "--cluster")
    if workers is not None:
        raise InputError(f"--workers {workers}: the cluster at {where} has its own workers")
    return lambda needs: DaskCells(lambda: contextlib.nullcontext(where), needs, waits=False)


def _slurm_settings(given: Mapping[str, object], workers: int | None) -> dict[str, Any]:
    jobqueue = _library("dask_jobqueue")
    core, slurm = _library("dask_jobqueue.core"), _library("dask_jobqueue.slurm")
    known = set(_OURS)
    for kind in (jobqueue.SLURMCluster, core.JobQueueCluster, slurm.SLURMJob, core.Job):
        known |= set(inspect.signature(kind.__init__).parameters) - {
            "self",
            "job_cls",
            "loop",
            "asynchronous",
            "config_name",
        }
    settings = dict(given)
    for name in settings:
        if name not in known:
            raise one_of("setting", name, sorted(known), "[cluster.slurm]")
    for name in ("cores", "memory"):
        if name not in settings:
            raise InputError(f"[cluster.slurm] {name}: missing; allowed: what a Slurm job of workers has")
    if workers is not None:
        settings["workers"] = whole("--workers", workers, 1, 1_000_000)
    elif "adaptive" not in settings:
        settings["jobs"] = whole("[cluster.slurm] jobs", settings.get("jobs", 1), 1, 1_000_000)
    return settings


@contextlib.contextmanager
def _slurm(settings: Mapping[str, Any]) -> Iterator[str]:
    jobqueue = _library("dask_jobqueue")
    given = {name: value for name, value in settings.items() if name not in (*_OURS, "workers")}
    try:
        cluster = jobqueue.SLURMCluster(**given)
    except (TypeError, ValueError) as error:
        raise InputError(f"[cluster.slurm]: {error}") from None
    try:
        if "workers" in settings:
            cluster.scale(settings["workers"])
        elif "adaptive" in settings:
            cluster.adapt(**dict(settings["adaptive"]))
        else:
            cluster.scale(jobs=settings["jobs"])
        yield str(cluster.scheduler_address)
    finally:
        cluster.close()


def _given(prepared: Prepared) -> Prepared:
    return prepared


class DaskCells:
    """Runs cells on a Dask cluster.

    Parameters
    ----------
    cluster : callable
        Gives a context that gives the address of a scheduler.
    needs : Needs
    waits : bool
        Whether workers may come late, as jobs of a batch system do.
    """

    def __init__(
        self, cluster: Callable[[], contextlib.AbstractContextManager[str]], needs: Needs, *, waits: bool
    ) -> None:
        self._cluster, self._needs, self._waits = cluster, needs, waits

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[Outcome]:
        """See ``bridge.studies.executor.Executor``."""
        distributed = _library("distributed")
        token = f"twolevel-{secrets.token_hex(8)}"
        probe = None if self._needs.folder is None else self._needs.folder / f".{token}"
        with contextlib.ExitStack() as stack:
            address = stack.enter_context(self._cluster())
            client = stack.enter_context(_client(distributed, address))
            if probe is not None:
                probe.touch()
                stack.callback(probe.unlink, missing_ok=True)
            terms = terms_of(self._needs, token)
            self._check(client, terms, address)
            yield from _run(distributed, client, iter(units), prepared, terms, address)

    def _check(self, client: Any, terms: Terms, address: str) -> None:
        # Before anything is run: later a worker that comes to join is checked as it gets its first cell.
        if not self._waits:
            try:
                client.wait_for_workers(1, timeout=_TIMEOUT_S)
            except TimeoutError:
                raise InputError(f"--cluster {address}: its scheduler has no worker") from None
        try:
            found = client.run(unfit, terms)
        except Exception as error:  # what it cannot load says more than anything of ours could
            raise InputError(
                f"--cluster {address}: a worker cannot run cells: {type(error).__name__}: {error}; "
                "it needs twolevel installed, as here"
            ) from None
        for worker, why in sorted(found.items()):
            if why:
                raise InputError(f"--cluster {address}: worker {worker}: {why}")


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"--cluster {shown(address)}: no Dask scheduler answers there: {said}") from None


def _run(
    distributed: Any, client: Any, units: Iterator[Unit], prepared: Mapping[int, Prepared], terms: Terms, address: str
) -> Iterator[Outcome]:
    sent: dict[int, Any] = {}
    place_of: dict[str, int] = {}

    def submitted(unit: Unit) -> Any:
        if unit.prepared not in sent:
            key = f"{terms.token}-prepared-{unit.prepared}"
            sent[unit.prepared] = client.submit(_given, prepared[unit.prepared], key=key, pure=False)
        key = f"{terms.token}-{unit.place}"
        place_of[key] = unit.place
        return client.submit(do_on_worker, unit, sent[unit.prepared], terms, "", key=key, pure=False)

    left = distributed.as_completed(
        [submitted(unit) for unit in islice(units, _AT_HAND * _threads(client))], loop=client.loop
    )
    try:
        for future in left:
            place = place_of.pop(future.key)
            found = _outcome(future, place, address)
            future.release()
            for unit in islice(units, max(1, _AT_HAND * _threads(client) - len(place_of))):
                left.add(submitted(unit))
            yield found
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be what has gone
            client.cancel([*left.futures, *sent.values()], force=True)


def _threads(client: Any) -> int:
    workers = client.scheduler_info(n_workers=-1).get("workers", {})
    return max(1, sum(int(one["nthreads"]) for one in workers.values()))


def _outcome(future: Any, place: int, address: str) -> Outcome:
    if future.status == "finished":
        found = future.result()
        if isinstance(found, str):
            raise PeerError(
                f"--cluster {address}: a worker that joined cannot run cells: {found}; what is finished is kept"
            )
        assert isinstance(found, Outcome)
        return found
    if future.status == "error":
        error = future.exception()
        said = " ".join(str(error).split())
        return Outcome(place, None, error=f"{type(error).__name__}: {said}", code=1)
    raise PeerError(
        f"--cluster {address}: the scheduler has gone; what is finished is kept, and the same command goes on"
    )
