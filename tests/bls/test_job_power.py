"""Jobs that draw more or less than the platform says, and whose time depends less on the speed of their cores."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.job_power import JobPower, power_classes
from bls.power.options import PowerOptions
from bls.power.table import power_table
from traces.base.errors import InputError

S = 10**9
BILLION = 10**9
MACHINE = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
THREE = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(0, BILLION)), min_size=1, max_size=6), st.randoms())
def test_classes_are_those_of_whole_numbers(jobs: list[tuple[int, int]], chance: random.Random) -> None:
    speeds = sorted({1.0, *(chance.randint(1, 1000) / 1000 for _ in range(4))}, reverse=True)
    states = [(speed, 50 + 10 * (len(speeds) - k)) for k, speed in enumerate(speeds)]
    machine = Platform(
        (HostGroup(2, 2, 2.0, power=HostPower(20, states)), HostGroup(1, 1, 1.0, power=HostPower(3, [(1, 9)])))
    )
    table = power_table(machine, "")
    power, memory = np.array(jobs, np.int64).T
    found = power_classes(table, JobPower(power, memory, ("power", "memory_bound")), np.arange(len(jobs)))
    assert (found.speed[0] == table.speed).all()
    assert (found.active_mw[0] == table.active_mw).all()
    assert len(found.speed) == len({*jobs, (BILLION, 0)})
    for row, (factor, share) in enumerate(jobs):
        kind = found.kind[row]
        for group, idle in enumerate((20_000, 3000)):
            before = BILLION + 1
            for at in range(table.n_states):
                mw, speed = int(table.active_mw[at, group]), int(table.speed[at, group])
                assert found.active_mw[kind, at, group] == floor(
                    idle + (mw - idle) * Fraction(factor, BILLION) + Fraction(1, 2)
                )
                m, f = Fraction(share, BILLION), Fraction(speed, BILLION)
                exact = floor(BILLION / ((1 - m) / f + m) + Fraction(1, 2))
                again = at > 0 and speed == table.speed[at - 1, group]
                assert found.speed[kind, at, group] == (before if again else min(exact, before - 1))
                before = int(found.speed[kind, at, group])


def test_columns_are_as_a_file_and_gaps_as_the_platform_says(tmp_path: Path) -> None:
    """A DataFrame, arrays, lists and a file. A gap is an empty field, NaN of a frame, None of a list, or NA of a column of
    whole numbers; more than nine places are rounded."""
    path = tmp_path / "power.csv"
    path.write_text("job_id,power,memory_bound\n1,0.5,0.25\n3,1.25,1\n")
    frame = pd.read_csv(path)
    options = [PowerOptions(job_power=one) for one in (path, frame, {name: frame[name].to_numpy() for name in frame})]
    first, *others = [bridge.simulate(THREE, MACHINE, als="recorded", power=one) for one in options]
    for one in others:
        pd.testing.assert_frame_equal(one.jobs, first.jobs, check_exact=True)
    assert [one.names()["job_power"] for one in options[:2]] == [str(path), frame.to_dict("list")]
    columns: dict[str, Any] = {"job_id": [1, 2], "power": [0.1234567894, None], "memory_bound": [float("nan"), 0.5]}
    frame = pd.DataFrame(columns)
    for given_one in (columns, frame, frame.assign(power=frame.power.astype("Float64"))):
        found = bridge.simulate(THREE, MACHINE, als="recorded", power=PowerOptions(job_power=given_one))
        assert found.jobs.power.tolist() == [0.123456789, 1, 1]
        assert found.jobs.memory_bound.tolist() == [0, 0.5, 0]


def test_by_hand(tmp_path: Path) -> None:
    """Two hosts of two cores, idle 50 W, at full speed 100 W, at half of it 70 W; from 20 to 80 s 300 W, or two cores at 100 W.

    Job 1 draws a tenth of the 50 W beyond idle ones, 5 W a core, job 2 twice as much, 100 W. With hold nobody is slowed, and
    at 60 s jobs 1 and 3 would draw 200 + 10 + 100 W. With dvfs jobs 1 and 2 draw 200 + 10 + 200 W at 20 s, or slowed
    200 + 4 + 80 W: so they are, job 2 at 1 / (0.5 / 0.5 + 0.5) of full speed, rounded to 666,666,667 parts per billion: its
    last 40 s take 30 ns less than 60 s. Then job 3 starts, and is slowed with job 1 for these 30 ns.
    """
    path = tmp_path / "power.csv"
    path.write_text("job_id,power,memory_bound\n1,0.1,\n2,2,0.5\n")
    ends, energies, above = {}, {}, {}
    for fallback in ("hold", "dvfs"):
        power = PowerOptions(limits=[(20 * S, 80 * S, 300)], fallback=fallback, job_power=path)
        found = bridge.simulate(THREE, MACHINE, als="recorded", power=power)
        assert found.power is not None
        ends[fallback], energies[fallback] = found.jobs.end_ns.tolist(), found.jobs.energy_j.tolist()
        above[fallback] = [(one.begin_ns // S, one.above_mw, one.reason) for one in found.power.excesses]
        assert found.jobs.power.tolist() == [0.1, 2, 1]
        assert found.jobs.memory_bound.tolist() == [0, 0.5, 0]
    assert ends["hold"] == [100 * S, 60 * S, 120 * S]
    assert energies["hold"] == [2 * 55 * 100, 2 * 150 * 60, 2 * 100 * 40]
    assert above["hold"] == [(20, 110_000, "running")]
    assert ends["dvfs"] == [130 * S, 80 * S - 30, 120 * S - 15]
    assert energies["dvfs"][1] == 2 * (150 * 20 * S + 90 * (60 * S - 30)) / S
    assert above["dvfs"] == []


def test_a_policy_that_scales_by_hand() -> None:
    """Of a job three quarters of which no speed changes, at 0.9 of full speed: half of a core's own speed is 0.8 of it by 1 /
    (0.25 / 0.5 + 0.75), which is too slow; at 0.8 it is enough, and draws 50 + 20 W."""

    class Scales:
        name = "scales"
        directs = "speeds"

        def __init__(self, factor: float) -> None:
            self.factor = factor

        def decide(self, view: Any) -> Any:
            for job in view.waiting:
                view.scale(job, self.factor)
                yield job

    job = Workload.from_jobs([(1, 0, 28, 2, 28)])
    for factor, watts in ((0.9, 100), (0.8, 70)):
        power = PowerOptions(job_power={"job_id": [1], "memory_bound": [0.75]})
        found = bridge.simulate(job, MACHINE, bls=Scales(factor), als="recorded", power=power)
        assert found.jobs.end_ns.tolist() == [round(28 / factor * S)]
        assert found.jobs.energy_j[0] == pytest.approx(2 * watts * 28 / factor, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "3; allowed: a CSV file, or columns as"),
        ({"job_id": [1]}, "1 of job_id; allowed: as many of job_id as of power or memory_bound"),
        ({"job_id": [1], "power": [1, 2]}, "1 of job_id, 2 of power; allowed"),
        ({"job_id": [1], "watts": [1]}, "unknown column 'watts'"),
        ({"job_id": [1], "power": "1"}, "power: '1'; allowed"),
        ({"job_id": [1], "power": [11]}, "power[0]: 11 is out of range; allowed: 0 to 10"),
        ({"job_id": [1], "memory_bound": [2]}, "memory_bound[0]: 2 is out of range; allowed: 0 to 1"),
        ({"job_id": [1, 1], "power": [1, 1]}, "job_id[1]: job 1 is there twice"),
        ({"job_id": [7], "power": [1]}, "job_id[0]: job 7 is not in jobs"),
    ],
)
def test_columns_that_cannot_be_used(given: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        bridge.simulate(THREE, MACHINE, als="recorded", power=PowerOptions(job_power=given))
    assert str(caught.value).startswith(f"job_power: {message}")
    with pytest.raises(InputError, match="a file of job_id, power and memory_bound"):
        bridge.simulate(THREE, MACHINE, als="recorded", power=PowerOptions(job_power=tmp_path))


def test_a_machine_that_could_draw_too_much() -> None:
    """10¹⁵ W are allowed, and a job that draws three times as much is named."""
    machine = Platform((HostGroup(1000, 1000, 1.0, power=HostPower(1, [(1, 10**9)])),))

    def start(job: int, power: float, **options: Any) -> int:
        made = PowerOptions(job_power={"job_id": [job], "power": [power]}, **options)
        return int(
            bridge.simulate(THREE, machine, als="recorded", backfill="conservative", power=made).jobs.start_ns.max()
        )

    start(1, 1.1)
    with pytest.raises(InputError, match=r"cores draw as those of job 2 do, of power 3, the platform's hosts draw"):
        start(2, 3)
    assert start(1, 1.15, limits=[(0, 10 * S, 10**12)], fallback="hold") == 10 * S


@pytest.mark.parametrize("backfill", ["none", "easy", "2", "conservative"])
def test_more_than_full_power_where_nothing_is_limited(backfill: str) -> None:
    """Jobs that together draw more than all cores at full speed run side by side where no limit is known, also by plans."""
    given = {"job_id": [1, 2, 3], "power": [5, 5, 5]}
    power = PowerOptions(limits=[(500 * S, 600 * S, 300)], fallback="hold", job_power=given)
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 1, 60), (3, 10, 40, 1, 40)])
    found = bridge.simulate(jobs, MACHINE, als="recorded", backfill=backfill, power=power)
    assert found.jobs.start_ns.tolist() == [0, 0, 10 * S]
    assert found.metrics["peak_power_w"] == 200 + 4 * 250


@pytest.mark.parametrize(
    ("power", "fallback", "estimates", "starts_s", "thought", "above"),
    [
        # Jobs 3 and 4 draw 60 W beyond idle cores, and are thought to draw 50 W, or 90 W, as jobs 1 and 2 drew 1.8 times 50 W.
        ([2, 1.6, 1.2, 1.2, 0.4], "hold", "exact", [100, 150, 150], None, []),
        *(
            ([2, 1.6, 1.2, 1.2, 0.4], "hold", estimates, starts_s, thought, above)
            for estimates, starts_s, thought, above in (
                ("platform", [100, 100, 150], [1, 1, 1, 1, 1], [(100, 150, 20_000, "prediction")]),
                ("last-two", [100, 150, 150], [1, 1, 1.8, 1, 1], []),
            )
        ),
        # Two jobs are thought to draw 100 W beyond idle cores, which fits, and draw 120 W: they are slowed.
        ([2, 1.6, 1.2, 1.2], "dvfs", "platform", [100, 100], [1, 1, 1, 1], []),
    ],
)
def test_predictions_by_hand(
    power: list[float],
    fallback: str,
    estimates: str,
    starts_s: list[int],
    thought: list[float] | None,
    above: list[Any],
) -> None:
    """Jobs of a core, idle 50 W and 100 W at work: two of user 1, and from 100 s on, with 300 W, which are 100 W beyond idle
    cores, one of each of three users."""
    plain = {"run_s": 50, "cores": 1, "estimate_s": 50}
    rows = [(1, 0, 1), (2, 0, 1), (3, 100, 1), (4, 100, 2), (5, 100, 3)][: len(power)]
    jobs = Workload.from_jobs([{"job_id": k, "submit_s": at, "user": user, **plain} for k, at, user in rows])
    given = {"job_id": jobs.job_id, "power": power}
    options = PowerOptions(limits=[(90 * S, 1000 * S, 300)], fallback=fallback, job_power=given, estimates=estimates)
    found = bridge.simulate(jobs, MACHINE, als="recorded", power=options)
    assert found.jobs.start_ns.tolist() == [0, 0, *(at * S for at in starts_s)]
    assert found.power is not None
    excesses = [(one.begin_ns // S, one.end_ns // S, one.above_mw, one.reason) for one in found.power.excesses]
    assert excesses == above
    assert ("predicted_power" in found.jobs, "mean_power_error" in found.metrics) == (thought is not None,) * 2
    if thought is not None:
        assert found.jobs.predicted_power.tolist() == thought
        errors = sum(abs(one - other) for one, other in zip(power, thought, strict=True)) / len(power)
        assert found.metrics["mean_power_error"] == pytest.approx(errors)
    if fallback == "dvfs":
        assert found.jobs.end_ns.tolist() == [50 * S, 50 * S, 200 * S, 200 * S]
        assert found.metrics["above_limit_ns"] == 0


@pytest.mark.parametrize(
    ("power", "limit_w", "reasons"), [(1.2, 300, ["running"]), (1.2, 410, ["prediction"]), (0.9, 390, [])]
)
def test_why_power_is_above_a_limit_with_predictions(power: float, limit_w: float, reasons: list[str]) -> None:
    """A job that runs as a limit begins draws too much also as it is thought to; or only so; or is only thought to."""
    jobs = Workload.from_jobs([(1, 0, 100, 4, 100)])
    limits, given = [(50 * S, 80 * S, limit_w)], {"job_id": [1], "power": [power]}
    options = PowerOptions(limits=limits, fallback="hold", job_power=given, estimates="platform")
    found = bridge.simulate(jobs, MACHINE, als="recorded", power=options)
    assert found.power is not None
    assert [one.reason for one in found.power.excesses] == reasons


def test_a_policy_is_told_predictions() -> None:
    """And is held to them."""
    told = []

    class Starts:
        name = "starts"

        def decide(self, view: Any) -> Any:
            for job in view.waiting:
                told.append((job.job_id, view.power_of(job), view.power_of(job, [0]), view.power_left_w))
                if view.power_left_w is None or view.power_of(job) <= view.power_left_w:
                    yield job

    jobs, given = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 10, 100, 1, 100)]), {"job_id": [1, 2], "power": [0.2, 2]}
    for estimates, expected in (
        ("exact", [(1, 20, 10, 100), (2, 100, 100, 80), (2, 100, 100, 100)]),
        ("platform", [(1, 100, 50, 100), (2, 50, 50, 0), (2, 50, 50, 100)]),
    ):
        told.clear()
        options = PowerOptions(limits=[(0, 500 * S, 300)], fallback="hold", job_power=given, estimates=estimates)
        found = bridge.simulate(jobs, MACHINE, bls=Starts(), als="recorded", power=options)
        assert told == expected
        assert found.jobs.start_ns.tolist() == [0, 100 * S]
    with pytest.raises(InputError, match="--power-estimates: needs --limits"):
        PowerOptions(estimates="platform")
    with pytest.raises(InputError, match="unknown estimates of power 'mean'; known: exact, platform, last-two"):
        PowerOptions(estimates="mean")
