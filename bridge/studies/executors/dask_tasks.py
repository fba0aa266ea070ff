"""Cells as tasks of a Dask scheduler, a bounded number at a time: suitability of workers, and handling of their deaths.

Names of tasks are pairs. Dask treats tasks with equal first parts as a group, and keeps a group with small requirements at the
scheduler until a worker has room. So each worker, including late ones, gets its share, and when a worker dies, only tasks that
it was about to run are suspected."""

import contextlib
import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from bridge.options.declared import CLUSTER
from bridge.studies.executors.dask_library import await_nanny, dask_library
from bridge.studies.executors.executor import Prepared, Unit, UnitOutcome, WorkSummary
from bridge.studies.unit import LikeRuns, do_unit
from traces.base.errors import PeerError


@dataclass(frozen=True)
class Terms:
    """Requirements of a worker, and the identity of the study."""

    token: str  # differs for every execution of a study
    twolevel: str  # version of this project
    files: Mapping[str, str]  # files that cells read, and their SHA-256
    folder: str | None  # place of kept results of cells: it has a file named like the token


def terms_of(needs: WorkSummary, token: str) -> Terms:
    """The terms of this work."""
    files = {str(path): sum_ for path, sum_ in needs.files.items()}
    return Terms(token, version("twolevel"), files, None if needs.folder is None else str(needs.folder))


def unfit(terms: Terms) -> str:
    """The reason why this process cannot run the cells of a study, one line; empty if it can."""
    try:
        ours = version("twolevel")
    except PackageNotFoundError:
        return "twolevel is not installed there"
    if ours != terms.twolevel:
        return f"it has twolevel {ours}, and the study is run by {terms.twolevel}: install the same version there"
    for path, known in terms.files.items():
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            return f"{path} is missing there ({error.strerror}): put files of cells where all workers can read them"
        if found != known:
            return f"{path} is another file there than here: put files of cells where all workers can read them"
    if (folder := terms.folder) is not None and not (Path(folder) / f".{terms.token}").is_file():
        return f"{folder} is not the same folder there: kept results of cells need a folder that all workers share"
    return ""


@dataclass
class _Place:
    # State of a worker process between cells: whether it is suitable, and the runs that others can use.
    lock: threading.Lock = field(default_factory=threading.Lock)
    token: str = ""
    unfit: str = ""
    like_runs: LikeRuns = field(default_factory=LikeRuns)


_PLACE = _Place()  # one per process: a cluster's worker calls functions, and has no other place for our state


def do_on_worker(unit: Unit, prepared: Prepared, terms: Terms, worker: str) -> UnitOutcome | str:
    """Run a unit on a worker of a cluster; or return the reason why it cannot run any. One unit at a time, as users' plug-ins
    are not made for threads. A new worker waits for its nanny: one that dies while it is starting is given up for good."""
    with _PLACE.lock:
        if _PLACE.token != terms.token:
            await_nanny()
            _PLACE.unfit = unfit(terms)
            _PLACE.like_runs = LikeRuns()
            _PLACE.token = terms.token
        worker = worker or f"{socket.gethostname()} process {os.getpid()}"
        return _PLACE.unfit or do_unit(unit, prepared, _PLACE.like_runs, worker)


_TIMEOUT_S = 30  #: time without any worker after which the cluster counts as lost, s

#: Number of tasks per thread at the scheduler at once, and the smallest number in all: enough that no worker waits, including
#: late ones, and few enough for any memory.
_AT_HAND, _LEAST_AT_HAND = 8, 500

_LOOK_S = 0.1  #: interval between checks whether to stop, s
_THREADS_AGE_S = 2.0  #: time for which the known number of threads is used, s


def _result(future: Any) -> Any:
    try:
        return future.result()
    except Exception as error:  # the error is the result
        return error


def _lethal(unit: Unit) -> UnitOutcome:
    said = "KilledWorker: the worker processes that ran it died, one after another; did they have enough memory?"
    return UnitOutcome(unit.place, None, error=said, code=1)


def _given(prepared: Prepared) -> Prepared:
    return prepared


class Tasks:
    """The tasks of one study on the cluster ``name``. ``waits``: workers may be absent for a while. ``stopped``: set when no
    more outcomes are needed."""

    def __init__(
        self,
        client: Any,
        prepared: Mapping[int, Prepared],
        terms: Terms,
        name: str,
        waits: bool,
        stopped: threading.Event,
    ) -> None:
        self._client, self._prepared, self._terms, self._name = client, prepared, terms, name
        self._waits, self._stopped = waits, stopped
        self._sent: dict[int, Any] = {}
        self._at_hand: dict[Any, Unit] = {}
        self._suspects: list[Unit] = []  # units whose workers died several times; each is tried once more, by itself
        self._alone = False
        self._futures: dict[Any, None] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._threads, self._asked = 1, float("-inf")

    def outcomes(self, units: Iterator[Unit]) -> Iterator[UnitOutcome]:
        """Run units; those under which workers died, one at a time at the end. Raises PeerError without suitable workers,
        CancelledError or OSError without the scheduler."""
        self._submit(list(islice(units, self._most())))
        try:
            while self._at_hand and not self._stopped.is_set():
                ended = self._next()
                found, fault = self._found(ended)
                self._submit(list(islice(units, max(0, self._most() - len(self._at_hand)))))
                if not self._at_hand and len(self._suspects) == 1 and not self._alone:
                    found.append(_lethal(self._suspects.pop()))  # it is the only possible cause
                elif not self._at_hand and self._suspects:
                    self._alone = True
                    self._submit([self._suspects.pop(0)])
                yield from found
                if fault is not None:
                    raise fault
        finally:
            with contextlib.suppress(Exception):  # the scheduler itself may be gone
                self._client.cancel([*self._futures, *self._sent.values()], force=True)

    def _found(self, ended: Sequence[Any]) -> tuple[list[UnitOutcome], Exception | None]:
        # The outcomes of tasks, and a common error: outcomes of the others are not lost.
        found: list[UnitOutcome] = []
        fault: Exception | None = None
        for future, result in zip(ended, self._results(ended), strict=True):
            try:
                outcome = self._outcome(future, result)
            except (PeerError, CancelledError, OSError) as error:
                fault = fault or error
            else:
                found += [] if outcome is None else [outcome]
        return found, fault

    def _next(self) -> list[Any]:
        # Finished tasks; none once it is stopped. If there is no worker for a while, and none is expected, that is an error.
        since = time.monotonic()
        while not self._stopped.is_set():
            try:
                found = [self._ended.get(timeout=_LOOK_S)]
            except Empty:
                self._most()
                if self._threads or self._waits:
                    since = time.monotonic()
                elif time.monotonic() - since > _TIMEOUT_S:
                    what = f"{CLUSTER:{self._name}}: all its workers are gone; finished cells are kept"
                    raise PeerError(f"{what}; repeat the command to continue") from None
                continue
            with contextlib.suppress(Empty):
                while True:
                    found.append(self._ended.get_nowait())
            return found
        return []

    def _most(self) -> int:
        now = time.monotonic()
        if now - self._asked > _THREADS_AGE_S:
            self._threads, self._asked = sum(self._client.nthreads().values()), now
        return max(_LEAST_AT_HAND, _AT_HAND * self._threads)

    def _submit(self, units: Sequence[Unit]) -> None:
        if not units:
            return
        for place in {unit.prepared: None for unit in units}:
            if place not in self._sent:
                key = (f"{self._terms.token}-prepared-{place}", 0)
                self._sent[place] = self._client.submit(_given, self._prepared[place], key=key, pure=False)
        what = "alone" if self._alone else "cells"
        keys = [(f"{self._terms.token}-{what}-{unit.prepared}", unit.place) for unit in units]
        self._at_hand |= zip(keys, units, strict=True)
        n, needed = len(units), [self._sent[unit.prepared] for unit in units]
        arguments = (units, needed, [self._terms] * n, [""] * n)
        futures: list[Any] = self._client.map(do_on_worker, *arguments, key=keys, pure=False)
        self._futures |= dict.fromkeys(futures)
        for future in futures:
            future.add_done_callback(self._ended.put)

    def _results(self, futures: Sequence[Any]) -> list[Any]:
        # All in one request: one for each would take as long as a small cell.
        try:
            return list(self._client.gather(futures))
        except Exception:
            return [_result(future) for future in futures]

    def _outcome(self, future: Any, result: Any) -> UnitOutcome | None:
        unit = self._at_hand.pop(future.key)
        del self._futures[future]
        future.release()
        if isinstance(result, UnitOutcome):
            return result
        if isinstance(result, str):
            raise self._unfit(result)
        if isinstance(result, CancelledError | OSError):
            raise result
        said = f"{type(result).__name__}: {' '.join(str(result).split())}"
        if isinstance(result, ImportError):
            raise self._unfit(f"{said}; it needs twolevel installed, as here")
        if isinstance(result, dask_library("distributed").KilledWorker):
            if self._alone:
                return _lethal(unit)
            self._suspects.append(unit)
            return None
        return UnitOutcome(unit.place, None, error=said, code=1)

    def _unfit(self, why: str) -> PeerError:
        what = f"{CLUSTER:{self._name}}: a worker that joined cannot run cells"
        return PeerError(f"{what}: {why}; finished cells are kept")
