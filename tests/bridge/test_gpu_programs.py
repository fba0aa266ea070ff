"""Programs on the GPUs that their jobs hold, and graphs with times on kinds of workers."""

import random
from pathlib import Path
from typing import Any

import pytest
from command_line import twolevel
from gpu_runs import MACHINE, S, simulated
from refusing import refusals

import bridge
from als.graphs.readers import read_graph
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge import GraphOptions, simulate_graph
from bridge.runs.gpu_hosts import jobs_with_undriven_gpus
from bridge.scenarios.application_map import parse_application_map


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
