"""Interrupts beside functions that compiled code calls, through which no exception can pass.

Python hears a signal between two steps of whatever function it is in. What a function raises that compiled code has called is
kept, and raised when that code is left; but at its very first and last steps it cannot keep anything, and an exception is lost
there. So an interrupt that comes just then is noted, and raised at the next step at which somebody can keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])


class _Interrupts:
    """The interrupts of this process. ``noted``: whether one came that has not been raised. ``called``: what kernels
    call; only looked up in."""

    def __init__(self) -> None:
        self.noted = False
        self.called: set[CodeType] = set()

    def came(self, frame: FrameType | None) -> None:
        """For a handler of signals: raise, or note it where nobody could keep what is raised. ``frame``: where it came:
        what the handler was given. Raises KeyboardInterrupt."""
        if frame is not None and frame.f_code in self.called:
            self.noted = True
        else:
            raise KeyboardInterrupt

    def raise_noted(self) -> None:
        """Raise the one that was noted, if any was. Raises KeyboardInterrupt."""
        if self.noted:
            self.noted = False
            raise KeyboardInterrupt


#: Heard by the handlers of the command line.
INTERRUPTS = _Interrupts()


def called_by_kernels(function: _Function) -> _Function:
    """Mark what compiled code calls. All that it does is in one ``try`` that keeps whatever is raised, and begins there
    with ``INTERRUPTS.raise_noted()``."""
    INTERRUPTS.called.add(function.__code__)
    return function
