"""The program of a job's process: it hears of one job, simulates it, says how it ended, and ends itself."""

import os
from collections.abc import Callable
from typing import Final

from .graphs import PlannedPart, RoundsPart
from .loops import LoopPart, SerialPart
from .platform import PlatformFault
from .world import SimulatedPart, World, hear, put

KINDS: Final[dict[str, Callable[[World, int, int, int], SimulatedPart]]] = {
    "serial": SerialPart,
    "loop": LoopPart,
    "rounds": RoundsPart,
    "planned": PlannedPart,
}


def main() -> None:
    """Simulate the job that the first line describes."""
    order = hear()
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
    os._exit(0)  # SimGrid would tidy up
