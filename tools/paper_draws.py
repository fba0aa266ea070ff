"""Split the effect of variation in the two-level paper's evaluation into imbalance and extra work; a table and a figure.

    twolevel study tools/studies/two-level-paper-draws.toml --data LOGS --out DIR --workers 2
    python -m tools.paper_draws DIR --page docs/explanation/two-level-paper.md

With ``draw=work`` jobs have the same work as without variation, so that the makespan grows by imbalance alone. With
``draw=paper`` they also have the task, or the part of one, by which the drawn work exceeds theirs. The table is written into
the page, the figure into ``images`` in the parent folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from tools.paper_pages import filled
from traces.base.errors import TwolevelError
from traces.compiled import Array
from traces.figures.drawing.canvas import Figure, new_figure, save, styled
from traces.figures.drawing.styles import UPSILON
from traces.metric_units import interval_text
from traces.statistics import mean_interval

__all__ = ["LARGE", "PAPER", "SMALL", "WORK", "figure", "main", "parts", "table"]

#: The two draws, as the study's column ``lengths`` has them.
PAPER, WORK = "normal:draw=paper", "normal:draw=work"

#: The largest variation of the paper, and one so small that only the extra task remains.
LARGE, SMALL = 0.25, 0.001

_COLOURS = {"imbalance": "#4477aa", "extra": "#ee7733"}

#: Ratios of makespans to those without variation, one number per seed, and where they belong.
Part = tuple[str, int, str, Array, Array, Array, Array]


def parts(results: pd.DataFrame) -> Iterator[Part]:
    """Workload, tasks per core, technique, and makespan / makespan without variation for each seed.

    The ratios are those of the paper's draw and of the draw that keeps the work, both at ``LARGE``, then both at ``SMALL``.
    """
    wide = results.pivot_table(
        index=["workload", "tasks_per_core", "als"], columns=["lengths", "variation", "seed"], values="makespan_ns"
    )
    for place in results[["workload", "tasks_per_core", "als"]].drop_duplicates().itertuples(index=False, name=None):
        row = wide.loc[place]
        still = row[PAPER][0.0].to_numpy()
        yield (*place, *(row[draw][one].to_numpy() / still for one in (LARGE, SMALL) for draw in (PAPER, WORK)))


def _mean(values: Array) -> str:
    found = mean_interval(values.tolist())
    return interval_text(found.mean, found.low, found.high)


def table(results: pd.DataFrame) -> list[str]:
    """A row for each workload, number of tasks per core and technique: means over the seeds with their intervals."""
    heads = [
        *(
            "workload",
            "tasks per core",
            "technique",
            f"paper's draw, Υ = {LARGE}",
            f"same work, Υ = {LARGE}: imbalance",
        ),
        *("paper's draw / same work: extra task", "share of the increase that is extra task"),
        *(f"paper's draw, Υ = {SMALL}", f"same work, Υ = {SMALL}"),
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for workload, per_core, als, paper, work, *small in parts(results):
        cells = paper, work, paper / work, (paper - work) / (paper - 1.0), *small
        lines.append(f"| {workload} | {per_core} | {als} | {' | '.join(_mean(cell) for cell in cells)} |")
    return lines


def figure(results: pd.DataFrame) -> Figure:
    """One panel per workload and number of tasks per core, one bar per technique: imbalance, and on it the extra task.

    The upper end of a bar is the increase of the makespan with the paper's draw. Whiskers are 95 % intervals over the
    seeds, of the imbalance and of the whole.
    """
    found = list(parts(results))
    workloads, per_cores = dict.fromkeys(one[0] for one in found), dict.fromkeys(one[1] for one in found)
    with styled():
        drawn = new_figure(8.0, 5.6)
        axes = drawn.subplots(len(per_cores), len(workloads), squeeze=False)
        for axis, (per_core, workload) in zip(axes.flat, product(per_cores, workloads), strict=True):
            rows = [one for one in found if one[:2] == (workload, per_core)]
            for place, (_, _, _, paper, work, *_) in enumerate(rows):
                whole, imbalance = (mean_interval((100.0 * (one - 1.0)).tolist()) for one in (paper, work))
                extra = whole.mean - imbalance.mean
                axis.bar(place, imbalance.mean, 0.6, color=_COLOURS["imbalance"], label="imbalance")
                axis.bar(*(place, extra, 0.6, imbalance.mean), color=_COLOURS["extra"], hatch="//", label="extra task")
                for shift, one in ((-0.12, imbalance), (0.12, whole)):
                    reach = np.array([[one.mean - one.low], [one.high - one.mean]])
                    axis.errorbar(place + shift, one.mean, reach, color="black", capsize=3, linewidth=1)
            axis.set_xticks(range(len(rows)), [one[2] for one in rows])
            axis.set_title(f"{workload}, {per_core} task{'s' * (per_core > 1)} per core")
            axis.set_ylabel("increase of makespan [%]")
            axis.set_ylim(bottom=0)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True))
        axes[0, 0].legend(list(named.values()), list(named))
        drawn.suptitle(f"fcfs, {UPSILON} = {LARGE}: makespan of the paper's draw over that without variation")
        drawn.set_layout_engine("constrained")
    return drawn


def main(words: Sequence[str] | None = None) -> int:
    """Write the table and the figure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.paper_draws", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="the study's folder")
    parser.add_argument(
        "--page", required=True, type=Path, metavar="PAGE", help="page whose generated part is replaced"
    )
    said = parser.parse_args(words)
    try:
        results = pd.read_parquet(said.folder / "results.parquet")
        page = filled(said.page.read_text("utf-8"), {"draws": table(results)})
        said.page.write_text(page, encoding="utf-8")
        save(figure(results), said.page.parent.parent / "images" / "paper-draws.png")
    except (TwolevelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
