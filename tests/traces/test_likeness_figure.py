"""The figure that sets a generated workload beside its source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traces.base.errors import InputError
from traces.figures.workload.likeness import PANELS, likeness_figure


def table() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for panel, at in (("hour", range(24)), ("weekday", range(7)), ("month", range(1, 13)), ("work", range(2, 12))):
        shares = np.arange(1.0, len(at) + 1) / sum(range(1, len(at) + 1))
        rows += [
            {"panel": panel, "at": float(x), "source": float(a), "generated": float(b)}
            for x, a, b in zip(at, shares, shares[::-1], strict=True)
        ]
    return rows


def test_bars_are_the_source_and_points_the_generated() -> None:
    figure = likeness_figure(table(), names=("log", "like it"), distances={"hour": 0.0123}, title="T")
    assert [axes.get_xlabel() for axes in figure.axes] == list(PANELS.values())
    hours, weekdays, months, work = figure.axes
    for axes, n in ((hours, 24), (weekdays, 7), (months, 12), (work, 10)):
        shares = 100 * np.arange(1, n + 1) / sum(range(1, n + 1))
        (bars,) = axes.containers
        np.testing.assert_allclose([bar.get_height() for bar in bars], shares)
        (line,) = axes.get_lines()
        assert line.get_ydata() == pytest.approx(shares[::-1])
        assert axes.get_ylabel() == "jobs [%]"
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > shares.max()
    assert hours.get_title(loc="right") == "KS distance 0.012"
    assert weekdays.get_title(loc="right") == ""
    assert [text.get_text() for text in weekdays.get_xticklabels()] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert months.get_xticks().tolist() == list(range(1, 13))
    assert work.get_xticklabels()[0].get_text() == "$10^{2}$"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["log", "like it"]


def test_what_cannot_be_drawn() -> None:
    rows = table()
    with pytest.raises(InputError, match=r"^likeness: no rows of the panel month"):
        likeness_figure([row for row in rows if row["panel"] != "month"])
    with pytest.raises(InputError, match=r"^likeness: unknown panel 'year'; known: weekday"):
        likeness_figure([*rows, {"panel": "year", "at": 1, "source": 0, "generated": 0}])
    with pytest.raises(InputError, match=r"^likeness: a row has no generated; needed: panel, at, source, generated"):
        likeness_figure([{"panel": "hour", "at": 1, "source": 0}])


def test_a_day_has_no_months() -> None:
    rows = [row | {"source": 1.0, "generated": 1.0} if row["at"] == 3.0 else row for row in table()]
    rows = [
        row | ({"source": 0.0, "generated": 0.0} if row["panel"] in ("weekday", "month") and row["at"] != 3.0 else {})
        for row in rows
    ]
    hours, weekdays, months, work = likeness_figure(rows).axes
    assert [text.get_text() for axes in (weekdays, months) for text in axes.texts] == [
        "all jobs of both are of one weekday",
        "all jobs of both are of one month",
    ]
    assert hours.get_lines()
    assert work.get_lines()
    rows = [row | {"generated": 1.0} if row["panel"] == "month" and row["at"] == 4.0 else row for row in rows]
    assert likeness_figure(rows).axes[2].get_lines()
