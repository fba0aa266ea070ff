"""Limits to the power of parts of the machine: against the slow reference, as machines of their own, by hand, and bad input."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.power import Part, run
from tables import table_rows
from test_power import S, drawn, simulated

import bridge
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition
from bls.machine.switches import Switch
from bls.power.options import PowerOptions, PowerPlan
from bls.simulator import BatchSimulator
from bridge.scenarios.power_words import power_words
from traces.base.errors import InputError, PluginError
from traces.intervals import intervals_text


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)


@pytest.mark.parametrize("fallback", ["hold", "submit", "dvfs:slow=fewest"])
def test_a_part_may_be_the_whole_machine(fallback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where cores are told apart: all tables are the same, whatever the allocator."""
    monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    tried = 0
    for seed in range(8):
        name, _, order = fallback.partition(":slow=")
        case = replace(drawn(seed, name), order=order or "together")
        if run(case) is None:
            continue
        allocator = random.Random(seed).choice(("first-fit", "best-fit", "worst-fit", "contiguous", "whole-host"))
        whole = Part(frozenset(range(case.machine.hosts)), case.limits)
        said = {"backfill": ("none", "easy", "2", "conservative")[seed % 4], "allocator": allocator}
        try:
            machine = simulated(case, tmp_path, **said)
        except InputError:  # it needs a limit that is less, as whole hosts are wider
            continue
        part = simulated(replace(case, limits=(), parts=(whole,)), tmp_path, **said)
        pd.testing.assert_frame_equal(machine.jobs, part.jobs, check_exact=True)
        assert machine.power is not None
        assert part.power is not None
        columns = part.power.domain_columns
        assert (columns["power_mw"] == part.power.series.at(columns["instant_ns"])).all()
        table = machine.power.columns
        limits = dict(zip(table["instant_ns"].tolist(), table["limit_mw"].tolist(), strict=True))
        for at, limit in zip(columns["instant_ns"].tolist(), columns["limit_mw"].tolist(), strict=True):
            assert limits.get(at, limit) == limit
        for name in ("above_limit_ns", "above_limit_j", "mean_power_in_limits_w", "energy_j", "mean_run_allowed_ns"):
            assert machine.metrics[name] == part.metrics[name]
        assert [one[:4] for one in machine.power.excesses] == [one[:4] for one in part.power.excesses]
        tried += 1
    assert tried > 2


UNLIKE = Platform(
    (
        HostGroup(2, 2, 2.0, resources=(("memory", 8),), power=HostPower(10, [(1, 100), (0.5, 60)], base_w=20)),
        HostGroup(3, 4, 4.0, resources=(("memory", 16),), power=HostPower(20, [(1, 80), (0.75, 60), (0.5, 50)])),
    ),
    switches=(Switch("s0", hosts="0-2"), Switch("s1", hosts="3-4"), Switch("top", switches=("s0", "s1"))),
)


@pytest.mark.parametrize(
    ("allocator", "fallback"),
    [("best-fit", "hold"), ("contiguous", "dvfs"), ("topology", "dvfs:slow=least-sensitive"), ("whole-host", "hold")],
)
def test_no_limit_is_exceeded_by_who_starts(allocator: str, fallback: str, checked: None) -> None:
    """On unlike hosts, whatever is planned: what is drawn fits all limits, which hold for ever, from the beginning on; and all
    instants are checked by the engine's own account."""
    tried = 0
    for seed in range(4):
        chance = random.Random(f"{seed} {allocator} {fallback}")
        widest = 2 if allocator == "contiguous" else 4
        rows = [(k, chance.randint(0, 40), chance.randint(1, 30), chance.randint(1, widest), 30) for k in range(1, 30)]
        limits = [
            (0, None, 900),
            (0, None, chance.choice((350, 450)), "switch:s0"),
            (0, None, chance.choice((300, 330)), "hosts:2-3"),
            (0, None, 500, "switch:s1"),
        ]
        power = PowerOptions(limits=limits, fallback=fallback)
        said = {"als": "recorded", "allocator": allocator, "backfill": chance.choice(("none", "easy", "conservative"))}
        try:
            found = bridge.simulate(
                Workload.from_jobs(sorted(rows, key=lambda row: row[1])), UNLIKE, power=power, **said
            )
        except InputError as error:  # four cores in a row, or on one switch, are not left
            if allocator not in ("contiguous", "topology", "whole-host") or "stuck at" not in str(error):
                raise
            continue
        assert found.power is not None
        assert found.power.excesses == []
        domains = found.power.domain_columns
        assert (domains["power_mw"] <= domains["limit_mw"]).all()
        tried += int((domains["power_mw"] > domains["limit_mw"] - 60_000).any())
    assert tried > 0


FOUR = Platform(
    (HostGroup(4, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),),
    switches=(Switch("left", hosts="0-1"), Switch("right", hosts="2-3")),
    partitions=(Partition("a", hosts="0-2", default=True), Partition("b", hosts="1-3", swf_partitions=(1,))),
)
PLAIN = Platform((HostGroup(4, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
SOME = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 1, 70, 2, 70), (3, 2, 50, 4, 50), (4, 30, 10, 2, 10)])


def test_a_file_and_shares(tmp_path: Path) -> None:
    """Of parts by their names, in the order in which they are named first; a share is of what their hosts draw."""
    path = tmp_path / "limits.csv"
    path.write_text(
        "where,from,to,limit_w\nswitch:right,0,10,50%\npartition:b,5,,75%\n,0,,900\nhosts:0 2-3,0,9,1\nswitch:right,10,20,300\n"
    )
    power = bridge.simulate(SOME, FOUR, als="recorded", power=PowerOptions(limits=path)).power
    assert power is not None
    plan = power.plan
    assert [one.power_mw for one in plan.limits.limits] == [900_000]
    found = {one.name: [limit.power_mw for limit in one.limits.limits] for one in plan.domains}
    assert found == {"switch:right": [200_000, 300_000], "partition:b": [450_000], "hosts:0 2-3": [1000]}
    assert [(one.idle_mw, one.full_mw) for one in plan.domains] == [
        (200_000, 400_000), (300_000, 600_000), (300_000, 600_000),
    ]  # fmt: skip
    record = power.record()
    assert record["domains"]["switch:right"]["limits"] == [[0, 10 * S, 200], [10 * S, 20 * S, 300]]
    assert {one.get("where") for one in record["above_limit"]} == {"partition:b", "hosts:0 2-3"}
    spans = [(one.begin_ns // S, one.end_ns // S, one.above_mw / 1000) for one in power.excesses]
    assert power.metrics["above_limit_ns"] == len({at for begin, end, _ in spans for at in range(begin, end)}) * S
    assert power.metrics["above_limit_j"] == sum((end - begin) * above for begin, end, above in spans)


@pytest.mark.parametrize(("name", "where", "message"), table_rows(__file__, "parts_that_cannot_be"))
def test_parts_that_cannot_be(name: str, where: str, message: str, tmp_path: Path) -> None:
    platform = {"four": FOUR, "plain": PLAIN}[name]
    path = tmp_path / "limits.csv"
    path.write_text(f"from,to,limit_w,where\n0,1,50%,{where}\n")
    of_file = message.replace("limits: where", f"{path}: line 2: where")
    for limits, said in (([(0, S, 300, where)], message), (path, of_file)):
        with pytest.raises(InputError) as error:
            bridge.simulate(SOME, platform, als="recorded", power=PowerOptions(limits=limits))
        assert str(error.value).startswith(said)
        assert "\n" not in str(error.value)


def test_files_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "limits.csv"
    for header in ("from,to,limit_w,part", "from,to,where", "from,to,limit_w,where,where"):
        path.write_text(f"{header}\n")
        with pytest.raises(InputError, match=r"the columns are '.*'; allowed: from,to,limit_w, and where$"):
            bridge.simulate(SOME, FOUR, als="recorded", power=PowerOptions(limits=path))
    with pytest.raises(InputError, match=r"^limits\[0\]: where: 5; allowed: a text, as partition:NAME"):
        PowerOptions(limits=[(0, S, 300, 5)])  # type: ignore[list-item]


def test_what_cannot_be_with_parts() -> None:
    limits = [(0, S, 300.0, "hosts:0")]
    malleable = Surroundings(malleable="1")
    options: list[tuple[str, str, dict[str, Any]]] = [
        ("stop:idle", r"fallback=.stop:.*: not with limits", {}),
        ("stop:off", r"fallback=.stop:.*: not with limits", {}),
        ("hold", "not with .*resize.*mold.* and limits", {"rules": Rules(resize="mold"), "surroundings": malleable}),
        (
            "hold",
            "not with .*resize.*expand.* and limits",
            {"rules": Rules(resize="expand"), "surroundings": malleable},
        ),
    ]
    for fallback, message, more in options:
        power = PowerOptions(limits=limits, fallback=fallback)
        with pytest.raises(InputError, match=message + r" to parts of the machine \(hosts:0\)"):
            bridge.simulate(SOME, PLAIN, als="gss" if more else "recorded", power=power, **more)


def test_a_job_that_never_fits_a_part_is_named() -> None:
    jobs = replace(SOME, partition=np.array([1, 1, 1, 1]))
    power = PowerOptions(limits=[(10 * S, None, 350, "partition:b"), (0, 9 * S, 300, "switch:left")], fallback="hold")
    words = r"stuck at job 3, .*hold for ever, 350 W of partition:b, leave too few cores for it even on the idle"
    with pytest.raises(InputError, match=words):
        bridge.simulate(jobs, FOUR, als="recorded", power=power, backfill="easy")


def test_limits_below_what_a_part_draws_idle_are_said() -> None:
    limits = [
        (0, S, 199, "switch:left"),
        (0, S, 200, "switch:left"),
        (0, S, 250, "switch:right"),
        (0, S, 90, "hosts:3"),
    ]
    found = bridge.simulate(SOME, FOUR, als="recorded", power=PowerOptions(limits=limits, fallback="hold"))
    assert list(power_words(found.scenario)) == [
        "--limits: switch:left: 1 of 2 cannot be kept: idle it draws 200 W, and the lowest is 199 W",
        "--limits: hosts:3: 1 of 1 cannot be kept: idle it draws 100 W, and the lowest is 90 W",
    ]
    assert found.power is not None
    assert {(one.reason, one.where) for one in found.power.excesses} == {
        ("infeasible", "switch:left"), ("infeasible", "hosts:3"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fallback", "backfill"), [("hold", "none"), ("submit:state=1", "easy"), ("hold", "conservative")]
)
def test_decisions_that_take_time(fallback: str, backfill: str, checked: None) -> None:
    """What starts fits what was known as the decision began; with limits for ever none is exceeded."""
    chance = random.Random(f"{fallback} {backfill}")
    rows = [(k, 3 * k, chance.randint(1, 40), chance.randint(1, 2), 40) for k in range(1, 40)]
    limits = [(0, None, 300, "switch:left"), (0, None, 280, "switch:right"), (0, None, 550)]
    rules = Rules(backfill, charge_decisions=True, decision_cost_ns=S)
    power = PowerOptions(limits=limits, fallback=fallback)
    found = bridge.simulate(Workload.from_jobs(rows), FOUR, als="recorded", power=power, rules=rules)
    assert found.power is not None
    assert found.power.excesses == []
    assert found.metrics["peak_power_w"] > 450


def cores_of(found: bridge.Result) -> list[str]:
    jobs = found.ledger.jobs
    return [intervals_text(jobs.allocation(row)) for row in range(len(jobs))]


class Names:
    name = "names"

    def __init__(self, cores: dict[int, list[int] | None]) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Iterator[Any]:
        for job in view.waiting:
            cores = self.cores[job.job_id]
            yield job if cores is None else (job, cores)


def test_a_policy_is_held_to_limits_of_parts() -> None:
    """200 of 300 W of ``left`` are idle: there is power for two cores; named ones are refused, chosen ones are elsewhere."""
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 70, 2, 70)])
    power = PowerOptions(limits=[(0, 200 * S, 300, "switch:left")], fallback="hold")
    said = {"als": "recorded", "power": power}
    found = bridge.simulate(jobs, PLAIN_WITH_RACKS, bls=Names({1: None, 2: None}), **said)
    assert cores_of(found) == ["0-1", "4-5"]
    assert bridge.simulate(
        jobs, PLAIN_WITH_RACKS, bls=Names({1: [0, 2], 2: [4, 5]}), **said
    ).jobs.start_ns.tolist() == [0, 0]
    with pytest.raises(
        PluginError,
        match=r"gave job 2, which would draw 50 W more than idle cores; under the limit to power of switch:left 0 W are left$",
    ):
        bridge.simulate(jobs, PLAIN_WITH_RACKS, bls=Names({1: [0, 2], 2: [3, 4]}), **said)


PLAIN_WITH_RACKS = Platform(PLAIN.hosts, switches=FOUR.switches)


def test_units_are_whole_and_on_hosts_with_power(tmp_path: Path) -> None:
    """Units of two cores: 150 W are left of a pair of hosts, for three cores, and so for one unit; the other is elsewhere."""
    power = PowerOptions(limits=[(0, None, 350, "hosts:0-1")], fallback="hold")
    jobs = Workload.from_jobs([(1, 0, 10, 4, 10)])
    requests = tmp_path / "requests.csv"
    requests.write_text("job_id,unit_cores\n1,2\n")
    for said in ({"surroundings": Surroundings(requests=requests)}, {"allocator": "whole-host"}):
        found = bridge.simulate(jobs, PLAIN, als="recorded", power=power, **said)
        assert cores_of(found) == ["0-1 4-5"]
    plain = bridge.simulate(jobs, PLAIN, als="recorded", power=power)
    assert cores_of(plain) == ["0-2 4"]
