"""The tables and images of ``docs/explanation/two-level-paper.md``: the two-level paper's evaluation, made again.

    for name in two-level-paper two-level-paper-8-tasks two-level-paper-other-days; do
        twolevel study tools/studies/$name.toml --data LOGS --out DIR/$name --workers 2
    done
    for name in two-level-paper-cost two-level-paper-cost-inline; do
        twolevel study tools/studies/$name.toml --data LOGS --out DIR/$name --workers 1
    done
    python -m tools.paper_pages DIR --data LOGS --page docs/explanation/two-level-paper.md

The page's generated parts are written into the page, the images into ``images`` beside its folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

import bridge
from bls.workloads import read_workload
from tools.paper_causes import PAPER_DRAW, busiest_day, five_jobs, jobs_of, shares, stretches
from tools.paper_selections import table as selections_table
from traces.base.errors import InputError, TwolevelError
from traces.figures.drawing.canvas import Figure, save
from traces.figures.run.gantt import core_gantt_figure
from traces.figures.study.cost import cost_figure
from traces.figures.study.makespans import makespans_figure
from traces.figures.study.ratio import ratio_figure
from traces.figures.study.variation import variation_figure
from traces.metric_units import interval_text
from traces.statistics import mean_interval, paired_comparisons

__all__ = ["LOGS", "alike", "costs", "days", "filled", "makespans", "ratios", "techniques"]

#: The paper's two workloads.
LOGS = {"W1": "CEA-Curie-2011-2.1-cln.swf.gz", "W2": "LLNL-Thunder-2007-1.1-cln.swf.gz"}

#: What is drawn of Figure 9: a stretch of the queue around jobs 1542 to 1546, and 24 cores of a host.
GANTT_PLACES, GANTT_CORES = (1510, 1548), (128, 152)

_DAY_NS = 86_400 * 10**9


def alike(results: pd.DataFrame) -> dict[str, list[str]]:
    """Techniques that gave the same makespan in every cell and seed: the first of each kind, and all of that kind."""
    wide = results.pivot_table(index=["workload", "bls", "variation", "seed"], columns="als", values="makespan_ns")
    kinds: dict[str, list[str]] = {}
    for als in dict.fromkeys(results["als"]):
        first = next((kind for kind in kinds if wide[kind].equals(wide[als].rename(kind))), als)
        kinds.setdefault(first, []).append(als)
    return kinds


def makespans(results: pd.DataFrame) -> list[str]:
    """Makespans without variation, which are the same with every technique, and against FCFS."""
    still = results[results["variation"] == 0]
    if len(alike(still)) != 1:
        raise InputError("without variation, the techniques differ; allowed: one task a core, or as many on every core")
    still = still[still["als"] == still["als"].iloc[0]]
    against = paired_comparisons(still, "bls", "fcfs", ["makespan_ns"])
    lines = ["| workload | batch policy | makespan | against FCFS | utilisation |", "|---|---|---|---|---|"]
    for (workload, bls), of in still.groupby(["workload", "bls"], sort=False):
        row = against[(against["workload"] == workload) & (against["value"] == bls)]
        ratio = interval_text(*row[["ratio", "ratio_low", "ratio_high"]].iloc[0]) if len(row) else ""
        use = f"{of['utilisation'].mean():.3f}"
        lines.append(f"| {workload} | {bls} | {of['makespan_ns'].mean() / _DAY_NS:.2f} d | {ratio} | {use} |")
    return lines


def ratios(results: pd.DataFrame) -> list[str]:
    """The paper's Figures 7 and 8: makespan at Υ / makespan at 0, by combination."""
    found = paired_comparisons(results, "variation", 0, ["makespan_ns"])
    variations = list(dict.fromkeys(found["value"]))
    lines = [
        f"| workload | combination | {' | '.join(f'Υ = {one}' for one in variations)} |",
        "|---|---|" + "---|" * len(variations),
    ]
    for (workload, bls), of in found.groupby(["workload", "bls"], sort=False):
        for first, kind in alike(results).items():
            cells = [_ratio(of[(of["als"] == first) & (of["value"] == one)]) for one in variations]
            lines.append(f"| {workload} | {bls} × {', '.join(kind)} | {' | '.join(cells)} |")
    return lines


def techniques(results: pd.DataFrame, variation: float = 0.25) -> list[str]:
    """Every technique against STATIC, and every batch policy against FCFS, at one variation: makespans."""
    of = results[results["variation"] == variation]
    by_als = paired_comparisons(of, "als", "static", ["makespan_ns"])
    by_bls = paired_comparisons(of, "bls", "fcfs", ["makespan_ns"])
    kinds = alike(results)
    others = [first for first in kinds if first != "static"]
    lines = [
        "| workload | batch policy | "
        + " | ".join(f"{', '.join(kinds[one])} / static" for one in others)
        + " | with static: / fcfs |",
        "|---|---|" + "---|" * (len(others) + 1),
    ]
    for (workload, bls), rows in by_als.groupby(["workload", "bls"], sort=False):
        cells = [_ratio(rows[rows["value"] == one]) for one in others]
        policy = by_bls[(by_bls["workload"] == workload) & (by_bls["als"] == "static") & (by_bls["value"] == bls)]
        lines.append(f"| {workload} | {bls} | {' | '.join(cells)} | {_ratio(policy) if len(policy) else ''} |")
    return lines


def days(results: pd.DataFrame) -> list[str]:
    """The ratio of makespans at the largest variation on other days than the busiest."""
    found = paired_comparisons(results, "variation", 0, ["makespan_ns"])
    kinds = alike(results)
    lines = [
        f"| day | jobs | batch policy | {' | '.join(', '.join(kind) for kind in kinds.values())} |",
        "|---|---|---|" + "---|" * len(kinds),
    ]
    for (workload, bls), of in found.groupby(["workload", "bls"], sort=False):
        n_jobs = int(results[results["workload"] == workload]["jobs"].iloc[0])
        cells = [_ratio(of[of["als"] == first]) for first in kinds]
        lines.append(f"| {workload} | {n_jobs:,} | {bls} | {' | '.join(cells)} |")
    return lines


def costs(by_coupling: Mapping[str, pd.DataFrame]) -> list[str]:
    """Wall times by coupling, workload and number of jobs: the mean with its interval, the shortest and the longest."""
    lines = ["| coupling | workload | jobs | mean | shortest | longest | a job |", "|---|---|---|---|---|---|---|"]
    for coupling, table in by_coupling.items():
        for (workload, n_jobs), of in table.groupby(["workload", "jobs"], sort=False):
            times = of["simulation_s"]
            mean = mean_interval(times.tolist())
            said = " | ".join(_duration(one) for one in (times.min(), times.max(), times.mean() / of["jobs"].iloc[0]))
            lines.append(
                f"| {coupling} | {workload} | {n_jobs:,} | {interval_text(mean.mean, mean.low, mean.high)} s | {said} |"
            )
    return lines


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.3g} s"
        if seconds >= 1
        else f"{1e3 * seconds:.3g} ms"
        if seconds >= 1e-3
        else f"{1e6 * seconds:.3g} µs"
    )


def _ratio(row: pd.DataFrame) -> str:
    return interval_text(*row[["ratio", "ratio_low", "ratio_high"]].iloc[0])


def images(results: pd.DataFrame, eight: pd.DataFrame, by_coupling: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """The pictures of the studies by the names of their files."""
    drawn: dict[str, Figure] = {}
    for workload in LOGS:
        of = results[results["workload"] == workload]
        drawn |= {
            f"paper-makespan-{workload}.png": makespans_figure(of, variation=0.0, title=workload),
            f"paper-variation-{workload}.png": variation_figure(of, title=workload),
            f"paper-ratio-{workload}.png": ratio_figure(of, title=workload),
        }
    drawn["paper-8-tasks-W1.png"] = ratio_figure(eight[eight["workload"] == "W1"], title="W1, 8 tasks a core")
    spent = [
        table.assign(wall_s=table["simulation_s"], group=table["workload"] + ", " + coupling)
        for coupling, table in by_coupling.items()
    ]
    drawn["paper-cost.png"] = cost_figure(pd.concat(spent))
    return drawn


def filled(page: str, parts: Mapping[str, Sequence[str]]) -> str:
    """A page with its generated parts replaced.

    Raises
    ------
    InputError
        If the page lacks one of them.
    """
    for name, lines in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if begin not in page or end not in page:
            raise InputError(f"the page has no part {name}; allowed: lines {begin.strip()} and {end.strip()}")
        before, _, rest = page.partition(begin)
        page = "".join([before, begin, *(f"{line}\n" for line in lines), end, rest.partition(end)[2]])
    return page


def write(folder: Path, data: Path, page: Path) -> None:
    """Make everything and put it where it belongs."""
    read = {
        name: pd.read_parquet(folder / name / "results.parquet")
        for name in ("two-level-paper", "two-level-paper-8-tasks", "two-level-paper-other-days")
    }
    results, eight, other = read.values()
    by_coupling = {
        coupling: pd.read_parquet(folder / f"two-level-paper-cost{suffix}" / "costs.parquet")
        for coupling, suffix in (("process", ""), ("inline", "-inline"))
    }
    log = read_workload(data / LOGS["W1"])
    day = busiest_day(log)
    ran = jobs_of(day)
    gss, fac = (bridge.simulate(day, als=als, variation=0.25, level=PAPER_DRAW) for als in ("gss", "fac"))
    parts = {
        "selections": selections_table(log),
        "makespans": makespans(results),
        "ratios": ratios(results),
        "techniques": techniques(results),
        "stretches": stretches(ran),
        "shares": shares(ran),
        "other days": days(other),
        "8 tasks": techniques(eight),
        "8 tasks, ratios": ratios(eight),
        "five jobs": five_jobs(gss, fac),
        "costs": costs(by_coupling),
    }
    page.write_text(filled(page.read_text("utf-8"), parts), encoding="utf-8")
    drawn = images(results, eight, by_coupling)
    shown = [(int(day.job_id[first - 1]), int(day.job_id[last - 1]) + 1) for first, last in [GANTT_PLACES]]
    machine = gss.ledger.machine
    drawn["paper-gantt.png"] = core_gantt_figure(
        gss.tasks,
        first_core=machine.first_core,
        host_names=machine.host_names,
        jobs=shown,
        cores=[GANTT_CORES],
        title="W1, fcfs × gss, Υ = 0.25",
    )
    (page.parent.parent / "images").mkdir(exist_ok=True)
    for name, figure in drawn.items():
        save(figure, page.parent.parent / "images" / name)


def main(words: Sequence[str] | None = None) -> int:
    """Make the page's parts; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.paper_pages", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the studies' folders")
    parser.add_argument("--data", required=True, type=Path, metavar="LOGS", help="folder of the two logs")
    parser.add_argument(
        "--page", required=True, type=Path, metavar="PAGE", help="page whose generated parts are replaced"
    )
    said = parser.parse_args(words)
    try:
        write(said.folder, said.data, said.page)
    except (TwolevelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
