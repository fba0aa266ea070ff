"""The program of a job's process: reads one job, simulates it, reports how it ended, and exits."""

import os
from collections.abc import Callable
from typing import Final

from .graphs import PlannedPart, RoundsPart
from .loops import LoopPart, SerialPart
from .platform import PlatformFault
from .world import SimulatedPart, World, put, receive

KINDS: Final[dict[str, Callable[[World, int, int, int], SimulatedPart]]] = {
    "serial": SerialPart,
    "loop": LoopPart,
    "rounds": RoundsPart,
    "planned": PlannedPart,
}


def main() -> None:
    """Simulate the job that the first line describes."""
    order = receive()
    try:
        world = World(order)
    except PlatformFault as error:
        put("refused", str(error))
        os._exit(1)
    first = 0
    for number, given in enumerate(world.job["parts"]):
        world.parts.append(KINDS[given["kind"]](world, number, first, given["tasks"]))
        first += given["tasks"]
    world.run()
    world.report()
    os._exit(0)  # without SimGrid's cleanup
