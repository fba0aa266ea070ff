"""When nodes go down, or are drained, and come back, as a file or a model says, and when hosts were not there for jobs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bls.constraints.job_constraints import JobConstraints, planned_outages
from bls.constraints.outages import NEVER, Outages
from bls.machine.platform import Platform
from bls.metrics.schedule import Downtime


class NodeStates:
    """Which hosts are down, or are drained, and what comes next of each."""

    def __init__(self, found: Outages | None) -> None:
        self._found = found
        n_hosts = 0 if found is None else found.n_hosts
        self._coming = [self._outages(host) for host in range(n_hosts)]
        self._up_ns: dict[int, int] = {}  # of those that are down: when they will come back
        self._been: list[tuple[int, int, int]] = []

    def _outages(self, host: int) -> Iterator[tuple[int, int]]:
        at = 0
        while self._found is not None:
            first, stop = int(self._found.first[host]), int(self._found.first[host + 1])
            if first + at < stop:
                down, up = int(self._found.down_ns[first + at]), int(self._found.up_ns[first + at])
                if down >= NEVER:
                    return
                yield down, up
                at += 1
                continue
            more = self._found.extend()
            if more is self._found:
                return
            self._found = more

    @property
    def any_down(self) -> bool:
        """Whether a host is down that will come back."""
        return any(up < NEVER for up in self._up_ns.values())

    def down(self, host: int) -> bool:
        """Whether a host is down."""
        return host in self._up_ns

    def first(self) -> list[tuple[int, int]]:
        """The first outage of each host: (instant, host)."""
        return [(begin, host) for host in range(len(self._coming)) if (begin := self._next(host)) is not None]

    def _next(self, host: int) -> int | None:
        outage = next(self._coming[host], None)
        if outage is None:
            return None
        self._been.append((host, *outage))
        return outage[0]

    def change(self, host: int) -> int | None:
        """A host goes down, or comes back; returns the instant of its next change."""
        if host in self._up_ns:
            del self._up_ns[host]
            return self._next(host)
        self._up_ns[host] = next(up for which, _, up in reversed(self._been) if which == host)
        return self._up_ns[host] if self._up_ns[host] < NEVER else None

    def downtime(self, platform: Platform, constraints: JobConstraints, now_ns: int) -> Downtime:
        """When hosts were down, or in maintenance, up to an instant."""
        spans = list(self._been)
        for host, pairs in enumerate(planned_outages(constraints.windows, platform.n_hosts)):
            spans += [(host, begin, end) for begin, end in pairs]
        begun = [(host, down, min(up, now_ns)) for host, down, up in spans if down < now_ns]
        table = np.array(begun, np.int64).reshape(-1, 3)
        hosts = table[:, 0].copy()
        return Downtime(hosts, np.diff(platform.first_core)[hosts], table[:, 1].copy(), table[:, 2].copy())
