"""The main job on a whole log: a run with its trace, a study, a stream, a report, a conversion, the replay of a day.

The log is CEA-Curie's if the folder of real logs is there, and otherwise a generated one of 300,000 jobs: no test is ever
skipped. Each command has its own process, as users start it; each test asserts counts of what it did.
"""

import base64
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from layers import these_stay
from real_logs import SHARED

from bridge.runs.page import MOST_TASKS
from traces.exporters.otf2.definitions import GROUP_MEMBERS
from traces.tables import table_rows

CURIE = SHARED / "traces" / "CEA-Curie-2011-2.1-cln.swf.gz"


class Log(NamedTuple):
    """A log, and what is known of it.

    Attributes
    ----------
    path : Path
    lines, jobs : int
        Its lines that are no comments, and the jobs of these.
    cores, hosts : int
        The machine that it names.
    narrow, narrow_cores : int
        Jobs of at most 256 cores, which is the machine of applications, and the sum of their cores.
    day : str
        The selection of a day, and how many jobs of at most 256 cores it has, with those that run or wait when it begins if
        there is room for them.
    day_jobs : int
    """

    path: Path
    lines: int
    jobs: int
    cores: int
    hosts: int
    narrow: int
    narrow_cores: int
    day: str
    day_jobs: int


def _generated(folder: Path) -> Log:
    """300,000 jobs of 1 to 512 cores, one in two minutes, on a machine of 512 hosts of 16 cores."""
    n, cores, hosts = 300_000, 8192, 512
    place = np.arange(n)
    wanted = np.array([1, 2, 4, 8, 1, 2, 1, 16, 1, 512])[place % 10]
    run = 60 + place * 7919 % 3600
    path = folder / "generated.swf"
    with path.open("w", encoding="ascii") as file:
        file.write(
            f"; Version: 2.2\n; Computer: generated\n; MaxNodes: {hosts}\n; MaxProcs: {cores}\n; UnixStartTime: 0\n"
        )
        for job, (at, took, procs) in enumerate(
            zip((120 * place).tolist(), run.tolist(), wanted.tolist(), strict=True), 1
        ):
            file.write(f"{job} {at} 0 {took} {procs} -1 -1 {procs} {2 * took} -1 1 {job % 97} 1 -1 1 -1 -1 -1\n")
    narrow = wanted <= 256
    # The day begins on an empty machine: the jobs that run then hold more cores than it has.
    day = (120 * place >= 86_400) & (120 * place < 2 * 86_400)
    widths = (int(narrow.sum()), int(wanted[narrow].sum()))
    return Log(path, n, n, cores, hosts, *widths, "window:1d+24h", int((day & narrow).sum()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def log(folder: Path) -> Log:
    if CURIE.is_file():
        return Log(CURIE, 312_826, 295_540, 93_312, 5_544, 241_794, 0, "window:400d+24h", 113)
    return _generated(folder)


class Ended(NamedTuple):
    """Output of a command, and its peak memory."""

    err: str
    peak_bytes: int


#: Runs a command and prints its peak memory. A command that the tests started themselves would have theirs, too: the peak
#: of a process includes what it shared with its parent before it ran the command.
_MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def perform(folder: Path, *words: object) -> Ended:
    """Run ``twolevel WORDS…``, which is to succeed."""
    command = [sys.executable, "-c", _MEASURED, Path(sys.executable).parent / "twolevel", *map(str, words)]
    ended = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    *said, peak_kb = ended.stderr.splitlines()
    assert ended.returncode == 0, said
    return Ended("\n".join(said), 1024 * int(peak_kb))


def record_of(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def recorded(folder: Path, log: Log) -> Path:
    """A run of the jobs as the log has them."""
    perform(folder, "run", log.path, "--als", "recorded", "--backfill", "easy", "--trace", "none", "--out", "recorded")
    return folder / "recorded"


@pytest.fixture(scope="module")
def applied(folder: Path, log: Log) -> Path:
    """A run whose jobs are applications, with its trace and its table of tasks."""
    words = ("--bls", "fcfs", "--als", "gss", "--variation", 0.25, "--seed", 1, "--tasks", "--out", "run")
    perform(folder, "run", log.path, *words)
    return folder / "run"


def carried(page: str, name: str) -> tuple[set[str], int]:
    """The columns of what a page carries under a name, and how many characters of the page that is."""
    found = re.search(rf'<script[^>]* id="{name}"[^>]*>([^<]*)<', page)
    assert found is not None, name
    data = zlib.decompress(base64.b64decode(found[1]))
    header = json.loads(data[12 : 12 + int.from_bytes(data[8:12], "little")])
    return {one["name"] for one in header["columns"]}, len(found[1])


def test_a_page_of_many_tasks_has_no_rows_of_tasks(folder: Path, log: Log, applied: Path) -> None:
    n_tasks = table_rows(applied / "tasks.parquet")
    assert n_tasks > MOST_TASKS
    ended = perform(folder, "report", applied, "-o", "tasks.html")
    assert f"The timeline shows jobs without their tasks: the run has {n_tasks:,} tasks, " in ended.err
    page = (folder / "tasks.html").read_text(encoding="utf-8")
    assert f"the run has {n_tasks:,} tasks, a page shows up to {MOST_TASKS:,}" in page
    columns, size = carried(page, "timeline-data")
    assert {"hold_job", "wait"} <= columns
    assert not {name for name in columns if name.startswith(("task_", "core_tasks"))}
    # A job's bar takes a few dozen bytes; its row of the table some 30 columns.
    assert size < 64 * log.narrow
    assert len(page) < 256 * log.narrow
    assert ended.peak_bytes <= 1 << 30
    for words in ("Chunk sizes of one job", "Distribution of task lengths"):
        assert f"<figcaption>{words}" in page


@pytest.mark.parametrize("figure", these_stay(["gantt", "heat", "chunks", "lengths", "held"], "gantt".__eq__))
def test_a_figure_of_many_tasks_is_drawn_within_a_gigabyte(folder: Path, applied: Path, figure: str) -> None:
    ended = perform(folder, "figures", applied, "--only", figure, "--format", "png", "--out", "figures")
    assert (folder / "figures" / f"{figure}.png").stat().st_size < 4 << 20
    assert ended.peak_bytes <= 1 << 30


def test_every_task_of_a_run_is_in_its_trace(log: Log, applied: Path) -> None:
    record, jobs = record_of(applied), pd.read_parquet(applied / "jobs.parquet")
    assert (record["workload"]["lines"], len(jobs)) == (log.lines, log.narrow)
    assert jobs["tasks"].sum() >= jobs["cores"].sum()
    assert log.narrow_cores in (0, jobs["cores"].sum())
    # Python's reader of OTF2 makes an object of each definition, so the trace is only counted here.
    trace = applied / "trace"
    said = subprocess.run(
        ["otf2-print", "-I", trace / "traces.otf2"], capture_output=True, text=True, check=True
    ).stdout
    counts = dict(re.findall(r"^Number of (locations|global definitions) +(\d+)$", said, re.MULTILINE))
    files = list((trace / "traces").iterdir())
    assert len(files) == 2 * int(counts["locations"])
    assert int(counts["global definitions"]) >= 2 * log.narrow  # a region and its name for each job
    # The two events of a task have 25 bytes at least.
    assert sum(file.stat().st_size for file in files) > 25 * int(jobs["tasks"].sum())


@pytest.mark.release
def test_the_definitions_of_a_trace_of_many_jobs_are_read(log: Log, applied: Path) -> None:
    command = [Path(sys.executable).parent / "twolevel", "trace", "info", applied / "trace", "--json"]
    described = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert described["region_groups"] == {"gss": log.narrow}
    assert log.narrow > GROUP_MEMBERS
    # On cores two events for each task; on lanes and at submits at least two for each job.
    tasks = table_rows(applied / "tasks.parquet")
    assert described["events"] >= 2 * tasks + 4 * log.narrow
    assert described["regions"] >= log.narrow


@pytest.mark.release  # other tests make a page of the same machine, and of as many jobs
def test_every_job_of_a_report(folder: Path, log: Log, recorded: Path) -> None:
    ended = perform(folder, "report", recorded, "-o", "page.html")
    assert ended.peak_bytes <= 1 << 30  # of intervals of cores, not of cores
    assert f"{log.jobs:,}" in (folder / "page.html").read_text()


def test_every_job_of_a_stream(folder: Path, log: Log, recorded: Path) -> None:
    words = ("--als", "recorded", "--backfill", "easy", "--trace", "none", "--stream", "--out", "stream")
    perform(folder, "run", log.path, *words)
    streamed, whole = record_of(folder / "stream")["metrics"], record_of(recorded)["metrics"]
    assert streamed["jobs"] == whole["jobs"] == log.jobs == len(pd.read_parquet(recorded / "jobs.parquet"))
    for name in ("makespan_ns", "mean_wait_ns"):
        assert streamed[name] == pytest.approx(whole[name], rel=1e-12)


def test_every_job_of_a_conversion(folder: Path, log: Log, recorded: Path) -> None:
    ended = perform(folder, "trace", "convert", recorded, "--trace", "otf2,swf", "--out", "converted")
    assert f"few viewers can open {log.cores:,} rows of cores" in ended.err
    kept = [line for line in (folder / "converted" / "jobs.swf").read_text().splitlines() if not line.startswith(";")]
    assert len(kept) == log.jobs
    # Rows for jobs, and for hosts if there are no more than a viewer opens; not for cores.
    locations = len(list((folder / "converted" / "traces").glob("*.evt")))
    assert locations < log.cores / 4


def test_every_cell_of_a_study(folder: Path, log: Log, recorded: Path) -> None:
    (folder / "study.toml").write_text(
        f'[[workload]]\nfile = "{log.path}"\n[run]\nals = "recorded"\nbackfill = "easy"\n'
        '[grid]\nselect = ["first:20000", "all"]\n'
    )
    perform(folder, "study", "study.toml", "--workers", 1, "--no-figures", "--out", "study")
    rows = pd.read_parquet(folder / "study" / "results.parquet")
    metrics = record_of(recorded)["metrics"]
    assert rows["jobs"].tolist() == [20_000, log.jobs]
    assert [rows[name].iloc[1] for name in ("makespan_ns", "mean_wait_ns")] == [
        metrics["makespan_ns"],
        metrics["mean_wait_ns"],
    ]


@pytest.mark.release
def test_every_job_of_a_replayed_day(folder: Path, log: Log) -> None:
    perform(folder, "replay", log.path, "--select", log.day, "--platform", "paper", "--out", "replay")
    record, jobs = record_of(folder / "replay"), pd.read_parquet(folder / "replay" / "jobs.parquet")
    assert len(jobs) == record["metrics"]["jobs"] == log.day_jobs
    assert (jobs["start_ns"] >= jobs["submit_ns"]).all()
