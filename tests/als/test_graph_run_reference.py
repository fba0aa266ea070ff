"""The reference of shared links by hand; that of graphs has the cases of applications/graphs.toml."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.sharing import Flow, Link, Network, max_min, transfer_times

NONE = Network("none")
S = 10**9


def between(a: int, b: int) -> list[Link]:
    """A link of a gigabyte per second and a microsecond for each direction."""
    return [((a, b), 1e9, 1e-6)]


HOCKNEY = Network("hockney", between)
PLAIN = Network("sharing", between, crosstraffic=False)


# Shares.


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        ([({"a": 1}, 99, 1)], [12]),
        ([({"a": 1}, 99, 1), ({"a": 1}, 99, 1)], [6, 6]),
        ([({"a": 1}, 99, 1), ({"a": 1}, 99, 2)], [8, 4]),
        ([({"a": 1}, 2, 1), ({"a": 1}, 99, 1)], [2, 10]),
        ([({"a": 1, "b": 1}, 99, 1), ({"a": 1}, 99, 1), ({"b": 1}, 99, 1)], [3, 9, 3]),
        ([({"a": Fraction(6, 5)}, 99, 1)], [10]),
        ([({"a": 1, "b": Fraction(1, 2)}, 99, 1), ({"b": 1, "a": Fraction(1, 2)}, 99, 1)], [4, 4]),
        ([], []),
    ],
)
def test_shares_by_hand(flows: list[Any], expected: list[int]) -> None:
    assert max_min(flows, {"a": Fraction(12), "b": Fraction(6)}) == expected


@st.composite
def sharings(
    draw: st.DrawFn,
) -> tuple[list[tuple[dict[Hashable, Fraction], Fraction, Fraction]], dict[Hashable, Fraction]]:
    whole = st.integers(1, 9).map(Fraction)
    capacity: dict[Hashable, Fraction] = {link: draw(whole) for link in range(draw(st.integers(1, 4)))}
    weights = st.dictionaries(
        st.sampled_from(sorted(capacity, key=str)),
        st.sampled_from([Fraction(1), Fraction(1, 20), Fraction(21, 20)]),
        min_size=1,
    )
    flows = draw(st.lists(st.tuples(weights, whole, whole), max_size=7))
    return flows, capacity


@given(sharings())
def test_nobody_can_have_more_without_taking_it_from_one_who_has_no_more(case: Any) -> None:
    flows, capacity = case
    shares = max_min(flows, capacity)
    used = {
        link: sum(weights.get(link, 0) * x for (weights, _, _), x in zip(flows, shares, strict=True))
        for link in capacity
    }
    assert all(used[link] <= capacity[link] for link in capacity)
    for (weights, bound, penalty), x in zip(flows, shares, strict=True):
        assert x <= bound
        narrow = [
            link
            for link in weights
            if used[link] == capacity[link]
            and all(link not in of or y * other <= x * penalty for (of, _, other), y in zip(flows, shares, strict=True))
        ]
        assert x == bound or narrow
    plain = [({link: float(w) for link, w in weights.items()}, float(b), float(p)) for weights, b, p in flows]
    floats = max_min(plain, {link: float(c) for link, c in capacity.items()})
    assert floats == pytest.approx([float(x) for x in shares])


# Transfers.


def arrivals(flows: list[Flow], net: Network) -> list[float]:
    """When each arrives, ns, without the last digits."""
    return [round(at, 5) for at in transfer_times(flows, net)]


def test_transfers_by_hand() -> None:
    # Alone for half a second, then two for one link, then one alone again.
    flows = [Flow(0, 1, 1e9, 0), Flow(0, 1, 2e9, S // 2), Flow(1, 0, 1e9, 0), Flow(2, 2, 5, 3), Flow(0, 1, 0, 7)]
    assert arrivals(flows, PLAIN) == [1_500_001_000, 3_000_001_000, 1_000_001_000, 3, 1007]
    assert arrivals(flows, NONE) == [0, S // 2, 0, 3, 7]
    assert arrivals(flows, HOCKNEY) == [1_000_001_000, 2_500_001_000, 1_000_001_000, 3, 1007]
    within = Network("sharing", between, bandwidth_factor=0.5, memory=1e9)
    assert arrivals([Flow(1, 1, 5, 3), Flow(1, 1, 5, 3)], within) == [13, 13]
    assert arrivals([Flow(1, 1, 5, 3)], Network("hockney", between, bandwidth_factor=0.5, memory=1e9)) == [8]


def test_acknowledgements_take_a_twentieth() -> None:
    both = [Flow(0, 1, 1e9, 0), Flow(1, 0, 1e9, 0)]
    assert arrivals(both, Network("sharing", between)) == [1_050_001_000] * 2
    assert arrivals(both[:1], Network("sharing", between)) == [1_000_001_000]


def test_a_window_bounds_a_flow_and_latency_is_a_penalty() -> None:
    def far(a: int, b: int) -> list[Link]:
        # Host 1 is near the common link, host 2 is not.
        return [("common", 1e9, 0.001), *([("more", 1e9, 0.002)] if 2 in (a, b) else [])]

    bounded = Network("sharing", far, crosstraffic=False, gamma=1e6)
    assert arrivals([Flow(0, 1, 1e9, 0)], bounded) == [2_001_000_000]
    free = Network("sharing", far, crosstraffic=False, gamma=1e9)
    # 3 : 1, and what is left is alone from 4/3 s on, but for the latencies.
    near, away = arrivals([Flow(0, 1, 1e9, 2_000_000), Flow(0, 2, 1e9, 0)], free)
    assert near == 1_336_333_333.33333
    assert away == 2_003_000_000


def test_a_link_weighs_as_much_as_latency() -> None:
    def far(a: int, b: int) -> list[Link]:
        return [("common", 1e9, latency), *([("more", 1e9, latency)] if 2 in (a, b) else [])]

    # Two links are twice the penalty of one, so 2 : 1; then the second has two thirds of its bytes left for itself.
    net = Network("sharing", far, crosstraffic=False, weight_s=20537.0)
    flows, latency = [Flow(0, 1, 2e9, 0), Flow(0, 2, 2e9, 0)], 1e-9
    assert transfer_times(flows, net) == pytest.approx([3 * S, 4 * S], abs=3)
    latency = 0.0  # then links weigh nothing
    assert arrivals(flows, net) == [4 * S, 4 * S]


def test_nothing_is_rounded() -> None:
    net = Network("sharing", lambda a, b: [((a, b), 2e9, 0.0)], crosstraffic=False)
    assert arrivals([Flow(0, 1, 5, 0), Flow(2, 3, 5, 1)], net) == [2.5, 3.5]
    # Two for the same link, 1 ns apart; the first has 3 of its 5 bytes left, and is done 3 ns later.
    assert arrivals([Flow(0, 1, 5, 0), Flow(0, 1, 5, 1)], net) == [4, 5]
