"""The pages of the studies on real logs, and on the two-level paper, show what runs give."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from layers import these_stay
from pages import ROOT, section, table

import bridge
from bls import load_platform
from bls.machine.platform import HostGroup, Platform
from bls.metrics.batch import slowdown
from bls.workloads import read_workload
from bls.workloads.reshape import scale
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.compare.comparison import chain, compare_jobs
from bridge.scenarios.scenario import Application
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools.sections import read
from traces.statistics import paired_comparisons

ACCASIM, ESTIMATES_PAGE = (ROOT / "docs/explanation" / name for name in ("accasim-study.md", "estimates-study.md"))
STUDIES = ROOT / "tools" / "studies"
S = 10**9

#: A line before each of the tables of estimates.
TABLES = {
    "KTH-SP2-1996-2.1-cln": "on KTH-SP2-1996-2.1-cln:",
    "CEA-Curie-2011-2.1-cln": "On CEA-Curie-2011-2.1-cln:",
    "KTH-SP2-1996-2.1-cln, load 1.2": "jobs arrive 1.2 times as fast. KTH:",
    "CEA-Curie-2011-2.1-cln, load 1.2": "\nCurie:\n",
    "HPC2N-2002-2.2-cln": "28,088 jobs instead of 27,957:",
}


def rows_of(page: Path, before: str) -> list[list[str]]:
    """The rows of the first table after some text."""
    text = page.read_text("utf-8")
    return table(text[text.index(before) :])


@pytest.fixture(scope="module")
def hpc2n(shared: Path) -> Workload:
    return fit(read_workload(shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz"), 240)


def test_the_studies_of_the_pages_can_be_run(shared: Path) -> None:
    sizes = {"accasim": 8, "estimates": 21}
    assert {name: len(load_study(STUDIES / f"{name}.toml", [shared / "traces"]).cells) for name in sizes} == sizes


@pytest.mark.parametrize("scheduler", ["FIFO", "LJF", "SJF", "EASY"])
def test_what_the_dispatchers_do(scheduler: str, hpc2n: Workload) -> None:
    rows = {row[0]: row[1:] for row in rows_of(ACCASIM, "| dispatcher | mean wait | slowdown: mean | median |")}
    # With the other allocator every job starts at the same instants, as the page says.
    assert rows[f"{scheduler}-FF"] == rows[f"{scheduler}-BF"]
    ran = bridge.simulate(
        hpc2n,
        load_platform(STUDIES / "seth.json", processor_gflops=2 * 1.667),
        bls={"LJF": "ljf", "SJF": "sjf"}.get(scheduler, "fcfs"),
        backfill="easy" if scheduler == "EASY" else "none",
        als="recorded",
        keep_tasks=False,
    ).ledger.jobs
    slow = slowdown(ran.submit_ns, ran.start_ns, ran.end_ns)
    half, third, most = np.quantile(slow, (0.5, 0.75, 0.95)).tolist()
    wait_s = float((ran.start_ns - ran.submit_ns).mean()) / S
    shown = [f"{wait_s:,.0f} s", f"{slow.mean():.1f}", f"{half:.2f}", f"{third:.2f}", f"{most:,.1f}"]
    assert rows[f"{scheduler}-FF"][:5] == shown


def high_slowdowns(path: Path, factor: float, estimates: str) -> tuple[Workload, np.ndarray]:
    """The jobs of a log, and which of them completed with a slowdown above 5 under EASY."""
    whole = read_workload(path)
    n_cores = int(next(line.split()[-1] for line in whole.header if line.startswith("; MaxProcs:")))
    jobs = fit(whole, n_cores)
    jobs = jobs if factor == 1 else scale(jobs, load=factor)
    machine = Platform((HostGroup(n_cores, 1, 1.0),))
    said = {"als": "recorded", "backfill": "easy", "estimates": estimates, "keep_tasks": False}
    ran = bridge.simulate(jobs, machine, **said).ledger.jobs
    return jobs, (slowdown(ran.submit_ns, ran.start_ns, ran.end_ns) > 5) & (jobs.status == 1)


@pytest.mark.parametrize(
    "name",
    these_stay(
        [name for name in TABLES if "Curie" not in name or "load" not in name],
        lambda name: "Curie" not in name and "load" not in name,
    ),
)
def test_the_numbers_of_the_logs_as_they_are(shared: Path, name: str) -> None:
    log, _, factor = name.partition(", load ")
    for (shown, high, *_), asked in zip(
        rows_of(ESTIMATES_PAGE, TABLES[name])[:2], ("requested", "within:10%"), strict=True
    ):
        _, hit = high_slowdowns(shared / "traces" / f"{log}.swf.gz", float(factor or 1), asked)
        assert (shown, high) == (asked, f"{hit.sum():,}")


def test_the_papers_direction_is_on_the_page() -> None:
    for part in TABLES:
        requested, within = rows_of(ESTIMATES_PAGE, TABLES[part])[:2]
        assert int(within[2].replace(",", "")) < int(requested[2].replace(",", ""))
        change = within[4]
        mean, half = (float(number) for number in re.findall(r"[\d.]+", change))
        assert "−" in change
        assert mean > half, part  # the confidence interval is below 0


PAGE = ROOT / "docs" / "explanation/two-level-paper.md"
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


@pytest.mark.release
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
    level = Application(lengths="normal:draw=paper")
    fac, gss = (
        bridge.simulate(day, als=als, variation=0.25, application=level, platform="paper", keep_tasks=False).jobs
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
        f"ran longer make up {first['chain_run_ns'] / 1e9:,.0f} s, of which five make up {sum(overruns[:5]) / 1e9:,.0f} s",
        f"makes up −{-first['chain_order_ns'] / 1e9:,.0f} s",
    ):
        assert said in text, said


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
