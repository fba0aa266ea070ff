"""Slurm's cycle as a batch policy, without Slurm: its parts by hand, and that it is ours where all is switched.

That its starts are Slurm's is found out in ``tests/bridge/test_slurm_cycle.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Workload
from bls.policies import policy
from bls.policies.slurm.parameters import SlurmCycle
from bls.policies.slurm.places import ConsTres, Linear, SlurmJob
from bls.scheduler_options import ConstraintOptions, Rules
from traces.base.errors import InputError

S, MS, US = 10**9, 10**6, 10**3
KILLS = Rules(kill_at_walltime=True)

#: What makes of Slurm's cycle ours: every event is looked at, at once, and limits are as exact as they are given.
OURS = (
    "tick=0,message=0,sched_min_interval=0,minute=1,kill_interval=0,default_queue_depth=1000000,bf_max_job_test=1000000"
)


def machine(hosts: int, cores: int) -> Platform:
    return Platform((HostGroup(hosts, cores, float(cores)),))


def starts(
    jobs: Sequence[tuple[int, ...]], hosts: int, cores: int, text: str = "slurm", **options: object
) -> dict[int, int]:
    found = bridge.simulate(
        Workload.from_jobs(list(jobs)), machine(hosts, cores), bls=text, als="recorded", rules=KILLS, **options
    ).jobs
    return dict(zip(found.job_id.tolist(), found.start_ns.tolist(), strict=True))


def job(number: int, cores: int, limit_s: int = 600) -> SlurmJob:
    return SlurmJob(number, number, cores, limit_s)


def bits(*nodes: int) -> int:
    return sum(1 << node for node in nodes)


def running(places: Linear | ConsTres, number: int, on: dict[int, int], end_s: int) -> None:
    one = job(number, sum(on.values()))
    one.end_s = end_s
    places.take(one, on)


def test_a_quick_pass_goes_one_job_beyond_the_queue_depth() -> None:
    # As slurmctld counts; the third job is left to a pass over the whole queue, once a minute.
    jobs = [(1, 0, 100, 1, 100), (2, 0, 100, 1, 100), (3, 0, 100, 1, 100)]
    found = starts(jobs, 4, 1, "slurm:scheduler=builtin,default_queue_depth=1")
    assert found[1] == found[2] == 500 * MS < found[3]


@pytest.mark.parametrize(
    ("cores", "hosts", "each", "found"), table_rows(__file__, "priorities_by_size_are_those_of_slurmctlds_log")
)
def test_priorities_by_size_are_those_of_slurmctlds_log(cores: int, hosts: int, each: int, found: int) -> None:
    # A weight of 1000; however many cores a job requests, it requests one node.
    assert (
        SlurmCycle(priority="multifactor", weight_job_size=1000).priority_of(cores, 600, hosts, hosts * each) == found
    )


def test_priorities_by_size_by_hand() -> None:
    def by(weight: int, cores: int, limit_s: int, **how: bool) -> int:
        return SlurmCycle(priority="multifactor", weight_job_size=weight, **how).priority_of(cores, limit_s, 4, 32)

    assert by(1000, 8, 600, favor_small=True) == 750  # (3/4 + 24/32) / 2
    assert by(1000, 8, 600, small_relative_to_time=True) == 25  # 8 cores of 32 in 10 min, as of a node of 8
    assert by(1000, 1, 600, small_relative_to_time=True) == 25
    assert by(1000, 16, 600, small_relative_to_time=True) == 50
    assert by(1000, 16, 600, small_relative_to_time=True, favor_small=True) == 950
    assert by(0, 16, 600) == by(1, 16, 600) == 1  # never less
    assert by(2**32 - 1, 32, 60, small_relative_to_time=True) == 2**32 - 1
    assert SlurmCycle().priority_of(16, 600, 4, 32) == SlurmCycle().priority_of(1, 60, 4, 32)


def test_linear_takes_the_tightest_set_of_consecutive_nodes_and_else_the_largest() -> None:
    places = Linear([1] * 10)
    running(places, 1, {2: 1, 6: 1}, 1000)  # free: 0-1, 3-5, 7-9
    assert list(places.now(job(2, 2), bits(*range(10))) or {}) == [0, 1]
    assert list(places.now(job(2, 3), bits(*range(10))) or {}) == [3, 4, 5]
    assert list(places.now(job(2, 5), bits(*range(10))) or {}) == [0, 1, 3, 4, 5]
    assert places.now(job(2, 9), bits(*range(10))) is None
    when = places.earliest(job(2, 9), bits(*range(10)), 100)
    assert when == (1000, bits(*range(9)))
    assert places.earliest(job(2, 9), bits(*range(10)), 1000) == (1001, bits(*range(9)))  # it should have ended by now
    assert places.earliest(job(2, 9), bits(*range(8)), 100) is None


def test_cores_come_from_one_node_if_one_of_the_best_set_suffices() -> None:
    places = ConsTres([4] * 5)
    running(places, 1, {0: 1, 2: 4, 4: 2}, 1000)  # free: 3 4 | 4 2
    everywhere = bits(*range(5))
    assert places.now(job(2, 2), everywhere) == {4: 2}
    assert places.now(job(2, 3), everywhere) == {3: 4} or places.now(job(2, 3), everywhere) == {3: 3}
    assert places.now(job(2, 6), everywhere) == {3: 4, 4: 2}
    assert places.now(job(2, 7), everywhere) == {0: 3, 1: 4}
    assert places.now(job(2, 8), everywhere) in ({0: 3, 1: 4, 3: 1}, {0: 3, 1: 4, 4: 1})
    assert places.now(job(2, 14), everywhere) is None


def test_gpus_of_nodes_limit_the_units_there() -> None:
    # 4 cores each, and 2, 4, 0 and 2 GPUs.
    places, everywhere = ConsTres([4] * 4, [2, 4, 0, 2]), bits(*range(4))

    def asking(number: int, cores: int, **gpus: int) -> SlurmJob:
        return replace(job(number, cores), able=bits(0, 1, 3), **gpus)

    assert places.now(asking(1, 4, per_unit=1), everywhere) == {1: 4}  # most of the GPUs that it can use are there
    assert places.now(asking(1, 4, per_unit=1, unit=2), everywhere) == {3: 4}  # the tightest set of nodes
    assert places.now(asking(1, 1, per_unit=2), everywhere) == {3: 1}
    assert places.now(asking(1, 4, per_unit=2, unit=2), everywhere) == {1: 4}
    assert places.now(asking(1, 9, per_unit=1), everywhere) is None
    assert places.now(asking(1, 8, per_node=2), everywhere) == {0: 4, 1: 4}
    one = asking(1, 2, per_unit=2)
    one.end_s = 1000
    places.take(one, {1: 2})
    assert places.free_gpus == [2, 0, 0, 2]
    assert places.now(asking(2, 1, per_node=3), everywhere) is None
    assert places.earliest(replace(asking(2, 1, per_node=3), able=bits(1)), everywhere, 100) == (1000, bits(1))
    assert places.earliest(replace(asking(2, 2, per_unit=3), able=bits(1)), everywhere, 100) is None
    places.end(one)
    places.take(asking(3, 3, per_node=2), {0: 2, 3: 1})
    assert places.free_gpus == [0, 4, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_fcfs_equals_ours_if_all_jobs_are_considered_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, at = [], 0
    for number in range(1, 41):
        at += int(rng.exponential(40))
        run = int(rng.integers(1, 400))
        jobs.append((number, at, run, int(rng.integers(1, 9)), int(rng.integers(max(1, run // 2), 2 * run + 1))))
    slurm = starts(jobs, 8, 1, f"slurm:scheduler=builtin,{OURS}")
    ours = starts(jobs, 8, 1, "fcfs")
    assert max(abs(slurm[number] - ours[number]) for number in ours) < 100 * US
    as_it_is = starts(jobs, 8, 1, "slurm:scheduler=builtin")
    assert max(abs(as_it_is[number] - ours[number]) for number in ours) > S


@pytest.mark.parametrize(("text", "words"), table_rows(__file__, "parameters_that_cannot_be_are_refused_by_name"))
def test_parameters_that_cannot_be_are_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        policy(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rules": Rules(decision_cost_ns=5)}, "decision_cost_ns"),
        ({"rules": Rules(estimates="exact")}, "estimates"),
        ({"allocator": "random"}, "allocator"),
        ({"constraints": ConstraintOptions(failures="mtbf:6h,mttr:20m,seed:3")}, "hosts that fail"),
    ],
)
def test_unsupported_features_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        bridge.simulate(Workload.from_jobs([(1, 0, 10, 1, 10)]), machine(2, 1), bls="slurm", als="recorded", **options)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("gpus_per_task,gpu_milli\n1,1,500\n", "job 1 requests 500 thousandths of a GPU; allowed: whole GPUs"),
        ("unit_cores\n1,2\n", "job 1 requests more than cores; allowed: jobs of single cores, or with whole GPUs"),
    ],
)
def test_shares_of_gpus_and_units_without_gpus_are_refused(asked: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "asked.csv"
    path.write_text(f"job_id,{asked}")
    jobs, platform = Workload.from_jobs([(1, 0, 10, 2, 10)]), Platform((HostGroup(2, 4, 4.0, gpus=2),))
    with pytest.raises(InputError, match=words):
        bridge.simulate(jobs, platform, bls="slurm", als="recorded", requests=path)


def test_jobs_that_wait_for_others_are_refused_before_any_runs() -> None:
    def run(preceding: int) -> None:
        rows = [{"job_id": job, "submit_s": 20 * job, "run_s": 10, "cores": 1, "preceding": -1} for job in (1, 2)]
        rows[1] |= {"preceding": preceding, "think_s": 5}
        keeps = ConstraintOptions(dependencies=True)
        bridge.simulate(Workload.from_jobs(rows), machine(2, 1), bls="slurm", als="recorded", constraints=keeps)

    run(-1)  # that somebody could is nothing
    with pytest.raises(InputError, match=r"slurm.*: job 2 waits for another: .*; allowed: no "):
        run(1)


def test_a_policy_sets_kills_only_if_jobs_are_killed() -> None:
    class Late:
        name = "late"

        def decide(self, view: object) -> object:
            jobs = list(view.waiting)  # type: ignore[attr-defined]
            for one in jobs:
                view.kill_after(one, 30 * S)  # type: ignore[attr-defined]
            return jobs

    workload = Workload.from_jobs([(1, 0, 100, 1, 10)])
    found = bridge.simulate(workload, machine(1, 1), bls=Late(), als="recorded", rules=KILLS).jobs
    assert found.end_ns.tolist() == [30 * S]
    assert found.state.tolist() == ["killed"]
    with pytest.raises(Exception, match="kill_after"):
        bridge.simulate(workload, machine(1, 1), bls=Late(), als="recorded")
