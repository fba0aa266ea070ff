"""The couplings: how applications are run. To add one: a file here, a line in :data:`COUPLINGS`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bridge.couplings.contract import Applications, Coupling
from bridge.options.declared import ALS_COMMAND, CERTIFICATE, COUPLING, LISTEN, TOKEN_FILE
from bridge.options.execution import Execution
from bridge.watches import RunWatch, Watch
from traces.base.errors import InputError, at, one_of

__all__ = ["COUPLINGS", "Applications", "Coupling", "RunWatch", "Watch", "check_execution", "coupling"]

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


def check_execution(execution: Execution) -> None:
    """See that there is such a coupling, and that other hosts can join where they may.

    Raises
    ------
    InputError
        If not.
    """
    coupling(execution.coupling)
    listen, token_file = execution.listen, execution.token_file
    if listen is None:
        for option, given in ((TOKEN_FILE, token_file), (CERTIFICATE, execution.certificate)):
            if given is not None:
                raise InputError(f"{at(str(option), given)}: needs {LISTEN}")
        return
    where = at(str(LISTEN), listen)
    if execution.als_command is not None:
        raise InputError(f"{where}: not with {ALS_COMMAND}: hosts have our own application simulator")
    if token_file is None:
        make = "(umask 077; openssl rand -hex 32 > FILE) makes one"
        raise InputError(f"{where}: needs {TOKEN_FILE} FILE, which hosts join with; {make}")
    from bridge.workers.address import tls_address
    from bridge.workers.credentials import read_token

    tls_address(listen, where)
    read_token(token_file, at(str(TOKEN_FILE), token_file))
