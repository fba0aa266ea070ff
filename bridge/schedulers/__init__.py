"""Another program as the batch level: started, connected, told what happens, and asked what starts."""

from __future__ import annotations

from bls.options import BLS
from bls.policies import AnyPolicy
from bridge.options.coupling import SchedulerOptions
from bridge.options.declared import BLS_COMMAND
from traces.base.errors import InputError

__all__ = ["scheduler_or"]


def scheduler_or(bls: str | AnyPolicy, chosen: SchedulerOptions, socket: str) -> str | AnyPolicy:
    """What decides in a run: the program that was chosen, connected by a ``socket`` of this kind; else what ``--bls`` says.

    Raises
    ------
    InputError
        If both are given, or the command is none.
    """
    if chosen.bls_command is None:
        return bls
    if bls != BLS.default:
        raise InputError(f"{BLS_COMMAND.name}: not with {BLS.name}: the command is the policy; allowed: one of them")
    from bridge.schedulers.external import ExternalScheduler  # which other runs need not load

    return ExternalScheduler(chosen.bls_command, chosen.bls_timeout, socket)
