"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what the records say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bridge
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.power.options import Power
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
    limited = Scales({})
    said |= {"bls": limited, "power": Power(limits=[(0, None, 1000)], fallback="hold")}
    simulated([(2, 0, 32, 2, 100)], asked.replace("1,1,\n", ""), tmp_path, **said)
    assert limited.seen == [[2 * 5 + 1.2 * 50, 2 * 5 + 1.2 * 50, 2 * 5 + 0.6 * 90 + 0.6 * 50]]
