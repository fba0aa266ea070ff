"""The options of ``run`` that say how applications are run: none of them can change a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from bridge.options.declared import ALS_COMMAND, ALS_TIMEOUT, CERTIFICATE, COUPLING, LISTEN, SOCKET, TOKEN_FILE, WORKERS
from traces.base.errors import InputError


@dataclass(frozen=True)
class CouplingOptions:
    """How applications are run; none of it can change a result."""

    coupling: Annotated[str, COUPLING] = COUPLING.default
    workers: Annotated[int | None, WORKERS] = WORKERS.default
    als_command: Annotated[str | None, ALS_COMMAND] = ALS_COMMAND.default
    als_timeout: Annotated[float, ALS_TIMEOUT] = ALS_TIMEOUT.default
    socket: Annotated[str, SOCKET] = SOCKET.default

    def check_used(self, *, scheduler: bool) -> None:
        """Look that nothing is said of processes where there are none.

        Parameters
        ----------
        scheduler : bool
            Whether there is a scheduler of one's own, which has a socket, too.

        Raises
        ------
        InputError
            If something is, with ``inline``.
        """
        if self.coupling != COUPLING.default:
            return
        for option, given, needed in (
            (WORKERS, self.workers, True),
            (ALS_TIMEOUT, self.als_timeout, True),
            (SOCKET, self.socket, not scheduler),
        ):
            if needed and given != option.default:
                raise InputError(f"{option}: needs {COUPLING:pool} or process: inline runs no other process")

    def names(self) -> dict[str, object]:
        """As plain values, for a record of the run."""
        return {
            "coupling": self.coupling,
            "workers": self.workers,
            "als_command": self.als_command,
            "als_timeout_s": self.als_timeout,
            "socket": self.socket,
        }


@dataclass(frozen=True)
class HostOptions:
    """Which other hosts may join a run, and how; of no study, whose runs follow one another."""

    listen: Annotated[str | None, LISTEN] = LISTEN.default
    token_file: Annotated[str | None, TOKEN_FILE] = TOKEN_FILE.default
    certificate: Annotated[str | None, CERTIFICATE] = CERTIFICATE.default

    def names(self) -> dict[str, object]:
        """As plain values, for a record of the run; nothing of a run that no host may join."""
        if self.listen is None:
            return {}
        return {"listen": self.listen, "token_file": self.token_file, "certificate": self.certificate}
