"""Routes: small ones as they are drawn in docs/reference/network.md, SimGrid's, and what holds for all of them."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_calls import call_costs, call_link, call_route, network

from als.network import TOPOLOGIES, topology
from als.network.state import MAX_LEVELS, MAX_ROUTE, NUMBERS, PARAMETERS
from bls.machine.platform import TOPOLOGIES as OF_PLATFORMS

SIMGRID: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/simgrid_routes.json").read_text())[
    "platforms"
]


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


def test_a_fat_tree() -> None:
    # Hosts 0 1 | 2 3 at the switches a, b; both are connected to c and d. Each line in both directions.
    net = network("fat-tree:down=2x2,up=1x2,cables=1x1", 4)
    up, to_c, to_d = [0, 2, 4, 6], {"a": 8, "b": 12}, {"a": 10, "b": 14}
    assert call_route(net, 0, 1) == [up[0], up[1] + 1]
    assert call_route(net, 0, 2) == [up[0], to_c["a"], to_c["b"] + 1, up[2] + 1]  # 2 mod 2 = 0: by c
    assert call_route(net, 1, 3) == [up[1], to_d["a"], to_d["b"] + 1, up[3] + 1]  # 3 mod 2 = 1: by d
    assert call_route(net, 3, 0) == [up[3], to_c["b"], to_c["a"] + 1, up[0] + 1]
    assert call_link(net, 15) == (1e9, 1000.0)


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


def test_minimal_routes_are_simgrid_s_where_these_are_paths() -> None:
    shape = "dragonfly:groups=3,chassis=2,routers=3,nodes=1,blue=4,black=3,green=2"
    minimal, simgrid = network(shape, 18), network(f"{shape},routing=simgrid", 18)
    differ = [pair for pair in permutations(range(18), 2) if call_route(minimal, *pair) != call_route(simgrid, *pair)]
    # From the second chassis of a group to another router's place of the group.
    assert differ == [
        (src, dst)
        for src, dst in permutations(range(18), 2)
        if src // 6 == dst // 6 and src // 3 % 2 == 1 and src % 3 != dst % 3
    ]


NUMBERS_OF = st.integers(1, 4)
SOME = st.randoms(use_true_random=False)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(NUMBERS_OF, NUMBERS_OF, NUMBERS_OF, st.integers(1, 3), SOME)
def test_routes_of_dragonflies_are_paths(groups: int, chassis: int, routers: int, nodes: int, some: Any) -> None:
    groups = min(groups, chassis * routers)
    shape = f"dragonfly:groups={groups},chassis={chassis},routers={routers},nodes={nodes}"
    total = groups * chassis * routers * nodes
    net = network(shape, total)
    ends = dragonfly_links(groups, chassis, routers, nodes)
    for _ in range(20):
        src, dst = some.randrange(total), some.randrange(total)
        if src != dst:
            keys = call_route(net, src, dst)
            path = [ends[key] for key in keys]
            assert path[0][0] == ("node", src)
            assert path[-1][1] == ("node", dst)
            assert all(one[1] == other[0] for one, other in pairwise(path))
            assert len(set(keys)) == len(keys) <= 7
            crossed = [link for link in path if link[2] == "blue"]
            assert len(crossed) == (src * groups // total != dst * groups // total)


def dragonfly_links(groups: int, chassis: int, routers: int, nodes: int) -> dict[int, Any]:
    of_group = chassis * routers
    all_routers = groups * of_group
    links: dict[int, Any] = {}
    for node in range(all_routers * nodes):
        router = ("router", node // nodes)
        links[2 * node] = (("node", node), router, "local")
        links[2 * node + 1] = (router, ("node", node), "local")
    key = 2 * all_routers * nodes
    for router in range(all_routers):
        for blade in range(routers):
            to = ("router", router // routers * routers + blade)
            links[key] = (("router", router), to, "green")
            key += 1
    for router in range(all_routers):
        for place in range(chassis):
            to = ("router", router // of_group * of_group + place * routers + router % routers)
            links[key] = (("router", router), to, "black")
            key += 1
    for group in range(groups):
        for other in range(groups):
            links[key] = (("router", group * of_group + other), ("router", other * of_group + group), "blue")
            key += 1
    return links


def test_parameters_fit() -> None:
    deepest = topology("fat-tree:down=" + "x".join("2" * MAX_LEVELS))
    assert len(deepest.parameters(256)) == NUMBERS - PARAMETERS
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
    # 17 hosts are more than all pairs are looked at of: host h and the eighth behind it.
    # Two of them are at the other switch: all but four of these pairs are near, and not 212 of 272.
    half = network("fat-tree:down=15x2", 17, "hockney")
    assert call_costs(half, list(range(17)))[0] == pytest.approx((13 * 2e-6 + 4 * 4e-6) / 17, rel=1e-14)
