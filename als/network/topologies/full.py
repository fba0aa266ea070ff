"""Every pair of hosts has a link of its own, one in each direction: src ──▶ dst, dst ──▶ src."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.network.state import FULL
from traces.compiled import Array, compiled


@compiled(inner=True)
def full_route(n_hosts: int, src: int, dst: int, keys: Array) -> int:
    """The only link from host ``src`` to host ``dst``; returns 1."""
    keys[0] = src * n_hosts + dst
    return 1


@dataclass(frozen=True)
class Full:
    """A topology without parameters."""

    name: ClassVar[str] = "full"
    code: ClassVar[int] = FULL

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """None."""
        return ()
