"""``twolevel run --stream``: the same results in little memory, or one clear line that names what does not allow it."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import succeeds, twolevel
from layers import these_stay
from tables import table_rows, table_text

import bridge.runs.stream as streaming
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.seen.answers import Start
from bls.seen.jobs import SeenJob
from bls.stream import ArrivingJobs
from bls.workloads import sample_path
from bls.workloads.readers.swf import swf_blocks
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario, load_workload
from bridge.scenarios.scenario import Scenario
from traces import tables
from traces.base.errors import InputError

STREAMED = ("--als", "recorded", "--trace", "none", "--stream")

#: Jobs of which some are rejects, the first ones too wide, and whose two queues are two partitions.
LOG = "".join(
    f"{k + 1} {7 * k} 0 {-1 if k % 11 == 5 else 30 + k % 50} {99 if k % 40 < 9 else 1 + k % 6} -1 -1 -1 {60 + k % 9} "
    f"-1 1 {k % 5} 1 -1 {k % 2} 1 -1 -1\n"
    for k in range(200)
)
#: Jobs of which some request more memory than the hosts have, and some for all of a host's.
WITH_MEMORY = "".join(
    f"{k + 1} {9 * k} 0 {30 + k % 50} {1 + k % 6} -1 {(k % 23) << 18} {1 + k % 6} {60 + k % 9} -1 1 {k % 5} 1 -1 1 1 -1 -1\n"
    for k in range(300)
)
#: Some request GPUs, and some of these shares.
WITH_GPUS = "; Field 19: gpus\n; Field 20: gpu_milli\n" + "".join(
    f"{line} {(k % 5 > 0) * (1 + k % 6) // (1 + k % 2)} {250 if k % 6 == 1 else -1}\n"
    for k, line in enumerate(WITH_MEMORY.splitlines())
)
PARTITIONS = table_text(__file__, "partitions")


def same(tmp_path: Path, *words: str) -> None:
    for name, more in (("whole", ("--als", "recorded", "--trace", "none")), ("streamed", STREAMED)):
        succeeds("run", *words, *more, "--out", tmp_path / name)
    whole, streamed = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("whole", "streamed"))
    assert (tmp_path / "whole" / "jobs.parquet").read_bytes() == (tmp_path / "streamed" / "jobs.parquet").read_bytes()
    assert streamed["arguments"].pop("stream") is True
    for changing in ("decision_total_ns", "decision_mean_ns", "decision_max_ns"):
        del whole["decisions"][changing], streamed["decisions"][changing]
    for record in (whole, streamed):
        del record["coupling"]["simulation_s"]
    assert streamed == whole


def test_results_are_the_same(tmp_path: Path) -> None:
    same(tmp_path, "sample", "--backfill", "conservative", "--kill-at-walltime", "--estimates", "within:30%")


def test_results_are_the_same_where_no_job_ever_starts(tmp_path: Path) -> None:
    same(tmp_path, "sample", "--bls", "reject", "--decision-cost", "5s")


def test_results_are_the_same_with_rejects_and_partitions(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "parts.toml").write_text(PARTITIONS)
    same(tmp_path, f"{tmp_path}/log.swf", "--platform", f"{tmp_path}/parts.toml", "--bls", "wfp3", "--backfill", "2")


class _Keeps:
    """A policy that decides, keeps jobs from one decision to the next, rejects wide ones and gives reasons."""

    name = "keeps"

    def __init__(self) -> None:
        self.jobs: dict[int, Any] = {}
        self.passes = 0
        self.kept = 0

    def decide(self, view: Any) -> list[Any]:
        self.passes += 1
        came = {job.row: job for job in view.waiting}
        for row, job in self.jobs.items():
            assert came[row] is job  # what is kept is what is shown
            self.kept += 1
        self.jobs |= {row: came[row] for row in sorted(came)}
        order = sorted(self.jobs.values(), key=lambda job: (job.cores, job.deadline_ns, job.row))
        columns, running = view.waiting_columns, view.running_columns
        assert columns.rows.tolist() == [job.row for job in view.waiting]
        assert columns.walltime_ns.tolist() == [job.walltime_ns for job in view.waiting]
        assert running.expected_end_ns.tolist() == [job.expected_end_ns for job in view.running]
        assert running.host_first[-1] == sum(len(self.hosts(view, job)) for job in view.running)
        assert [job.memory_kb * job.request.unit_cores for job in columns.jobs] == columns.memory_kb.tolist()
        trial, found = view.trial(), []
        for job in order:
            cores = trial.place(job)
            if cores is None:
                break
            found.append((job, Start(job, cores, "for a reason"), (job, cores))[job.row % 3])
        if not found and self.passes % 5 == 0:
            view.wake_after(7_000_000_000)
        starts = {(one if type(one) is SeenJob else one[0]).row for one in found}
        for job in order:
            if job.cores == 6 and job.row not in starts:
                view.reject(job, f"job {job.job_id} is too wide")
                del self.jobs[job.row]
        for row in starts:
            del self.jobs[row]
        return found

    def hosts(self, view: Any, job: Any) -> set[int]:
        return {core // 4 for lo, hi in view.allocation(job) for core in range(lo, hi)}

    def totals(self) -> dict[str, int]:
        return {"kept": self.kept, "passes": self.passes}


#: Policy, backfilling and further options of runs, with the platform and the log that they are of.
WITH_HOSTS = Platform((HostGroup(3, 4, 1.0, resources=(("memory", 4 << 20),)),))
GPU_HOSTS = Platform((HostGroup(2, 4, 1.0, gpus=2), HostGroup(1, 4, 1.0)))
STREAMS: list[tuple[Any, str, dict[str, Any], ConstraintOptions, Platform, str | None]] = [
    (_Keeps, "none", {}, ConstraintOptions(), WITH_HOSTS, WITH_MEMORY),
    (_Keeps, "none", {"estimates": "exact"}, ConstraintOptions(memory="swf"), WITH_HOSTS, WITH_MEMORY),
    ("sjf", "none", {}, ConstraintOptions(memory="swf"), WITH_HOSTS, WITH_MEMORY),
    ("fcfs", "conservative", {}, ConstraintOptions(memory="swf"), WITH_HOSTS, WITH_MEMORY),
    ("fcfs", "easy", {}, ConstraintOptions(failures="mtbf:30min,mttr:3min"), WITH_HOSTS, WITH_MEMORY),
    ("wfp3", "conservative", {}, ConstraintOptions(), Platform((HostGroup(16, 16, 1.0),)), None),
    ("reject", "none", {}, ConstraintOptions(), Platform((HostGroup(16, 16, 1.0),)), None),
    ("fcfs", "easy", {}, ConstraintOptions(failures="mtbf:30min,mttr:3min"), GPU_HOSTS, WITH_GPUS),
    ("fcfs", "conservative", {}, ConstraintOptions(), GPU_HOSTS, WITH_MEMORY),
]


#: What stays of them in ``make test``: orders that are kept and made again, failures, and host groups.
STAY = ("fcfs", "wfp3")


@pytest.mark.parametrize(
    ("bls", "backfill", "rules", "constraints", "platform", "log"), these_stay(STREAMS, lambda one: one[0] in STAY)
)
def test_row_groups_and_stretches_of_any_size(
    bls: Any,
    backfill: str,
    rules: dict[str, Any],
    constraints: ConstraintOptions,
    platform: Platform,
    log: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "JOB_GROUP", 60)
    path = sample_path() if log is None else tmp_path / "log.swf"
    if log is not None:
        path.write_text(log)
    allocator = "contiguous" if log is None else "first-fit"
    options = Scenario.flat(
        bls=bls, als="recorded", allocator=allocator, rules=Rules(backfill, **rules), constraints=constraints
    )
    whole = run(ReadyScenario.of(load_workload(path, platform), platform, options))
    tables.write_jobs(whole.ledger, tmp_path / "whole.parquet", whole.further_columns)
    assert constraints.failures is None or whole.metrics["state_requeued"] > 5
    expected = dict(whole.metrics)
    if (fragmentation := expected["mean_fragmentation"]) is not None:  # None, if no job started
        expected["mean_fragmentation"] = pytest.approx(fragmentation, rel=1e-12)
    for jobs, block_bytes in ((7, 300), (100, 1 << 20)):
        arrivals = ArrivingJobs(swf_blocks(path, block_bytes=block_bytes), platform, memory=options.batch.memory)
        scenario = ReadyScenario.of(arrivals.first(), platform, options)
        found = streaming.run_stream(
            scenario, arrivals, tmp_path / "streamed.parquet", lambda ended, now_ns: None, stretch_jobs=jobs
        )
        assert (tmp_path / "streamed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
        assert found.metrics == expected
        if bls is _Keeps:
            assert found.decisions["policy"] == whole.notes.decisions["policy"]
            assert found.decisions["policy"]["kept"] > 1000


@pytest.mark.parametrize(("words", "error"), table_rows(__file__, "refused"))
def test_features_that_need_all_jobs_are_refused(words: str, error: str, tmp_path: Path) -> None:
    ran = twolevel("run", "sample", *STREAMED, *words.split(), "--out", tmp_path / "r")
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert not (tmp_path / "r").exists()


SACCT = (
    "JobID|JobName|Submit|Eligible|Start|End|ElapsedRaw|State|ReqCPUS|AllocCPUS|Timelimit|User|Partition\n"
    + "".join(
        f"{1000 - k}|app{k % 7}|2024-01-01T00:{k % 60:02}:00|2024-01-01T0{k % 2}:{k % 60:02}:30|2024-01-01T03:00:00|"
        f"2024-01-01T03:20:{k % 60:02}|{1200 + k % 60}|COMPLETED|{1 + k % 3}|{1 + k % 3}|00:30:00|u{k % 5}|main\n"
        for k in range(200)
    )
)
BATSIM = json.dumps(
    {
        "nb_res": 12,
        "jobs": [
            {"id": f"w0!{k}", "subtime": 3 * (k // 2), "walltime": 60 + k % 9, "res": 1 + k % 5, "profile": f"p{k % 4}"}
            for k in range(150)
        ],
        "profiles": {f"p{k}": {"type": "delay", "delay": 20 + 7 * k} for k in range(4)},
    }
)


@pytest.mark.parametrize(("name", "text"), [("log.sacct", SACCT), ("log.json", BATSIM)])
def test_results_are_the_same_of_a_log_in_another_format(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "hosts.toml").write_text("[[hosts]]\ncount = 3\ncores = 4\nspeed_gflops = 2.0\n")
    same(tmp_path, str(tmp_path / name), "--platform", str(tmp_path / "hosts.toml"), "--backfill", "easy")


def test_a_log_that_is_not_in_order_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG + LOG.splitlines()[0] + "\n")
    ran = twolevel("run", tmp_path / "log.swf", *STREAMED, "--out", tmp_path / "r")
    assert ran.code == 2
    assert "line 201: job 1 is submitted before a job of an earlier line" in ran.err
    assert not (tmp_path / "r").exists()


def test_a_log_of_which_no_job_fits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("".join(LOG.splitlines(keepends=True)[:9]))
    with pytest.raises(
        InputError, match="none of its jobs fits the platform: no run time 1, wider than the platform 8"
    ):
        ArrivingJobs(swf_blocks(tmp_path / "log.swf", block_bytes=100), Platform((HostGroup(1, 9, 1.0),))).first()
