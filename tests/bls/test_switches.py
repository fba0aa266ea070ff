"""The switches as arrays: leaves first, then by level; and every tree that is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.machine.switches import Switch, topology
from traces.base.errors import InputError


def switch(name: str, below: str) -> Switch:
    """A leaf of the hosts ``0-3``, or a switch above ``a b``."""
    return Switch(name, below) if below[0].isdigit() else Switch(name, switches=tuple(below.split()))


def made(**below: str) -> list[Switch]:
    return [switch(name, value) for name, value in below.items()]


def test_leaves_come_first_then_levels_then_hosts() -> None:
    found = topology(made(root="x y", y="s2 s1", s2="4", s0="0-1", s1="2-3", x="s0"), 5)
    assert found.names == ("s0", "s1", "s2", "x", "y", "root")
    assert found.lo.tolist() == [0, 2, 4, 0, 2, 0]
    assert found.hi.tolist() == [2, 4, 5, 2, 5, 5]
    assert found.level.tolist() == [0, 0, 0, 1, 1, 2]
    assert (found.n_leaves, len(found)) == (3, 6)
    with pytest.raises(ValueError, match="read-only"):
        found.lo[0] = 1


def test_trees_may_be_uneven_or_several() -> None:
    found = topology(made(a="0", b="1", c="2-4", low="a b", high="low c", d="5"), 6)
    assert found.names == ("a", "b", "c", "d", "low", "high")
    assert found.level.tolist() == [0, 0, 0, 0, 1, 2]


def test_hosts_below_a_switch_need_not_be_neighbours() -> None:
    found = topology(made(top="d c", c="b a", a="5 0-1", b="3", d="e", e="2 4"), 6)
    assert found.names == ("a", "e", "b", "c", "d", "top")
    assert found.hosts.tolist() == [0, 1, 5, 3, 2, 4]
    assert found.lo.tolist() == [0, 4, 3, 0, 4, 0]
    assert found.hi.tolist() == [3, 6, 4, 4, 6, 6]
    assert [found.below(row).tolist() for row in range(4)] == [[0, 1, 5], [2, 4], [3], [0, 1, 3, 5]]
    assert found.leaf_of_host.tolist() == [0, 0, 1, 2, 1, 0]


def test_without_switches_there_is_nothing() -> None:
    found = topology([], 5)
    assert (len(found), found.n_leaves, found.lo.shape) == (0, 0, (0,))


@settings(max_examples=100)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_any_cut_of_the_hosts_into_ranges(widths: list[int], random: object) -> None:
    stops = [sum(widths[: k + 1]) for k in range(len(widths))]
    leaves = [Switch(f"s{k}", f"{b - w}-{b - 1}") for k, (w, b) in enumerate(zip(widths, stops, strict=True))]
    every = [*leaves, Switch("top", switches=tuple(leaf.name for leaf in leaves))]
    random.shuffle(every)  # type: ignore[attr-defined]
    found = topology(every, stops[-1])
    assert found.hi.tolist() == [*stops, stops[-1]]
    assert found.lo.tolist() == [0, *stops[:-1], 0]


@pytest.mark.parametrize(("below", "message"), table_rows(__file__, "what_is_no_tree_is_refused"))
def test_what_is_no_tree_is_refused(below: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        topology(made(**below), 5)


def test_names_are_unique() -> None:
    with pytest.raises(InputError, match=r"switches\[1\].name: 'a' is the name of two switches"):
        topology([Switch("a", "0"), Switch("a", "1")], 2)


@pytest.mark.parametrize(("values", "message"), table_rows(__file__, "a_switch_checks_its_values"))
def test_a_switch_checks_its_values(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Switch("s", **values)  # type: ignore[arg-type]
