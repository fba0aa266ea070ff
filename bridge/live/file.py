"""The file in which a run under way shows itself: ``live.json`` in the folder in which its results are made.

It is replaced as a whole, so that whoever reads it finds one moment of the run, whenever the run is killed; and it is removed
before the folder takes its final name.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bridge.encoding import MsgspecError, json
from bridge.live.state import Look, Pulse, Setting
from traces.base.errors import InputError

__all__ = ["FILE", "FINISHING", "PHASES", "SIMULATING", "STARTING", "Live", "LiveFile", "Process", "read_live"]

#: Its name.
FILE = "live.json"

#: Version of what is in it; another one is not read.
_VERSION = 1

#: What a run is doing: it prepares or compiles; events happen; metrics are worked out and results written.
PHASES = STARTING, SIMULATING, FINISHING = "starting", "simulating", "finishing"


@dataclass(frozen=True)
class Process:
    """A process of some machine.

    Attributes
    ----------
    pid : int
    host_name : str
        Of the machine that it runs on.
    born : str
        Tells it from a later one of the same number; empty where the system does not say (Linux does).
    """

    pid: int
    host_name: str
    born: str

    @classmethod
    def this(cls) -> Process:
        """The one that asks."""
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
        except ProcessLookupError:
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
    """What the file holds.

    Attributes
    ----------
    process : Process
        That runs it.
    phase : str
        One of :data:`PHASES`.
    written_s : float
        When this was written, seconds since 1970.
    setting, pulse, look : Setting, Pulse, Look or None
        None until the run has begun.
    """

    process: Process
    phase: str
    written_s: float
    setting: Setting | None = None
    pulse: Pulse | None = None
    look: Look | None = None
    version: int = _VERSION


class LiveFile:
    """Writes it.

    Parameters
    ----------
    folder : Path
        The run's.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._next = folder / FILE, folder / f"{FILE}.next"

    def write(self, live: Live) -> None:
        """Show this from now on.

        Raises
        ------
        OSError
            If it cannot be written; what was shown before still is.
        """
        self._next.write_bytes(json.encode(live))
        self._next.replace(self._path)

    def remove(self) -> None:
        """Nothing is shown any more."""
        for path in (self._path, self._next):
            path.unlink(missing_ok=True)


def read_live(folder: Path, *, read: Callable[[Path], bytes] = Path.read_bytes) -> Live | None:
    """What a run shows of itself in this folder; None if it shows nothing.

    Raises
    ------
    InputError
        If there is a file that cannot be read, or is of another version.
    """
    path = folder / FILE
    try:
        text = read(path)
        version = json.decode(text, type=_Version).version
        if version != _VERSION:
            raise InputError(f"{path}: is of version {version}; this twolevel reads version {_VERSION}")
        return json.decode(text, type=Live)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, MsgspecError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


@dataclass(frozen=True)
class _Version:
    version: int
