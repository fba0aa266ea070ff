"""Real logs: counted again, written and read again, cut, generated alike, streamed, and run against others' schedules."""

import csv
import gzip
import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds
from layers import these_stay
from reference.batch import Job
from scenarios import Case, assert_as_expected
from tables import table_rows

import bridge
from bls.analysis.likeness import halves, likeness
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.stream import ArrivingJobs
from bls.workloads import read_workload
from bls.workloads.archive import find_log
from bls.workloads.columns import OPTIONAL
from bls.workloads.generators.accasim import generate_like
from bls.workloads.header import Calendar, named_machine
from bls.workloads.merge import merge
from bls.workloads.readers.swf import parse_swf, swf_blocks
from bls.workloads.reshape import cut
from bls.workloads.selection import fit, select
from bls.workloads.workload import REASONS, Workload
from bls.workloads.writers.swf import unwritten, write_swf
from bridge.runs.simulation import run
from bridge.runs.stream import run_stream
from bridge.scenarios.ready import ReadyScenario, load_workload
from bridge.scenarios.scenario import Scenario
from traces.checks.ledger import check_ledger
from traces.tables import write_jobs

LOGS = (
    *("NASA-iPSC-1993-3.1-cln", "KTH-SP2-1996-2.1-cln", "LLNL-Thunder-2007-1.1-cln", "HPC2N-2002-2.2-cln"),
    "CEA-Curie-2011-2.1-cln",
)


SACCT = "Cirrus-EPCC-2024Q1-CPU-sacct-subset.csv.gz"


def counted(path: Path, widest: int) -> tuple[int, Counter[str], list[tuple[int, int, int, int, int]]]:
    """Lines, rejects by reason, and the jobs (number, submit, run, cores, estimate) in whole seconds, in file order."""
    lines, rejects, jobs, seen = 0, Counter[str](), [], set()
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.strip() or line.lstrip().startswith(";"):
                continue
            lines += 1
            fields = [float(field) for field in line.split()]
            number, submit, run = int(fields[0]), int(fields[1]), int(fields[3])
            cores = int(fields[7]) if fields[7] > 0 else int(fields[4])
            estimate = int(fields[8]) if fields[8] > 0 else run
            if submit < 0:  # a job whose submit is not known
                rejects["malformed"] += 1
            elif run <= 0:
                rejects["no run time"] += 1
            elif cores <= 0:
                rejects["no processors"] += 1
            elif number in seen:
                rejects["duplicate job number"] += 1
            else:
                seen.add(number)
                if cores > widest:
                    rejects["wider than the platform"] += 1
                else:
                    jobs.append((number, submit, run, cores, estimate))
    return lines, rejects, jobs


@pytest.mark.parametrize("log", these_stay(LOGS, lambda log: log.startswith(("CEA", "KTH"))))
def test_every_line_is_a_job_or_a_counted_reject(shared: Path, log: str) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    lines, rejects, jobs = counted(path, 256)
    workload = fit(read_workload(path), Platform().n_cores)
    assert workload.n_lines == lines
    assert dict(workload.rejects) == {reason: rejects[reason] for reason in REASONS}
    jobs.sort(key=lambda job: job[1])
    seconds = zip(
        workload.job_id.tolist(),
        (workload.submit_ns // 10**9).tolist(),
        (workload.run_ns // 10**9).tolist(),
        workload.cores.tolist(),
        (workload.estimate_ns // 10**9).tolist(),
        strict=True,
    )
    assert list(seconds) == jobs
    if log.startswith("CEA"):
        assert (lines, len(jobs)) == (312_826, 241_794)


def test_a_dump_of_sacct_is_read_whole(shared: Path) -> None:
    path = shared / "traces" / SACCT
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    ran = [row for row in rows if int(row["ElapsedRaw"]) > 0]
    workload = read_workload(path)
    rejects = {reason: count for reason, count in workload.rejects.items() if count}
    assert rejects == {"no run time": len(rows) - len(ran)}
    first = min(int(row["Submit"]) for row in rows)
    assert workload.header == (f"; UnixStartTime: {first}",)
    status = {"COMPLETED": 1, "CANCELLED": 5}
    expected = [
        (
            int(row["Submit"]) - first,
            int(row["End"]) - int(row["Start"]),
            int(row["Start"]) - int(row["Submit"]),
            int(row["NCPUS"]),
            status.get(row["State"], 0),
            int(row["NNodes"]),
        )
        for row in sorted(ran, key=lambda row: int(row["Submit"]))
    ]
    assert len(set(workload.job_id.tolist())) == len(ran)
    second = 10**9
    times = (workload.submit_ns // second, workload.run_ns // second, workload.wait_ns // second)
    columns = [*times, workload.cores, workload.status, workload.extras["nodes"]]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert 5312850 * 10**10 + 12 in workload.job_id.tolist()


SIZES = ((128, 128), (100, 100), (4008, 1002), (240, 240), (93_312, 5544))


@pytest.mark.parametrize(("log", "size"), list(zip(LOGS, SIZES, strict=True)))
def test_every_job_fits_the_machine_that_its_log_names(shared: Path, log: str, size: tuple[int, int]) -> None:
    workload = read_workload(shared / "traces" / f"{log}.swf.gz")
    machine = named_machine(workload)
    assert machine is not None
    assert (machine.n_cores, machine.n_hosts) == size
    assert workload.cores.max() <= machine.n_cores


@pytest.mark.parametrize("log", LOGS)
def test_the_catalogue_knows_the_log(shared: Path, log: str) -> None:
    known = find_log(log)
    text = gzip.decompress((shared / "traces" / known.file).read_bytes())
    lines = [line for line in text.splitlines() if line.strip()]
    header = [line for line in lines if line.startswith(b";")]
    assert hashlib.sha256(text).hexdigest() == known.text_sha256
    assert len(lines) - len(header) == known.jobs
    assert f"; MaxProcs: {known.cores}".encode() in header
    assert f"; Acknowledge: {known.provided_by}".encode() in header


SHAPED = ("NASA-iPSC-1993-3.1-cln", "HPC2N-2002-2.2-cln", "CEA-Curie-2011-2.1-cln")


def written(workload: Workload) -> bytes:
    file = io.BytesIO()
    write_swf(workload, file)
    return file.getvalue()


@pytest.mark.parametrize("log", these_stay(SHAPED, lambda log: log.startswith("NASA")))
def test_a_real_log_is_written_and_read_again(shared: Path, log: str) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    workload = read_workload(path, cancelled=True)
    assert unwritten(workload) == ()
    data = written(workload)
    again = parse_swf(data, "again", cancelled=True)
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", *OPTIONAL):
        np.testing.assert_array_equal(getattr(again, name), getattr(workload, name), name)
    assert (again.header, sum(again.rejects.values())) == (workload.header, 0)
    assert written(again) == data
    # Against the file itself, for jobs that request what they were given: every field that is not dropped on the way.
    theirs = {}
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.startswith(";") and line.strip():
                theirs[int(line.split()[0])] = [float(word) for word in line.split()]
    compared = 0
    for line in data.decode().splitlines():
        if line.startswith(";"):
            continue
        ours = [float(word) for word in line.split()]
        if ours[3] < 0:
            continue  # never started
        real = theirs[int(ours[0])]
        for field in (1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17):
            assert ours[field] == real[field], (line, field)
        assert ours[7] == (real[7] if real[7] > 0 else real[4])
        assert ours[8] == (real[8] if real[8] > 0 else real[3])
        compared += 1
    assert compared > 0.7 * len(theirs)


def test_a_year_is_its_months_and_merges_again(shared: Path) -> None:
    whole = read_workload(shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz")
    year = cut(whole, "window:2003-01-01..2004-01-01")
    months = [f"{number:02d}" for number in range(1, 13)]
    ends = [*(f"2003-{month}-01" for month in months[1:]), "2004-01-01"]
    parts = [cut(whole, f"window:2003-{month}-01..{end}") for month, end in zip(months, ends, strict=True)]
    assert [len(part) > 0 for part in parts] == [True] * 12
    made = merge(parts, numbers="same")
    for name in ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "queue", "status"):
        np.testing.assert_array_equal(getattr(made, name), getattr(year, name), name)


LIKENED = ("HPC2N-2002-2.2-cln", "CEA-Curie-2011-2.1-cln")
MEASURES = ("ks", "kuiper", "wasserstein")


@pytest.fixture(scope="module", params=LIKENED)
def source(request: pytest.FixtureRequest, shared: Path) -> Workload:
    return read_workload(shared / "traces" / f"{request.param}.swf.gz")


def by_quantity(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["quantity"]: row for row in rows}


@pytest.mark.parametrize(("n_jobs", "seed"), [(50_000, 1), (200_000, 2), (500_000, 3)])
def test_arrivals_by_hour_and_weekday_are_no_farther_than_halves(source: Workload, n_jobs: int, seed: int) -> None:
    made = by_quantity(likeness(source, generate_like(source, n_jobs, seed=seed)))
    apart = by_quantity(halves(source))
    for quantity in ("hour", "weekday"):
        for measure in MEASURES:
            assert made[quantity][measure] < apart[quantity][measure], (quantity, measure)
    # Jobs are drawn whole.
    for quantity in ("cores", "run time", "work"):
        assert made[quantity]["ks"] < 0.01


def test_the_distances_against_a_count_of_another_kind(source: Workload) -> None:
    made = generate_like(source, 50_000, seed=1)
    shares = []
    for workload in (source, made):
        calendar = Calendar.of(workload)
        dates = [calendar.date(ns) for ns in workload.submit_ns[:: max(1, len(workload) // 20_000)].tolist()]
        shares.append(np.bincount([date.weekday() for date in dates], minlength=7) / len(dates))
    ks = np.abs(np.cumsum(shares[0]) - np.cumsum(shares[1])).max()
    # Of one job in this number: as near as such a sample is.
    assert by_quantity(likeness(source, made))["weekday"]["ks"] == pytest.approx(ks, abs=0.015)


def test_the_papers_method_follows_the_hours_but_not_the_weekdays(source: Workload) -> None:
    made = by_quantity(likeness(source, generate_like(source, 200_000, seed=1, method="accasim")))
    apart = by_quantity(halves(source))
    assert made["hour"]["ks"] < apart["hour"]["ks"]
    assert made["weekday"]["ks"] > 2 * apart["weekday"]["ks"]
    # Why: v_max never sinks below half an hour, and hardly any time between two jobs is longer.
    assert np.mean(np.diff(source.submit_ns) <= 1800 * 10**9) > 0.94


@pytest.mark.parametrize(
    ("log", "cores", "order", "backfill", "more"),
    these_stay(
        [
            ("HPC2N-2002-2.2-cln", 240, "fcfs", "easy", {}),
            ("HPC2N-2002-2.2-cln", 240, "reject", "none", {"memory": "swf"}),
            ("HPC2N-2002-2.2-cln", 240, "sjf", "none", {"memory": "swf"}),
            ("KTH-SP2-1996-2.1-cln", 100, "sjf", "conservative", {}),
            ("KTH-SP2-1996-2.1-cln", 100, "fcfs", "easy", {"failures": "mtbf:30d,mttr:4h"}),
            ("LLNL-Thunder-2007-1.1-cln", 4096, "wfp3", "4", {}),
        ],
        lambda row: row[0].startswith("KTH"),
    ),
)
def test_the_same_table_and_metrics(
    shared: Path, log: str, cores: int, order: str, backfill: str, more: dict[str, str], tmp_path: Path
) -> None:
    path = shared / "traces" / f"{log}.swf.gz"
    platform = Platform((HostGroup(cores // 4, 4, 8.0, resources=(("memory", 1 << 20),)),))
    options = Scenario.flat(bls=order, als="recorded", rules=Rules(backfill), **more)
    whole = run(ReadyScenario.of(load_workload(path, platform), platform, options))
    write_jobs(whole.ledger, tmp_path / "whole.parquet")
    arrivals = ArrivingJobs(swf_blocks(path), platform, memory=options.batch.memory)
    scenario = ReadyScenario.of(arrivals.first(), platform, options)
    found = run_stream(scenario, arrivals, tmp_path / "streamed.parquet", lambda ended, now_ns: None)
    assert (tmp_path / "streamed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert arrivals.jobs == len(whole.scenario.workload)
    metrics = dict(found.metrics)
    fragmentation = whole.metrics["mean_fragmentation"]  # None, if no job started
    assert metrics.pop("mean_fragmentation") == (fragmentation and pytest.approx(fragmentation, rel=1e-9))
    assert metrics == {name: value for name, value in whole.metrics.items() if name != "mean_fragmentation"}


#: Mean waits in seconds, as those who made the schedules published them.
MEAN_WAITS = {
    ("hpc2n", "fcfs"): 15842.880,
    ("hpc2n", "sjf"): 8329.302,
    ("kth", "fcfs"): 353949.932,
    ("kth", "sjf"): 13339.322,
}
PROCESSORS = {"hpc2n": 240, "kth": 100}


@pytest.mark.parametrize("schedule", ["fcfs", "sjf", "easy"])
@pytest.mark.parametrize("log", PROCESSORS)
def test_every_job_starts_and_ends_where_others_say(shared: Path, log: str, schedule: str) -> None:
    folder = shared / "oracles" / "batch"
    with gzip.open(folder / f"n-{log}-{schedule}.csv.gz", "rt") as file:
        assert file.readline().strip() == "job_id,submit,start,end,procs"
        theirs = np.loadtxt(file, dtype=np.int64, delimiter=",")
    theirs = theirs[np.argsort(theirs[:, 0])]
    n_cores = PROCESSORS[log]
    policy, backfill = ("fcfs", "easy") if schedule == "easy" else (schedule, "none")
    platform = Platform((HostGroup(1, n_cores, float(n_cores)),))
    result = bridge.simulate(
        read_workload(folder / f"n-{log}.swf.gz"), platform, bls=policy, als="recorded", backfill=backfill
    )
    check_ledger(result.ledger)
    jobs = result.ledger.jobs
    ours = np.column_stack([jobs.job_id, jobs.submit_ns, jobs.start_ns, jobs.end_ns, jobs.cores])
    ours = ours[np.argsort(jobs.job_id)]
    ours[:, 1:4] //= 10**9
    assert len(ours) > 28_000
    differ = np.flatnonzero((ours != theirs).any(axis=1))
    assert len(differ) == 0, f"{len(differ)} jobs differ, the first is {ours[differ[0]]}, not {theirs[differ[0]]}"
    if (log, schedule) in MEAN_WAITS:
        assert result.metrics["mean_wait_ns"] / 1e9 == pytest.approx(MEAN_WAITS[log, schedule], abs=0.0005)


@pytest.mark.parametrize(
    ("policy", "technique", "variation"),
    these_stay(
        [("fcfs", "static", 0.25), ("sjf", "gss", 0.1), ("edf", "fac", 0.2), ("fcfs", "ss", 0.15)],
        lambda one: one[0] != "fcfs",
    ),
)
def test_300_jobs_on_both_levels(shared: Path, policy: str, technique: str, variation: float) -> None:
    """As many cores as the logged machine had, in two groups of different speed; the slow reference has the same jobs."""
    log = select(read_workload(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"), "first:300")
    columns = (log.job_id, log.submit_ns, log.run_ns, log.cores, log.estimate_ns)
    jobs = tuple(Job(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
    case = Case(jobs, ((1, 64, 3000.0), (6, 6, 562.5)), policy, technique, variation, seed=7)
    result, expected = bridge.simulate(log, **case.options()), case.expected()
    check_ledger(result.ledger)
    assert len(jobs) == 300
    assert_as_expected(result, expected)
    assert sum(job.start > job.submit for job in expected) > 30


@pytest.mark.parametrize(("log", "select", "jobs"), table_rows(__file__, "a_log_is_looked_at_run_and_explained"))
def test_a_log_is_looked_at_run_and_explained(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, select: str, jobs: int
) -> None:
    monkeypatch.chdir(tmp_path)

    def perform(*words: object) -> str:
        ran = succeeds(*words)
        assert "Traceback" not in ran.err
        return ran.out

    file = shared / "traces" / log
    assert log in perform("workload", "info", file)
    Path("machine.toml").write_text(perform("platform"))
    perform(
        "run", file, "--select", select, "--platform", "machine.toml", "--als", "gss", "--variation", 0.25, "--out", "r"
    )
    record = json.loads(Path("r/run.json").read_text())
    assert record["metrics"]["jobs"] == jobs
    assert Path("r/trace/traces.otf2").is_file()
    ran = pd.read_parquet("r/jobs.parquet")
    longest = ran.job_id[(ran.start_ns - ran.submit_ns).idxmax()]
    assert "waited" in perform("story", "r", longest)
    perform("figures", "r", "--out", "figures")
    assert list(Path("figures").iterdir())
