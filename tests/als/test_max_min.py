"""Sharing of links: the solver against the slow reference and SimGrid, and what makes an answer max-min fair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_scenarios import HOSTS, Platform, platforms
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.sharing import Flow
from reference.sharing import transfer_times as slow_times

from als.network import flows as f
from als.network import network_model, network_state
from als.network.flows import FlowState, begin_flows, cancel, new_flow_state, next_event, send
from als.network.sharing import share
from als.network.simulate import transfer_times
from als.network.state import NetworkState
from traces.base.errors import InputError
from traces.compiled import compiled

DATA = Path(__file__).parent / "data"

hosts = st.integers(0, HOSTS - 1)
sizes = st.integers(1, 60).map(lambda k: k * 0.977) | st.sampled_from((0.0, 1.0, 40.0)) | st.floats(0.01, 1e4)
some_flows = st.lists(st.tuples(hosts, hosts, sizes, st.integers(0, 60)), max_size=14)
sharing = platforms().filter(lambda platform: platform.model not in ("none", "hockney"))


def times(platform: Platform, flows: list[tuple[int, int, float, int]]) -> list[float]:
    columns = [list(column) for column in zip(*flows, strict=True)] or [[], [], [], []]
    return transfer_times(platform.state(), *columns).tolist()


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


@compiled()
def begin_and_send_long_ones(flows: FlowState, net: NetworkState, n: int) -> None:
    """Transfers that last for ever, and one on a link of its own, on which nothing changes."""
    begin_flows(flows, n, 1, 0)
    for edge in range(n // 2 - 1):
        send(flows, net, edge, 0, 1, 1e12 + edge, 0)
    send(flows, net, n // 2 - 1, 2, 3, 1e6, 0)


@compiled()
def send_and_cancel(flows: FlowState, net: NetworkState, edge: int, t: int) -> float:
    send(flows, net, edge, 0, 1, 1e3, t)
    share(flows, net)
    cancel(flows, edge)
    share(flows, net)
    return next_event(flows)


def test_many_changes_do_not_fill_the_heap() -> None:
    """Events that are out of date are dropped, and no others: far more changes than there is room for."""
    net = Platform("cm02").state()
    n = 24
    flows = new_flow_state(n, 1)
    begin_and_send_long_ones(flows, net, n)
    ends = []
    for k in range(400):
        ends.append(send_and_cancel(flows, net, n // 2 + k % (n // 2), k))
        assert flows.numbers[f.EVENTS] <= len(flows.event_at)
    assert len(flows.event_at) < 400
    assert set(ends) == {1e6}


def test_links_of_one_place_in_the_table_are_not_mixed_up() -> None:
    """Two transfers have a table of 16 places; their links are two of ten thousand."""
    net = network_state(network_model("cm02:crosstraffic=no"), "full", hosts=100, bandwidth_gbps=8, latency_ns=0)
    for target in range(2, 100):
        assert transfer_times(net, [0, 0], [1, target], [100.0, 100.0], [0, 0]).tolist() == [100, 100]
