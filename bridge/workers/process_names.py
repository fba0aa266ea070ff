"""Names and ends of processes: the name in ``ps``, dying with the parent, and how a process ended. Linux."""

import ctypes
import os
import signal
from typing import Final

#: Names in ``ps`` of an application process, and of the server that forks them; at most 15 bytes.
PROCESS_NAME: Final = "twolevel-als"
SERVER_NAME: Final = "twolevel-fork"

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_prctl = ctypes.CDLL(None).prctl
_prctl.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def name_process(name: str) -> None:
    """Set the name that ``ps`` shows for this process."""
    _prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Have a signal sent to this process when its parent dies, for whatever reason."""
    _prctl(_PR_SET_PDEATHSIG, int(by), 0, 0, 0)
    if os.getppid() != parent:  # it died before the request above
        os._exit(1)


def how_ended(code: int) -> str:
    """How a process ended, such as "was killed by SIGKILL". ``code``: exit status, or negative number of the signal."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal has no name
        return f"was killed by signal {-code}"
