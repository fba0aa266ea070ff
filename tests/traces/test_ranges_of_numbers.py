"""Numbers and ranges in a text: one way of writing them, wherever they are given."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from als.core_speeds.contract import chosen_cores
from bls.constraints.advance_reservations import Window, windows
from bls.machine.partitions import Partition, partition_table
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch, topology
from bls.workloads.workload import Workload
from bridge.cli.workload.files import numbers
from bridge.studies.study import seeds_of
from traces.base.errors import InputError
from traces.intervals import OPEN, intervals_text, parse_intervals, parse_texts

FIVE = Platform(hosts=(HostGroup(count=5, cores=2, speed_gflops=1.0),))


@pytest.mark.parametrize(
    ("text", "found", "again"),
    [
        ("", [], ""),
        ("3", [(3, 4)], "3"),
        ("0-63 128", [(0, 64), (128, 129)], "0-63 128"),
        ("32-", [(32, OPEN)], "32-"),
        ("-63", [(0, 64)], "0-63"),
        ("7 40-, 32-50", [(7, 8), (32, OPEN)], "7 32-"),
        ("-0", [(0, 1)], "0"),
        ("-5 3-", [(0, OPEN)], "0-"),
    ],
)
def test_ranges_with_and_without_ends(text: str, found: list[tuple[int, int]], again: str) -> None:
    assert parse_intervals(text, "x") == found
    assert intervals_text(found) == again
    assert parse_intervals(again, "x") == found


@pytest.mark.parametrize("part", ["-", "x", "5-3", "--3", "3--", "1-2-3", "-1", "1.5", "+3", "\u0663", "9" * 19])
def test_what_is_no_range(part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_intervals(f"0 {part}", "cores")
    assert str(caught.value) == f"cores: {part!r} is not a number or a range; allowed: as 0-63 128 256-"


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 10**17), st.integers(1, 300)), max_size=4).map(
            lambda some: intervals_text((lo, lo + width) for lo, width in some)
        )
        | st.text("0123456789- ,\n", max_size=9)
    )
)
def test_many_texts_are_parsed_as_each(texts: list[str]) -> None:
    expected: list[list[tuple[int, int]]] = []
    refused = ""
    for text in texts:
        try:
            expected.append(parse_intervals(text, "x"))
        except InputError as error:
            refused = str(error)
            break
    if refused:
        with pytest.raises(InputError, match=re.escape(refused)):
            parse_texts(texts, "x")
        return
    first, lo, hi = parse_texts(texts, "x")
    assert first.tolist() == [0, *np.cumsum([len(one) for one in expected])]
    assert list(zip(lo.tolist(), hi.tolist(), strict=True)) == [pair for one in expected for pair in one]


def test_a_range_ends_where_the_machine_does() -> None:
    assert parse_intervals("3-", "x", 5) == [(3, 5)]
    assert parse_intervals("7-", "x", 5) == [(7, 8)]  # so that the limit is said
    assert chosen_cores("1 3-", 5, "x").tolist() == [1, 3, 4]
    with pytest.raises(InputError, match="core 7; allowed: 0 to 4"):
        chosen_cores("7-", 5, "x")


def test_hosts_of_partitions_switches_and_windows() -> None:
    platform = Platform(hosts=FIVE.hosts, partitions=(Partition("a", hosts="0-1"), Partition("b", hosts="2-")))
    assert [part.hosts for part in platform.partitions] == ["0-1", "2-"]
    assert partition_table(platform).n_cores.tolist() == [4, 6]
    found = topology([Switch("s", hosts="-2"), Switch("t", hosts="3-")], 5)
    assert (found.lo.tolist(), found.hi.tolist()) == ([0, 3], [3, 5])
    with pytest.raises(InputError, match="host 9; the platform has the hosts 0 to 4"):
        Platform(hosts=FIVE.hosts, partitions=(Partition("a", hosts="9-"),))
    hour = 3600 * 10**9
    made = windows(
        [Window("maintenance", "m", 0, hour, hosts="4-"), Window("reservation", "r", 0, hour, cores="3-7", jobs="2-")],
        FIVE,
    )
    assert made.core_hi.tolist() == [10, 8]
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (5, 1, 10, 2, 10)])
    assert made.of_jobs(jobs).tolist() == [-1, 1, 1]


def test_users_and_seeds() -> None:
    assert numbers("7-", np.array([-1, 3, 7, 9]), "--users") == [7, 9]
    assert numbers("-7", np.array([-1, 3, 7, 9]), "--users") == [3, 7]
    assert seeds_of("-2 5", "seeds") == (0, 1, 2, 5)
    with pytest.raises(InputError, match="seeds: '5-': too many; allowed: up to"):
        seeds_of("5-", "seeds")
