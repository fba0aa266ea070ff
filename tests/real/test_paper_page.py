"""The page on the two-level paper shows what the studies and the runs give, and what it says of them holds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pages import ROOT, links

import bridge
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge.compare.comparison import Link, chain, compare_jobs
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools import paper_pages, paper_selections
from tools.paper_causes import FIVE, PAPER_DRAW, busiest_day, five_jobs, jobs_of, shares, stretches

PAGE = ROOT / "docs" / "explanation/two-level-paper.md"
STUDIES = ROOT / "tools" / "studies"


def words() -> str:
    return " ".join(PAGE.read_text("utf-8").split())


def generated(name: str) -> list[str]:
    """The lines of a part that a tool has made."""
    found = re.search(rf"<!-- generated: {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found, name
    return found[1].splitlines()


def of(workload: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(f"| {workload} |")]


@pytest.fixture(scope="module")
def log(shared: Path) -> Workload:
    return read_workload(shared / "traces" / paper_pages.LOGS["W1"])


@pytest.fixture(scope="module")
def pair(log: Workload) -> tuple[bridge.Result, bridge.Result]:
    """The day under FCFS with FAC and with GSS."""
    day = busiest_day(log)
    return (
        bridge.simulate(day, als="fac", variation=0.25, level=PAPER_DRAW, platform="paper", keep_tasks=False),
        bridge.simulate(day, als="gss", variation=0.25, level=PAPER_DRAW, platform="paper", keep_tasks=False),
    )


def test_the_readings_of_the_log(log: Workload) -> None:
    assert generated("selections") == paper_selections.table(log)
    near, days = paper_selections.days_near(log)
    user, n_jobs = paper_selections.flurry(log)
    readings = paper_selections.selections(log)
    text = words()
    assert f"on {near} of the {days} dates" in text
    assert f"tries {len(readings)} readings" in text
    assert f"number {user}, submits {n_jobs:,} of the {len(busiest_day(log)):,}" in text
    assert sum(one.near for one in readings) == "".join(generated("selections")).count("**") // 2 == 5


def test_the_second_workload(shared: Path, tmp_path: Path) -> None:
    study = load_study(STUDIES / "two-level-paper.toml", [shared / "traces"])
    cells = tuple(
        cell for cell in study.cells if cell.workload.name == "W2" and cell.value("variation") in (0, 0.1, 0.25)
    )
    chosen = replace(study, cells=cells, metrics=("makespan_ns", "utilisation"), comparisons=())
    run_study(chosen, tmp_path / "w2", lambda needs: Here())
    results = pd.read_parquet(tmp_path / "w2" / "results.parquet")
    assert paper_pages.makespans(results)[2:] == of("W2", generated("makespans"))
    shown = [line.split(" | ") for line in of("W2", generated("ratios"))]
    assert [line.split(" | ") for line in paper_pages.ratios(results)[2:]] == [[*row[:3], row[5]] for row in shown]
    assert paper_pages.techniques(results)[2:] == of("W2", generated("techniques"))
    # In which the paper and the page agree: FCFS with STATIC is slowest, SJF with SS or FAC quickest, wherever tasks vary.
    means = results.groupby(["variation", "bls", "als"])["makespan_ns"].mean().unstack([1, 2])
    assert set(means[means.index > 0].idxmax(axis=1)) == {("fcfs", "static")}
    assert set(means[means.index > 0].idxmin(axis=1)) <= {("sjf", "ss"), ("sjf", "fac")}
    use = results.groupby(["variation", "bls", "als"])["utilisation"].mean().unstack([1, 2])
    assert ((use - use.loc[0]).abs() < 0.02).all(axis=None)


def places(day: Workload, order: np.ndarray) -> float:
    """The mean place of a job in an order, weighted by core time, as a fraction of the queue."""
    place = np.empty(len(day))
    place[order] = np.arange(len(day))
    return float(np.average(place, weights=day.cores * (day.run_ns / 1e9)) / len(day))


def test_where_the_long_jobs_stand(shared: Path, log: Workload) -> None:
    found = []
    days = (busiest_day(log), busiest_day(read_workload(shared / "traces" / paper_pages.LOGS["W2"])))
    for day in days:
        deadline = day.submit_ns + 2 * day.estimate_ns
        keys = ((day.submit_ns, day.estimate_ns), (day.submit_ns, deadline), (day.submit_ns,))
        found += [f"{places(day, np.lexsort(key)):.2f}" for key in keys]
    said = "at {} (SJF), {} (EDF) and {} (FCFS) of the queue of W1, at {}, {} and {} of that of W2".format(*found)
    assert said in words()
    long = days[0].estimate_ns >= 7200 * 10**9
    work = days[0].cores * (days[0].run_ns / 1e9)
    share = work[long].sum() / work.sum()
    assert f"{share:.0%}".replace("%", " %") + f" of the core time is that of the {long.sum()} jobs" in words()


def test_makespans_grow_with_the_variation_in_every_combination() -> None:
    rows = [line.strip("| ").split(" | ")[2:] for line in generated("ratios")[2:]]
    assert len(rows) == 18  # SS and FAC share theirs
    for row in rows:
        means = [float(cell.split()[0]) for cell in row]
        assert means == sorted(set(means))
        assert means[0] > 1.4
        assert float(re.findall(r"[\d.]+", row[0])[1]) > 1  # the lower end of the interval


def test_the_causes(log: Workload) -> None:
    ran = jobs_of(busiest_day(log))
    assert generated("stretches") == stretches(ran)
    assert generated("shares") == shares(ran)


def test_the_five_jobs(pair: tuple[bridge.Result, bridge.Result]) -> None:
    fac, gss = pair
    assert generated("five jobs") == five_jobs(gss, fac)
    compared = compare_jobs(fac.jobs, gss.jobs)
    first = compared.delays.iloc[FIVE[0] - 1]
    links_of: list[Link] = chain(compared, FIVE[0] - 1)
    overruns = sorted((link.cause_run_delta_ns for link in links_of), reverse=True)
    text = words()
    for said in (
        f"{first['job_id']} started {first['start_delta_ns'] / 1e9:,.0f} s (7 d) later",
        f"over {first['chain_links']} links",
        f"ran longer make up {first['chain_run_ns'] / 1e9:,.0f} s, of which five {sum(overruns[:5]) / 1e9:,.0f} s",
        f"makes up −{-first['chain_order_ns'] / 1e9:,.0f} s",
    ):
        assert said in text, said


def test_its_pictures_are_there() -> None:
    pictures = [target for target in links(PAGE) if target.startswith("../images/")]
    assert len(pictures) == len(set(pictures)) == 12
    assert all((PAGE.parent / target).stat().st_size < 150_000 for target in pictures)


def test_the_studies_of_the_page_can_be_run(shared: Path) -> None:
    sizes = {path.stem: len(load_study(path, [shared / "traces"]).cells) for path in STUDIES.glob("two-level-paper*")}
    assert sizes == {
        "two-level-paper": 120,
        "two-level-paper-8-tasks": 72,
        "two-level-paper-other-days": 72,
        "two-level-paper-cost": 8,
        "two-level-paper-draws": 72,
        "two-level-paper-cost-inline": 12,
    }
    text = words()
    assert all(f"{name}.toml" in text for name in sizes)
