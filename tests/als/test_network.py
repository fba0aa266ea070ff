"""The network: models, routes, and how links are shared."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_scenarios import HOSTS, Platform, platforms
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import column
from pages import ROOT, section, table
from reference.sharing import Flow
from reference.sharing import transfer_times as slow_times
from transfers_alone import transfer_times

from als.network import MODELS, NetworkKind, NetworkModel, SharingModel, network_model, network_state
from als.network.flows import begin_flows, cancel, next_event, send, share
from als.network.routes import link_bandwidth, link_latency_ns, mean_costs, route
from als.network.state import MAX_LEVELS, MAX_ROUTE, PARAMETERS, FlowState, NetworkState, flow_sizes
from als.network.topologies import TOPOLOGIES, topology
from bls.machine.platform import TOPOLOGIES as OF_PLATFORMS
from traces.base.errors import InputError
from traces.compiled import Array, compiled

pytestmark = pytest.mark.whole


@compiled()
def _route(net: NetworkState, src: int, dst: int, keys: Array) -> int:
    return route(net, src, dst, keys)


@compiled()
def call_link(net: NetworkState, key: int) -> tuple[float, float]:
    """Return the bandwidth in bytes/s and the latency in ns of a link."""
    return link_bandwidth(net, key), link_latency_ns(net, key)


@compiled()
def _mean_costs(net: NetworkState, host_number: Array, n_hosts: int, keys: Array, out: Array) -> None:
    mean_costs(net, host_number, n_hosts, keys, out)


def network(
    topology: str, hosts: int, model: str = "cm02", bandwidth_gbps: float = 8.0, latency_ns: float = 1000.0
) -> NetworkState:
    return network_state(
        network_model(model), topology, hosts=hosts, bandwidth_gbps=bandwidth_gbps, latency_ns=latency_ns
    )


def call_route(net: NetworkState, src: int, dst: int) -> list[int]:
    """Return the keys of a route; the places after them stay untouched."""
    keys = np.full(MAX_ROUTE + 1, -7, np.int64)
    n = _route(net, src, dst, keys)
    assert 1 <= n <= MAX_ROUTE
    assert (keys[n:] == -7).all()
    return [int(key) for key in keys[:n]]


def call_costs(net: NetworkState, hosts: list[int]) -> list[float]:
    """Return the mean latency in s, the mean s per byte, and s per byte within a host."""
    out = np.full(3, np.nan)
    _mean_costs(net, np.array(hosts, np.int64), len(hosts), np.zeros(MAX_ROUTE, np.int64), out)
    return [float(cost) for cost in out]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NetworkModel("a", NetworkKind.SHARING), "network a: kind SHARING; allowed: NONE, HOCKNEY"),
        (lambda: NetworkModel("a", 7), "network a: kind 7; allowed: a NetworkKind"),  # type: ignore[arg-type]
        (lambda: SharingModel("a", NetworkKind.NONE), "network a: kind NONE; allowed: SHARING"),
        (lambda: SharingModel("a", crosstraffic=1), "network a: crosstraffic: 1; allowed: True, False"),  # type: ignore[arg-type]
        (lambda: SharingModel("a", gamma="5"), "network a: gamma: '5' is not a number"),  # type: ignore[arg-type]
    ],
)
def test_a_model_that_cannot_be(make: Callable[[], NetworkModel], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_the_page_says_the_constants() -> None:
    page = ROOT / "docs/reference/network.md"
    models = section(page, "The models")
    assert [row[0].strip("`") for row in table(models)] == list(MODELS)
    rows = {row[0].strip("`"): row[1:3] for row in table(models[models.index("| parameter") :])}
    assert set(rows) == {field.name for field in fields(SharingModel)} - {"name", "kind"}
    for name, (cm02, lv08) in rows.items():
        for model, text in (("cm02", cm02), ("lv08", lv08)):
            assert network_model(f"{model}:{name}={text}") == MODELS[model]
    topologies = table(section(page, "The topologies"))
    assert [row[0].strip("`") for row in topologies] == list(TOPOLOGIES)
    for name, *_, parameters in topologies:
        known = [field.name for field in fields(TOPOLOGIES[name.strip("`")]) if field.name not in ("name", "code")]  # type: ignore[arg-type]
        assert parameters.replace("`", "") == (", ".join(known) or "none")


DATA = Path(__file__).parent / "data"
SIMGRID: list[dict[str, Any]] = json.loads((DATA / "simgrid_routes.json").read_text())["platforms"]


def test_platforms_know_the_topologies() -> None:
    assert tuple(TOPOLOGIES) == OF_PLATFORMS
    assert [(one.name, one.code) for one in TOPOLOGIES.values()] == [(name, k) for k, name in enumerate(OF_PLATFORMS)]


def test_small_networks() -> None:
    full, shared, star = (network(name, 3) for name in ("full", "shared", "star"))
    pairs = list(permutations(range(3), 2))
    assert [call_route(full, *pair) for pair in pairs] == [[1], [2], [3], [5], [6], [7]]
    assert [call_route(shared, *pair) for pair in pairs] == [[1], [2], [1], [5], [2], [5]]
    assert [call_route(star, *pair) for pair in pairs] == [[0, 3], [0, 5], [2, 1], [2, 5], [4, 1], [4, 3]]
    assert [call_link(net, 1) for net in (full, shared, star)] == [(1e9, 1000.0), (1e9, 1000.0), (1e9, 500.0)]


def test_a_dragonfly() -> None:
    # Two groups of two chassis of two routers of one node each: nodes 0 1 / 2 3 and 4 5 / 6 7.
    net = network("dragonfly:groups=2,chassis=2,routers=2,nodes=1,blue=4,black=3,green=2", 8)
    green, black, blue = 16, 32, 48
    assert call_route(net, 0, 1) == [0, green + 0 * 2 + 1, 3]
    assert call_route(net, 2, 1) == [4, green + 2 * 2 + 1, black + 3 * 2 + 0, 3]  # green to 3, black to 1
    # The blue link to group 1 is at router 1 of group 0, that to group 0 at router 4, the first of group 1.
    assert call_route(net, 2, 7) == [
        4, green + 2 * 2 + 1, black + 3 * 2 + 0, blue + 0 * 2 + 1, green + 4 * 2 + 1, black + 5 * 2 + 1, 15
    ]  # fmt: skip
    assert [call_link(net, key)[0] for key in (0, 15, 16, 31, 32, 47, 48, 51)] == [
        1e9, 1e9, 2e9, 2e9, 3e9, 3e9, 4e9, 4e9
    ]  # fmt: skip
    # SimGrid goes on from router 1 after the green link to router 3: it ends in the wrong chassis.
    simgrid = network("dragonfly:groups=2,chassis=2,routers=2,nodes=1,routing=simgrid", 8)
    assert call_route(simgrid, 2, 1) == [4, green + 2 * 2 + 1, 3]
    assert call_route(simgrid, 2, 3) == [4, green + 2 * 2 + 1, black + 1 * 2 + 1, 7]
    assert call_route(simgrid, 2, 7) == call_route(net, 2, 7)


@pytest.mark.parametrize("platform", SIMGRID, ids=lambda platform: platform["topology"])
def test_routes_are_simgrid_s(platform: dict[str, Any]) -> None:
    hosts = platform["hosts"]
    net = network(platform["topology"], hosts)
    pairs = list(permutations(range(hosts), 2))
    routes = [[int(link) for link in row.split()] for row in platform["routes"].split(";")]
    assert len(routes) == len(pairs)
    ours = [call_route(net, *pair) for pair in pairs]
    number: dict[int, int] = {}  # ours as SimGrid's: by first occurrence
    assert [[number.setdefault(key, len(number)) for key in row] for row in ours] == routes
    assert [call_link(net, key)[0] / 1e9 for key in number] == platform["cables"]


def test_parameters_fit() -> None:
    deepest = topology("fat-tree:down=" + "x".join("2" * MAX_LEVELS))
    assert len(deepest.parameters(256)) == PARAMETERS
    assert len(call_route(network("fat-tree:down=" + "x".join("2" * MAX_LEVELS), 256), 0, 255)) == MAX_ROUTE
    # Fewer hosts than leaves, or nodes, make no difference to routes.
    for shape in ("fat-tree:down=4x4,up=2x3,cables=2x1", "dragonfly:groups=2,chassis=2,routers=2,nodes=2"):
        assert call_route(network(shape, 16), 3, 8) == call_route(network(shape, 9), 3, 8)
    # All at its limits: keys are whole and above 0.
    wide = network("fat-tree:down=4096x4096,up=4096x4096", 2**24)
    assert min(call_route(wide, 0, 2**24 - 1)) >= 0


def test_costs_are_means_over_pairs() -> None:
    # Hosts 0 and 1 are at one switch of the tree, host 2 at another: routes of 2 and of 4 links of 1000 ns and 1e9 bytes/s.
    net = network("fat-tree:down=2x2,up=1x1", 4, "hockney")
    assert call_costs(net, [0, 1, 2]) == [
        pytest.approx((2 * 2e-6 + 4 * 4e-6) / 6, rel=1e-15),
        pytest.approx(1e-9, rel=1e-15),
        0.0,
    ]
    assert call_costs(net, [3, 2]) == [2e-6, 1e-9, 0.0]
    # By the narrowest link: local ones of a dragonfly.
    wide = network("dragonfly:groups=1,chassis=1,routers=2,nodes=1,green=5", 2, "hockney")
    assert call_costs(wide, [0, 1]) == [3e-6, 1e-9, 0.0]
    # With 17 hosts not all pairs are tested: only host h and the eighth after it.
    # Two of them are at the other switch: all but four of these pairs are near, and not 212 of 272.
    half = network("fat-tree:down=15x2", 17, "hockney")
    assert call_costs(half, list(range(17)))[0] == pytest.approx((13 * 2e-6 + 4 * 4e-6) / 17, rel=1e-14)


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
        start, source, target, n_bytes = (list(column) for column in zip(*case["flows"], strict=True))
        machine = {name: case[name] for name in ("hosts", "bandwidth_gbps", "latency_ns")}
        for model, ends in case["end_s"].items():
            net = network(case["topology"], model=model, **machine)
            apart = np.abs(transfer_times(net, source, target, [*map(float, n_bytes)], start) - np.array(ends) * 1e9)
            assert apart.max() < 1e-5, (case["topology"], model)


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
    flows = FlowState.new(flow_sizes(n, 1))
    begin_and_send_long_ones(flows, net, n)
    ends = []
    for k in range(400):
        ends.append(send_and_cancel(flows, net, n // 2 + k % (n // 2), k))
        assert column(flows, "n_events") <= len(flows.event_at)
    assert len(flows.event_at) < 400
    assert set(ends) == {1e6}


def test_links_of_one_place_in_the_table_are_not_mixed_up() -> None:
    """Two transfers have a table of 16 places; their links are two of ten thousand."""
    net = network("full", 100, "cm02:crosstraffic=no", latency_ns=0)
    for target in range(2, 100):
        assert transfer_times(net, [0, 0], [1, target], [100.0, 100.0], [0, 0]).tolist() == [100, 100]


def test_a_model_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from als.network import SharingModel\nMINE = SharingModel('mine', latency_factor=2)\nOTHER = 3\nKIND = SharingModel\n"
    )
    model = network_model(f"{file}:MINE")
    assert model == SharingModel("mine", latency_factor=2.0)
    assert network_model(f"{file}:MINE:crosstraffic=no") == replace(model, crosstraffic=False)  # type: ignore[type-var]
    with pytest.raises(InputError, match="int; allowed: NetworkModel"):
        network_model(f"{file}:OTHER")
    with pytest.raises(InputError, match=r"^network='away.py:MINE': no file"):
        network_model("away.py:MINE")
