"""Whether a worker elsewhere can run the cells of a study: the same program, the same files, a folder that it shares."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bridge.studies.executors.dask_library import await_nanny
from bridge.studies.executors.executor import Prepared, Unit, UnitOutcome, WorkSummary
from bridge.studies.unit import LikeRuns, do_unit


@dataclass(frozen=True)
class Terms:
    """What a worker must find, and which study it is that asks."""

    token: str  # another for every time that a study is run
    twolevel: str  # version of this project
    files: Mapping[str, str]  # files that cells read, and their SHA-256
    folder: str | None  # where results of cells are kept: it holds a file that is named like the token


def terms_of(needs: WorkSummary, token: str) -> Terms:
    """The terms of what there is to do."""
    files = {str(path): sum_ for path, sum_ in needs.files.items()}
    return Terms(token, version("twolevel"), files, None if needs.folder is None else str(needs.folder))


def unfit(terms: Terms) -> str:
    """Why this process cannot run the cells of a study, one line; empty if it can."""
    try:
        ours = version("twolevel")
    except PackageNotFoundError:
        return "twolevel is not installed there"
    if ours != terms.twolevel:
        return f"it has twolevel {ours}, and the study is run by {terms.twolevel}: install the same there"
    for path, known in terms.files.items():
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            return f"{path} is missing there ({error.strerror}): put what cells read where all workers see it"
        if found != known:
            return f"{path} is another file there than here: put what cells read where all workers see it"
    if terms.folder is not None and not (Path(terms.folder) / f".{terms.token}").is_file():
        return f"{terms.folder} is not the same folder there: what is kept of cells needs one that all workers see"
    return ""


class _Place:
    """What a worker process remembers between cells: whether it is fit, and the runs that others can use."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.token = ""
        self.unfit = ""
        self.like_runs = LikeRuns()


# One to a process: a cluster's worker calls functions, and has no other place of ours.
_PLACE = _Place()


def do_on_worker(unit: Unit, prepared: Prepared, terms: Terms, worker: str) -> UnitOutcome | str:
    """Run a unit on a worker of a cluster; or say why it cannot run any.

    A worker with several threads runs one cell after another: plug-ins of users are not made for threads. A new one
    waits until whoever watches over it knows of it: who gives one up for good that dies, as of a unit, while it is started.
    """
    with _PLACE.lock:
        if _PLACE.token != terms.token:
            await_nanny()
            _PLACE.unfit = unfit(terms)
            _PLACE.like_runs = LikeRuns()
            _PLACE.token = terms.token
        return _PLACE.unfit or do_unit(
            unit, prepared, _PLACE.like_runs, worker or f"{socket.gethostname()} process {os.getpid()}"
        )
