"""The pictures of studies in ``docs/reference/figures.md``: the shipped workload under 12 combinations, and what runs cost.

python -m tools.study_pictures
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd

from bridge import load_study, run_study
from bridge.studies.input.study_file import parse_study
from tools.plain_tool import only
from traces.figures.application.imbalance import imbalance_figure
from traces.figures.drawing.canvas import Figure, save
from traces.figures.study.comparison import comparison_figure
from traces.figures.study.cost import cost_figure
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


def pictures(results: pd.DataFrame, costs: pd.DataFrame) -> dict[str, Figure]:
    """The pictures by the names of their files: of the results of ``sample.toml``, and of what runs cost."""
    largest = results[results["variation"] == 0.25]
    compared = paired_comparisons(largest, "als", "static", ["makespan_ns", "mean_wait_ns"])
    return {
        "study-makespan.png": makespans_figure(results, variation=0.25),
        "study-variation.png": variation_figure(results),
        "study-ratio.png": ratio_figure(results),
        "study-imbalance.png": imbalance_figure(results),
        "study-comparison.png": comparison_figure(compared),
        "study-cost.png": cost_figure(costs),
    }


def main() -> None:
    """Run both studies and draw."""
    with tempfile.TemporaryDirectory() as scratch:
        run_study(load_study(TOOLS / "studies" / "sample.toml"), Path(scratch) / "sample")
        run_study(parse_study(COSTS, [TOOLS], "costs"), Path(scratch) / "costs")
        results = pd.read_parquet(Path(scratch) / "sample" / "results.parquet")
        costs = pd.read_parquet(Path(scratch) / "costs" / "costs.parquet")
    for name, figure in pictures(results, costs.assign(wall_s=costs["simulation_s"])).items():
        print(save(figure, IMAGES / name))


if __name__ == "__main__":
    only(__doc__)
    main()
