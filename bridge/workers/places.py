"""Places: hosts on which application processes of a run are, this one and others."""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bridge.workers.assignment import Assignment
from bridge.workers.connection import Connection
from bridge.workers.listener import STRANGERS

log = logging.getLogger("twolevel.bridge")

#: Open files for other things than connections.
_OTHER_FILES: Final = 64


class Processes(Protocol):
    """How application processes of a place come to be, and end: by worker ids."""

    def launch(self, worker: str) -> None:
        """Start a process for a worker id that was not used before."""
        ...

    def greeted(self, worker: str) -> None:
        """It has said hello, or never will."""
        ...

    def kill(self, worker: str) -> None:
        """Kill it, and what it has started, if it is still there."""
        ...


@dataclass(eq=False)
class Place:
    """One host, and the application processes on it."""

    name: str  # of the host
    processes: Processes
    assignment: Assignment  # which of its workers holds which jobs
    workers: int  # how many of them simulate at once
    alive: int  # how many may be there at once
    here: bool = False  # whether it is this host
    names: set[str] = field(default_factory=set)  # the workers that are there, or coming
    stillborn: int = 0  # how many in a row have ended without having been let in
    lost: bool = False  # whether it went before the run was over
    # launched, jobs, retries, messages, bytes_sent, bytes_received: processes that were started, jobs that they have ended,
    # jobs that were lost with one of them and simulated again; what went over all connections of this place that have ended
    launched: int = 0
    jobs: int = 0
    retries: int = 0
    messages: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def count(self, connection: Connection) -> None:
        """Add what went over a connection that has ended."""
        self.messages += connection.messages
        self.bytes_sent += connection.bytes_sent
        self.bytes_received += connection.bytes_received

    def cost(self) -> dict[str, Any]:
        """As ``run.json`` has it."""
        return {
            "host": self.name,
            "workers": self.workers,
            "processes": self.launched,
            "jobs": self.jobs,
            "retries": self.retries,
            "messages": self.messages,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "lost": self.lost,
        }


def room_for(processes: int) -> int:
    """How many of so many processes can be connected at once; raises the limit on open files where it may, and says so if
    that is fewer."""
    room, files = _room(processes)
    if room < processes:
        log.warning("%d application processes at once, not %d: only %d files may be open", room, processes, files)
    return room


def is_room(processes: int) -> bool:
    """Whether so many processes can be connected at once; raises the limit on open files where it may."""
    return _room(processes)[0] == processes


def _room(processes: int) -> tuple[int, int]:
    # How many, and how many files may be open.
    others = STRANGERS + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < processes + others:
        soft = min(processes + others, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(max(1, soft - others), processes), soft
