"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what the records say."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from refusing import refusals

import bridge
from als.graphs.readers import read_graph
from bls.constraints.job_constraints import BEYOND_LIMITS, constrain
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.metrics.gpus import by_kind
from bls.metrics.schedule import Schedule
from bls.policies.multifactor.fair_share import _CURRENT, _NODES, _RUNNING, _USAGE, HEAD
from bls.policies.multifactor.priority import score_policy
from bls.policies.multifactor.settings import Billing, Multifactor
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge import GraphOptions, simulate_graph
from bridge.runs.afterwards import StoredRun
from bridge.runs.gpu_hosts import jobs_with_undriven_gpus
from bridge.scenarios.application_map import parse_application_map
from traces.base.errors import InputError, PluginError
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger
from traces.holdings import gpu_ends
from traces.ledger import JobRecords, Ledger
from traces.records.gpus import GpuRecords

MACHINE = Platform((HostGroup(2, 4, 4.0, gpus=2),))
S = 10**9


def simulated(jobs: list[tuple[int, ...]], requests: str, tmp_path: Path, **options: Any) -> Any:
    path = tmp_path / "requests.csv"
    path.write_text(requests)
    given = {"als": "recorded", "platform": MACHINE, "constraints": ConstraintOptions(requests=str(path))} | options
    result = bridge.simulate(Workload.from_jobs(jobs), **given)
    check_ledger(result.ledger)
    return result


class Names:
    """Places each waiting job, where its number says, or where it may."""

    name = "names"

    def __init__(self, cores: dict[int, list[int]]) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Any:
        trial = view.trial()
        for job in view.waiting:
            cores = self.cores.get(job.job_id)
            if cores is not None:
                yield job, cores
            elif (found := trial.place(job)) is not None:
                yield job, found


JOBS = [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10), (3, 1, 10, 2, 10)]
ASKED = "job_id,gpus_per_task\n1,1\n2,2\n3,1\n"


def test_a_policy_names_cores_and_the_job_gets_gpus_of_their_hosts(tmp_path: Path) -> None:
    jobs = simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5]})).jobs
    # Job 2 finds both GPUs on host 0 only. One of host 1 is left for job 3, which needs two.
    assert jobs.allocation.tolist() == ["5", "0", "0-1"]
    assert jobs.gpu_allocation.tolist() == ["2", "0-1", "0-1"]
    assert (jobs.start_ns // S).tolist() == [0, 0, 10]


def test_a_policy_is_told_that_gpus_do_not_suffice(tmp_path: Path) -> None:
    with pytest.raises(
        PluginError, match=r"placed job 2 on core 6: the free GPUs of host 1 suffice for 0 of its units there"
    ):
        simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5], 2: [6]}))


def test_gpus_are_held_until_the_last_core_of_their_host_is_released(tmp_path: Path) -> None:
    """Two jobs of two hosts: with unequal tasks one host is done first."""
    jobs = [(1, 0, 100, 8, 200), *((k, 1, 10, 1, 10) for k in range(2, 6))]
    asked = "job_id,gpus_per_host\n1,2\n2,1\n3,1\n4,1\n5,1\n"
    found = {}
    for how in ("none", "release:host", "release"):
        for backfill in ("none", "easy", "conservative"):
            rules = Rules(backfill, coordination=how)
            result = simulated(jobs, asked, tmp_path, als="static", variation=0.9, tasks_per_core=1, rules=rules)
            ends = gpu_ends(result.ledger)[:4]  # of job 1
            assert ends.max() == result.jobs.end_ns[0] if how == "none" else ends.min() < ends.max()
            assert result.jobs.start_ns[1] == ends.min()
            found[how, backfill] = (result.jobs.start_ns.tolist(), result.jobs.gpu_allocation.tolist())
    assert found["release:host", "easy"] == found["release", "easy"]  # whole hosts count for GPUs


def test_widths_and_gpus_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(ASKED)
    said = ConstraintOptions(requests=str(path), malleable="1")
    with pytest.raises(InputError, match="not with GPUs of job 1, as it is unspecified"):
        bridge.simulate(Workload.from_jobs(JOBS), MACHINE, constraints=said, rules=Rules(resize="expand"), als="static")


def test_the_checks_of_records_count_gpus(tmp_path: Path) -> None:
    ledger = simulated(JOBS, "job_id,gpus_per_task,gpu_milli\n1,1,400\n2,1,600\n3,1,500\n", tmp_path).ledger
    assert ledger.gpus.columns_of_jobs()["gpu_allocation"] == ["0:400", "0:600", "1"]

    def with_texts(*texts: str) -> Any:
        return replace(ledger, gpus=GpuRecords.of_texts(texts))

    check_ledger(with_texts("0:999", "0:1", "1"))
    for texts, error in (
        (("0:999", "0:2", "1"), "jobs hold 1001 thousandths of GPU 0 at 0 ns"),
        (("2", "0", ""), "job 1 cannot hold 1000 thousandths of GPU 2"),
    ):
        with pytest.raises(InvariantError, match=error):
            check_ledger(with_texts(*texts))
    for text in ("0:1000", "0:x", "a", "0-999999999999"):
        with pytest.raises(InputError, match="gpu_allocation: "):
            GpuRecords.of_texts([text])


TWO_KINDS = Platform(
    (HostGroup(2, 4, 4.0, gpus=2, gpu="a"), HostGroup(1, 4, 4.0, gpus=1, gpu="b"), HostGroup(1, 4, 4.0))
)
#: Jobs before job 3, which is submitted at 2 s; requests; the cores of job 3; parts of its story.
STORIES: dict[str, tuple[list[tuple[int, ...]], str, int, list[str]]] = {
    "a kind": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,2,a\n2,2,a\n3,1,a\n",
        1,
        [
            "14 of 16 cores and 0 of 4 GPUs (a) are free",
            "waits for a GPU: 6 cores are free on hosts with its kinds, the most ",
        ],
    ),
    "a share": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_milli,gpu_kind\n1,1,600,b\n2,2,,a\n3,1,500,b\n",
        1,
        [
            "0.4 of 1 GPU (b) are free",
            "waits for a GPU: 3 cores are free on hosts with its kinds, the most left of one GPU is 400 milli",
        ],
    ),
    "any kind": (
        [(1, 0, 10, 2, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,2,\n2,1,b\n3,1,\n",
        1,
        [
            "13 of 16 cores and 0 of 5 GPUs are free",
            "waits for a GPU: 9 cores are free on hosts with GPUs, the most left of one GPU is 0 milli",
        ],
    ),
    "several on a host": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,1,a\n2,2,a\n3,2,a\n",
        1,
        [
            "14 of 16 cores and 1 of 4 GPUs (a) are free",
            "waits for a GPU: 6 cores are free on hosts with its kinds, no host has 2 free GPUs",
        ],
    ),
    "several units": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,1,a\n2,2,a\n3,1,a\n",
        2,
        ["they and the free GPUs suffice for 1 of 2 units"],
    ),
    "cores": (
        [(1, 0, 10, 4, 10), (2, 0, 10, 4, 10)],
        "job_id,gpus_per_host,gpu_kind\n1,1,a\n2,1,a\n3,1,a\n",
        1,
        ["8 of 16 cores and 2 of 4 GPUs (a) are free", "waited 8 s: waits for cores: 2 GPUs are idle on full hosts"],
    ),
    "all cores": (
        [(1, 0, 10, 12, 10), (2, 0, 10, 4, 10)],
        "job_id,gpus_per_host,gpu_kind\n1,,\n3,1,a\n",
        1,
        ["1 core requested, 0 free when it became eligible; waits for cores: 4 GPUs are idle on full hosts"],
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("stored", [False, True])
def test_the_story_of_a_job_with_gpus(name: str, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, requests, cores, lines = STORIES[name]
    jobs = [*jobs, (3, 2, 10, cores, 10)]
    said = simulated(jobs, requests, tmp_path, platform=TWO_KINDS).story(3)
    for line in lines:
        assert line in said
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(TWO_KINDS.to_toml())
    log = [f"{k} {at} 0 {run} {n} -1 -1 {n} {run} -1 1 1 1 -1 1 1 -1 -1\n" for k, at, run, n, _ in jobs]
    Path("log.swf").write_text("".join(log))
    words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none"]
    succeeds(*words, "--requests", "requests.csv", "--out", "r")
    assert StoredRun(Path("r")).story(3) == said
    Path("log.swf").write_text("".join(log[:2]))  # then requests are unknown
    without = StoredRun(Path("r")).story(3)
    assert "GPUs are free" in without


@pytest.mark.parametrize("state", ["down", "drain"])
def test_hosts_where_no_job_may_start_have_nothing_free(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job 1 has the GPUs of host 1, as host 0 is away until 9 s; then job 3 starts there."""
    monkeypatch.chdir(tmp_path)
    Path("fails.csv").write_text(f"host,down_s,up_s,state\n0,0,9,{state}\n1,11,12,{state}\n")
    Path("requests.csv").write_text("job_id,gpus_per_task,gpu_kind\n1,2,a\n3,1,a\n")
    Path("machine.toml").write_text(TWO_KINDS.to_toml())
    Path("log.swf").write_text(
        "".join(f"{k} {at} 0 10 1 -1 -1 1 10 -1 1 1 1 -1 1 1 -1 -1\n" for k, at in ((1, 0), (3, 2)))
    )
    words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none"]
    succeeds(*words, "--requests", "requests.csv", "--failures", "fails.csv", "--out", "r")
    given = ConstraintOptions(requests="requests.csv", failures="fails.csv")
    found = bridge.simulate(read_workload("log.swf"), TWO_KINDS, als="recorded", constraints=given)
    said = found.story(3)
    assert found.jobs.start_ns.tolist() == [0, 9 * S]
    assert "0 of 4 GPUs (a) are free" in said
    assert "waits for a GPU: 3 cores are free on hosts with its kinds, the most left of one GPU is 0 milli" in said
    assert StoredRun(Path("r")).story(3) == said


def test_gpus_that_were_given_back_early_are_free(tmp_path: Path) -> None:
    """Job 1 leaves host 1 at 220.7 s and host 0 at 286.1 s; job 2 then runs on one of them for 10 s."""
    jobs = [(1, 0, 100, 8, 200), (2, 1, 10, 1, 10), (3, 240, 10, 8, 10)]
    for how, free in (("none", "0 of 8 cores and 0 of 4"), ("release:host", "4 of 8 cores and 2 of 4")):
        options = {"als": "static", "variation": 0.9, "tasks_per_core": 1, "rules": Rules(coordination=how)}
        result = simulated(jobs, "job_id,gpus_per_host\n1,2\n2,2\n3,1\n", tmp_path, **options)
        assert f"eligible: {free} GPUs are free" in result.story(3)


def test_the_page_has_a_table_of_kinds(tmp_path: Path) -> None:
    machine = Platform(
        (HostGroup(1, 4, 4.0, gpus=2, gpu="a100"), HostGroup(1, 4, 4.0), HostGroup(2, 4, 4.0, gpus=1, gpu="t4"))
    )
    asked = "job_id,gpus_per_task,gpu_milli,gpu_kind\n1,2,,a100\n2,2,,a100\n3,1,500,t4\n4,1,500,\n"
    jobs = [(1, 0, 10, 1, 10), (2, 1, 10, 1, 10), (3, 1, 5, 1, 10), (4, 2, 4, 1, 10), (5, 2, 3, 1, 10)]
    result = simulated(jobs, asked, tmp_path, platform=machine)
    section = result.report().html().partition('<section id="gpus"')[2].partition("</section>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in section.split("<tr>")[1:]]
    assert rows == [
        ["kind", "GPUs", "jobs", "utilisation", "mean wait"],
        ["a100", "2", "2", "1.000", "4.5 s"],  # job 2 waits for 9 s, and the others behind it
        ["t4", "2", "2", "0.1125", "8.5 s"],  # (5 + 4) s of half a GPU, of 2 × 20 s
    ]
    assert result.metrics["gpu_utilisation"] == (2 * 20 + 0.5 * 9) / 80
    assert 'id="gpus"' not in bridge.simulate(Workload.from_jobs(jobs), als="recorded").report().html()


def test_fragmentation_of_six_tasks(tmp_path: Path) -> None:
    """As in ``tests/bls/test_gpu_reference.py``, test_metrics_of_six_tasks."""
    asked = "job_id,gpus_per_task,gpu_milli\n" + "".join(f"{k},1,{200 if k < 4 else 600}\n" for k in range(1, 7))
    machine = Platform((HostGroup(1, 4, 4.0, gpus=1), HostGroup(1, 4, 4.0, gpus=2)))
    result = simulated([(k, 0, 10, 1, 10) for k in range(1, 7)], asked, tmp_path, platform=machine)
    assert result.gpu_fragmentation == (600 * 10 + 200 * 10) / (1200 * 10 + 2400 * 10)
    assert result.metrics["gpu_utilisation"] == ((3 * 200 + 2 * 600) * 10 + 600 * 10) / (3000 * 20)
    with pytest.raises(InputError, match="gpu_fragmentation: no job"):
        bridge.simulate(Workload.from_jobs(JOBS), MACHINE, als="recorded").gpu_fragmentation  # noqa: B018


class Sees:
    """Starts what fits in the order of arrival, and notes what it sees: an instant, GPUs, and which jobs limits allow."""

    name = "sees"

    def __init__(self, milli: dict[int, int]) -> None:
        self.milli = milli
        self.seen: list[tuple[int, list[int], int, dict[int, bool]]] = []

    def decide(self, view: Any) -> Any:
        by_host = [left for host in view.hosts for left in host.free_gpus]
        assert by_host == view.free_gpus.tolist()
        assert [(host.gpu, list(host.gpus)) for host in view.hosts[1:]] == [
            ("a100", [3, 4, 5]),
            ("", []),
            ("v100", [6, 7]),
        ]
        for job in view.waiting:
            assert job.gpus == self.milli[job.job_id]
            asked = job.request.gpus
            if asked is not None:
                assert job.gpus == asked.count * (job.request.units if asked.per == "unit" else 1) * asked.milli
                assert asked.kinds in (("a100",), ())  # all kinds: any
            assert (asked is None) == (job.gpus == 0)
        allowed = {job.job_id: view.partition_of(job).allows(job) for job in view.waiting}
        self.seen.append((view.now_ns, by_host, view.partitions[0].running_gpus, allowed))
        trial = view.trial()
        first = next(iter(view.waiting), None)
        for job in view.waiting:
            placed = trial.place(job)
            assert placed is None or job is not first or allowed[job.job_id]
            if placed is not None:
                yield job


LIMITS = {"max_gpus": 4, "max_running_gpus": 5.5, "max_gpus_per_user": 3.25}
LIMITED = Platform(
    (HostGroup(2, 4, 4.0, gpus=3, gpu="a100"), HostGroup(1, 6, 6.0), HostGroup(1, 4, 4.0, gpus=2, gpu="v100")),
    partitions=(Partition("all", default=True, **LIMITS),),  # type: ignore[arg-type]
)


def drawn(n: int, seed: int) -> tuple[Workload, str, dict[int, int]]:
    """Jobs of two users, their requests, and the thousandths that each requests (per host: of one host)."""
    rng, lines, milli = random.Random(seed), ["job_id,gpus,gpus_per_host,gpus_per_task,gpu_milli,gpu_kind"], {}
    rows = []
    for number in range(1, n + 1):
        cores, run = rng.randint(1, 6), rng.randint(1, 30)
        rows.append((number, rng.randint(0, 60), run, cores, run + rng.randint(0, 9), rng.randint(0, 1)))
        share, kind, many = rng.choice((1000, 1000, 250, 600)), rng.choice(("", "a100", "a100|v100")), rng.randint(1, 2)
        many = many if share == 1000 else 1
        how = rng.choice(("none", "host", "task", "job"))
        milli[number] = {"none": 0, "host": many, "task": many * cores, "job": cores}[how] * share
        asked = {"none": ",,", "host": f",{many},", "task": f",,{many}", "job": f"{cores},,"}[how]
        lines.append(f"{number},{asked},{share},{kind}")
    columns = ("job_id", "submit_s", "run_s", "cores", "estimate_s", "user")
    jobs = [dict(zip(columns, row, strict=True)) for row in sorted(rows, key=lambda row: row[1])]
    return Workload.from_jobs(jobs), "\n".join(lines), milli


@pytest.mark.parametrize("how", ["none", "release", "release:host"])
def test_what_a_policy_sees_is_what_the_records_say(how: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    for seed in range(4):
        workload, asked, milli = drawn(50, seed)
        path.write_text(asked)
        sees = Sees(milli)
        result = bridge.simulate(
            workload, LIMITED, bls=sees, als="static", variation=0.9, tasks_per_core=1,
            constraints=ConstraintOptions(requests=str(path)), rules=Rules(coordination=how),
        )  # fmt: skip
        check_ledger(result.ledger)
        rejects = constrain(workload, LIMITED, ConstraintOptions(requests=str(path)))[0].rejects
        missing = milli.keys() - set(result.jobs.job_id)
        assert missing == {number for number in milli if milli[number] > 3250}
        assert 0 < rejects[BEYOND_LIMITS] <= sum(rejects.values()) == len(missing)
        gpus, jobs = result.ledger.gpus, result.jobs
        owner = [row for row, first in enumerate(gpus.first[:-1]) for _ in range(first, gpus.first[row + 1])]
        parts = list(zip(owner, gpus.gpu.tolist(), gpus.milli.tolist(), gpu_ends(result.ledger).tolist(), strict=True))
        starts, users, numbers = jobs.start_ns.tolist(), jobs.user.tolist(), jobs.job_id.tolist()
        for now, left, running, allowed in sees.seen:
            held = [(row, gpu, part) for row, gpu, part, end in parts if starts[row] < now < end]
            assert left == [1000 - sum(part for _, one, part in held if one == gpu) for gpu in range(8)]
            assert running == sum(part for _, _, part in held)
            for number, may in allowed.items():
                user = users[numbers.index(number)]
                of_user = sum(part for row, _, part in held if users[row] == user)
                fits = running + milli[number] <= 5500 and of_user + milli[number] <= 3250
                assert may == (fits or milli[number] == 0)


class Keeps:
    """Keeps the view of a run."""

    name, every_ns, view = "keeps", 10**15, None

    def look(self, view: Any) -> None:
        self.view = view


@pytest.mark.parametrize("how", ["none", "release", "release:host"])
@pytest.mark.parametrize("billing", [Billing(cores=1.0, gpus=16.0), Billing(gpus=0.5), Billing(cores=1.0)])
def test_usage_is_billed_for_what_the_records_say(how: str, billing: Billing, tmp_path: Path) -> None:
    path, keeps = tmp_path / "requests.csv", Keeps()
    workload, asked, _ = drawn(40, 11)
    path.write_text(asked)
    order = score_policy(Multifactor(fairshare=1, half_life_ns=0, billing=billing))
    result = bridge.simulate(
        workload, replace(LIMITED, partitions=()), bls=order, als="static", variation=0.9, tasks_per_core=1,
        constraints=ConstraintOptions(requests=str(path)), rules=Rules("easy", coordination=how), observers=[keeps],
    )  # fmt: skip
    ledger, jobs = result.ledger, result.jobs
    core_ns = (jobs.cores * (jobs.end_ns - jobs.start_ns)).tolist()
    released = result.releases if how != "none" else None
    for number, at in [] if released is None else zip(released.job_id, released.released_ns, strict=True):
        row = jobs.job_id.tolist().index(number)
        core_ns[row] -= jobs.end_ns[row] - at
    owner = [row for row, first in enumerate(ledger.gpus.first[:-1]) for _ in range(first, ledger.gpus.first[row + 1])]
    milli_ns = [0] * len(jobs)
    for row, milli, end in zip(owner, ledger.gpus.milli.tolist(), gpu_ends(ledger).tolist(), strict=True):
        milli_ns[row] += milli * (end - int(jobs.start_ns[row]))
    memory = keeps.view._run.state.scores.memory  # type: ignore[attr-defined]
    column = memory[HEAD:][: 11 * int(memory[_NODES])].reshape(11, -1)
    assert not column[_RUNNING].any()
    used = (column[_USAGE] + column[_CURRENT])[-2:]
    per_core, per_milli = billing.whole()
    for user in (0, 1):
        mine = [row for row in range(len(jobs)) if jobs.user[row] == str(user)]
        expected = sum(per_core * core_ns[row] + per_milli * milli_ns[row] for row in mine) / 10**9
        assert used[user] == pytest.approx(expected, rel=1e-12)


#: Jobs of one or two GPUs, or a share of one, and some without; more than the machine has at once.
LOG = "; Field 19: gpus\n; Field 20: gpu_milli\n" + "".join(
    f"{k + 1} {2 * k} 0 {9 + k % 7} {1 + k % 4} -1 -1 {1 + k % 4} {20 + k % 9} -1 1 {k % 5} 1 -1 1 1 -1 -1 "
    f"{(k % 4 != 3) * (1 + k % 2)} {250 if k % 2 == 0 else -1}\n"
    for k in range(60)
)
STUDY = """
[study]
seeds = 1
metrics = ["gpu_fragmentation", "gpu_utilisation"]
[workload]
file = "log.swf"
[run]
als = "recorded"
platform = "machine.toml"
{}
[results]
gpu-fragmentation = true
"""


@pytest.mark.parametrize(
    "more",
    [[], ["--failures", "mtbf:20s,mttr:3s"], ["--backfill", "easy", "--allocator", "pack-gpus"]],
    ids=["plain", "failures", "by units"],
)
def test_fragmentation_of_a_folder_and_in_a_study(more: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)
    Path("machine.toml").write_text(MACHINE.to_toml())
    results: list[bridge.Result] = []
    monkeypatch.setattr("bridge.cli.run_commands._say_run", lambda result, same: results.append(result))
    for name, stream in (("r", []), ("s", ["--stream"])):
        words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none", *more]
        succeeds(*words, *stream, "--out", name)
    known = results[0].gpu_fragmentation
    assert 0.01 < known < 0.99
    for name in ("r", "s"):
        said = json.loads(succeeds("metrics", name, "--gpu-fragmentation", "--json").out)
        assert said["gpu_fragmentation"] == known
    options = "".join(f'{name[2:]} = "{value}"\n' for name, value in zip(more[::2], more[1::2], strict=True))
    Path("study.toml").write_text(STUDY.format(options))
    succeeds("study", "study.toml", "--out", "study")
    row = pd.read_parquet("study/results.parquet").iloc[0]
    assert (row.gpu_fragmentation, row.gpu_utilisation) == (known, said["gpu_utilisation"])


def test_runs_without_fragmentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)
    Path("machine.toml").write_text(MACHINE.to_toml())
    succeeds("run", "log.swf", "--als", "recorded", "--trace", "none", "--platform", "machine.toml", "--out", "r")
    Path("machine.toml").write_text(replace(MACHINE, name="another").to_toml())
    wrong = twolevel("metrics", "r", "--gpu-fragmentation")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "r: gpu_fragmentation: the platform has changed" in wrong.err
    Path("machine.toml").write_text(Platform().to_toml())
    Path("study.toml").write_text(STUDY.format(""))
    wrong = twolevel("study", "study.toml", "--out", "study")
    assert (wrong.code, "[results]: gpu_fragmentation: no job of this run can request" in wrong.err) == (2, True)


def test_gpus_by_kind() -> None:
    """Two hosts of kind a and one of kind b have a GPU each. Job 3 waits for b until 10, job 4 has half of an a. Without kinds
    there is one row."""
    groups = HostGroup(2, 2, 2.0, gpus=1, gpu="a"), HostGroup(1, 2, 2.0, gpus=1, gpu="b")
    zeros, ones = np.zeros(4, np.int64), np.ones(4, np.int64)
    start, end, core = np.array([0, 0, 10, 0]), np.array([20, 10, 20, 5]), np.array([0, 4, 4, 2])
    given = (ones.cumsum(), zeros, start, end, zeros, zeros, ones, *[zeros] * 5, np.arange(5), core, core + 1)
    ledger = Ledger(
        Platform(groups).machine(), JobRecords(*given), None, gpus=GpuRecords.of_texts(["0", "2", "2", "1:500"])
    )
    schedule = Schedule(submit_ns=zeros, start_ns=start, end_ns=end, cores=ones, n_cores=6)
    plain = Platform(tuple(replace(group, gpu="") for group in groups))
    for platform, rows in (
        (Platform(groups), [("a", 2, 22.5 / 40, 2, 0.0), ("b", 1, 1.0, 2, 5.0)]),
        (plain, [("", 3, 42.5 / 60, 4, 2.5)]),
    ):
        found = by_kind(ledger, schedule, platform)
        assert [tuple(row.values()) for row in found] == rows


def applied(kinds: str, jobs: list[tuple[int, ...]], asked: str, tmp_path: Path, **options: Any) -> Any:
    """Jobs of a loop of eight tasks; ``kinds``: the table of its workers."""
    text = f'[default]\nals = "ss"\ntasks = 8\non = "a100"\nworkers = {kinds}'
    return simulated(jobs, asked, tmp_path, als="ss", applications=parse_application_map(text, "map"), **options)


KINDS = Platform((HostGroup(4, 4, 4.0, gpus=2, gpu="a100"), HostGroup(1, 4, 4.0, gpus=2, gpu="h100")))
ONE = [(1, 0, 10, 4, 10)]


def test_programs_run_on_the_gpus_that_their_jobs_hold(tmp_path: Path) -> None:
    """Job 1 has two GPUs, job 2 half of one; job 3 has one and no second core to drive it, job 4 has none."""
    jobs = [*ONE, (2, 0, 10, 4, 10), (3, 0, 10, 1, 10), (4, 0, 10, 2, 10)]
    asked = "job_id,unit_cores,gpus_per_task,gpu_milli\n1,2,1,\n2,4,1,500\n3,1,1,\n4,,,\n"
    for how in ({"coupling": "inline"}, {"coupling": "pool", "workers": 1}):
        result = applied("{ a100 = { speed = 4 } }", jobs, asked, tmp_path, platform=KINDS, **how)
        on = result.tasks.groupby("job_id").core.unique().map(sorted).to_dict()
        assert on == {1: [2, 3], 2: [7], 3: [8], 4: [9, 10]}
        assert (result.jobs.end_ns // S).tolist() == [10, 10, 10, 10]
        assert result.jobs.application.tolist() == ["default"] * 4
        assert result.jobs.length_gflop.tolist() == [80.0, 20.0, 10.0, 20.0]
        assert jobs_with_undriven_gpus(result.scenario, result.ledger) == 1


def test_the_command_counts_jobs_whose_gpus_no_core_drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job 1 has a core for each GPU but its first one drives none; the one of job 2 has a core."""
    monkeypatch.chdir(tmp_path)
    Path("map.toml").write_text('[default]\ntasks = 8\non = "a100"\nworkers.a100 = { speed = 4 }\n')
    Path("machine.toml").write_text(KINDS.to_toml())
    Path("log.swf").write_text("".join(f"{k} 0 0 10 2 -1 -1 2 10 -1 1 1 1 -1 1 1 -1 -1\n" for k in (1, 2)))
    for per_host, words in (
        (2, "jobs with idle GPUs, since too few of their cores remain on the host to drive them: 1"),
        (1, ""),
    ):
        Path("requests.csv").write_text(f"job_id,gpus_per_host,gpu_kind\n1,{per_host},a100\n2,1,a100\n")
        said = ["run", "log.swf", "--als", "ss", "--applications", "map.toml", "--platform", "machine.toml"]
        found = twolevel(*said, "--requests", "requests.csv", "--trace", "none", "--out", f"r{per_host}")
        assert words in found.err
        assert ("idle GPUs" in found.err) == bool(words)


@pytest.mark.parametrize(
    ("kind", "kinds", "used", "undriven"),
    [
        ("a100|h100", "{ a100 = { speed = 4 }, h100 = { speed = 8 } }", [2, 3], 0),  # its work counts the slower kind
        ("h100", "{ a100 = { speed = 4 }, h100 = { speed = 8 } }", [16, 17], 0),  # the loop is for others
        ("h100", "{ a100 = { speed = 4 } }", [16, 17, 18, 19], 0),
        ("a100", "{ a100 = { speed = 4, streams = 2 } }", [2, 3], 1),  # one GPU has no drivers
    ],
)
def test_kinds_of_gpus_of_a_program(kind: str, kinds: str, used: list[int], undriven: int, tmp_path: Path) -> None:
    asked = f"job_id,unit_cores,gpus_per_task,gpu_kind\n1,2,1,{kind}\n"
    result = applied(kinds, ONE, asked, tmp_path, platform=KINDS)
    assert sorted(result.tasks.core.unique()) == used
    assert result.jobs.end_ns[0] == 10 * S
    assert jobs_with_undriven_gpus(result.scenario, result.ledger) == undriven


test_refused_kinds = refusals(
    __file__,
    {
        "kinds": lambda kinds, asked, platform: applied(kinds, ONE, f"job_id,{asked}", Path(), platform=platform),
    },
    {
        "kinds": [
            (
                "{ a100 = {} }",
                "unit_cores\n1,2\n",
                KINDS,
                "map: default.workers.a100: no count, and no job requests GPUs;",
            ),
            (
                "{ a100 = {}, v100 = {} }",
                "gpus_per_task\n1,1\n",
                KINDS,
                "map: default.workers: unknown kind 'v100'; known: h100, a100",
            ),
            (
                "{ a100 = {}, v100 = {} }",
                "gpus_per_task\n1,1\n",
                MACHINE,
                "map: default.workers.v100: the GPUs of the platform have no",
            ),
        ]
    },
)


def test_graphs_with_times_on_kinds_run_in_programs_as_alone(tmp_path: Path) -> None:
    """On six cores, two of them drivers of workers of the kind ``w0``; every third task can run on them only."""
    chance, lines = random.Random(5), []
    for task in range(24):
        on = f"{chance.randint(1, 9)}e6 {'inf' if task % 3 == 2 else f'{chance.randint(3, 30)}e6'}"
        needs = " ".join(str(one) for one in range(task) if chance.random() < 0.15)
        lines.append(
            f"Name: t{task}\nModel: m\nJobId: {task}\n{f'DependsOn: {needs}' * bool(needs)}\nEstimatedTime: {on}\n"
        )
    path = tmp_path / "random.rec"
    path.write_text("\n".join(lines).replace("\n\nEst", "\nEst"))
    graph, machine = read_graph(str(path)), Platform((HostGroup(1, 6, 6.0),))
    for als in ("heft", "peft", "min-min", "dmda"):
        alone = simulate_graph(graph, GraphOptions(als, (1.0,) * 6, workers=("w0:count=2",)))
        text = f'[default]\nals = "{als}"\ngraph = "file:{path},scale=no"\nsteps = 2\nworkers.w0 = {{ count = 2 }}'
        for how in ({"coupling": "inline"}, {"coupling": "pool", "workers": 1}):
            given: dict[str, Any] = {
                "platform": machine,
                "als": "ss",
                "applications": parse_application_map(text, "map"),
            }
            result = bridge.simulate(Workload.from_jobs([(1, 0, 10, 6, 10)]), **given, **how)
            assert result.jobs.run_ns[0] == 2 * alone.makespan_ns
            assert result.tasks.core.tolist() == 2 * alone.tasks["core"].tolist()
            assert result.jobs.slr[0] == alone.metrics["slr"]


class Scales:
    """Starts all jobs; asks for the power of those that wait, and scales the speed of those that run, by instants in s."""

    name, directs = "scales", ("speeds",)

    def __init__(self, factors: dict[int, float]) -> None:
        self.factors, self.seen = factors, list[Any]()

    def decide(self, view: Any) -> Any:
        for job in view.waiting:
            self.seen.append([view.power_of(job), view.power_of(job, [4, 5]), view.power_of(job, [0, 4])])
            yield job
        for instant, factor in self.factors.items():
            if view.now_ns == instant * S:
                for job in view.running:
                    view.scale(job, factor)
            elif view.now_ns < instant * S:
                view.wake_at(instant * S)


def test_a_policy_slows_gpus_with_their_job(tmp_path: Path) -> None:
    """For 0.9 of its speed the job is in the first state, 2 · (10 + 100) W, and for 0.8 in the second, 2 · (8 + 60) W. Parts of
    600 thousandths draw 54 W beyond idle GPUs on host 0, and 30 W on host 1."""
    power = HostPower(5, [(1, 10), (0.5, 8)], gpu_idle_w=10, gpu_states=[(1, 100), (0.8, 60)])
    other = replace(power, gpu_states=[(1, 60)])
    machine = Platform((HostGroup(1, 4, 4.0, gpus=2, power=power), HostGroup(1, 4, 4.0, gpus=2, power=other)))
    asked = "job_id,gpus_per_task,gpu_milli\n1,1,\n2,1,600\n"
    policy = Scales({10: 0.9, 20: 0.8})
    said = {"platform": machine, "bls": policy, "power": Power("held")}
    jobs = [(1, 0, 32, 2, 100)]
    found = simulated(jobs, "job_id,gpus_per_task\n1,1\n", tmp_path, **said)
    assert found.jobs.end_ns.tolist() == [10 * S + 10 * S + round((32 - 10 - 9) / 0.8 * S)]
    assert found.jobs.energy_j.tolist() == [220 * 20 + 136 * 16.25]
    assert "6.61 kJ of it by jobs" in repr(found.power)
    limited = Scales({})
    said |= {"bls": limited, "power": Power(limits=[(0, None, 1000)], fallback="hold")}
    simulated([(2, 0, 32, 2, 100)], asked.replace("1,1,\n", ""), tmp_path, **said)
    assert limited.seen == [[2 * 5 + 1.2 * 50, 2 * 5 + 1.2 * 50, 2 * 5 + 0.6 * 90 + 0.6 * 50]]


def test_gpus_of_a_result_by_kind(tmp_path: Path) -> None:
    jobs = [(1, 0, 10, 1, 10), (2, 0, 20, 1, 20), (3, 5, 10, 1, 10)]
    found = simulated(jobs, "job_id,gpus_per_task,gpu_kind\n1,1,b\n2,2,a\n3,1,b\n", tmp_path, platform=TWO_KINDS)
    assert found.gpus_by_kind.to_numpy().tolist() == [["a", 4, 0.5, 1, 0.0], ["b", 1, 1.0, 2, 2.5e9]]
