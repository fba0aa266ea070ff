"""The AccaSim paper's four generated workloads beside their source: its section 7.3 and Figures 14 to 17."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bls.analysis.likeness import distributions, likeness_table
from bls.machine.platform import Platform
from bls.workloads.generators import METHODS, generate_like
from bls.workloads.workload import Workload
from traces.figures.drawing.canvas import save
from traces.figures.workload.likeness import PANELS, likeness_figure

#: GFLOP/s of one of the paper's accelerator cards.
CARD_GFLOPS = 933.0


@dataclass(frozen=True)
class Configuration:
    """A workload to be made.

    Attributes
    ----------
    name, short : str
        What is changed, and so for a title.
    n_jobs : int
    speed, nodes : float
        How many times as fast the cores, and as many the nodes, are.
    gpu_share : float
        What share of the nodes has two cards.
    """

    name: str
    short: str
    n_jobs: int
    speed: float = 1.0
    nodes: float = 1.0
    gpu_share: float = 0.0

    def made(self, source: Workload, platform: Platform, method: str, seed: int) -> Workload:
        """The workload."""
        return generate_like(
            source,
            self.n_jobs,
            seed=seed,
            platform=platform,
            speed_factor=self.speed,
            nodes_factor=self.nodes,
            gpus=(self.gpu_share, 2, CARD_GFLOPS) if self.gpu_share else None,
            method=method,
        )


#: The paper's, in its order.
CONFIGURATIONS = (
    Configuration("cores 1.5 times as fast", "cores × 1.5", 50_000, speed=1.5),
    Configuration("twice as many nodes", "nodes × 2", 100_000, nodes=2.0),
    Configuration("GPUs on a quarter of the nodes", "GPUs on ¼", 200_000, gpu_share=0.25),
    Configuration(
        "GPUs on half of the nodes, cores 1.5 times as fast",
        "GPUs on ½, cores × 1.5",
        500_000,
        speed=1.5,
        gpu_share=0.5,
    ),
)


def compare(
    source: Workload,
    platform: Platform,
    out: Path,
    *,
    seed: int,
    configurations: Sequence[Configuration] = CONFIGURATIONS,
) -> list[str]:
    """Make the workloads by both methods, draw them into ``out``, and return the table of distances.

    The figures are ``like-N-METHOD.png``, with N the number of the configuration from 1.

    Raises
    ------
    InputError
        If the source cannot be imitated.
    """
    lines = [f"| jobs | machine | method | {' | '.join(PANELS)} |", "|---|---|---|" + "---|" * len(PANELS)]
    for number, configuration in enumerate(configurations, 1):
        for method in reversed(METHODS):
            made = configuration.made(source, platform, method, seed)
            table = {row["quantity"]: row for row in likeness_table(source, made)}
            if len(lines) == 2:
                lines.append(_line("the log", "its even weeks against its odd ones", "", table, "ks_halves"))
            lines.append(_line(f"{len(made):,}", configuration.name, f"`{method}`", table, "ks"))
            figure = likeness_figure(
                distributions(source, made),
                names=("the log", f"generated ({method})"),
                distances={name: row["ks"] for name, row in table.items()},
                title=f"{len(made):,} jobs, {configuration.short}",
            )
            save(figure, out / f"like-{number}-{method}.png")
    return lines


def _line(jobs: str, machine: str, method: str, table: dict[str, dict[str, Any]], column: str) -> str:
    distances = [table[panel][column] for panel in PANELS]
    cells = ["" if math.isnan(ks) else f"{ks:.3f}" for ks in distances]
    return f"| {jobs} | {machine} | {method} | {' | '.join(cells)} |"
