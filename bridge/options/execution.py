"""How the processes of a run are run: none of it can change a result."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from bls.options import BLS_COMMAND
from bridge.options.declared import (
    ALS_COMMAND,
    ALS_TIMEOUT,
    BLS_TIMEOUT,
    CERTIFICATE,
    COUPLING,
    LISTEN,
    SOCKET,
    TOKEN_FILE,
    WORKERS,
)
from traces.base.errors import InputError, shown
from traces.base.options import holds, knows_its_keywords, recorded


@knows_its_keywords
@dataclass(frozen=True)
class Execution:
    """How applications are run, and another program that decides.

    Attributes
    ----------
    coupling : str
        ``inline``, ``pool`` or ``process``; the result is the same, only the cost differs.
    workers : int, optional
        How many processes run applications; without it one per processor, or none on this host where others may join.
    als_command : str, optional
        A command line that starts an application simulator of the user's own; None is ours.
    als_timeout_s : float
        How long it may take to answer.
    socket : str
        The kind of socket that other processes are connected by.
    bls_command, bls_timeout_s
        A command line that starts a scheduler of the user's own, which decides in place of a policy; and how long it may take
        to answer.
    listen, token_file, certificate : str, optional
        Where workers of other hosts may join, and with what.

    Raises
    ------
    InputError
        If a value is not allowed; the message names the option.
    """

    coupling: str = holds(COUPLING)
    workers: int | None = holds(WORKERS)
    als_command: str | None = holds(ALS_COMMAND)
    als_timeout_s: float = holds(ALS_TIMEOUT)
    socket: str = holds(SOCKET)
    bls_command: str | None = holds(BLS_COMMAND)
    bls_timeout_s: float = holds(BLS_TIMEOUT)
    listen: str | None = holds(LISTEN)
    token_file: str | None = holds(TOKEN_FILE)
    certificate: str | None = holds(CERTIFICATE)

    def __post_init__(self) -> None:
        if self.workers is not None:
            object.__setattr__(self, "workers", WORKERS.check(self.workers))
        object.__setattr__(self, "als_timeout_s", ALS_TIMEOUT.check(self.als_timeout_s))
        object.__setattr__(self, "bls_timeout_s", BLS_TIMEOUT.check(self.bls_timeout_s))
        if self.als_command is not None:
            try:
                words = shlex.split(self.als_command)
            except ValueError as error:
                raise InputError(f"{ALS_COMMAND}: {shown(self.als_command)}: {error}") from None
            if not words:
                raise InputError(f"{ALS_COMMAND}: empty; allowed: a command line")
        SOCKET.check(self.socket)

    def how_many(self) -> int:
        """The number of workers on this host."""
        if self.workers is None and self.listen is not None:
            return 0
        return self.workers or len(os.sched_getaffinity(0))

    def names(self) -> dict[str, object]:
        """As plain values, for a record of the run; of another scheduler, and of hosts that may join, where there are any."""
        scheduler = (BLS_COMMAND, BLS_TIMEOUT) if self.bls_command is None else ()
        hosts = (LISTEN, TOKEN_FILE, CERTIFICATE) if self.listen is None else ()
        without = [option.keyword for option in (*scheduler, *hosts)]
        return {name: value for name, value in recorded(self).items() if name not in without}
