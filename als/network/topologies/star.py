"""Every host has a link to the middle, one in each direction: src ──▶ · ──▶ dst.

Each has half the platform's latency, so that a route has all of it. As a SimGrid star zone of split-duplex links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.network.state import STAR
from traces.compiled import Array, compiled


@compiled(inner=True)
def star_route(src: int, dst: int, keys: Array) -> int:
    """The link of ``src`` up to the middle, that of ``dst`` down from it; returns 2."""
    keys[0] = 2 * src
    keys[1] = 2 * dst + 1
    return 2


@dataclass(frozen=True)
class Star:
    """A topology without parameters."""

    name: ClassVar[str] = "star"
    code: ClassVar[int] = STAR

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """None."""
        return ()
