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


MANY = ["static", "fsc:h=1e-6,sigma=0.2", "select:(gss,fac,awf-b)", *(f"tss:first={k}" for k in range(27))]


def many(policies: list[str]) -> tuple[list[str], list[str], list[float], list[int]]:
    """Thirty techniques, the k-th of which needs k hours more, and grows by k thousandths with variation."""
    grid = list(product(policies, range(len(MANY)), [0.0, 0.1]))
    hours = [(100 + policies.index(policy) + k) * (1 + k / 1000 * (v > 0)) for policy, k, v in grid]
    columns = list(zip(*grid, strict=True))
    return list(columns[0]), [MANY[k] for k in columns[1]], list(columns[2]), [round(one * H) for one in hours]


def test_many_techniques_are_rows_with_their_names() -> None:
    figure = makespans_figure(*many(["fcfs", "sjf"]))
    assert [axes.get_title() for axes in figure.axes] == ["fcfs", "sjf"]
    for place, axes in enumerate(figure.axes):
        assert [text.get_text() for text in axes.get_yticklabels()] == (MANY if place == 0 else [])
        (bars,) = axes.containers
        assert [bar.get_width() for bar in bars] == pytest.approx([(100 + place + k) / 24 for k in range(30)])
        assert axes.get_xlim()[0] == 0
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first one is at the top
    left, right = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert left[:2] == ["4.167  best", "4.208  +1.0 %"]
    assert right[0] == "4.208  +1.0 %"
    assert figure.get_supxlabel() == "makespan [d]"


def test_ratios_of_many_techniques_are_cells_with_numbers() -> None:
    figure = makespan_ratio_figure(*many(["a", "b", "c", "d", "e", "f"]))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == ["a", "b", "c", "d", "e", "f"]
    for axes in shown:
        np.testing.assert_allclose(axes.images[0].get_array(), [[1, 1 + k / 1000] for k in range(30)])
        assert [text.get_text() for text in axes.texts][-2:] == ["1.000", "1.029"]
    assert "1.000 (pale) to 1.029 (dark)" in figure.get_suptitle()


def test_a_cell_without_a_makespan_says_nothing() -> None:
    bls, als, variation, ns = many(["fcfs"])
    ns[2:4] = [0, 0]
    bars = makespans_figure(bls, als, variation, ns).axes[0]
    cells = makespan_ratio_figure(bls, als, variation, ns).axes[0]
    assert (len(bars.texts), len(cells.texts)) == (29, 58)


def test_no_name_of_a_technique_is_cut() -> None:
    for figure in (makespans_figure(*many(["a", "b", "c", "d", "e"])), makespan_ratio_figure(*many(["fcfs"]))):
        figure.draw_without_rendering()
        for text in figure.axes[0].get_yticklabels():
            assert text.get_window_extent().x0 >= 0
    # Eight long names are a legend of several lines, within the figure.
    eight = [f"fsc:h=1e-{k},sigma=0.{k}" for k in range(8)]
    for figure in (
        makespans_figure(["fcfs"] * 8, eight, [0.0] * 8, [H] * 8),
        makespan_ratio_figure(["fcfs"] * 8, eight, [0.0] * 8, [H] * 8),
    ):
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert figure.axes[0].get_window_extent().height > 250
