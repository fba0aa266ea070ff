"""The figure of what a machine draws: the curve, the limit with its gaps, the level, and hosts that are not in service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from traces.base.errors import InputError
from traces.figures.run.power import power_figure
from traces.tables import POWER_COLUMNS

S = 10**9


def table(**columns: list[int]) -> pd.DataFrame:
    none = {name: [0, 0, 0] for name in POWER_COLUMNS}
    return pd.DataFrame(
        none | {"instant_ns": [0, 20 * S, 80 * S], "power_mw": [400, 280, 400], "limit_mw": [-1] * 3} | columns
    )


def edges_and_values(axes: Any) -> tuple[list[float], list[float]]:
    (patch, *_) = (one for one in axes.patches if isinstance(one, StepPatch))
    values, edges, _ = patch.get_data()
    return list(edges), list(values)


def test_power_and_its_limit() -> None:
    drawn = table(power_mw=[400_000_000, 280_000_000, 400_000_000], limit_mw=[-1, 300_000_000, -1], level=[0, 1, 0])
    figure = power_figure(drawn, until_ns=130 * S, title="a: b, fallback dvfs")
    power, level = figure.axes
    assert edges_and_values(power) == ([0, 20, 80, 130], [400, 280, 400])
    (limit,) = power.lines
    assert limit.get_xdata().tolist() == [0, 20, 80, 130]
    np.testing.assert_equal(limit.get_ydata(), [np.nan, 300, np.nan, np.nan])
    assert edges_and_values(level) == ([0, 20, 80, 130], [0, 1, 0])
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"at most 400 kW; black: the limit", "a: b, fallback dvfs", "power [kW]", "level"} < texts


def test_very_many_steps_are_drawn_by_columns_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.figures.run.power._EXACT_STEPS", 2)
    monkeypatch.setattr("traces.figures.run.power._COLUMNS", 4)
    drawn = table(power_mw=[400_000_000, 280_000_000, 400_000_000], level=[0, 1, 0])
    figure = power_figure(drawn, until_ns=120 * S)
    power, level = figure.axes
    assert edges_and_values(power) == ([0, 30, 60, 90, 120], [360, 280, 320, 400])
    assert edges_and_values(level) == ([0, 30, 60, 90, 120], [1, 1, 1, 0])
    words = "at most 400 kW; line: mean of each 30 s, band: least to most"
    assert words in {text.get_text() for text in figure.findobj(Text)}


def test_hosts_that_are_stopped() -> None:
    drawn = table(hosts_out=[0, 1, 0], hosts_stopping=[0, 1, 0], hosts_off=[0, 2, 0], hosts_booting=[0, 0, 3])
    power, away = power_figure(drawn, until_ns=90 * S).axes
    assert not power.lines
    assert edges_and_values(away)[1] == [0, 4, 3]


def test_parts_of_the_machine_have_panels() -> None:
    parts = pd.DataFrame(
        {
            "instant_ns": [0, 30 * S, 0],
            "domain": ["switch:a", "switch:a", "hosts:3"],
            "power_mw": [100_000_000, 50_000_000, 20_000_000],
            "limit_mw": [80_000_000, -1, -1],
        }
    )
    figure = power_figure(table(level=[0, 1, 0]), until_ns=90 * S, domains=parts)
    _, level, first, second = figure.axes
    assert edges_and_values(level)[1] == [0, 1, 0]
    assert edges_and_values(first) == ([0, 30, 90], [100, 50])
    assert edges_and_values(second) == ([0, 90], [20])
    np.testing.assert_equal(first.lines[0].get_ydata(), [80, np.nan, np.nan])
    assert not second.lines
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"switch:a: at most 100 kW; black: the limit", "hosts:3: at most 20 kW"} < texts


def test_a_run_that_took_no_time() -> None:
    with pytest.raises(InputError, match="nothing took any time"):
        power_figure(table(), until_ns=0)
