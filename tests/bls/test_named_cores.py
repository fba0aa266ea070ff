"""Policies that place jobs themselves: the engine's own allocators when they follow their rules, and held to what is free."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inside import column
from tables import table_rows

from bls import BatchSimulator, Partition, Platform, Rules, Surroundings, View, allocator
from bls.constraints.options import surround
from bls.machine.platform import HostGroup
from bls.machine.switches import Switch
from bls.policies import AnyPolicy
from bls.workloads.workload import Workload
from traces.base.errors import PluginError
from traces.intervals import intervals_text

S = 10**9


def machine(*hosts: int, **more: Any) -> Platform:
    return Platform(tuple(HostGroup(1, cores, 1.0) for cores in hosts), **more)


def simulated(
    workload: Workload,
    platform: Platform,
    order: AnyPolicy,
    placed: str,
    said: Surroundings | None = None,
    **options: Any,
) -> list[tuple[int, str]]:
    workload, around = surround(workload, platform, said or Surroundings())
    options |= {"recorded": True, "circumstances": around}
    simulator = BatchSimulator(workload, platform, order, allocator(placed), **options)
    simulator.checks = 1
    while simulator.advance(1):
        pass
    found = column(simulator.state, "jobs.START")[: simulator.rows].tolist()
    return [(start, intervals_text(simulator.allocation(row))) for row, start in enumerate(found)]


def always(answer: Callable[[View], Any]) -> AnyPolicy:
    class Mine:
        name = "mine"

        def decide(self, view: View) -> Any:
            return answer(view)

    return Mine()


def places(cores: dict[int, Iterable[int] | None]) -> AnyPolicy:
    """Starts each job as it comes on these cores, or where the allocator says."""

    def answer(view: View) -> Iterator[Any]:
        for job in list(view.waiting):
            where = cores[job.job_id]
            yield job if where is None else (job, where)

    return always(answer)


def test_known_answers() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 2, 10), (3, 0, 10, 2, 10), (4, 20, 1, 7, 1)])
    cores: dict[int, Iterable[int] | None] = {1: [6, 0, 3], 2: None, 3: np.array([5, 4]), 4: range(7)}
    found = simulated(jobs, machine(4, 3), places(cores), "first-fit")
    # Job 2 is placed by the allocator among what job 1 has left.
    assert found == [(0, "0 3 6"), (0, "1-2"), (0, "4-5"), (20 * S, "0-6")]


def test_numbers_may_be_of_any_kind() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    for cores in ((1, 3), {3, 1}, np.array([3, 1], np.int8), iter([3, np.uint64(1)]), (k for k in (1, 3))):
        assert simulated(jobs, machine(4), places({1: cores}), "first-fit") == [(0, "1 3")]


JOBS = [(7, 0, 10, 3, 10), (8, 0, 10, 2, 10), (9, 1, 10, 1, 10)]
FREE: dict[int, Iterable[int] | None] = {7: [0, 1, 2], 8: [3, 4], 9: [5]}
GPUS = Platform((HostGroup(2, 4, 1.0, (("gpu", 2),)),), licences=(("solver", 1),))
HALVES = (Partition("low", hosts="0", default=True), Partition("high", hosts="1", swf_queues=(1,)))
LEAVES = (Switch("a", hosts="0-1"), Switch("b", hosts="2"), Switch("top", switches=("a", "b")))
WINDOWS = Path(__file__).with_name("tables").joinpath("named_cores_windows.toml").read_text("utf-8")

#: Machines, the allocator, and an option with the text of its file, or what it says.
MACHINES: dict[str, tuple[Platform, str, dict[str, str]]] = {
    "4+2": (machine(4, 2), "first-fit", {}),
    "failing": (machine(6, 2), "first-fit", {"failures": "host,down_s,up_s\n1,1,8\n"}),
    "halves": (machine(5, 2, partitions=HALVES), "first-fit", {}),
    "limited": (machine(4, 2, partitions=(Partition("one", default=True, max_running_jobs=1),)), "first-fit", {}),
    "cards": (GPUS, "first-fit", {"requests": "job_id,unit_cores,gpu,solver\n7,1,0,1\n8,2,1,0\n9,1,2,1\n"}),
    "whole": (machine(4, 2), "whole-host", {}),
    "switches": (Platform((HostGroup(3, 2, 1.0),), switches=LEAVES), "topology", {"switches": "1"}),
    "windows": (machine(4, 2), "first-fit", {"windows": WINDOWS}),
}


@pytest.mark.parametrize(("name", "named", "now_ns", "message", "jobs"), table_rows(__file__, "cores_that_cannot_be"))
def test_cores_that_cannot_be(
    name: str, named: dict[str, Any], now_ns: int, message: str, jobs: list[Any] | None, tmp_path: Path
) -> None:
    platform, placed, options = MACHINES[name]
    said = dict(options)
    for option, text in options.items():
        if "\n" in text:
            (tmp_path / option).write_text(text)
            said[option] = str(tmp_path / option)
    cores = FREE | {int(job): None if where == "anywhere" else where for job, where in named.items()}
    with pytest.raises(PluginError) as caught:
        simulated(Workload.from_jobs(jobs or JOBS), platform, places(cores), placed, Surroundings(**said))  # type: ignore[arg-type]
    assert re.fullmatch(rf"batch policy mine, at {now_ns} ns: decide\(\) {message}", str(caught.value)), caught.value


def test_high_cores_of_a_host_that_has_room_for_few_units(tmp_path: Path) -> None:
    # The allocator would be offered the lowest ones only.
    path = tmp_path / "r.csv"
    path.write_text("job_id,gpu\n1,1\n")
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    assert simulated(jobs, GPUS, places({1: [2, 3]}), "first-fit", Surroundings(requests=str(path))) == [(0, "2-3")]
    assert simulated(jobs, GPUS, places({1: None}), "first-fit", Surroundings(requests=str(path))) == [(0, "0-1")]


def test_whole_hosts_are_named_whole() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 5, 10)])
    cores: dict[int, Iterable[int] | None] = {1: range(6, 10), 2: range(6)}
    assert simulated(jobs, machine(4, 2, 4), places(cores), "whole-host") == [(0, "6-9"), (0, "0-5")]


def test_switches() -> None:
    platform, _, _ = MACHINES["switches"]
    jobs, said = [(7, 0, 10, 2, 10)], Surroundings(switches="1")
    for cores in ([0, 3], [4, 5]):
        named = places({7: cores})
        assert simulated(Workload.from_jobs(jobs), platform, named, "topology", said)[0][0] == 0

    def patient(view: View) -> Iterator[Any]:
        for job in view.waiting:
            if view.now_ns >= 5 * S:
                yield job, [0, 4]
            view.wake_after(1 * S)

    # Once it has waited for long enough, it accepts any number.
    rules = Rules(switch_wait_ns=5 * S)
    found = simulated(Workload.from_jobs(jobs), platform, always(patient), "topology", said, rules=rules)
    assert found == [(5 * S, "0 4")]


def test_a_job_that_waits_for_another_cannot_be_placed(tmp_path: Path) -> None:
    plain = {"submit_s": 0, "run_s": 10, "cores": 1}
    jobs = Workload.from_jobs([{"job_id": 1, **plain}, {"job_id": 2, **plain, "preceding": 1}])

    def answer(view: View) -> Any:
        return [(job, [job.job_id]) for job in (*view.waiting, *view.held)]

    with pytest.raises(PluginError, match=r"at 0 ns: decide\(\) gave job 2, which waits for job 1$"):
        simulated(jobs, machine(4), always(answer), "first-fit", Surroundings(dependencies=True))
