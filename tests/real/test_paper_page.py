"""The page on the two-level paper: its studies give its data again, and its statements hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pages import ROOT, links, section, table

import bridge
from bls.workloads import read_workload
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.compare.comparison import chain, compare_jobs
from bridge.scenarios.application_level import ApplicationLevel
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools.sections import read
from traces.statistics import paired_comparisons

PAGE = ROOT / "docs" / "explanation/two-level-paper.md"
STUDIES = ROOT / "tools" / "studies"
LOGS = {"W1": "CEA-Curie-2011-2.1-cln.swf.gz", "W2": "LLNL-Thunder-2007-1.1-cln.swf.gz"}

#: The first of the jobs of the paper's Figure 9: its place in the order of the workload, from 1.
FIRST = 1542


def words() -> str:
    return " ".join(PAGE.read_text("utf-8").split())


def busiest_day(shared: Path, name: str) -> Workload:
    """The jobs of the study: of those that fit 256 cores the busiest 24 hours."""
    return select(fit(read_workload(shared / "traces" / LOGS[name]), 256), "busiest:24h", preset=False)


@pytest.fixture(scope="module")
def day(shared: Path) -> Workload:
    return busiest_day(shared, "W1")


def test_the_second_workload(shared: Path, tmp_path: Path) -> None:
    """Two variations of it give the rows of ``docs/data`` again."""
    study = load_study(STUDIES / "two-level-paper.toml", [shared / "traces"])
    cells = tuple(cell for cell in study.cells if cell.workload.name == "W2" and cell.value("variation") in (0, 0.25))
    chosen = replace(study, cells=cells, metrics=("makespan_ns", "utilisation"), comparisons=())
    results = run_study(chosen, tmp_path / "w2", lambda needs: Here()).results
    kept = read("two-level-paper").query("workload == 'W2' and metric == 'makespan_ns'").astype({"variation": float})
    for option, base in (("als", "static"), ("bls", "fcfs"), ("variation", 0)):
        found = paired_comparisons(results, option, base, ["makespan_ns"])
        found["value"] = found["value"].map(lambda value: value if isinstance(value, str) else f"{value:g}")
        keys = [*({"bls", "als", "variation"} - {option}), "option", "value"]
        both = found.merge(kept, on=keys, suffixes=("", "_kept"))
        assert len(both) == len(found)
        for column in ("ratio", "ratio_low", "ratio_high"):
            assert both[column].to_numpy() == pytest.approx(both[f"{column}_kept"].to_numpy(), rel=1e-6, nan_ok=True)
    # In which the paper and the page agree: FCFS with STATIC is slowest, SJF with SS or FAC quickest, wherever tasks vary.
    means = results.groupby(["variation", "bls", "als"])["makespan_ns"].mean().unstack([1, 2])
    assert set(means[means.index > 0].idxmax(axis=1)) == {("fcfs", "static")}
    assert set(means[means.index > 0].idxmin(axis=1)) <= {("sjf", "ss"), ("sjf", "fac")}
    use = results.groupby(["variation", "bls", "als"])["utilisation"].mean().unstack([1, 2])
    assert ((use - use.loc[0]).abs() < 0.02).all(axis=None)


def test_makespans_grow_with_the_variation_in_every_combination() -> None:
    found = read("two-level-paper").query("option == 'variation'").astype({"value": float})
    assert (found["ratio_low"] > 1).all()
    for _, rows in found.groupby(["workload", "bls", "als"]):
        means = rows.sort_values("value")["ratio"]
        assert len(means) == 4
        assert means.is_monotonic_increasing
        assert means.iloc[0] > 1.4


def test_the_five_jobs(day: Workload) -> None:
    level = ApplicationLevel(lengths="normal:draw=paper")
    fac, gss = (
        bridge.simulate(day, als=als, variation=0.25, level=level, platform="paper", keep_tasks=False).jobs
        for als in ("fac", "gss")
    )
    rows = table(section(PAGE, "Figure 9: five jobs"))
    runs = [(jobs.end_ns - jobs.start_ns).set_axis(jobs.job_id) / 1e9 for jobs in (gss, fac)]
    for row in rows:
        for job, shown in ((int(row[0]), row[3:5]), (int(row[5]), row[8:10])):
            assert shown == [f"{run[job]:.1f} s" for run in runs]
    compared = compare_jobs(fac, gss)
    first = compared.delays.iloc[FIRST - 1]
    assert first["job_id"] == int(rows[0][0])
    overruns = sorted((link.cause_run_delta_ns for link in chain(compared, FIRST - 1)), reverse=True)
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
