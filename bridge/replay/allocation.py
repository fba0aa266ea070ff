"""Which cores jobs have: Slurm says how many on which nodes, and there they have the lowest that are free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bridge.replay.host_names import expanded
from bridge.replay.messages import Launch
from traces.base.errors import PeerError
from traces.compiled import Array


class Cores:
    """The cores of a machine, and which of them are free; host h has ``first_core[h]`` up to ``first_core[h + 1]``."""

    def __init__(self, first_core: Array) -> None:
        self._first = first_core
        self._free = np.ones(int(first_core[-1]), bool)

    def take(self, launch: Launch, host: Mapping[str, int], who: str) -> list[tuple[int, int]]:
        """The cores of a job that starts: half-open intervals, ascending. Raises PeerError if there are none; ``who``
        is the job."""
        names = expanded(launch.nodes)
        if len(names) != len(launch.cpus):
            raise PeerError(f"Slurm starts {who} on {len(names)} nodes with {len(launch.cpus)} numbers of CPUs")
        taken: list[int] = []
        for name, count in zip(names, launch.cpus, strict=True):
            if name not in host:
                raise PeerError(f"Slurm starts {who} on {name}, which is no node of the machine")
            lo, hi = int(self._first[host[name]]), int(self._first[host[name] + 1])
            free = lo + np.flatnonzero(self._free[lo:hi])[:count]
            if len(free) < count:
                raise PeerError(f"Slurm starts {who} on {count} cores of {name}, of which {len(free)} are free")
            self._free[free] = False
            taken += free.tolist()
        return _intervals(sorted(taken))

    def free(self, held: Iterable[tuple[int, int]]) -> None:
        """These are free again."""
        for lo, hi in held:
            self._free[lo:hi] = True


def _intervals(cores: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for core in cores:
        if found and found[-1][1] == core:
            found[-1] = (found[-1][0], core + 1)
        else:
            found.append((core, core + 1))
    return found
