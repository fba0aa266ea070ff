"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what the records say."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from refusing import refusals

import bridge
from als.graphs.readers import read_graph
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from bridge import GraphOptions, simulate_graph
from bridge.scenarios.application_map import parse_application_map
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


@pytest.mark.parametrize(
    ("kind", "kinds", "used", "end"),
    [
        ("a100|h100", "{ a100 = { speed = 4 }, h100 = { speed = 8 } }", [2, 3], 10),  # its work counts the slower kind
        ("h100", "{ a100 = { speed = 4 }, h100 = { speed = 8 } }", [16, 17], 10),  # the loop is for others
        ("h100", "{ a100 = { speed = 4 } }", [16, 17, 18, 19], 10),
        ("a100", "{ a100 = { speed = 4, streams = 2 } }", [2, 3], 10),  # one GPU has no drivers
    ],
)
def test_kinds_of_gpus_of_a_program(kind: str, kinds: str, used: list[int], end: int, tmp_path: Path) -> None:
    asked = f"job_id,unit_cores,gpus_per_task,gpu_kind\n1,2,1,{kind}\n"
    result = applied(kinds, ONE, asked, tmp_path, platform=KINDS)
    assert sorted(result.tasks.core.unique()) == used
    assert result.jobs.end_ns[0] == end * S


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
