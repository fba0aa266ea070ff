"""Jobs that draw more or less than the platform says, and whose time depends less on the speed of their cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from traces.base.errors import InputError

S = 10**9
MACHINE = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
THREE = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])


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


@pytest.mark.parametrize(("given", "message"), table_rows(__file__, "columns_that_cannot_be_used"))
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
