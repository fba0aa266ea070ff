"""Policies and schedulers that decide themselves, under a limit to power, which they receive and must keep."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from directing import changed_toy
from test_power_runs import S

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.options import Power
from traces.base.errors import PeerError, PluginError

POWER = HostPower(10, [(1, 100), (0.5, 40)])
#: 40 W idle; a core that works draws 90 W more, or 30 W in its slower state.
MACHINE = Platform((HostGroup(1, 4, 4.0, power=POWER),))
LIMIT = [(0, 100 * S, 300.0)]
#: Of two cores and of one; together they would draw 270 W more than idle cores, and 260 W are left.
JOBS = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 0, 20, 1, 20)])


class Sees:
    """Starts what fits, and notes what it sees of power: instant, limit, what is left, and what each waiting job would draw."""

    name = "sees"

    def __init__(self) -> None:
        self.seen: list[tuple[int, float | None, float | None, list[float | None]]] = []

    def decide(self, view: Any) -> Iterator[Any]:
        waiting, left = list(view.waiting), view.power_left_w
        self.seen.append((view.now_ns // S, view.power_limit_w, left, [view.power_of(job) for job in waiting]))
        for job in waiting:
            if left is None or view.power_of(job) <= left:
                left = None if left is None else left - view.power_of(job)
                yield job


@pytest.mark.parametrize(
    ("fallback", "starts", "seen"),
    [
        ("hold", [0, 10], [(0, 300, 260, [180, 90]), (10, 300, 260, [90])]),
        ("dvfs", [0, 0], [(0, 300, 260, [60, 30])]),
        ("none", [0, 0], [(0, None, None, [None, None])]),
        ("stop:idle", [100, 100], [(0, None, None, [None, None])]),
    ],
)
def test_what_a_policy_sees(fallback: str, starts: list[int], seen: list[Any]) -> None:
    policy = Sees()
    power = Power(limits=LIMIT, fallback=fallback)
    if fallback == "stop:idle":
        with pytest.raises(PluginError, match=r"gave job 1, which does not fit: it requests 2 cores, and 0 are free$"):
            bridge.simulate(JOBS, MACHINE, bls=policy, als="recorded", power=power)
    else:
        found = bridge.simulate(JOBS, MACHINE, bls=policy, als="recorded", power=power)
        assert (found.jobs.start_ns // S).tolist() == starts
    assert [one for one in policy.seen if one[3]] == seen


class Starts:
    """Starts all that wait, where it names cores on these, one job after the other."""

    name = "starts"

    def __init__(self, cores: list[int] | None = None) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Iterator[Any]:
        left = list(self.cores or ())
        for job in view.waiting:
            yield (job, [left.pop(0) for _ in range(job.cores)]) if self.cores else job


@pytest.mark.parametrize(("cores", "als"), [(None, "recorded"), ([0, 1, 2], "ss")])
def test_what_does_not_fit_is_said(cores: list[int] | None, als: str) -> None:
    power = Power(limits=LIMIT, fallback="hold")
    message = (
        r"decide.. gave job 2, which would draw 90 W more than idle cores; under the limit to power 80 W are left$"
    )
    with pytest.raises(PluginError, match=message):
        bridge.simulate(JOBS, MACHINE, bls=Starts(cores), als=als, power=power)


def test_cores_of_unlike_hosts_draw_what_they_do() -> None:
    """Two hosts of two cores; those of the second draw 290 W more. 230 W are left: for two of the first, for none of these."""
    machine = Platform((HostGroup(1, 2, 2.0, power=POWER), HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 300)]))))
    power = Power(limits=[(0, 100 * S, 270.0)], fallback="hold")
    workload = Workload.from_jobs([(1, 0, 10, 2, 10)])
    found = bridge.simulate(workload, machine, bls=Starts([0, 1]), als="recorded", power=power)
    assert found.jobs.start_ns.tolist() == [0]
    with pytest.raises(PluginError, match=r"gave job 1, which would draw 380 W more than idle .* 230 W are left$"):
        bridge.simulate(workload, machine, bls=Starts([1, 2]), als="recorded", power=power)

    class OfCores:
        name = "of-cores"

        def decide(self, view: Any) -> Iterator[Any]:
            for job in view.waiting:
                assert [view.power_of(job), view.power_of(job, [1, 2]), view.power_of(job, [2, 3])] == [180, 380, 580]
                yield job

    assert bridge.simulate(workload, machine, bls=OfCores(), als="recorded", power=power).jobs.start_ns.tolist() == [0]


#: The toy in Python, which looks at power; and one that starts only what it is enough for.
LOOKS = {
    "def decide():\n": 'def decide():\n    assert message["power_left_mw"] == 260_000, message\n',
    '    elif kind == "submitted":\n': '    elif kind == "submitted":\n'
    '        assert message["power_mw"] == 90_000 * message["cores"], message\n',
}


def test_another_program_receives_it_and_must_keep_it(tmp_path: Path) -> None:
    said: dict[str, Any] = {"als": "ss", "coupling": "pool", "power": Power(limits=LIMIT, fallback="hold")}
    message = r"^scheduler .*, at 0 ns: it gave job 2, which would draw 90 W more than idle cores; .* 80 W are left$"
    with pytest.raises(PeerError, match=message):
        bridge.simulate(JOBS, MACHINE, bls_command=changed_toy(tmp_path, LOOKS), **said)
    alone = Workload.from_jobs([(1, 0, 10, 2, 10)])
    found = bridge.simulate(alone, MACHINE, bls_command=changed_toy(tmp_path, LOOKS), **said)
    assert found.jobs.start_ns.tolist() == [0]
