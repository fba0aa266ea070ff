"""The instants at which a policy has asked to decide again."""

from __future__ import annotations

from heapq import heappop, heappush


class WakeUps:
    """Instants, each once however often it is asked for, the earliest first. ``pending``: a heap of them."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self._asked: set[int] = set()

    def add(self, instant_ns: int) -> None:
        """Ask for an instant."""
        if instant_ns not in self._asked:
            self._asked.add(instant_ns)
            heappush(self.pending, instant_ns)

    def next_after(self, now_ns: int) -> int | None:
        """The earliest instant after the present one, None if there is none; those before it are over."""
        while self.pending and self.pending[0] <= now_ns:
            self._asked.discard(heappop(self.pending))
        return self.pending[0] if self.pending else None
