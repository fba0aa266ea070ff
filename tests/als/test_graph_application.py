"""What an application that is driven from Python may be given of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from als.application import Application
from als.engine.dag.parts import Edges, GraphPart
from als.network import network_model, network_state
from als.planners import PLANNERS
from als.planners.mapped import MAPPED
from als.techniques import technique
from traces.base.errors import InputError

SS = technique("ss")


def edges(*pairs: tuple[int, int], first: tuple[int, ...] | None = None, n_bytes: float = 0.0) -> Edges:
    """Edges of one part, or of parts from ``first`` on."""
    source, target = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    return Edges(
        np.array((0, len(pairs)) if first is None else first), source, target, np.full(len(pairs), float(n_bytes))
    )


def application(n: int = 4, cores: int = 2, **given: Any) -> Application:
    """``n`` tasks of 1 GFLOP on cores of 1 GFLOP/s."""
    return Application([1.0] * n, [1.0] * cores, **{"phases": [GraphPart(SS)]} | given)


@pytest.mark.parametrize("scheduler", [SS, PLANNERS["heft"]], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (edges((1, 1)), "edges: part 0: the task 1 waits for itself"),
        (edges((0, 1), (1, 0)), "edges: part 0: the tasks 0 -> 1 -> 0 wait for each other"),
        (edges((0, 1), (1, 2), (2, 3), (3, 1)), "edges: part 0: the tasks 1 -> 2 -> 3 -> 1 wait for each other"),
    ],
)
def test_cycles_are_refused_by_name(scheduler: Any, given: Edges, message: str) -> None:
    with pytest.raises(InputError) as caught:
        application(phases=[GraphPart(scheduler)], edges=given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edges": edges((0, 4))}, "edges: one is to or from a task that is not in its part"),
        ({"edges": edges((-1, 2))}, "edges: one is to or from a task that is not in its part"),
        ({"edges": edges((1, 2), (0, 2))}, "edges: allowed: sorted by"),
        ({"edges": edges((0, 2), (0, 2))}, "edges: allowed: sorted by .* none twice"),
        ({"edges": edges((0, 2), n_bytes=-1)}, "edges: allowed: 1 targets, and bytes from 0 on, finite"),
        ({"edges": edges((0, 2), n_bytes=np.nan)}, "edges: allowed: 1 targets, and bytes from 0 on, finite"),
        ({"edges": edges((0, 2), first=(0, 1, 1))}, r"edges\.first: .*; allowed: 2 numbers from 0 to 1, ascending"),
        ({"edges": edges((0, 2), first=(1, 1))}, r"edges\.first"),
        ({"phases": [SS], "edges": edges((0, 2))}, "edges: given, but no part is a graph"),
        (
            {"phases": [SS, GraphPart(SS)], "part_tasks": (2, 2), "edges": edges((0, 1), first=(0, 1, 1))},
            "edges: part 0 has 1; allowed: none, as it is no graph",
        ),
        ({"edges": edges(), "core_host": [0]}, "core_host: allowed: a host for each of 2 cores, 0 to 0"),
        ({"edges": edges(), "core_host": [0, 1]}, "core_host: allowed: a host for each of 2 cores, 0 to 0"),
        ({"phases": [GraphPart(MAPPED, core=np.array([0, 1, 2, 0]))]}, "mapped: task 2 is for core 2; allowed: 0 to 1"),
        ({"phases": [GraphPart(MAPPED, host=np.array([0, 1, 0, 0]))]}, r"mapped: task 1 is for host 1; allowed: \[0\]"),
        ({"phases": [GraphPart(MAPPED, host=np.array([0]))]}, "mapped: 1 places; allowed: one for each of 4 tasks"),
    ],
)
def test_what_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        application(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((technique("select:gss,fac"),), "select:gss,fac: looks ahead to the end of a loop"),
        ((MAPPED,), "host, core: allowed: one of them with mapped"),
        ((SS, False, np.zeros(1)), "host, core: allowed: one of them with mapped, and with nothing else"),
        ((PLANNERS["heft"], True), "by_rank: not with heft, which has an order of its own"),
    ],
)
def test_parts_that_cannot_be(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphPart(*given)


def test_an_order_against_the_edges_is_refused() -> None:
    """A core's tasks follow one another by number, and the first waits for the second."""
    found = application(2, 1, phases=[GraphPart(MAPPED, core=np.zeros(2, np.int64))], edges=edges((1, 0)))
    with pytest.raises(
        InputError, match="mapped: the order of the cores' tasks contradicts the edges, with 2 tasks left"
    ):
        found.advance()


def test_one_that_never_ends_names_its_longest_task() -> None:
    found = Application([1.0, 1e12, 2.0], [1e-6], phases=[GraphPart(SS)], edges=edges((0, 1)))
    with pytest.raises(InputError, match=r"last simulated instant, \d+ ns; its longest task, 1, has 1e\+12 GFLOP"):
        found.advance()


def test_data_that_take_time_allow_no_other_width() -> None:
    net = network_state(network_model("hockney"), "full", hosts=8, bandwidth_gbps=8, latency_ns=0)
    with pytest.raises(InputError, match="resize: a graph whose data take time on a network; allowed: no network"):
        application(3, network=net).resize(taken=[0])
