"""Applications drawn by hand in applications/*.toml, by the engine and by the slow reference."""

from __future__ import annotations

from typing import Any

import pytest
import test_engine_reference as of_loops
import test_graph_engine_reference as of_graphs
from drawn_applications import OUTCOMES, cases, scenario
from graph_scenarios import GraphScenario


@pytest.mark.parametrize("case", cases())
def test_what_becomes_of_it(case: dict[str, Any]) -> None:
    expected = {name: case[name] for name in OUTCOMES if name in case}
    assert expected
    drawn = scenario(case)
    found = drawn.found()
    assert {name: OUTCOMES[name](found) for name in expected} == expected
    if isinstance(drawn, GraphScenario):
        of_graphs.check(drawn, [])
    else:
        of_loops.check(drawn, [])
