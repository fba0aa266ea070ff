"""A small two-level run, what it must give in every coupling, and how the tests see and end the processes of a run."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.workers.process_names import PROCESS_NAME
from traces.checks.ledger import check_ledger

#: Longest that anything is waited for, s; far longer than it takes, so that only a fault reaches it.
PATIENCE_S = 120.0

PLATFORM = Platform((HostGroup(2, 4, 40.0), HostGroup(1, 4, 60.0)))


def workload(jobs: int = 40, cores: int | None = None) -> Workload:
    """Jobs 100, 101, … of 1 to 12 cores, or of as many as said; with 12 each, one runs at a time."""
    return Workload.from_jobs([(100 + k, 7 * k, 20 + 13 * k % 60, cores or 1 + 5 * k % 12, 100) for k in range(jobs)])


def simulated(coupling: str = "inline", jobs: int = 40, cores: int | None = None, **options: Any) -> bridge.Result:
    chosen: dict[str, Any] = {"als": "ss", "variation": 0.25, "seed": 3, "tasks_per_core": 3, **options}
    if coupling != "inline":
        chosen.setdefault("workers", 2)
    execution = {one.name: chosen.pop(one.name) for one in fields(bridge.Execution) if one.name in chosen}
    chosen.setdefault("execution", bridge.Execution(coupling, **execution))
    result = bridge.simulate(workload(jobs, cores), PLATFORM, **chosen)
    check_ledger(result.ledger)
    return result


@cache
def expected(jobs: int = 40, cores: int | None = None, als: str = "ss") -> bridge.Result:
    return simulated("inline", jobs, cores, als=als)


def assert_same(result: bridge.Result, reference: bridge.Result) -> None:
    assert result.jobs.equals(reference.jobs)
    assert result.tasks.equals(reference.tasks)


#: Processes that serve several tests, and stay.
SERVING: set[int] = set()


def _living() -> dict[int, tuple[int, str]]:
    # Parent and name by process id.
    found = {}
    # Not ours is the process that looks after this one's semaphores, if an earlier test has used any.
    tracker: Any = resource_tracker
    others = {tracker._resource_tracker._pid, *SERVING}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in others:
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:  # it has just ended
                continue
            if tail.split()[0] != "Z":
                found[int(entry.name)] = int(tail.split()[1]), head.partition("(")[2]
    return found


def descendants(ancestor: int | None = None) -> dict[int, str]:
    """The processes that come from this one, or another, with their names."""
    living, top = _living(), ancestor or os.getpid()
    found = {top}
    while more := {pid for pid, (parent, _) in living.items() if parent in found} - found:
        found |= more
    return {pid: living[pid][1] for pid in found - {top}}


def workers(ancestor: int | None = None) -> list[int]:
    return [pid for pid, name in descendants(ancestor).items() if name == PROCESS_NAME]


def servers(ancestor: int | None = None) -> list[int]:
    """The fork servers: what was started directly, whether or not it has got its name yet."""
    return [pid for pid, (parent, _) in _living().items() if parent == (ancestor or os.getpid())]


def strike(pids: Iterable[int], number: signal.Signals = signal.SIGKILL) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def await_that(condition: Callable[[], Any]) -> Any:
    """Look again and again until something is true, and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        select.select([], [], [], 0.005)
    return found


def await_end(pids: Iterable[int]) -> None:
    """Wait until all of these processes have ended."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], PATIENCE_S)[0], f"process {pid} does not end"
        finally:
            os.close(descriptor)


class Once:
    """Calls something the first time that it is called with a number that is large enough: a ``Watch``."""

    def __init__(self, at: int, what: Callable[[], Any]) -> None:
        self._at, self._what, self.done = at, what, False

    def __call__(self, ended: int, now_ns: int) -> None:
        if ended >= self._at and not self.done:
            self.done = True
            self._what()
