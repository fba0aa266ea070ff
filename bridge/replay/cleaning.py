"""Cleaning up after jobs: on how many of its nodes Slurm has not ended a job yet, and when the last one tells that it has."""

from __future__ import annotations

from collections import deque


class Cleaning:
    """Nodes that clean up. Instants are a workload's, ns; numbers are Slurm's.

    - ``cleanup_ns``: how long nodes take to clean up after a job.
    """

    def __init__(self, cleanup_ns: int) -> None:
        self._cleanup_ns = cleanup_ns
        self._left: dict[int, int] = {}
        self._to_tell: deque[tuple[int, int, int]] = deque()  # ascending, as all take as long

    def begin(self, number: int, nodes: int) -> None:
        """A job has started on so many nodes."""
        self._left[number] = nodes

    def lose(self, number: int) -> None:
        """One of a job's nodes went down: it tells nothing."""
        self._left[number] -= 1

    def end(self, number: int, node: int, now_ns: int) -> bool:
        """Slurm has ended a job on a node, or asks again; whether there is nothing left of it there.

        A real node says so later, and after the last one Slurm looks for whom to start at once. So does it here: the last
        one tells it by itself, and the others when they are asked.
        """
        left = self._left.get(number, 0) - 1
        self._left[number] = left
        if left == 0:
            self._to_tell.append((now_ns + self._cleanup_ns, number, node))
        # Slurm asks again after some minutes.
        return left != 0 and not any((number, node) == one[1:] for one in self._to_tell)

    def next_ns(self) -> int | None:
        """When the next node tells that it has cleaned up; None if none will."""
        return self._to_tell[0][0] if self._to_tell else None

    def told(self, until_ns: int) -> tuple[int, int] | None:
        """The (number, node) that tells it by an instant, and does not any more; None if none does."""
        if not self._to_tell or self._to_tell[0][0] > until_ns:
            return None
        return self._to_tell.popleft()[1:]
