"""The kernels that every run needs; they are compiled before the run begins, so that no timing includes compilation."""

from typing import Final

from traces.kernels.units import prepare

# Number of kernels in each module's machine code, checked by a test. Users see these numbers while kernels compile, and they
# show the cost of a plain run: whoever adds a kernel to it sees it here.

#: The batch level, and the metrics of any run.
BATCH: Final = {
    "bls.workloads.readers.swf": 8,
    "bls.engine.loop": 70,
    "bls.policies.contract": 3,
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

INLINE: Final = {"bridge.couplings.inline_kernel": 43}  #: both in one process

#: An application simulator in a process of its own.
WORKER: Final = {
    "als.plain_loops": 11,
    "als.lengths.draw": 12,
    "als.programs.table": 21,
    "als.engine.injected_changes": 29,
    "als.metrics.loops": 3,
}


def prepare_run(*, applications: bool) -> None:
    """Load or compile the kernels that every run needs; ``applications``: whether applications are simulated."""
    prepare(BATCH | APPLICATION | INLINE if applications else BATCH)


def prepare_workers() -> None:
    """Load or compile the kernels of application simulators in processes of their own."""
    prepare(APPLICATION | WORKER)
