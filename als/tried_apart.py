"""A first call of compiled code that is not ours, in a process of its own: what would kill the command kills that one."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import warnings
from collections.abc import Callable
from typing import Final

from traces.base.errors import PluginError
from traces.compiled import jit_enabled

__all__ = ["call_apart"]

#: So long may a trial take, s; those of rules that are well take less than a hundredth of a second.
_LONGEST_S: Final = 60


def call_apart(who: str, trial: Callable[[], None]) -> None:
    """Try something in a forked process, and then, if that one lives, in this one.

    Parameters
    ----------
    who : str
        Whose code it is, for the error.
    trial : callable
        What it raises is raised here, and not in the other process.

    Raises
    ------
    PluginError
        If a signal kills the other process, or it does not end within a minute.
    """
    if jit_enabled():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of ours hold no lock that a trial takes
            child = os.fork()
        if child == 0:
            _try_and_end(trial)
        _judge(who, child)
    trial()  # nothing that is not compiled can do more than raise


def _try_and_end(trial: Callable[[], None]) -> None:
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(_LONGEST_S)
    try:
        trial()
    finally:
        os._exit(0)  # whatever was raised


def _judge(who: str, child: int) -> None:
    try:
        status = os.waitpid(child, 0)[1]
    except BaseException:  # an interrupt
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        raise PluginError(f"{who}: its rule does not end; allowed: an answer within {_LONGEST_S} s")
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        raise PluginError(
            f"{who}: its rule was killed by {name} in its first trial; allowed: to read and write its arrays only"
        )
