"""The couplings: how applications are run. To add one: a file here, a line in :data:`COUPLINGS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bridge.couplings.contract import Applications, Coupling
from bridge.options.declared import COUPLING, LISTEN, TOKEN_FILE
from bridge.scenarios.conflicts import PROCESSES
from bridge.scenarios.scenario import Execution
from bridge.watches import RunWatch, Watch
from traces.base.conflicts import check
from traces.base.errors import at, one_of

__all__ = ["COUPLINGS", "Applications", "Coupling", "RunWatch", "Watch", "check_execution", "coupling"]

#: Name → module and function; imported when chosen, since each brings its own machinery.
COUPLINGS: dict[str, tuple[str, str]] = {
    "inline": ("bridge.couplings.inline", "run_inline"),
    "pool": ("bridge.couplings.processes", "run_pool"),
    "process": ("bridge.couplings.processes", "run_process"),
}


def coupling(name: str) -> Coupling:
    """The coupling of this name. Raises InputError if there is none; the message lists the known ones, nearest first."""
    if name not in COUPLINGS:
        raise one_of("coupling", name, COUPLINGS, at(str(COUPLING), name))
    module, function = COUPLINGS[name]
    return cast(Coupling, getattr(import_module(module), function))


def check_execution(execution: Execution) -> None:
    """See that there is such a coupling, and that other hosts can join where they may. Raises InputError if not."""
    coupling(execution.coupling)
    check(PROCESSES, execution)
    listen, token_file = execution.listen, execution.token_file
    if listen is None or token_file is None:
        return
    from bridge.workers.address import tls_address
    from bridge.workers.credentials import read_token

    tls_address(listen, at(str(LISTEN), listen))
    read_token(token_file, at(str(TOKEN_FILE), token_file))
