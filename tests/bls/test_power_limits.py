"""Limits to the power of the machine and of its parts: their definition, runs under them, by hand, and what is refused."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.power import Part, run
from tables import table_rows
from test_power import S, drawn, simulated

import bridge
from bls import ConstraintOptions, HostGroup, Platform, Rules, Workload
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition, Switch
from bls.power.limits import Limit, Limits, joined
from bls.power.options import Power
from bls.power.plan import PowerPlan
from bls.simulator import BatchSimulator
from bridge.scenarios.remarks import power_words
from bridge.standard_error import on_command_line
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS
from traces.intervals import intervals_text

NONE = -1


@st.composite
def limits_of(draw: st.DrawFn) -> Limits:
    found = []
    for _ in range(draw(st.integers(0, 12))):
        begin = draw(st.integers(0, 20))
        end, reaction = draw(st.sampled_from([*range(begin + 1, 24), MAX_NS])), draw(st.integers(0, 6))
        found.append(Limit(begin, end, draw(st.integers(0, 6)), reaction_ns=reaction))
    return Limits(tuple(found))


@settings(max_examples=200)
@given(limits_of())
def test_as_defined(limits: Limits) -> None:
    def in_force(now: int, later: int = -1, *, known: bool = True) -> int:
        begins = [(one.known_ns if known else one.begin_ns, one) for one in limits.limits]
        there = (one for begin, one in begins if begin <= now < one.end_ns and one.end_ns > later)
        return min((one.power_mw for one in there), default=NONE)

    every = range(30)
    assert limits.steps(every, NONE, known=False).tolist() == [in_force(now, known=False) for now in every]
    assert limits.steps(every, NONE, known=True).tolist() == [in_force(now) for now in every]
    stairs = limits.stairs
    for k, now in enumerate(limits.instants.tolist()):
        mine = slice(stairs.first[k], stairs.first[k + 1])
        until, power = stairs.until_ns[mine].tolist(), stairs.power_mw[mine].tolist()
        assert (until, power) == (sorted(set(until)), sorted(set(power)))
        # At each later instant, the lowest of the limits that are known now.
        for later in range(now, 30):
            lowest = next((mw for end, mw in zip(until, power, strict=True) if end > later), NONE)
            assert lowest == in_force(now, later)
    spans = joined((one.begin_ns, one.end_ns) for one in limits.limits)
    covered = {now for now in every if in_force(now, known=False) != NONE}
    assert {now for begin, end in spans for now in every if begin <= now < end} == covered
    assert all(one[1] < another[0] for one, another in pairwise(spans))


FOUR = Platform(
    (HostGroup(4, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),),
    switches=(Switch("left", hosts="0-1"), Switch("right", hosts="2-3")),
    partitions=(Partition("a", hosts="0-2", default=True), Partition("b", hosts="1-3", swf_partitions=(1,))),
)
PLAIN = Platform(FOUR.hosts)
RACKS = Platform(FOUR.hosts, switches=FOUR.switches)
SOME = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 1, 70, 2, 70), (3, 2, 50, 4, 50), (4, 30, 10, 2, 10)])


def ran(limits: Any, jobs: Workload = SOME, machine: Platform = FOUR, *, fallback: str = "hold", **more: Any) -> Any:
    power = Power(limits=limits, fallback=fallback)
    return bridge.simulate(jobs, machine, power=power, **{"als": "recorded"} | more)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *table_rows(__file__, "limits_that_cannot_be"),
        ([(None, 5, 1)], r"^limits\[0\]: from: None is not a whole number"),
        ([(0, 5, float("nan"))], r"^limits\[0\]: W: nan is out of range; allowed: 0 to 1e\+12"),
        ([(0, S, 300, 5)], r"^limits\[0\]: where: 5; allowed: a text, as partition:NAME"),
    ],
)
def test_limits_that_cannot_be(limits: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        Power(limits=limits)
    assert "\n" not in str(error.value)


def test_options_are_as_of_the_command_line_or_plain_values() -> None:
    assert Power(limits=[(0, 5, 1)], allowed=0.5).names()["allowed"] == "0.5"
    assert Power(limits=[(0, 5, 1)], allowed=1).names()["allowed"] == "1.0"
    found = ran(np.array([[0, 5, 300], [5, 9, 200]])).power
    assert found.plan.limits.limits == (Limit(0, 5, 300_000), Limit(5, 9, 200_000))
    fallbacks = "none, hold, submit, submit:state=1, dvfs, dvfs:slow=…, stop:idle, stop:off"
    options: tuple[tuple[dict[str, Any], str], ...] = (
        ({"allowed": 1.5}, "allowed=1.5: 1.5 is out of range; allowed: 0 to 1"),
        ({"allowed": None}, "allowed=None: None is not a number; allowed: 0 to 1"),
        ({"fallback": 5}, f"fallback: 5; allowed: {fallbacks}"),
        ({"signals": True}, "signals: True; allowed: a string or path"),
    )
    for option, message in options:
        with pytest.raises(InputError) as caught:
            Power(limits=[(0, 5, 1)], **option)
        assert str(caught.value) == message


def test_policies_that_respect_power_are_listed_briefly() -> None:
    machine = Platform((HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100)])
    said = repr(ran([(0, None, 150)], jobs, machine, fallback="dvfs").power)
    assert said.startswith("<power: energy 28 kJ, 28 kJ of it by jobs, power mean 140 W, at most 140 W")
    with pytest.raises(
        InputError, match=r"^power=5: unknown definition of active cores 5; known: none, held, working$"
    ):
        bridge.simulate(jobs, machine, als="recorded", power=5)


@pytest.mark.parametrize("fallback", ["hold", "submit", "dvfs:slow=fewest"])
def test_a_part_may_be_the_whole_machine(fallback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tables are as with a limit to the machine when single cores are tracked, for every allocator."""
    monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    tried = 0
    for seed in range(6):
        name, _, order = fallback.partition(":slow=")
        case = replace(drawn(seed, name), order=order or "together")
        if run(case) is None:
            continue
        allocator = random.Random(seed).choice(("first-fit", "best-fit", "worst-fit", "contiguous", "whole-host"))
        whole = Part(frozenset(range(case.machine.hosts)), case.limits)
        said = {"backfill": ("none", "easy", "2", "conservative")[seed % 4], "allocator": allocator}
        try:
            machine = simulated(case, tmp_path, **said)
        except InputError:  # whole hosts are wider, and the limit may be too low for them
            continue
        part = simulated(replace(case, limits=(), parts=(whole,)), tmp_path, **said)
        pd.testing.assert_frame_equal(machine.jobs, part.jobs, check_exact=True)
        assert machine.power is not None
        assert part.power is not None
        columns = part.power_of_domains
        assert (columns["power_mw"] == part.power.series.at(columns["instant_ns"].to_numpy())).all()
        spans, instants = [(one.begin, one.end, one.power) for one in case.limits], columns["instant_ns"].tolist()
        lowest = [min((mw for begin, end, mw in spans if begin <= at < end), default=NONE) for at in instants]
        assert columns["limit_mw"].tolist() == lowest
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


#: Whole W of GPUs, by group.
_OF_GPUS = (((1, 50), (0.8, 30)), ((1, 20),))


@pytest.mark.parametrize(
    ("allocator", "fallback", "charged", "gpus"), table_rows(__file__, "starting_jobs_exceed_no_limit")
)
def test_starting_jobs_exceed_no_limit(
    allocator: str, fallback: str, charged: bool, gpus: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On unlike hosts, with limits for ever; decisions may take time. The engine's own account is checked at each step."""
    groups = [
        replace(group, gpus=2, power=replace(group.power, gpu_states=states))
        for group, states in zip(UNLIKE.hosts, _OF_GPUS, strict=True)
    ]
    machine, constraints = replace(UNLIKE, hosts=tuple(groups)) if gpus else UNLIKE, ConstraintOptions()
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    tried = 0
    for seed in range(4):
        chance = random.Random(f"{seed} {allocator} {fallback}")
        widest = 2 if gpus or allocator == "contiguous" else 4
        rows = [(k, chance.randint(0, 40), chance.randint(1, 30), chance.randint(1, widest), 30) for k in range(1, 30)]
        limits = [(0, None, 900), (0, None, chance.choice((350, 450)), "switch:s0")]
        limits += [(0, None, chance.choice((300, 330)), "hosts:2-3"), (0, None, 500, "switch:s1")]
        backfill = chance.choice(("none", "easy", "conservative"))
        rules = Rules(backfill, decision_cost_ns=S if charged else None)
        jobs = Workload.from_jobs(sorted(rows, key=lambda row: row[1]))
        if gpus:
            asked = [f"{k},{chance.choice(('1,,300', '2,,', ',1,', ',1,500', ',,'))}\n" for k in range(1, 30)]
            (tmp_path / "gpus.csv").write_text("job_id,gpus_per_host,gpus_per_task,gpu_milli\n" + "".join(asked))
            constraints = ConstraintOptions(requests=str(tmp_path / "gpus.csv"))
        said: dict[str, Any] = {"allocator": allocator, "rules": rules, "constraints": constraints}
        try:
            found = ran(limits, jobs, machine, fallback=fallback, **said)
        except InputError as error:  # four cores in a row, or on one switch, are not left
            if allocator not in ("contiguous", "topology", "whole-host") or "stuck at" not in str(error):
                raise
            continue
        assert found.power.excesses == []
        domains = found.power_of_domains
        assert (domains["power_mw"] <= domains["limit_mw"]).all()
        tried += int((domains["power_mw"] > domains["limit_mw"] - 60_000).any())
    assert tried > 0


def test_a_file_and_shares(tmp_path: Path) -> None:
    """Parts by their names, in order of first appearance; a share refers to the power of their hosts."""
    path = tmp_path / "limits.csv"
    path.write_text(
        "where,from,to,limit_w\nswitch:right,0,10,50%\npartition:b,5,,75%\n,0,,900\nhosts:0 2-3,0,9,1\nswitch:right,10,20,300\n"
    )
    power = ran(path, fallback="none").power
    assert [one.power_mw for one in power.plan.limits.limits] == [900_000]
    found = [(one.name, one.idle_mw, one.full_mw, [i.power_mw for i in one.limits.limits]) for one in power.plan.parts]
    assert found == [
        ("switch:right", 200_000, 400_000, [200_000, 300_000]),
        ("partition:b", 300_000, 600_000, [450_000]),
        ("hosts:0 2-3", 300_000, 600_000, [1000]),
    ]
    record = power.record()
    assert record["domains"]["switch:right"]["limits"] == [[0, 10 * S, 200], [10 * S, 20 * S, 300]]
    assert {one.get("where") for one in record["above_limit"]} == {"partition:b", "hosts:0 2-3"}
    spans = [(one.begin_ns // S, one.end_ns // S, one.above_mw / 1000) for one in power.excesses]
    assert power.metrics["above_limit_ns"] == len({at for begin, end, _ in spans for at in range(begin, end)}) * S
    assert power.metrics["above_limit_j"] == sum((end - begin) * above for begin, end, above in spans)


@pytest.mark.parametrize(("name", "where", "message"), table_rows(__file__, "parts_that_cannot_be"))
def test_parts_that_cannot_be(name: str, where: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "limits.csv"
    path.write_text(f"from,to,limit_w,where\n0,1,50%,{where}\n")
    of_file = message.replace("limits: where", f"{path}: line 2: where")
    for limits, said in (([(0, S, 300, where)], message), (path, of_file)):
        with pytest.raises(InputError) as error:
            ran(limits, machine={"four": FOUR, "plain": PLAIN}[name], fallback="none")
        assert str(error.value).startswith(said)
        assert "\n" not in str(error.value)


def test_without_features_that_declare_domains_only_the_machine_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bls.power.plan.FACTS", ())
    assert ran([(0, S, 300)], fallback="none").power.plan.parts == ()
    with pytest.raises(
        InputError, match=r"^limits: where: 'hosts:0'; allowed: nothing, as no part of the machine is known"
    ):
        ran([(0, S, 300, "hosts:0")], fallback="none")


@pytest.mark.parametrize(
    ("fallback", "resize", "message"), table_rows(__file__, "features_that_conflict_with_limits_of_parts")
)
def test_features_that_conflict_with_limits_of_parts(fallback: str, resize: str | None, message: str) -> None:
    more: dict[str, Any] = {}
    if resize is not None:
        more = {"als": "gss", "rules": Rules(resize=resize), "constraints": ConstraintOptions(malleable="1")}
    with pytest.raises(InputError, match=message + r" to parts of the machine \(hosts:0\)"):
        ran([(0, S, 300.0, "hosts:0")], machine=PLAIN, fallback=fallback, **more)


def test_a_job_that_never_fits_a_part_is_named() -> None:
    jobs = replace(SOME, partition=np.array([1, 1, 1, 1]))
    words = (
        r"stuck at job 3, .*permanent power limits, 350 W of partition:b, leave too few cores for it even on the idle"
    )
    with pytest.raises(InputError, match=words):
        ran([(10 * S, None, 350, "partition:b"), (0, 9 * S, 300, "switch:left")], jobs, backfill="easy")


def test_limits_below_the_idle_power_of_a_part_are_reported() -> None:
    limits = [
        (0, S, 199, "switch:left"),
        (0, S, 200, "switch:left"),
        (0, S, 250, "switch:right"),
        (0, S, 90, "hosts:3"),
    ]
    found = ran(limits)
    assert list(map(on_command_line, power_words(found.scenario))) == [
        "--limits: switch:left: 1 of 2 cannot be kept: idle it draws 200 W, and the lowest is 199 W",
        "--limits: hosts:3: 1 of 1 cannot be kept: idle it draws 100 W, and the lowest is 90 W",
    ]
    excesses = {(one.reason, one.where) for one in found.power.excesses}
    assert excesses == {("infeasible", "switch:left"), ("infeasible", "hosts:3")}


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
    limits = [(0, 200 * S, 300, "switch:left")]
    assert cores_of(ran(limits, jobs, RACKS, bls=Names({1: None, 2: None}))) == ["0-1", "4-5"]
    assert ran(limits, jobs, RACKS, bls=Names({1: [0, 2], 2: [4, 5]})).jobs.start_ns.tolist() == [0, 0]
    words = (
        r"gave job 2, which would draw 50 W more than idle cores; under the limit to power of switch:left 0 W are left$"
    )
    with pytest.raises(PluginError, match=words):
        ran(limits, jobs, RACKS, bls=Names({1: [0, 2], 2: [3, 4]}))


def test_units_are_whole_and_on_hosts_with_power(tmp_path: Path) -> None:
    """Units of two cores: 150 W are left of a pair of hosts, for three cores, and so for one unit; the other is elsewhere."""
    jobs, requests = Workload.from_jobs([(1, 0, 10, 4, 10)]), tmp_path / "requests.csv"
    requests.write_text("job_id,unit_cores\n1,2\n")
    constraints = {"constraints": ConstraintOptions(requests=requests)}
    for said, cores in ((constraints, "0-1 4-5"), ({"allocator": "whole-host"}, "0-1 4-5"), ({}, "0-2 4")):
        assert cores_of(ran([(0, None, 350, "hosts:0-1")], jobs, PLAIN, **said)) == [cores]
