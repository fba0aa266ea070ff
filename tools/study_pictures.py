"""The pictures of studies in ``docs/reference/figures.md``: the shipped workload under 12 combinations, and what runs cost.

python -m tools.study_pictures
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from bridge import load_study, run_study
from bridge.studies.drawing import parts_of
from bridge.studies.input.study_file import parse_study
from bridge.studies.kept import KEPT_FIGURES
from tools.plain_tool import only
from traces.figures.application.imbalance import imbalance_figure
from traces.figures.drawing.canvas import Figure, save
from traces.figures.study.comparison import comparison_figure
from traces.figures.study.cost import cost_figure
from traces.figures.study.decisions import decision_cost_figure, decision_lines_figure
from traces.figures.study.distributions import distributions_figure
from traces.figures.study.makespans import makespans_figure
from traces.figures.study.ratio import ratio_figure
from traces.figures.study.variation import variation_figure
from traces.statistics import paired_comparisons

__all__ = ["main", "pictures"]

TOOLS = Path(__file__).resolve().parent
IMAGES = TOOLS.parent / "docs" / "images"

#: More and more jobs of the same workload, each size ten times.
COSTS = """
[study]
seeds = 10
[[workload]]
file = "sample"
[grid]
bls = ["fcfs"]
als = ["static"]
variation = [0.25]
select = ["first:10", "first:20", "first:40", "first:80", "first:160", "first:320"]
"""


#: The dispatchers of the AccaSim paper's case study: four schedulers with two allocators each.
DISPATCHERS = """
[study]
seeds = 1
keep = ["jobs", "decisions"]
[[workload]]
file = "sample"
[[grid]]
als = ["recorded"]
bls = ["fcfs", "ljf", "sjf"]
allocator = ["first-fit", "best-fit"]
[[grid]]
als = ["recorded"]
bls = ["fcfs"]
backfill = ["easy"]
allocator = ["first-fit", "best-fit"]
"""


def pictures(results: pd.DataFrame, costs: pd.DataFrame, kept: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw the pictures by the names of their files: of ``sample.toml``, of what runs cost, and of :data:`DISPATCHERS`."""
    largest = results[results["variation"] == 0.25]
    compared = paired_comparisons(largest, "als", "static", ["makespan_ns", "mean_wait_ns"])
    return {
        "study-makespan.png": makespans_figure(results, variation=0.25),
        "study-variation.png": variation_figure(results),
        "study-ratio.png": ratio_figure(results),
        "study-imbalance.png": imbalance_figure(results),
        "study-comparison.png": comparison_figure(compared),
        "study-cost.png": cost_figure(costs),
        "study-slowdown-boxes.png": distributions_figure(kept["slowdown-boxes"], of="slowdown"),
        "study-queue-boxes.png": distributions_figure(kept["queue-boxes"], of="queue"),
        "study-decisions.png": decision_lines_figure(
            kept["decisions"][kept["decisions"]["label"].str.endswith("first-fit")]
        ),
        "study-decision-cost.png": decision_cost_figure(kept["decision-cost"]),
    }


def kept_of_dispatchers(folder: Path) -> dict[str, pd.DataFrame]:
    """Run the study :data:`DISPATCHERS` in a folder, and return what each figure of kept tables is drawn from."""
    study = parse_study(DISPATCHERS, [TOOLS], "dispatchers")
    run_study(study, folder)
    return {name: parts_of(study, folder, name)[0].frame for name in KEPT_FIGURES}


def main() -> None:
    """Run the studies and draw."""
    with tempfile.TemporaryDirectory() as scratch:
        run_study(load_study(TOOLS / "studies" / "sample.toml"), Path(scratch) / "sample")
        run_study(parse_study(COSTS, [TOOLS], "costs"), Path(scratch) / "costs")
        results = pd.read_parquet(Path(scratch) / "sample" / "results.parquet")
        costs = pd.read_parquet(Path(scratch) / "costs" / "costs.parquet")
        kept = kept_of_dispatchers(Path(scratch) / "dispatchers")
    for name, figure in pictures(results, costs.assign(wall_s=costs["simulation_s"]), kept).items():
        print(save(figure, IMAGES / name))


if __name__ == "__main__":
    only(__doc__)
    main()
