"""The pages of the studies on real logs show what runs give: those of their numbers that do not depend on a clock."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from layers import these_stay
from pages import ROOT, links, table

import bridge
from bls import load_platform
from bls.machine.platform import HostGroup, Platform
from bls.metrics.jobs import slowdown
from bls.workloads import read_workload
from bls.workloads.reshape import scale
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from bridge.studies.input.study_file import load_study

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


def test_their_pictures_are_there() -> None:
    for page in (ACCASIM, ESTIMATES_PAGE):
        pictures = [target for target in links(page) if target.startswith("../images/")]
        assert pictures
        assert all((page.parent / target).stat().st_size < 300_000 for target in pictures)
