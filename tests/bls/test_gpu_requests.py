"""Requests for numbered GPUs: the columns of a request file and of a log, and jobs that no host can hold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusing import refusals

import bridge
from bls.constraints.gpu_requests import with_gpus_of_log
from bls.constraints.job_constraints import BEYOND_LIMITS, assign, constrain
from bls.constraints.resource_requests import ASKS_TOO_MUCH, Requests, fit_requests, requests
from bls.machine.partitions import Partition, Switch
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.stream import ArrivingJobs, in_blocks
from bls.workloads.workload import Workload
from traces.base.errors import InputError

#: a100 is kind 0, v100 kind 1.
MACHINE = Platform(
    (
        HostGroup(2, 8, 8.0, {"memory_gb": 64}, gpus=4, gpu="a100"),  # type: ignore[arg-type]
        HostGroup(1, 4, 4.0, {"memory_gb": 16}, gpus=2, gpu="v100"),  # type: ignore[arg-type]
        HostGroup(1, 4, 4.0),
    )
)
ANY, A100, V100, NEITHER = 3, 1, 2, 4
UNNAMED = Platform((HostGroup(2, 8, 8.0, gpus=4),))


def jobs(*cores: int) -> Workload:
    return Workload.from_jobs(
        [{"job_id": k, "submit_s": 0, "run_s": 10, "cores": n, "estimate_s": 10} for k, n in enumerate(cores)]
    )


def asked(workload: Workload, text: str = "", platform: Platform = MACHINE) -> Requests:
    path = Path("r.csv")
    path.write_text(text)
    return requests(workload, platform, path=path if text else None)


def words(found: Requests) -> list[tuple[int, ...]]:
    """Cores of a unit; GPUs of a unit and of a host; milli; kinds."""
    assert found.gpus is not None
    return [tuple(map(int, row)) for row in np.column_stack([found.unit_cores, *found.gpus.columns])]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpus\n0,0", (1, 0, 0, 1000, ANY)),
        ("unit_cores,gpus_per_task\n0,4,2", (4, 2, 0, 1000, ANY)),
        ("gpus_per_host\n0,3", (1, 0, 3, 1000, ANY)),
        ("gpus\n0,8", (1, 1, 0, 1000, ANY)),  # eight parts of one core
        ("gpus\n0,6", (4, 3, 0, 1000, ANY)),  # two parts
        ("gpus\n0,3", (8, 3, 0, 1000, ANY)),  # one
        ("unit_cores,gpus\n0,2,6", (4, 3, 0, 1000, ANY)),  # four units, two parts
        ("gpus,gpu_kind\n0,1,v100", (8, 1, 0, 1000, V100)),
        ("gpus,gpu_kind\n0,1,a100 | v100", (8, 1, 0, 1000, ANY)),
        ("gpus_per_task,gpu_milli,unit_cores\n0,1,250,8", (8, 1, 0, 250, ANY)),
        ("gpus_per_host,gpu_milli\n0,1,999", (1, 0, 1, 999, ANY)),
        ("gpus,gpus_per_host,gpus_per_task\n0,0,,0", (1, 0, 0, 1000, ANY)),
    ],
)
def test_columns(line: str, expected: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert words(asked(jobs(8), line and f"job_id,{line}\n")) == [expected]


def test_parts_take_the_resources_of_their_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = asked(jobs(8), "job_id,unit_cores,gpus,memory_gb\n0,2,2,3\n")
    assert (found.unit_cores.tolist(), found.per_unit.tolist()) == ([4], [[6 * 2**20]])


def with_columns(workload: Workload, **columns: list[int]) -> Workload:
    made = {name: np.array(values, np.int64) for name, values in columns.items()}
    return replace(workload, extras=made, labels={"gpu_kind": {1: "v100", 2: "k80", 3: "k80|a100"}})


def test_the_log_states_gpus_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = with_columns(
        jobs(6, 6, 6, 4, 4, 4),
        gpus=[2, 6, 3, 1, 1, -1],
        nodes=[-1, 2, 2, 1, 1, 1],
        gpu_milli=[-1, 0, 1000, 500, 500, 0],
        gpu_kind=[-1, 1, 2, 3, -1, -1],
    )
    expected = [
        (3, 1, 0, 1000, ANY),  # two parts
        (3, 3, 0, 1000, V100),  # one for each node, not six
        (2, 1, 0, 1000, NEITHER),  # two nodes do not divide three GPUs
        (4, 1, 0, 500, A100),
        (4, 1, 0, 500, ANY),
        (1, 0, 0, 1000, ANY),
    ]
    found = asked(log)
    assert words(found) == expected
    assert found.gpus is not None
    assert [found.gpus.accepted(row, MACHINE.gpu_kinds) for row in (0, 1, 3, 4, 5)] == [
        (),
        ("v100",),
        ("a100",),
        (),
        (),
    ]
    with pytest.raises(ValueError, match="row 2 accepts none of the kinds a100, v100"):  # not any
        found.gpus.accepted(2, MACHINE.gpu_kinds)
    # A line of a file replaces what it states: job 3's kind remains, job 4 has no GPUs, job 5 has two.
    text = "job_id,gpus_per_task,gpu_milli\n3,1,200\n4,0,\n5,2,\n"
    expected[3:] = [(1, 1, 0, 200, A100), (1, 0, 0, 500, ANY), (1, 2, 0, 1000, ANY)]
    assert words(asked(log, text)) == expected


def test_nodes_that_divide_only_the_gpus_of_a_job() -> None:
    """Three cores with two GPUs on two nodes are no single part, which hosts of one GPU could not hold."""
    machine, log = Platform((HostGroup(3, 2, 8.0, gpus=1, gpu="v100"),)), jobs(3, 3, 9, 3, 5)
    log = with_columns(log, gpus=[2, 2, 6, 3, 4], nodes=[2, 1, 2, 2, 4], gpu_milli=[-1] * 5, gpu_kind=[-1] * 5)
    expected = [
        (1, 0, 1, 1000, 1),  # one on each host
        (3, 2, 0, 1000, 1),  # one node had both
        (3, 2, 0, 1000, 1),  # three parts, more than nodes
        (1, 1, 0, 1000, 1),  # two nodes do not divide three GPUs
        (1, 0, 1, 1000, 1),
    ]
    assert words(requests(log, machine)) == expected
    one = with_columns(jobs(3), gpus=[2], nodes=[2])
    found = bridge.simulate(one, machine, als="recorded")
    assert found.jobs.gpu_allocation.tolist() == ["0-1"]


def test_kinds_of_the_log_do_not_matter_if_those_of_the_machine_have_no_name() -> None:
    log = with_columns(jobs(4), gpu=[1], gpu_kind=[2])
    assert words(requests(log, UNNAMED)) == [(4, 1, 0, 1000, 1)]
    assert requests(log, Platform((HostGroup(1, 8, 8.0),))).gpus is None


@pytest.mark.parametrize(
    ("cores", "line", "fits"),
    [
        (16, "gpus\n0,8", True),
        (16, "gpus\n0,16", False),
        (20, "gpus\n0,10", True),  # ten parts: four, four and two
        (20, "gpus,gpu_kind\n0,10,a100", False),
        (4, "gpus_per_host\n0,4", True),
        (4, "gpus_per_host\n0,5", False),
        (17, "gpus_per_host,gpu_kind\n0,1,a100", False),  # 16 cores have a100 on their hosts
        (20, "gpus_per_host\n0,2", True),
        (4, "gpus_per_host,gpu_kind\n0,3,v100", False),
        (20, "gpus_per_task,gpu_milli\n0,1,500", True),  # every core of the hosts with GPUs has half of one
        (20, "gpus_per_task,gpu_milli\n0,1,501", False),
        (24, "gpus_per_task\n0,0", True),
    ],
)
def test_jobs_that_no_host_can_hold(
    cores: int, line: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workload, partition = assign(jobs(cores, 1), MACHINE)
    left, _, found = fit_requests(workload, partition, asked(workload, f"job_id,{line}\n"), MACHINE)
    assert left.job_id.tolist() == ([0, 1] if fits else [1])
    assert left.rejects.get(ASKS_TOO_MUCH, 0) == (not fits)
    assert len(words(found)) == len(left)


def test_switches_below_which_gpus_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    leaves = (Switch("a", "0-1"), Switch("b", "2"), Switch("c", "3"), Switch("top", switches=("a", "b", "c")))
    Path("r.csv").write_text("job_id,gpus_per_task\n0,1\n1,0\n")
    found = requests(jobs(9, 9), replace(MACHINE, switches=leaves), path="r.csv", switches=1)
    # Eight GPUs below the first switch: a ninth is below another. Nine cores are below the first.
    assert found.switches.tolist() == [2, 1]


def test_a_run_counts_what_a_log_states() -> None:
    log = with_columns(jobs(4, 4, 4), gpus=[0, 1, 2])
    _, constraints = constrain(log, MACHINE, ConstraintOptions())
    assert constraints.requests is not None
    assert constraints.requests.gpus is not None
    assert constraints.requests.gpus.any.tolist() == [False, True, True]
    _, constraints = constrain(replace(log, extras={}), MACHINE, ConstraintOptions())
    assert constraints.requests is None
    _, constraints = constrain(log, Platform((HostGroup(2, 8, 8.0),)), ConstraintOptions())
    assert constraints.requests is None


def test_jobs_beyond_the_limits_of_their_partition() -> None:
    """A limit of all running jobs, or of a user, limits each job, too; whole and as a stream."""
    log = with_columns(jobs(4, 4, 4, 4), gpus=[1, 2, 3, 4], gpu_milli=[500, 1000, 1000, 1000])
    for limit, left in (("max_gpus", 2), ("max_running_gpus", 2.5), ("max_gpus_per_user", 0.5)):
        machine = replace(MACHINE, partitions=(Partition("p", default=True, **{limit: left}),))
        found, _ = constrain(log, machine, ConstraintOptions())
        assert found.job_id.tolist() == [0, 1][: 1 + (left >= 2)]
        arrivals = ArrivingJobs(in_blocks(log, 3), machine)
        streamed = arrivals.take(4)
        assert streamed is not None
        assert streamed.job_id.tolist() == found.job_id.tolist()
        assert arrivals.rejects[BEYOND_LIMITS] == found.rejects[BEYOND_LIMITS] == 4 - len(found)
    none = replace(MACHINE, partitions=(Partition("p", default=True, max_gpus=0.25),))
    with pytest.raises(InputError, match="none of 4 jobs fits the empty machine: beyond its partition's limits 4"):
        constrain(log, none, ConstraintOptions())


def test_all_parts_of_a_stream_may_have_gpus() -> None:
    log = with_columns(jobs(4, 4, 4), gpus=[0, 0, 2])
    arrivals = ArrivingJobs(in_blocks(log, 1), MACHINE)
    for rows in ([0, 1], [2]):
        constraints = arrivals.constraints(log.take(np.array(rows)), None)
        assert constraints.requests is not None
        assert constraints.cores_differ


test_bad_input_is_refused = refusals(
    __file__,
    {
        "lines": (lambda text: asked(jobs(8), f"job_id,{text}\n"), "r.csv: "),
        "unnamed": lambda text: asked(jobs(8), f"job_id,{text}\n", UNNAMED),
        "logs": lambda gpus, milli: asked(with_columns(jobs(8), gpus=[gpus], gpu_milli=[milli])),
        "without GPUs": lambda text: asked(jobs(8), f"job_id,{text}\n", Platform((HostGroup(1, 8, 8.0),))),
    },
)


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        # (submit, wait, run, nodes, GPUs, milli, kind) of jobs; (hosts, cores, GPUs, kind) of a machine of 5 hosts
        ([(0, 0, 10, 2, 8, -1, 0)], [(2, 8, 4, ""), (1, 8, 0, ""), (2, 4, 0, "")]),
        ([(0, 0, 10, 2, 5, -1, 0)], [(2, 8, 3, ""), (1, 8, 0, ""), (2, 4, 0, "")]),  # not equally many on both nodes
        ([(0, 0, 10, 1, 2, -1, 0), (5, 5, 10, 1, 2, -1, 0)], [(1, 8, 2, ""), (2, 8, 0, ""), (2, 4, 0, "")]),
        ([(0, 0, 10, 1, 2, -1, 0), (5, 4, 10, 1, 2, -1, 0)], [(2, 8, 2, ""), (1, 8, 0, ""), (2, 4, 0, "")]),
        ([(0, 0, 10, 1, 1, 400, 0)] * 3, [(2, 8, 1, ""), (1, 8, 0, ""), (2, 4, 0, "")]),  # 1.2 GPUs
        ([(0, 0, 10, 4, 8, -1, 1), (0, 0, 10, 1, 3, -1, 2)], [(1, 8, 3, "a"), (2, 8, 2, "b"), (2, 4, 2, "b")]),
        ([(0, 0, 10, 1, 2, -1, 1), (0, 0, 10, 9, 9, -1, 3)], [(1, 8, 2, "b"), (2, 8, 0, ""), (2, 4, 0, "")]),  # a or b
        ([(0, 0, 10, 1, 0, -1, 1)], [(3, 8, 0, ""), (2, 4, 0, "")]),
    ],
)
def test_gpus_that_a_log_held(rows: list[tuple[int, ...]], groups: list[tuple[int, int, int, str]]) -> None:
    submit, wait, run, nodes, gpus, milli, kind = np.array(rows).T
    log = Workload.from_jobs(
        [(k, int(at), int(lasts), 1, 99) for k, (at, lasts) in enumerate(zip(submit, run, strict=True))]
    )
    extras = {"nodes": nodes, "gpus": gpus, "gpu_milli": milli, "gpu_kind": kind}
    labels = {"gpu_kind": {1: "b", 2: "a", 3: "a|b"}}
    log = replace(log, wait_ns=wait * 10**9, extras=extras, labels=labels)
    machine = Platform((HostGroup(3, 8, 8.0), HostGroup(2, 4, 4.0)))
    found = with_gpus_of_log(machine, log)
    assert [(one.count, one.cores, one.gpus, one.gpu) for one in found.hosts] == groups
    assert replace(found, hosts=machine.hosts) == machine


def test_gpus_on_more_hosts_than_the_machine_has() -> None:
    log = replace(jobs(6), extras={"nodes": np.array([6]), "gpus": np.array([6])})
    with pytest.raises(InputError, match="jobs: its jobs held GPUs on at least 6 hosts at once, and its machine has 4"):
        with_gpus_of_log(replace(MACHINE, hosts=(HostGroup(4, 8, 8.0),)), log)
