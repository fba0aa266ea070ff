"""Generated dispatches on machines like those of the PCP'20 paper: Eurora and KIT ForHLR II (its section 4).

Jobs similar to the waiting ones hold nine tenths of a machine's cores. Run times, widths and requests are generated, too:
neither log is shipped, and Eurora's is not public.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from bls.cp.class_places import best_fit
from bls.cp.instance import Instance, Queue, RunningUnits
from bls.cp.problem import problem_of
from traces.compiled import Array

_BUSY: Final = 0.9

#: Number of draws without a fitting job after which the machine counts as full.
_TRIES: Final = 4000

#: KB of a GB; and nodes whose system uses some of it.
_KB: Final = 2**20
_IN_KB: Final = ((1152, (20, 64 * _KB - 317)), (21, (48, 1024 * _KB - 317)))

_Request = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Machine:
    """A machine, and the requests of its jobs.

    Attributes
    ----------
    resources : tuple of str
    nodes : tuple of (int, tuple of int)
        Number of nodes, and the resources of each.
    request : callable
        Draws the units of a job, and the request of one.
    """

    resources: tuple[str, ...]
    nodes: tuple[tuple[int, tuple[int, ...]], ...]
    request: Callable[[random.Random], _Request]

    @property
    def capacity(self) -> Array:
        """int64 (nodes, resources)."""
        rows = [has for count, has in self.nodes for _ in range(count)]
        return np.array(rows, np.int64)


def _of_eurora(draw: random.Random) -> _Request:
    units, cores = draw.choice([1] * 12 + [2] * 3 + [4, 4, 8]), draw.choice([1, 1, 2, 4, 8, 16])
    accelerator = draw.random()
    if accelerator < 0.3:
        return units, (cores, draw.choice([1, 2]), 0)
    return units, (cores, 0, draw.choice([1, 2]) if accelerator < 0.5 else 0)


def _of_kit(draw: random.Random) -> _Request:
    units = draw.choice([1] * 8 + [2] * 3 + [4] * 3 + [8] * 2 + [16, 32])
    return units, (draw.choice([1, 2, 5, 10, 20, 20, 20, 20]),)


def _of_kit_with_memory(draw: random.Random) -> _Request:
    units, (cores,) = _of_kit(draw)
    return units, (cores, draw.choice([1, 1, 2, 3]) * cores)


def _of_kit_in_kb(draw: random.Random) -> _Request:
    units, (cores, gb) = _of_kit_with_memory(draw)
    return units, (cores, gb * _KB - draw.randrange(1000 * cores))


def _of_kit_any_memory(draw: random.Random) -> _Request:
    units, (cores,) = _of_kit(draw)
    return units, (cores, min(63 * _KB, int(1.5 * draw.lognormvariate(0.0, 1.0) * cores * _KB)))


#: By name; memory is in GB. In ``kit-kb`` it is in KB, less than 64 GB per node, and no unit requests more than the share of
#: its cores; in ``kit-any-memory`` one in eight does.
MACHINES: Final = {
    "eurora": Machine(("core", "gpu", "mic"), ((32, (16, 2, 0)), (32, (16, 0, 2))), _of_eurora),
    "kit": Machine(("core",), ((1152, (20,)),), _of_kit),
    "kit-fat": Machine(("core",), ((1152, (20,)), (21, (48,))), _of_kit),
    "kit-memory": Machine(("core", "memory"), ((1152, (20, 64)), (21, (48, 1024))), _of_kit_with_memory),
    "kit-kb": Machine(("core", "memory"), _IN_KB, _of_kit_in_kb),
    "kit-any-memory": Machine(("core", "memory"), _IN_KB, _of_kit_any_memory),
}


def _duration_s(draw: random.Random) -> int:
    return int(min(86_400.0, max(10.0, draw.lognormvariate(6.2, 1.8))))


def drawn(machine: Machine, n_waiting: int, seed: int) -> Instance:
    """An instance with ``waiting`` jobs, the same for the same seed; running jobs are listed longest first."""
    draw = random.Random(seed)
    running, places = _running(machine, draw)
    by_end = sorted(range(len(running)), key=lambda job: -running[job][0])
    rows = [(new, node, units) for new, old in enumerate(by_end) for node, units in places[old]]
    held = RunningUnits(
        np.array([running[job][0] for job in by_end], np.int64),
        np.array([running[job][1] for job in by_end], np.int64),
        *(np.array(column, np.int64) for column in zip(*rows, strict=True)),
    )
    return Instance(machine.resources, machine.capacity, held, _waiting(machine, n_waiting, draw))


def _waiting(machine: Machine, n_waiting: int, draw: random.Random) -> Queue:
    duration, requests, waited = [], [], []
    for _ in range(n_waiting):
        duration.append(_duration_s(draw))
        requests.append(machine.request(draw))
        waited.append(int(draw.expovariate(1 / 1800)))
    return Queue(
        np.arange(n_waiting),
        np.array(waited, np.int64),
        np.array(duration, np.int64),
        np.array([units for units, _ in requests], np.int64),
        np.array([asked for _, asked in requests], np.int64).reshape(n_waiting, len(machine.resources)),
    )


def _running(
    machine: Machine, draw: random.Random
) -> tuple[list[tuple[int, tuple[int, ...]]], list[list[tuple[int, int]]]]:
    """Running jobs, as (time left, request of a unit), and their (node, units)."""
    free = machine.capacity
    empty, no_jobs = free.copy(), RunningUnits.none(len(machine.resources))
    running, places, held = [], [], 0
    for _ in range(_TRIES):
        if held >= _BUSY * int(empty[:, 0].sum()):
            break
        duration, (units, asked) = _duration_s(draw), machine.request(draw)
        one = np.ones(1, np.int64)
        queue = Queue(one, one.copy(), one.copy(), one * units, np.array([asked], np.int64))
        problem = problem_of(Instance(machine.resources, empty.copy(), no_jobs, queue), np.zeros(1, np.int64))
        placed, _ = best_fit(problem, free, np.zeros(1, np.int64))
        if placed:
            nodes, counts = np.unique(placed[0], return_counts=True)
            free[nodes] -= counts[:, np.newaxis] * np.array(asked, np.int64)
            running.append((max(1, int(draw.random() * duration)), asked))
            places.append(list(zip(nodes.tolist(), counts.tolist(), strict=True)))
            held += units * asked[0]
    return running, places
