"""The couplings: how applications are run. To add one: a file here, a line in :data:`COUPLINGS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from traces.errors import one_of
from traces.lazy import lazy_names

if TYPE_CHECKING:
    from bridge.couplings.contract import Applications, Coupling, PeerOptions, RunWatch, Watch

__all__ = ["COUPLINGS", "Applications", "Coupling", "PeerOptions", "RunWatch", "Watch", "coupling"]

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
        raise one_of("coupling", name, COUPLINGS, "--coupling")
    module, function = COUPLINGS[name]
    return cast("Coupling", getattr(import_module(module), function))


# Imported when they are asked for, so that the command line can name the options of couplings at once.
__getattr__, __dir__ = lazy_names(
    __name__,
    dict.fromkeys(("Applications", "Coupling", "PeerOptions", "RunWatch", "Watch"), "bridge.couplings.contract"),
)
