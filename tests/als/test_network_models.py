"""Models of the network: their constants, their parameters, and what kernels are given of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from network_calls import network
from pages import ROOT, section, table

from als.network import MODELS, TOPOLOGIES, NetworkKind, NetworkModel, SharingModel, network_model, network_state
from als.network.state import (
    BANDWIDTH,
    BANDWIDTH_FACTOR,
    CROSSTRAFFIC,
    GAMMA,
    KIND,
    LATENCY_FACTOR,
    LATENCY_NS,
    MEMORY,
    N_HOSTS,
    TOPOLOGY,
    WEIGHT_S,
)
from traces.base.errors import InputError


# What kernels read: kind, crosstraffic, latency factor, bandwidth factor, weight-S, gamma.
@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("none", (0, 0, 1.0, 1.0, 0.0, 0.0)),
        ("hockney", (1, 0, 1.0, 1.0, 0.0, 0.0)),
        ("cm02", (2, 1, 1.0, 1.0, 0.0, 4194304.0)),
        ("lv08", (2, 1, 13.01, 0.97, 20537.0, 4194304.0)),
        ("lv08:crosstraffic=no", (2, 0, 13.01, 0.97, 20537.0, 4194304.0)),
        ("cm02:crosstraffic=no,gamma=1e6", (2, 0, 1.0, 1.0, 0.0, 1e6)),
        ("cm02:latency_factor=0,bandwidth_factor=0.5,weight_s=3", (2, 1, 0.0, 0.5, 3.0, 4194304.0)),
    ],
)
def test_kernels_are_given_the_constants(spec: str, found: tuple[float, ...]) -> None:
    net = network("star", 5, spec, bandwidth_gbps=50.0, latency_ns=500.5, memory_gbps=400.0)
    numbers, amounts = net
    factors = [amounts[place] for place in (LATENCY_FACTOR, BANDWIDTH_FACTOR, WEIGHT_S, GAMMA)]
    assert (numbers[KIND], numbers[CROSSTRAFFIC], *factors) == found
    assert (numbers[N_HOSTS], numbers[TOPOLOGY]) == (5, 2)
    assert [amounts[place] for place in (LATENCY_NS, BANDWIDTH, MEMORY)] == [500.5, 6.25e9, 5e10]
    assert network("star", 5).amounts[MEMORY] == 0.0


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
    with pytest.raises(InputError, match=r"^phase: no file"):
        network_model("away.py:MINE", "phase")


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hosts": 0}, "hosts: 0 is out of range"),
        ({"bandwidth_gbps": 0.0}, "network.bandwidth_gbps: 0.0 is out of range"),
        ({"latency_ns": -1.0}, "network.latency_ns: -1.0 is out of range"),
        ({"memory_gbps": float("nan")}, "network.memory_gbps: nan is out of range"),
        ({"topology": 3}, "network.topology: 3 is not a string; known: full, "),
    ],
)
def test_numbers_of_a_platform_that_cannot_be(changes: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"topology": "full", "hosts": 2, "bandwidth_gbps": 1.0, "latency_ns": 1.0}
    with pytest.raises(InputError) as caught:
        network_state(MODELS["lv08"], **(given | changes))  # type: ignore[arg-type]
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
        known = [field.name for field in fields(TOPOLOGIES[name.strip("`")])]  # type: ignore[arg-type]
        assert parameters.replace("`", "") == (", ".join(known) or "none")
