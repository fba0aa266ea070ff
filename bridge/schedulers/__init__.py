"""Another program as the batch level: started, connected, told what happens, and asked what starts."""

from __future__ import annotations

from bls.options import BLS, BLS_COMMAND
from bls.policies import AnyPolicy
from bridge.options.declared import SOCKET
from bridge.scenarios.options import SchedulerOptions
from traces.base.errors import InputError

__all__ = ["scheduler_of"]


def scheduler_of(chosen: SchedulerOptions, socket: str = SOCKET.default) -> str | AnyPolicy:
    """What decides in a run: the policy that was chosen, or the program, connected by a ``socket`` of this kind. Raises
    InputError if both were, or the command is none."""
    if chosen.bls_command is None:
        return BLS.default if chosen.bls is None else chosen.bls
    if chosen.bls is not None:
        raise InputError(f"{BLS_COMMAND}: not with {BLS}: the command is the policy; allowed: one of them")
    from bridge.schedulers.external import ExternalScheduler  # which other runs need not load

    return ExternalScheduler(chosen.bls_command, chosen.bls_timeout, socket)
