"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what the records say."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bridge
from bls.constraints.job_constraints import BEYOND_LIMITS, constrain
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.policies.multifactor.fair_share import _CURRENT, _NODES, _RUNNING, _USAGE, HEAD
from bls.policies.multifactor.priority import score_policy
from bls.policies.multifactor.settings import Billing, Multifactor
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger
from traces.holdings import gpu_ends
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
    with pytest.raises(InputError, match="job 1 requests GPUs"):
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


def test_the_story_of_a_job_that_waits_for_a_gpu(tmp_path: Path) -> None:
    said = simulated([*JOBS, (4, 2, 10, 1, 10)], ASKED + "4,1\n", tmp_path).story(4)
    assert "requests 1 core and 1 GPU for 10 s" in said
    assert "6 of 8 cores and 1 of 4 GPUs are free, 1 job before it waits" in said
    assert "with GPUs 2" in said
    alone = simulated(
        [(1, 0, 10, 1, 10), (2, 1, 10, 1, 10)],
        "job_id,gpus_per_task\n1,2\n2,2\n",
        tmp_path,
        platform=Platform((HostGroup(1, 4, 4.0, gpus=2),)),
    ).story(2)
    assert "2 GPUs requested, 0 free when it became eligible, and 3 cores" in alone


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
            asked = job.request
            assert (
                job.gpus == (asked.gpus * asked.units + asked.gpus_per_host) * asked.gpu_milli == self.milli[job.job_id]
            )
            assert asked.gpu_kinds in ((("a100",), ("a100", "v100")) if job.gpus else ((),))
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
