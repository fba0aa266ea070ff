"""The file ``live.json`` in the folder of a run that is under way, with the run's present state.

It is replaced as a whole, so that its state is consistent, and removed before the folder takes its final name.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from bridge.encoding import json
from traces.base.errors import InputError, shown
from traces.base.given_file import parsing
from traces.base.written_file import naming

FILE = "live.json"  # name of the file
_VERSION = 1  # format version; other versions are refused

#: Phases of a run: it prepares or compiles; simulates; computes metrics and writes results.
PHASES = STARTING, SIMULATING, FINISHING = "starting", "simulating", "finishing"


@dataclass(frozen=True)
class Resource:
    """Total amount of one resource, hosts that are down included: cores, a resource of the hosts, or licences; memory in KB."""

    name: str
    amount: int


@dataclass(frozen=True)
class Cells:
    """The machine in cells, as a map shows it: parts of a host, hosts, or groups of neighbouring hosts."""

    first_core: tuple[int, ...]  # cell ``c`` has the cores ``first_core[c]:first_core[c + 1]``
    host: tuple[int, ...]  # the first host of each cell


@dataclass(frozen=True)
class Setting:
    """The constant facts of a run: workload, options, and numbers of jobs, cores and hosts."""

    workload: str
    jobs: int
    cores: int
    hosts: int
    options: dict[str, str]  # by the names of the command line's options
    resources: tuple[Resource, ...]  # cores first, then those that some job requests
    cells: Cells  # the cells of :attr:`Look.busy`, ``down`` and ``job``


@dataclass(frozen=True)
class Pulse:
    """Numbers that can be read at any time, one by one, while the engine runs."""

    elapsed_s: float  # wall time since the run began
    now_ns: int  # the simulated instant
    ended: int  # jobs that have ended for good
    running: int
    waiting: int
    simulated_per_s: float  # recent rates: simulated seconds per second, and ended jobs per second
    jobs_per_s: float


class RunningJob(NamedTuple):
    """A running job as known to the scheduler, without its end."""

    job_id: int
    user: int
    cores: int
    start_ns: int
    estimate_ns: int


@dataclass(frozen=True)
class Look:
    """The state of a run at one instant, sampled while the engine paused."""

    now_ns: int  # the simulated instant
    used: tuple[int, ...]  # amount of each of :attr:`Setting.resources` that jobs hold
    down_hosts: int  # hosts that are down, or in maintenance
    states: dict[str, int]  # ended attempts by state (``traces.ledger.STATES``); without zeros
    # busy, down, job: for each cell the cores that jobs hold, those of hosts that are down, and the job with most; -1: none
    busy: tuple[int, ...]
    down: tuple[int, ...]
    job: tuple[int, ...]
    widest: tuple[RunningJob, ...] = ()  # the widest running jobs; of equal ones the earlier row
    # past_ns, past_waiting, past_busy: earlier instants with the waiting jobs and the cores held then; this instant is the last
    past_ns: tuple[int, ...] = ()
    past_waiting: tuple[int, ...] = ()
    past_busy: tuple[int, ...] = ()


@dataclass(frozen=True)
class Process:
    """A process on some machine."""

    pid: int
    host_name: str  # the machine
    born: str  # distinguishes it from a later process with the same number; empty where unavailable (outside Linux)

    @classmethod
    def this(cls) -> Self:
        """The calling process."""
        return cls(os.getpid(), socket.gethostname(), _born(os.getpid()))

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host_name == socket.gethostname()

    def is_gone(self) -> bool:
        """Whether it has ended; False for a process of another machine, where this cannot be known."""
        if not self.is_here:
            return False
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):  # no such process, or no process can have such a number
            return True
        except PermissionError:  # alive, of another user
            pass
        return _born(self.pid) not in ("", self.born)


def _born(pid: int) -> str:
    # Clock ticks between the machine's start and the process's; empty for a process that has ended but is still listed.
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if words[0] in "ZX" else words[19]


@dataclass(frozen=True)
class Live:
    """Content of the file: the process of the run, one of :data:`PHASES`, and the time of writing in seconds since
    1970. ``setting``, ``pulse`` and ``look`` are None until the run has begun."""

    process: Process
    phase: str
    written_s: float
    setting: Setting | None = None
    pulse: Pulse | None = None
    look: Look | None = None
    version: int = _VERSION


class LiveFile:
    """Writes the file into a run's folder."""

    def __init__(self, folder: Path) -> None:
        self._path, self._next = folder / FILE, folder / f"{FILE}.next"

    def write(self, live: Live) -> None:
        """Replace the content; raises OSError if that is impossible, and then keeps the old content."""
        with naming(self._path):
            self._next.write_bytes(json.encode(live))
        self._next.replace(self._path)

    def remove(self) -> None:
        """Remove the file."""
        for path in (self._path, self._next):
            path.unlink(missing_ok=True)


def read_live(folder: Path) -> Live | None:
    """Content of the file in this folder; None if there is none. Raises InputError if it cannot be read."""
    path = folder / FILE
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    with parsing("JSON", str(path)):
        version = json.decode(text, type=_Version).version
        if version != _VERSION:
            raise InputError(f"{path}: has version {shown(version)}; this twolevel reads version {_VERSION}")
        return json.decode(text, type=Live)


@dataclass(frozen=True)
class _Version:
    version: int
