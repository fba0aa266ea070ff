"""A first call of a compiled rule that is not ours, in a process of its own: what would kill the command kills that one."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from traces.base.errors import RAISED_BY_PLUGINS, PluginError, where_defined, where_raised
from traces.compiled import as_value, jit_enabled
from traces.kernels.signatures import Signature

#: So long may a trial take, s; those of rules that are well take less than a hundredth of a second.
_LONGEST_S: Final = 60


@contextmanager
def rule_answers(who: str) -> Iterator[None]:
    """Have what a rule raises within be its fault. Raises PluginError: the message begins with ``who``."""
    try:
        yield
    except RAISED_BY_PLUGINS as error:
        raise PluginError(
            f"{who}: its rule raises {type(error).__name__} {error}; allowed: an answer{where_raised(error)}"
        ) from None


def try_rule(
    who: str, rule: Callable[..., Any], signature: Signature, decorate: str, trial: Callable[[], None]
) -> None:
    """Try a rule in a forked process, and then, if that one lives, in this one.

    - ``rule``: the rule, which is compiled before.
    - ``signature``: the one that it must be compiled for.
    - ``decorate``: what to decorate with what, where it is not: ``"next_chunk with technique_kernel"``.
    - ``trial``: what calls it. What this raises is raised here, and not in the other process.

    Raises PluginError if it is not compiled as it must be, a signal kills the other process, or that one does not end
    within a minute.
    """
    try:
        as_value(rule, signature)
    except TypeError as error:
        raise PluginError(f"{who}: {error}; decorate {decorate}") from None
    if jit_enabled():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of ours hold no lock that a trial takes
            child = os.fork()
        if child == 0:
            _try_and_end(trial)
        if fault := _fault(child):
            raise PluginError(f"{who}: its rule {fault}{where_defined(rule)}")
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


def _fault(child: int) -> str:
    # What became of the other process, if it did not end by itself.
    try:
        status = os.waitpid(child, 0)[1]
    except BaseException:  # an interrupt
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        return f"does not end; allowed: an answer within {_LONGEST_S} s"
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"was killed by {name} in its first trial; allowed: to read and write its arrays only"
    return ""
