"""The couplings: how applications are run. To add one: a file here, a line in :data:`COUPLINGS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bridge.couplings.contract import Applications, Coupling, PeerOptions
from bridge.options.coupling import CouplingOptions, HostOptions
from bridge.options.declared import COUPLING
from bridge.watches import RunWatch, Watch
from traces.base.errors import at, one_of

__all__ = ["COUPLINGS", "Applications", "Coupling", "PeerOptions", "RunWatch", "Watch", "coupling", "peers"]

#: Name → module and function; imported when chosen, since each brings its own machinery.
COUPLINGS: dict[str, tuple[str, str]] = {
    "inline": ("bridge.couplings.inline", "run_inline"),
    "pool": ("bridge.couplings.processes", "run_pool"),
    "process": ("bridge.couplings.processes", "run_process"),
}


def coupling(name: str) -> Coupling:
    """The coupling of this name.

    Raises
    ------
    InputError
        If there is none; the message lists the known ones, nearest first.
    """
    if name not in COUPLINGS:
        raise one_of("coupling", name, COUPLINGS, at(str(COUPLING), name))
    module, function = COUPLINGS[name]
    return cast(Coupling, getattr(import_module(module), function))


def peers(how: CouplingOptions, hosts: HostOptions | None = None) -> PeerOptions:
    """What the options of a run say of processes, checked, and that there is such a coupling.

    Raises
    ------
    InputError
        If one of them is not allowed.
    """
    coupling(how.coupling)
    return PeerOptions(how.workers, how.als_timeout, how.als_command, how.socket, **vars(hosts or HostOptions()))
