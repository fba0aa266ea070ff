"""What a run under way shows of itself, and the file that holds it: ``live.json`` in the folder in which its results are made.

It is replaced as a whole, so that whoever reads it finds one moment of the run, whenever the run is killed; and it is removed
before the folder takes its final name.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bridge.encoding import json
from traces.base.errors import InputError, shown
from traces.base.given_file import parsing
from traces.base.written_file import naming

#: Its name.
FILE = "live.json"

#: Version of what is in it; another one is not read.
_VERSION = 1

#: What a run is doing: it prepares or compiles; events happen; metrics are worked out and results written.
PHASES = STARTING, SIMULATING, FINISHING = "starting", "simulating", "finishing"


@dataclass(frozen=True)
class Resource:
    """What the machine, hosts that are down included, has of ``cores``, a resource of the hosts or a licence; memory in KB."""

    name: str
    amount: int


@dataclass(frozen=True)
class Cells:
    """The machine in cells, as a map shows it: parts of a host, hosts, or groups of neighbouring hosts."""

    first_core: tuple[int, ...]  # cell ``c`` has the cores ``first_core[c]:first_core[c + 1]``
    host: tuple[int, ...]  # the first host of each cell


@dataclass(frozen=True)
class Setting:
    """What of a run does not change: its workload's source, and how many jobs, cores and hosts there are."""

    workload: str
    jobs: int
    cores: int
    hosts: int
    options: dict[str, str]  # what was chosen, by the names of the command line's options
    resources: tuple[Resource, ...]  # cores first, then what some job requests
    cells: Cells  # what :attr:`Look.busy` and its neighbours count


@dataclass(frozen=True)
class Pulse:
    """The few numbers that can be read at any moment, each for itself, while the engine goes on."""

    elapsed_s: float  # wall time since the run began
    now_ns: int  # the simulated instant
    # ended, running, waiting: jobs that have ended for good, run, and wait
    ended: int
    running: int
    waiting: int
    # simulated_per_s, jobs_per_s: simulated seconds and ends per second, of late
    simulated_per_s: float
    jobs_per_s: float


class RunningJob(NamedTuple):
    """A job that runs, as its scheduler knows it: when it ends is not known."""

    job_id: int
    user: int
    cores: int
    start_ns: int
    estimate_ns: int


@dataclass(frozen=True)
class Look:
    """The state of a run at one instant, sampled while the engine paused."""

    now_ns: int  # the simulated instant
    used: tuple[int, ...]  # what jobs hold of each of :attr:`Setting.resources`
    down_hosts: int  # hosts that are down, or in maintenance
    states: dict[str, int]  # attempts that have ended, by what became of them (``traces.ledger.STATES``); without zeros
    # busy, down, job: of each cell the cores that jobs hold, those on hosts that are down, and the job that holds most;
    # -1: none
    busy: tuple[int, ...]
    down: tuple[int, ...]
    job: tuple[int, ...]
    widest: tuple[RunningJob, ...] = ()  # of the running jobs the widest, of equal ones the earlier row
    # past_ns, past_waiting, past_busy: instants since the run began, and the jobs that waited and the cores that were
    # held then; this look's is the last
    past_ns: tuple[int, ...] = ()
    past_waiting: tuple[int, ...] = ()
    past_busy: tuple[int, ...] = ()


@dataclass(frozen=True)
class Process:
    """A process of some machine."""

    pid: int
    host_name: str  # of the machine that it runs on
    born: str  # tells it from a later one of the same number; empty where the system does not say (Linux does)

    @classmethod
    def this(cls) -> Process:
        """The one that calls this."""
        return cls(os.getpid(), socket.gethostname(), _born(os.getpid()))

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host_name == socket.gethostname()

    def is_gone(self) -> bool:
        """Whether it has ended; of a process of another machine that cannot be known, so it is False."""
        if not self.is_here:
            return False
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):  # or no process has such a number
            return True
        except PermissionError:  # somebody else's, and alive
            pass
        return _born(self.pid) not in ("", self.born)


def _born(pid: int) -> str:
    # Clock ticks from the machine's start to the process's; nothing of one that has ended and is only still listed.
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if words[0] in "ZX" else words[19]


@dataclass(frozen=True)
class Live:
    """What the file holds: the process that runs it, one of :data:`PHASES`, and when it was written, seconds since
    1970. ``setting``, ``pulse`` and ``look`` are None until the run has begun."""

    process: Process
    phase: str
    written_s: float
    setting: Setting | None = None
    pulse: Pulse | None = None
    look: Look | None = None
    version: int = _VERSION


class LiveFile:
    """Writes it to a run's folder."""

    def __init__(self, folder: Path) -> None:
        self._path, self._next = folder / FILE, folder / f"{FILE}.next"

    def write(self, live: Live) -> None:
        """Show this from now on; an OSError, if it cannot be written, leaves what was shown before."""
        with naming(self._path):
            self._next.write_bytes(json.encode(live))
        self._next.replace(self._path)

    def remove(self) -> None:
        """Nothing is shown any more."""
        for path in (self._path, self._next):
            path.unlink(missing_ok=True)


def read_live(folder: Path, *, read: Callable[[Path], bytes] = Path.read_bytes) -> Live | None:
    """What a run shows of itself in this folder; None if it shows nothing. Raises InputError if there is a file that
    cannot be read, or is of another version."""
    path = folder / FILE
    try:
        text = read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    with parsing("JSON", str(path)):
        version = json.decode(text, type=_Version).version
        if version != _VERSION:
            raise InputError(f"{path}: is of version {shown(version)}; this twolevel reads version {_VERSION}")
        return json.decode(text, type=Live)


@dataclass(frozen=True)
class _Version:
    version: int
