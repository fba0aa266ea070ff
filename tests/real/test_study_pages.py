"""The pages of the two studies show what the studies give: those of their numbers that do not depend on a clock."""

from __future__ import annotations

import heapq
import json
import re
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, links

from bls.allocators import allocator
from bls.engine.state import END, START
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform, load_platform
from bls.metrics.jobs import slowdown
from bls.policies import policy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads import read_workload
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from tools import accasim_study, estimates_study
from tools.accasim_dispatchers import CORE_GFLOPS, DISPATCHERS, measure
from tools.accasim_workloads import CONFIGURATIONS, compare
from tools.estimates_outcomes import ESTIMATES, load, of_sample, outcome

ACCASIM, ESTIMATES_PAGE = (ROOT / "docs/explanation" / name for name in ("accasim-study.md", "estimates-study.md"))


def generated(page: Path, name: str) -> list[str]:
    """The lines of a part that a study has made."""
    found = re.search(rf"<!-- generated: {name} -->\n(.*?)\n<!-- end of {name} -->", page.read_text("utf-8"), re.DOTALL)
    assert found, name
    return found[1].splitlines()


def numbers(text: str) -> list[str]:
    return re.findall(r"[\d.,]*\d", text)


@pytest.fixture(scope="module")
def hpc2n(shared: Path) -> Path:
    return shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz"


@pytest.fixture(scope="module")
def seth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seth") / "seth.json"
    path.write_text(json.dumps(accasim_study.SETH), encoding="utf-8")
    return path


def test_what_the_dispatchers_do(hpc2n: Path, seth: Path) -> None:
    shown = generated(ACCASIM, "results")
    # With the other allocator every job starts at the same instants, as the page says.
    for row in range(2, 10, 2):
        assert shown[row].split("|")[2:] == shown[row + 1].split("|")[2:]
    chosen = [one for one in DISPATCHERS if one.fit == "FF"]
    made = accasim_study.results([measure(hpc2n, seth, one, 1, "none") for one in chosen])
    assert [*shown[:2], *shown[2::2]] == made


def test_the_generated_workloads(hpc2n: Path, seth: Path, tmp_path: Path) -> None:
    platform = load_platform(seth, processor_gflops=2 * CORE_GFLOPS)
    source = fit(read_workload(hpc2n), platform.n_cores)
    made = compare(source, platform, tmp_path, seed=1, configurations=CONFIGURATIONS[:1])
    shown = generated(ACCASIM, "workloads")
    assert len(shown) == 3 + 2 * len(CONFIGURATIONS)
    assert shown[: len(made)] == made


def any_that_fits(log: Workload, n_cores: int) -> tuple[float, float]:
    """Mean wait in seconds and mean queue at a step, if whoever fits starts and nobody has a reservation."""
    submit, run = ((column // 10**9).tolist() for column in (log.submit_ns, log.run_ns))
    cores, free, wait, coming, queue, queues = log.cores.tolist(), n_cores, 0, 0, [], []
    running: list[tuple[int, int]] = []
    while coming < len(submit) or running:
        now = min([*submit[coming : coming + 1], *(end for end, _ in running[:1])])
        while running and running[0][0] == now:
            free += cores[heapq.heappop(running)[1]]
        while coming < len(submit) and submit[coming] == now:
            queue.append(coming)
            coming += 1
        queues.append(len(queue))
        blocked: list[int] = []
        for place, job in enumerate(queue):
            if free == 0:
                blocked += queue[place:]
                break
            if cores[job] > free:
                blocked.append(job)
                continue
            free -= cores[job]
            wait += now - submit[job]
            heapq.heappush(running, (now + run[job], job))
        queue = blocked
    return wait / len(submit), float(np.mean(queues))


def test_backfilling_without_a_reservation(hpc2n: Path) -> None:
    wait_s, queue = any_that_fits(fit(read_workload(hpc2n), 240), 240)
    page = " ".join(ACCASIM.read_text("utf-8").split())
    assert f"a mean wait of {wait_s:,.0f} s and a mean queue of {queue:.1f}" in page


def test_the_numbers_of_kth(shared: Path) -> None:
    path = shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"
    samples = [of_sample(path, 1.0, k) for k in range(estimates_study.SAMPLES + 1)]
    assert generated(ESTIMATES_PAGE, "KTH") == estimates_study.counts(samples)
    assert generated(ESTIMATES_PAGE, "KTH means") == estimates_study.means(load(path, 1.0)[0], samples)
    assert generated(ESTIMATES_PAGE, "KTH run times") == estimates_study.by_run_time(samples)


@pytest.mark.parametrize(
    ("log", "part", "factor"),
    [
        ("KTH-SP2-1996-2.1-cln", "KTH, load 1.2", 1.2),
        ("CEA-Curie-2011-2.1-cln", "Curie", 1.0),
        ("HPC2N-2002-2.2-cln", "HPC2N", 1.0),
    ],
)
def test_the_numbers_of_the_logs_as_they_are(shared: Path, log: str, part: str, factor: float) -> None:
    shown = [row.split("|")[1:4] for row in generated(ESTIMATES_PAGE, part)[2:]]
    jobs, n_cores = load(shared / "traces" / f"{log}.swf.gz", factor)
    for k in (0, 1):  # requested, and within 10 %
        high = len(outcome(jobs, n_cores, ESTIMATES[k], 0).high)
        assert (shown[k][0].strip(), shown[k][1].strip()) == (ESTIMATES[k].name, f"{high:,}")


def test_the_papers_direction_is_on_the_page() -> None:
    for part in ("KTH", "Curie", "KTH, load 1.2", "Curie, load 1.2", "HPC2N"):
        requested, within = generated(ESTIMATES_PAGE, part)[2:4]
        assert int(numbers(within)[2].replace(",", "")) < int(numbers(requested)[1].replace(",", ""))
        change = within.split("|")[5]
        mean, half = (float(number) for number in numbers(change))
        assert "−" in change
        assert mean > half, part  # the confidence interval is below 0


def test_their_pictures_are_there() -> None:
    for page in (ACCASIM, ESTIMATES_PAGE):
        pictures = [target for target in links(page) if target.startswith("../images/")]
        assert pictures
        assert all((page.parent / target).stat().st_size < 300_000 for target in pictures)


def test_who_is_hit(shared: Path) -> None:
    # On the page: 8 of 257 users own half of HPC2N's jobs that are hit, 21 of 214 at KTH.
    found = []
    for name in ("HPC2N-2002-2.2-cln", "KTH-SP2-1996-2.1-cln"):
        jobs, n_cores = load(shared / "traces" / f"{name}.swf.gz", 1.0)
        run = BatchSimulator(
            jobs,
            Platform((HostGroup(n_cores, 1, 1.0),)),
            policy("fcfs"),
            allocator("first-fit"),
            rules=Rules("easy"),
            recorded=True,
        )
        assert run.advance(2**62) == BatchStatus.DONE
        hit = (slowdown(jobs.submit_ns, run.column(START), run.column(END)) > 5) & (jobs.status == 1)
        of_users = np.sort(np.unique(jobs.user[hit], return_counts=True)[1])[::-1]
        half = int(np.searchsorted(np.cumsum(of_users), hit.sum() / 2)) + 1
        found.append(f"{half} of {len(np.unique(jobs.user))}")
    assert f"{found[0]} users own half of them ({found[1]} at KTH)" in " ".join(
        ESTIMATES_PAGE.read_text("utf-8").split()
    )
