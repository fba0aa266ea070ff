"""The tables of ``docs/explanation/slurm-study.md``, of finished studies.

    twolevel study tools/studies/slurm-estimates.toml --out slurm-estimates
    python -m tools.slurm_cases slurm-estimates

A row for each workload and way of deciding; over the jobs of the kept cells, seed by seed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bridge.studies.study_record import read_study_record
from traces.figures.study.combinations import batch_label
from traces.metric_units import interval_text
from traces.statistics.pairs import paired

__all__ = ["Case", "cases", "main", "table"]

#: A slowdown above this is high (RM-Replay, VIII-B).
HIGH = 5.0

_H = 3600e9


class Case(NamedTuple):
    """What became of the jobs of a workload under one way of deciding, an entry a seed.

    Attributes
    ----------
    workload, batch : str
    high : list of int
        Jobs with a high slowdown, of those that completed.
    share : list of float
        Of those that completed.
    median_high : list of float
        The median of these slowdowns.
    done : list of int
        Jobs that started and ended within the time in which jobs were submitted.
    utilisation : list of float
        In the same time, of the cores of the machine.
    wait_h : list of float
        Means.
    killed : list of int
    """

    workload: str
    batch: str
    high: list[int]
    share: list[float]
    median_high: list[float]
    done: list[int]
    utilisation: list[float]
    wait_h: list[float]
    killed: list[int]


def cases(folder: Path, n_cores: int = 16) -> Iterator[Case]:
    """The cases of a study whose cells have kept their jobs."""
    study = read_study_record(folder).study()
    for cell, name in zip(study.cells, study.names, strict=True):
        found = Case(
            cell.workload.name,
            batch_label(str(cell.value("bls")), str(cell.value("backfill"))),
            *([] for _ in range(7)),
        )
        for seed in study.seeds:
            _add(found, pd.read_parquet(folder / "cells" / name / f"seed-{seed}" / "jobs.parquet"), n_cores)
        yield found


def _add(case: Case, jobs: pd.DataFrame, n_cores: int) -> None:
    begin, end = int(jobs["submit_ns"].min()), int(jobs["submit_ns"].max())
    ran = jobs[jobs["start_ns"] >= 0]
    run, wait = ran["end_ns"] - ran["start_ns"], ran["start_ns"] - ran["submit_ns"]
    slowdown = ((run + wait) / run)[ran["state"] == "completed"]
    high = slowdown[slowdown > HIGH]
    held = (ran["end_ns"].clip(upper=end) - ran["start_ns"].clip(lower=begin)).clip(lower=0)
    case.high.append(len(high))
    case.share.append(len(high) / len(slowdown))
    case.median_high.append(float(high.median()) if len(high) else 0.0)
    case.done.append(int(((ran["start_ns"] >= begin) & (ran["end_ns"] <= end)).sum()))
    case.utilisation.append(float((held * ran["cores"]).sum() / (n_cores * (end - begin))))
    case.wait_h.append(float(wait.mean() / _H))
    case.killed.append(int((ran["state"] == "killed").sum()))


def table(found: list[Case]) -> list[str]:
    """The lines of a table; changes are from the first workload under the same way of deciding, seed by seed."""
    lines = [
        "| jobs | batch level | slowdown above 5 | share | change | their median slowdown | done | utilisation "
        "| mean wait |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    first: dict[str, Case] = {}
    for one in found:
        base = first.setdefault(one.batch, one)
        change = ""
        if base is not one:
            ratio = paired(np.array(base.high, float), np.array(one.high, float))
            change = interval_text(*(100 * (part - 1) for part in (ratio.ratio, ratio.ratio_low, ratio.ratio_high)))
            change = f"{change} %".replace("-", "−")
        means = [float(np.mean(values)) for values in one[2:]]
        lines.append(
            f"| {one.workload} | {one.batch} | {means[0]:.1f} | {means[1]:.1%} | {change} | {means[2]:.1f} | {means[3]:.1f} "
            f"| {means[4]:.3f} | {means[5]:.2f} h |"
        )
    return lines


def main() -> int:
    """Print the table of a folder."""
    if len(sys.argv) != 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    sys.stdout.write("\n".join(table(list(cases(Path(sys.argv[1]))))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
