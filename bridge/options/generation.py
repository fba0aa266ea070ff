"""Options of ``workload generate`` that describe the workload to generate."""

from dataclasses import dataclass, replace
from typing import Annotated

from bls.options import JOBS, METHOD, NODES_FACTOR, PLATFORM, SPEED_FACTOR
from bridge.options.declared import GPUS, LIKE, LIKENESS_PLOT, LIMIT
from traces.base.options import SEED


@dataclass(frozen=True)
class GenerationRequest:
    """Request for ``jobs`` jobs like those of a workload, or of a published model."""

    jobs: Annotated[int, JOBS]
    like: Annotated[str, LIKE]
    seed: Annotated[int, SEED] = SEED.default
    method: Annotated[str, METHOD] = METHOD.default
    platform: Annotated[str | None, replace(PLATFORM, rule="as the header of the log states")] = PLATFORM.default
    speed_factor: Annotated[float, SPEED_FACTOR] = SPEED_FACTOR.default
    nodes_factor: Annotated[float, NODES_FACTOR] = NODES_FACTOR.default
    gpus: Annotated[str | None, GPUS] = None
    limit: Annotated[list[str] | None, LIMIT] = None
    plot: Annotated[str | None, LIKENESS_PLOT] = None
