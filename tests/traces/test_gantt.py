"""The Gantt chart: the right rectangles, in the right colours, in files of every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.base.errors import InputError
from traces.figures.drawing import bars
from traces.figures.drawing.canvas import PALETTE, rgb, save
from traces.figures.drawing.coverage import painted
from traces.figures.run.gantt import gantt_figure, select_bars

S = 10**9
#: job, core, start, end
BARS = np.array(
    [[1542, 0, 0, 4 * S], [1542, 1, 0, 10 * S], [1543, 2, 2 * S, 9 * S], [1542, 0, 4 * S, 7 * S], [1543, 5, 0, 3 * S]]
)
COLUMNS = tuple(BARS.T)
HOSTS = {"first_core": np.array([0, 4, 6]), "host_names": ["host 0", "host 1"]}


def rectangles(figure: object) -> list[tuple[float, float, float, float]]:
    """(x0, y0, x1, y1) of the drawn bars."""
    bars = figure.axes[0].collections[0]  # type: ignore[attr-defined]
    corners = [path.vertices[:4] for path in bars.get_paths()]
    return [(*one.min(axis=0).tolist(), *one.max(axis=0).tolist()) for one in corners]


def test_rectangles_are_the_bars() -> None:
    figure = gantt_figure(*COLUMNS, **HOSTS)
    margin = 0.06
    expected = [(s / S, c + margin, e / S, c + 1 - margin) for _, c, s, e in BARS.tolist()]
    np.testing.assert_allclose(rectangles(figure), expected)
    axes = figure.axes[0]
    assert axes.get_xlim() == (0, 10)
    assert axes.get_ylim() == (6, 0)
    assert axes.get_xlabel() == "time since the start of the workload [s]"


def test_colours_are_the_jobs_and_the_legend_names_them() -> None:
    figure = gantt_figure(*COLUMNS, **HOSTS)
    colours = [tuple(one[:3]) for one in figure.axes[0].collections[0].get_facecolor().tolist()]
    first, second = rgb(PALETTE[0]), rgb(PALETTE[1])
    assert colours == [first, first, second, first, second]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["job 1542", "job 1543"]
    assert [patch.get_facecolor()[:3] for patch in legend.get_patches()] == [first, second]


@pytest.mark.parametrize("single_bars", [2, 10])
def test_what_never_ran_is_not_drawn(single_bars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one by one nor as what it covers."""
    monkeypatch.setattr(bars, "SINGLE_BARS", single_bars)
    rows = np.array([[1, 0, 2 * S, 4 * S], [1, -1, -1, -1], [2, 1, 4 * S, 9 * S], [2, 2, 3 * S, 4 * S]])
    assert [column.tolist() for column in select_bars(*rows.T)] == rows[[0, 2, 3]].T.tolist()
    axes = gantt_figure(*rows.T, **HOSTS).axes[0]
    assert axes.get_xlim() == (0, 9)  # and not from the one at -1
    assert axes.get_title(loc="right") == "3 bars of 2 jobs on 6 cores; white: idle"


def test_more_jobs_than_colours_have_no_legend() -> None:
    n = 40
    k = np.arange(n)
    figure = gantt_figure(k, k % 6, k * S, (k + 1) * S, **HOSTS)
    assert figure.legends == []
    assert "colours recur" in figure.axes[0].get_title(loc="right")
    colours = figure.axes[0].collections[0].get_facecolor()
    assert all((colours[k] != colours[k + 1]).any() for k in range(n - 1))


@pytest.mark.parametrize("block", [1, 2, 1_000_000])
def test_very_many_bars_are_drawn_as_what_they_cover(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "SINGLE_BARS", 4)
    monkeypatch.setattr(bars, "_BLOCK", block)
    axes = gantt_figure(*COLUMNS, **HOSTS).axes[0]
    picture = axes.images[0].get_array()
    assert axes.images[0].get_extent() == [0, 10, 6, 0]
    height, width, _ = picture.shape
    assert height == 6
    first, second, white = rgb(PALETTE[0]), rgb(PALETTE[1]), (1, 1, 1)
    for core, second_of_run, colour in [(0, 1, first), (0, 8, white), (2, 1, white), (2, 5, second), (3, 5, white)]:
        np.testing.assert_allclose(picture[core, second_of_run * width // 10 + 1], colour, err_msg=str(core))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60), st.integers(0, 60)), max_size=12))
def test_a_picture_keeps_the_area_of_its_bars(drawn: list[tuple[int, int, int]]) -> None:
    """Of bars that do not overlap; some rows share a cell."""
    taken: dict[int, list[tuple[int, int]]] = {}
    bars = []
    for row, a, b in drawn:
        lo, hi = min(a, b), max(a, b)
        if all(hi <= x or lo >= y for x, y in taken.setdefault(row, [])):
            taken[row].append((lo, hi))
            bars.append((row, lo, hi))
    row, lo, hi = np.array(bars or [(0, 0, 0)]).T
    black = np.zeros((1, 3))
    bars_drawn = (row, lo / 60, hi / 60, np.zeros(len(row), np.int64))
    picture = painted(
        [tuple(column[part] for column in bars_drawn) for part in (slice(3), slice(3, None))], black, 7, 13, 4
    )
    assert picture.shape == (4, 13, 3)
    covered = (1 - picture[:, :, 0]).sum() * 2 / 13
    assert covered == pytest.approx(((hi - lo) / 60).sum())


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_files_of_every_format_are_equal_when_drawn_twice(tmp_path: Path, suffix: str, magic: bytes) -> None:
    paths = [save(gantt_figure(*COLUMNS, **HOSTS, title="FCFS, GSS"), tmp_path / name / f"g.{suffix}") for name in "ab"]
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(magic)
    assert first == second


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot draw into a file ending in '.gif'; allowed: .png, .svg, .pdf"):
        save(gantt_figure(*COLUMNS, **HOSTS), tmp_path / "g.gif")
    with pytest.raises(InputError, match="nothing to draw"):
        gantt_figure(*(column[:0] for column in COLUMNS), **HOSTS)
    with pytest.raises(InputError, match=r"^--cores: 6-8 goes beyond what exists: the machine has cores 0 to 5"):
        gantt_figure(*COLUMNS, **HOSTS, cores=[(6, 9)])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the figure: File exists"):
        save(gantt_figure(*COLUMNS, **HOSTS), tmp_path / "file" / "g.png")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
