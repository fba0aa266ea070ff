"""A Dask cluster of this machine, for its dashboard: cells, workers and memory of a study in a browser while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bridge.held_interrupts import interrupts_held
from bridge.scenarios.scenario import Execution
from bridge.scratch import remove_abandoned, scratch_folder
from bridge.standard_error import say
from bridge.studies.executors.cluster_process import CERTIFICATE, KEY, security_of
from bridge.studies.executors.dask_library import Cluster, dask_library
from bridge.workers.credentials import make_certificate
from bridge.workers.process_names import how_ended
from traces.base.errors import PeerError
from traces.base.parsing import parse_json

#: How long a cluster may take to start, s: far longer than it takes, on a busy machine, too.
_START_S = 600.0

#: How long it may take to kill its processes, s.
_END_S = 10.0

#: How long between two looks at whether it has started, s: an interrupt is noticed at once.
_LOOK_S = 1.0

#: Where this process finds its modules, so does the cluster's, whatever lies in the working directory.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from bridge.studies.executors.cluster_process import main; main(int(sys.argv[2]), sys.argv[3])"
)


def checked_workers(workers: int | None) -> int:
    """How many worker processes: so many, or one per processor. Raises InputError if it is no number of processes, or a
    library that the cluster or its dashboard needs is not installed."""
    for name in ("distributed", "bokeh"):
        dask_library(name)
    return Execution(workers=workers).how_many()


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """A scheduler and its worker processes on this machine, while the context lasts.

    The address of its dashboard is said on stderr. All ports are on 127.0.0.1, and those that can run code speak TLS
    with a certificate that is made for this cluster. An interrupt ends it at any instant, with every process and file
    of it. Raises InputError if there is no certificate to be had. Raises PeerError if it cannot be started.
    """
    with scratch_folder() as folder:
        make_certificate(folder / KEY, folder / CERTIFICATE, "--cluster local", ("serverAuth", "clientAuth"))
        with _process(workers, folder) as process:
            said = _answer(process)
            if "error" in said:
                raise PeerError(f"--cluster local: it could not be started: {said['error']}")
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
    remove_abandoned()  # workers have made some, too


def _end(process: subprocess.Popen[bytes]) -> None:
    # All that is worth keeping is here by now.
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:  # somebody has stopped it; what it has started dies with it
        process.kill()
        process.wait()
    process.stdout.close()


def _answer(process: subprocess.Popen[bytes]) -> dict[str, str]:
    assert process.stdout is not None
    text, deadline = b"", time.monotonic() + _START_S
    while not text.endswith(b"\n"):
        if time.monotonic() > deadline:
            raise PeerError(f"--cluster local: it has not started within {_START_S:.0f} s")
        if select.select([process.stdout], [], [], _LOOK_S)[0]:
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                raise PeerError(f"--cluster local: it could not be started: its process {how_ended(process.wait())}")
            text += more
    found: dict[str, str] = parse_json(text, "--cluster local")
    return found
