"""The figures of a grid of runs."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from traces.errors import InputError
from traces.figures.makespans import (
    draw_makespan_ratios,
    draw_makespans,
    makespan_ratio_figure,
    makespans_figure,
)

H = 3600 * 10**9
GRID = list(product(["fcfs", "sjf"], ["static", "ss", "gss"], [0.25, 0.0, 0.1]))
BLS, ALS, VARIATION = (list(column) for column in zip(*GRID, strict=True))


def makespan(bls: str, als: str, variation: float) -> int:
    base = {"fcfs": 30, "sjf": 24}[bls] + {"static": 2, "ss": 0, "gss": 1}[als]
    return round(base * (1 + variation) * H)


MAKESPAN = [makespan(*cell) for cell in GRID]


def test_bars_are_the_makespans_at_the_smallest_variation() -> None:
    axes = makespans_figure(BLS, ALS, VARIATION, MAKESPAN).axes[0]
    assert [[bar.get_height() for bar in group] for group in axes.containers] == [
        [32, 26],
        [30, 24],
        [31, 25],
    ]
    assert [group.get_label() for group in axes.containers] == ["static", "ss", "gss"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["fcfs", "sjf"]
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylabel() == "makespan [h]"
    said = {text.get_text() for text in axes.texts}
    assert {"24\nbest", "30\n+25.0 %"} <= said


def test_lines_are_the_ratios() -> None:
    figure = makespan_ratio_figure(BLS, ALS, VARIATION, MAKESPAN)
    assert [axes.get_title() for axes in figure.axes] == ["fcfs", "sjf"]
    for axes in figure.axes:
        lines = axes.get_lines()[1:]  # the first is at 1
        assert len(lines) == 3
        for line in lines:
            np.testing.assert_allclose(line.get_xydata(), [[0, 1], [0.1, 1.1], [0.25, 1.25]])
    assert "axis does not start at zero" in figure.axes[0].get_ylabel()


def test_repeated_runs_are_averaged_and_missing_ones_left_out() -> None:
    axes = makespans_figure(["a", "a", "b"], ["x", "x", "y"], [0.1, 0.1, 0.1], [10 * H, 20 * H, 12 * H]).axes[0]
    assert [[bar.get_height() for bar in group] for group in axes.containers] == [[15, 0], [0, 12]]
    assert {text.get_text() for text in axes.texts} == {"15\n+25.0 %", "12\nbest"}


@pytest.mark.parametrize("draw", [draw_makespans, draw_makespan_ratios])
def test_files(draw: object, tmp_path: Path) -> None:
    for name in ("m.png", "m.svg", "m.pdf"):
        path = draw(BLS, ALS, VARIATION, MAKESPAN, path=tmp_path / name, title="T")  # type: ignore[operator]
        assert path.stat().st_size > 1000
    with pytest.raises(InputError, match=r"allowed: \.png, \.svg, \.pdf"):
        draw(BLS, ALS, VARIATION, MAKESPAN, path=tmp_path / "m.txt")  # type: ignore[operator]
    with pytest.raises(InputError, match="no makespan to draw"):
        draw([], [], [], [], path=tmp_path / "n.png")  # type: ignore[operator]
