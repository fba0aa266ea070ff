"""Sharing of links: the solver against the slow reference and SimGrid, and what makes an answer max-min fair."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flow_calls import begin_flows, cancel, next_event, pop_flow, send, share
from graph_scenarios import HOSTS, Platform, platforms
from hypothesis import given, settings
from hypothesis import strategies as st
from network_calls import call_route
from reference.sharing import Flow
from reference.sharing import transfer_times as slow_times

from als.network import flows as f
from als.network import network_model, network_state
from als.network.flows import FlowState, new_flow_state
from als.network.routes import longest_route
from als.network.simulate import transfer_times
from als.network.state import BANDWIDTH_FACTOR, NetworkState
from traces.base.errors import InputError

DATA = Path(__file__).parent / "data"

hosts = st.integers(0, HOSTS - 1)
sizes = st.integers(1, 60).map(lambda k: k * 0.977) | st.sampled_from((0.0, 1.0, 40.0)) | st.floats(0.01, 1e4)
some_flows = st.lists(st.tuples(hosts, hosts, sizes, st.integers(0, 60)), max_size=14)
sharing = platforms().filter(lambda platform: platform.model not in ("none", "hockney"))
#: Topologies with long routes, and their hosts.
WIDE = (
    ("star", 6),
    ("fat-tree:down=4x4,up=1x2,cables=1x1", 16),
    ("dragonfly:groups=3,chassis=1,routers=4,nodes=2,blue=2,black=1,green=3", 24),
)


def times(platform: Platform, flows: list[tuple[int, int, float, int]]) -> list[float]:
    """Of the engine."""
    columns = [list(column) for column in zip(*flows, strict=True)] or [[], [], [], []]
    return transfer_times(platform.state(), *columns).tolist()


# Rates.


def rates(flows: FlowState) -> dict[int, float]:
    """Of each transfer that flows: bytes per ns, by its edge."""
    in_use = range(int(flows.numbers[f.USED]))
    slots = [slot for slot in in_use if flows.flow[f.PHASE, slot] == f.SHARING]
    return {int(flows.flow[f.EDGE, slot]): float(flows.amount[f.RATE, slot]) for slot in slots}


def loads(net: NetworkState, source: int, target: int, crosstraffic: bool) -> dict[Hashable, float]:
    """What a transfer takes of each link."""
    found: dict[Hashable, float] = {}
    for a, b, weight in ((source, target, 1.0), (target, source, 0.05))[: 2 if crosstraffic else 1]:
        for key in call_route(net, a, b):
            found[key] = found.get(key, 0.0) + weight
    return found


def check_fair(flows: FlowState, net: NetworkState, ends: list[tuple[int, int]], crosstraffic: bool) -> None:
    """No link has more than it can, and nobody could have more but from one who has no more: all flows' certificate."""
    found = rates(flows)
    factor = float(net.amounts[BANDWIDTH_FACTOR]) * 1e-9
    used: dict[Hashable, float] = {}
    capacity: dict[Hashable, float] = {}
    links = {edge: loads(net, *ends[edge], crosstraffic) for edge in found}
    slot = {edge: int(flows.edge_slot[edge]) for edge in found}
    penalty = {edge: float(flows.amount[f.PENALTY, slot[edge]]) for edge in found}
    for number in range(int(flows.numbers[f.LINKS])):
        place = flows.table_link.tolist().index(number)
        capacity[int(flows.table_key[place])] = float(flows.room[f.CAPACITY, number])
    for edge, rate in found.items():
        for link, weight in links[edge].items():
            used[link] = used.get(link, 0.0) + weight * rate / factor
    for link, amount in used.items():
        assert amount <= capacity[link] * (1 + 1e-9)
    for edge, rate in found.items():
        x = rate / factor
        bound = float(flows.amount[f.BOUND, slot[edge]])
        assert 0 < x <= bound * (1 + 1e-9)
        narrow = [
            link
            for link in links[edge]
            if used[link] >= capacity[link] * (1 - 1e-9)
            and all(
                found[other] / factor * penalty[other] <= x * penalty[edge] * (1 + 1e-9)
                for other in found
                if link in links[other]
            )
        ]
        assert narrow or x >= bound * (1 - 1e-9)


@settings(max_examples=60)
@given(
    data=st.data(),
    wide=st.sampled_from(WIDE),
    model=st.sampled_from(("cm02", "cm02:crosstraffic=no", "lv08", "lv08:crosstraffic=no")),
    latency=st.sampled_from((0.0, 500.0, 2e6)),
)
def test_all_rates_are_fair_whatever_comes_and_goes(
    data: st.DataObject, wide: tuple[str, int], model: str, latency: float
) -> None:
    topology, n_hosts = wide
    net = network_state(network_model(model), topology, hosts=n_hosts, bandwidth_gbps=50, latency_ns=latency)
    some = st.integers(0, n_hosts - 1)
    pairs = st.tuples(some, some).filter(lambda pair: pair[0] != pair[1])
    ends = data.draw(st.lists(pairs, min_size=1, max_size=16))
    longest = int(longest_route(net))
    flows = new_flow_state(len(ends), longest)
    begin_flows(flows, len(ends), longest, 0)
    crosstraffic = "crosstraffic=no" not in model
    for edge, (a, b) in enumerate(ends):
        assert send(flows, net, edge, a, b, data.draw(st.sampled_from((1e3, 1e5, 33e3))), edge * 50) == f.FLYING
    flying = set(range(len(ends)))
    while flying:
        if data.draw(st.integers(0, 4)) == 0:
            edge = data.draw(st.sampled_from(sorted(flying)))
            cancel(flows, edge)
            flying.remove(edge)
        share(flows, net)
        check_fair(flows, net, ends, crosstraffic)
        if next_event(flows) < float("inf"):
            edge = pop_flow(flows)
            flying.discard(edge)


# Times.


def test_by_hand() -> None:
    one = Platform("cm02:crosstraffic=no", latency=10.0)
    # Alone for half of its bytes, then two for one link, then one alone again; backwards is another link.
    assert times(one, [(0, 1, 1000.0, 0), (0, 1, 2000.0, 500), (1, 0, 1000.0, 0)]) == [1510.0, 3010.0, 1010.0]
    assert times(one, [(2, 2, 5.0, 3), (0, 1, 0.0, 7)]) == [3.0, 17.0]
    assert times(Platform("cm02", latency=0.0), [(0, 1, 1000.0, 0), (1, 0, 1000.0, 0)]) == pytest.approx([1050.0] * 2)
    assert times(Platform("hockney", latency=10.0), [(0, 1, 10.0, 0), (0, 1, 20.0, 5)]) == [20.0, 35.0]
    assert times(Platform("none", latency=10.0), [(0, 1, 10.0, 4)]) == [4.0]
    memory = Platform("lv08", memory=2.0)
    assert times(memory, [(1, 1, 97.0, 3)]) == pytest.approx([53.0])
    assert times(one, []) == []
    assert times(Platform("lv08", latency=100.0), [(0, 1, 97.0, 0)]) == pytest.approx([1401.0])


def test_a_share_is_bounded_by_the_window() -> None:
    # 4 MiB under way at most: at 10 ms there and 10 back, 0.2097152 bytes per ns.
    far = Platform("cm02", latency=1e7)
    assert times(far, [(0, 1, 1e6, 0)]) == pytest.approx([1e7 + 1e6 / 0.2097152])


def test_penalties_are_of_latency_and_links() -> None:
    net = network_state(
        network_model("lv08:crosstraffic=no"),
        "fat-tree:down=2x2,up=1x1,cables=1x1",
        hosts=4,
        bandwidth_gbps=8,
        latency_ns=1000,
    )
    # Both go down to host 1: 2 links from host 0 and 4 from host 2, so twice the penalty, and so half the share. Each latency
    # is paid first, 26020 and 52040 ns; with all bytes in common time, the near one is done first.
    near, far = transfer_times(net, [0, 2], [1, 1], [97e6, 97e6], [26020, 0]).tolist()
    assert near == pytest.approx(52040 + 150e6)
    assert far == pytest.approx(52040 + 200e6)


@settings(max_examples=200)
@given(platform=platforms(), flows=some_flows)
def test_transfers_arrive_as_in_the_reference(platform: Platform, flows: list[tuple[int, int, float, int]]) -> None:
    expected = slow_times([Flow(*flow) for flow in flows], platform.reference())
    assert times(platform, flows) == pytest.approx(expected, rel=1e-12, abs=1e-7)


@settings(max_examples=60)
@given(platform=platforms(), flow=st.tuples(hosts, hosts, sizes, st.integers(0, 60)), factor=st.floats(1.0, 9.0))
def test_more_bandwidth_is_never_slower_for_one(
    platform: Platform, flow: tuple[int, int, float, int], factor: float
) -> None:
    faster = Platform(platform.model, platform.topology, platform.latency, platform.memory, factor)
    assert times(faster, [flow])[0] <= times(platform, [flow])[0]


def test_simgrid_finds_the_same() -> None:
    """Fat trees, dragonflies and stars; how they were computed is written in the file."""
    found = json.loads((DATA / "simgrid_flows.json").read_text(encoding="utf-8"))
    assert len(found["cases"]) >= 11
    for case in found["cases"]:
        for model, ends in case["end_s"].items():
            apart = np.abs(_found(case, model) - np.array(ends) * 1e9)
            assert apart.max() < 1e-5, (case["topology"], model)


def _found(case: dict[str, Any], model: str) -> np.ndarray:
    net = network_state(
        network_model(model),
        case["topology"],
        hosts=case["hosts"],
        bandwidth_gbps=case["bandwidth_gbps"],
        latency_ns=case["latency_ns"],
    )
    start, source, target, n_bytes = zip(*case["flows"], strict=True)
    return transfer_times(net, list(source), list(target), [float(n) for n in n_bytes], list(start))


@pytest.mark.parametrize(
    ("source", "target", "n_bytes", "start"),
    [
        ([0], [4], [1.0], [0]),
        ([-1], [1], [1.0], [0]),
        ([0], [1], [-1.0], [0]),
        ([0], [1], [float("nan")], [0]),
        ([0], [1], [1.0], [-1]),
        ([0, 1], [1], [1.0], [0]),
    ],
)
def test_bad_input(source: list[int], target: list[int], n_bytes: list[float], start: list[int]) -> None:
    with pytest.raises(InputError, match="allowed"):
        transfer_times(Platform("cm02").state(), source, target, n_bytes, start)


def test_beyond_time() -> None:
    assert times(Platform("hockney"), [(0, 1, 1e300, 0)]) == [float("inf")]


def test_many_changes_do_not_fill_the_heap() -> None:
    """Events that are out of date are dropped, and no others: far more changes than there is room for."""
    net = Platform("cm02").state()
    n = 24
    flows = new_flow_state(n, 1)
    begin_flows(flows, n, 1, 0)
    for edge in range(n // 2 - 1):  # they last for ever
        send(flows, net, edge, 0, 1, 1e12 + edge, 0)
    send(flows, net, n // 2 - 1, 2, 3, 1e6, 0)  # on a link of its own, on which nothing changes
    ends = []
    for k in range(400):
        send(flows, net, n // 2 + k % (n // 2), 0, 1, 1e3, k)
        share(flows, net)
        cancel(flows, n // 2 + k % (n // 2))
        share(flows, net)
        ends.append(next_event(flows))
        assert flows.numbers[f.EVENTS] <= len(flows.event_at)
    assert len(flows.event_at) < 400
    assert set(ends) == {1e6}


def test_links_of_one_place_in_the_table_are_not_mixed_up() -> None:
    """Two transfers have a table of 16 places; their links are two of ten thousand."""
    net = network_state(network_model("cm02:crosstraffic=no"), "full", hosts=100, bandwidth_gbps=8, latency_ns=0)
    for target in range(2, 100):
        assert transfer_times(net, [0, 0], [1, target], [100.0, 100.0], [0, 0]).tolist() == [100, 100]
