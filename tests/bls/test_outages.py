"""Failures and repairs: a trace's lines checked, and a model's numbers that are the same however they are drawn."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

from bls.constraints.options import Surroundings
from bls.constraints.outages import NEVER, OutageModel, Outages, modelled_outages, outages, read_outages
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.power.options import PowerOptions
from bls.scheduler_options import Rules as BatchRules
from bls.workloads.workload import Workload
from bridge import simulate
from traces.base.errors import InputError

NS = 10**9
MACHINE = Platform((HostGroup(4, 2, 2.0),))


def read(tmp_path: Path, text: str) -> Outages:
    path = tmp_path / "o.csv"
    path.write_text(text)
    return read_outages(path, MACHINE)


def lists(found: Outages) -> list[list[tuple[int, int]]]:
    bounds = found.first.tolist()
    pairs = list(zip(found.down_ns.tolist(), found.up_ns.tolist(), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(bounds)]


def test_a_trace(tmp_path: Path) -> None:
    text = "host, down_s ,up_s\n3,3600,7200.5\n0,100,\n\n3,0,10\n3,10,11.0000000005\n1,0.000000001,1\n"
    found = read(tmp_path, text)
    assert lists(found) == [
        [(100 * NS, NEVER)],
        [(1, NS)],
        [],
        [(0, 10 * NS), (10 * NS, 11 * NS), (3600 * NS, 7_200_500_000_000)],
    ]
    assert (found.known_until_ns, found.model, found.n_hosts) == (NEVER, None, 4)
    assert found.extend() is found
    assert outages(str(tmp_path / "o.csv"), MACHINE).down_ns.tolist() == found.down_ns.tolist()
    with pytest.raises(ValueError, match="read-only"):
        found.down_ns[0] = 1


def test_columns_may_be_in_any_order_and_there_may_be_no_outage(tmp_path: Path) -> None:
    assert lists(read(tmp_path, "up_s,host,down_s\n9,1,8\n"))[1] == [(8 * NS, 9 * NS)]
    assert lists(read(tmp_path, "host,down_s,up_s\n")) == [[], [], [], []]


def test_hosts_that_are_drained_are_kept_apart(tmp_path: Path) -> None:
    found = read(tmp_path, "host,down_s,up_s,state\n1,5,9,drain\n1,6,7,down\n2,3,,drain\n0,1,2,\n")
    assert lists(found) == [[(1 * NS, 2 * NS)], [(6 * NS, 7 * NS)], [], []]
    assert found.drained is not None
    assert lists(found.drained) == [[], [(5 * NS, 9 * NS)], [(3 * NS, NEVER)], []]
    assert read(tmp_path, "host,down_s,up_s,state\n1,5,9,down\n").drained is None


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "a_trace_is_refused_with_its_line"))
def test_a_trace_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'o.csv'}: {message}")
    assert "\n" not in str(caught.value)


def test_a_host_s_times_are_its_own() -> None:
    model = OutageModel(10**15, 10**12, 7)
    few, many = modelled_outages(model, 2), modelled_outages(model, 5)
    assert lists(many)[:2] == lists(few)
    assert len({tuple(pairs) for pairs in lists(many)}) == 5
    assert lists(modelled_outages(OutageModel(10**15, 10**12, 8), 1)) != lists(few)[:1]


def test_the_numbers_stay_what_they_are() -> None:
    found = modelled_outages(OutageModel(10**15, 10**12, 7), 1, 2)
    assert lists(found) == [[(195967930125525, 196159388196003), (3924187560288203, 3924422595835884)]]


def test_means_are_those_asked_for() -> None:
    down, up = OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 1).draw(3, 20_000)
    lasting_up = np.diff(np.concatenate(([0], up)))[:-1] - (up - down)[: len(up) - 1]
    reached = up[:-1] < NEVER
    assert np.count_nonzero(reached) > 1000
    assert np.mean((up - down)[:-1][reached]) == pytest.approx(4 * 3600 * NS, rel=0.06)
    assert np.mean(lasting_up[reached]) == pytest.approx(30 * 86400 * NS, rel=0.06)


def test_specifications() -> None:
    found = outages("mtbf:30d,mttr:4h", MACHINE, seed=5)
    assert found.model == OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 5)
    assert found.n_hosts == 4
    other = outages("mtbf:30d, seed:9, mttr:4h", MACHINE, seed=5)
    assert other.model == OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 9)


@pytest.mark.parametrize(("spec", "message"), table_rows(__file__, "bad_specifications"))
def test_bad_specifications(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^--failures: .*{message}|^--failures: {message}"):
        outages(spec, MACHINE)


def test_no_such_trace() -> None:
    with pytest.raises(InputError, match="mtb:30d: no such file"):
        outages("mtb:30d", MACHINE)


PLAIN = Platform((HostGroup(2, 2, 2.0),))
ASLEEP = HostPower(1, [(1, 4)], shutdown=("5s", 1), boot=("5s", 1))


@pytest.mark.parametrize(
    ("platform", "options", "words"),
    [
        (PLAIN, {"rules": BatchRules(coordination="release")}, "coordination='release'"),
        (PLAIN, {"rules": BatchRules(coordination="hint", backfill="easy")}, "coordination='hint'"),
        (
            Platform((HostGroup(2, 2, 2.0, power=ASLEEP),)),
            {"power": PowerOptions(sleep_after_ns=10**9)},
            "limits to power, or hosts that sleep",
        ),
        (Platform((HostGroup(2, 2, 2.0),), licences=(("solver", 1),)), {}, "licences"),
    ],
)
def test_options_that_cannot_be_combined_with_drains_are_refused(
    platform: Platform, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / "o.csv").write_text("host,down_s,up_s,state\n0,1,2,drain\n")
    (tmp_path / "r.csv").write_text("job_id,solver\n1,1\n")
    around = Surroundings(failures=f"{tmp_path}/o.csv", requests=tmp_path / "r.csv" if platform.licences else None)
    workload = Workload.from_jobs([(1, 0, 5, 1, 5)])
    with pytest.raises(InputError, match=f"drained hosts cannot be beside {words}; allowed"):
        simulate(workload, platform=platform, surroundings=around, **options)


def test_a_job_that_is_wider_than_what_is_not_drained_is_named(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("host,down_s,up_s,state\n0,1,,drain\n")
    workload = Workload.from_jobs([(1, 0, 5, 4, 5), (7, 2, 5, 3, 5)])
    with pytest.raises(InputError, match=r"stuck at job 7.*1 host is down, or drained, for ever"):
        simulate(
            workload,
            platform=Platform((HostGroup(2, 2, 2.0),)),
            als="recorded",
            surroundings=Surroundings(failures=str(path)),
        )
