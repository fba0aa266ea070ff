"""Which kernels a run needs, so that they are there before it begins: nobody's clock runs while they are compiled."""

from typing import Final

from traces.kernels.units import prepare

# How many kernels each module's machine code is made of; a test holds the numbers, which those who wait are shown, and which
# say what a plain run costs: whoever adds to it sees it here.

#: The batch level, and what is measured of any run.
BATCH: Final = {
    "bls.workloads.readers.swf": 8,
    "bls.engine.loop": 72,
    "bls.policies.score_policy": 3,
    "bls.allocators.first_fit": 9,
    "bls.metrics.occupancy": 7,
    "bls.metrics.schedule": 1,
    "bls.availability.free_cores": 2,
}

#: The application level.
APPLICATION: Final = {
    "als.engine.loop": 55,
    "als.engine.state": 3,
    "als.techniques.fixed.static": 2,
    "als.lengths.contract": 1,
}

#: Both in one process.
INLINE: Final = {"bridge.couplings.inline_kernel": 41}

#: An application simulator in a process of its own.
WORKER: Final = {
    "als.plain_loops": 11,
    "als.lengths.draw": 10,
    "als.programs.table": 19,
    "als.engine.injected_changes": 29,
    "als.metrics.loops": 3,
}


def prepare_run(*, applications: bool) -> None:
    """Have the kernels at hand that every run needs; ``applications`` says whether applications are simulated."""
    prepare(BATCH | APPLICATION | INLINE if applications else BATCH)


def prepare_workers() -> None:
    """Have the kernels at hand that application simulators need in processes of their own."""
    prepare(APPLICATION | WORKER)
