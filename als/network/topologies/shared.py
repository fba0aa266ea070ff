"""Every pair of hosts has a link of its own, which both directions share: src ◀─▶ dst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.network.state import SHARED
from traces.compiled import Array, compiled


@compiled(inner=True)
def shared_route(n_hosts: int, src: int, dst: int, keys: Array) -> int:
    """The only link between hosts ``src`` and ``dst``; returns 1."""
    keys[0] = min(src, dst) * n_hosts + max(src, dst)
    return 1


@dataclass(frozen=True)
class Shared:
    """A topology without parameters."""

    name: ClassVar[str] = "shared"
    code: ClassVar[int] = SHARED

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """None."""
        return ()
