"""Options of ``workload generate`` that describe the workload to generate."""

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from bls.options import JOBS, METHOD, NODES_FACTOR, PLATFORM, SPEED_FACTOR
from traces.base.options import SEED


@dataclass(frozen=True)
class GenerationRequest:
    """Request for ``jobs`` jobs, either like those of the workload ``like`` or by a published ``model``."""

    jobs: Annotated[int, JOBS]
    like: Annotated[
        str | None, typer.Option(metavar="WORKLOAD", help="Generate jobs like those of this workload; or give --model.")
    ] = None
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Published model: lublin.")] = None
    seed: Annotated[int, SEED] = SEED.default
    method: Annotated[str, METHOD] = METHOD.default
    platform: Annotated[str | None, replace(PLATFORM, rule="as the header of the log states")] = PLATFORM.default
    speed_factor: Annotated[float, SPEED_FACTOR] = SPEED_FACTOR.default
    nodes_factor: Annotated[float, NODES_FACTOR] = NODES_FACTOR.default
    gpus: Annotated[
        str | None,
        typer.Option(metavar="SHARE:CARDS:GFLOPS", help="Share of nodes with GPUs, GPUs per node, and their speed."),
    ] = None
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LO-HI", help="Limit of a request per node, of cores, gpus or memory_kb; may be repeated."
        ),
    ] = None
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Plot both distributions in a png, svg or pdf file.")
    ] = None
