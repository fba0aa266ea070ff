"""The options of ``run`` that say how applications are run: none of them can change a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from bridge.options.shared import WorkersOption

__all__ = ["CouplingOptions"]


@dataclass(frozen=True)
class CouplingOptions:
    """How applications are run; none of it can change a result."""

    coupling: Annotated[str, typer.Option(help="How applications are run: inline, pool or process.")] = "inline"
    workers: WorkersOption = None
    als_command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="An application simulator of your own (bridge/PROTOCOL.md).")
    ] = None
    als_timeout: Annotated[
        float, typer.Option(metavar="S", help="A process silent for so long is killed, its job run again.")
    ] = 300.0
    socket: Annotated[str, typer.Option(help="Between bridge and processes: unix, or tcp on the loopback.")] = "unix"

    def names(self) -> dict[str, object]:
        """As plain values, for a record of the run."""
        return {
            "coupling": self.coupling,
            "workers": self.workers,
            "als_command": self.als_command,
            "als_timeout_s": self.als_timeout,
            "socket": self.socket,
        }
