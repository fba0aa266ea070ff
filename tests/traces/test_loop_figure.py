"""The figures of a loop: what each core did without a gap, the sizes of chunks, and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traces.figures.application.loop as loop
from traces.base.errors import InputError
from traces.figures.application.chunk_sizes import chunk_sizes_figure
from traces.figures.application.loop import LoopChunks, loop_figure, loop_intervals
from traces.figures.drawing import bars


def chunks(*rows: tuple[int, int, int, int, int]) -> LoopChunks:
    return LoopChunks(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


# Core 1 had no chunk; core 0 waits between its chunks, and core 2 pays for its only one.
SMALL = chunks((2, 5, 0, 3, 10), (0, 4, 0, 0, 4), (0, 1, 6, 7, 9))


def test_what_cores_did_by_hand() -> None:
    intervals = np.stack(loop_intervals(SMALL, 3, 0, 12), axis=1).tolist()
    assert intervals == [
        [0, 0, 4, 0],
        [0, 4, 6, 3],
        [0, 6, 7, 2],
        [0, 7, 9, 1],
        [0, 9, 12, 3],
        [1, 0, 12, 3],
        [2, 0, 3, 2],
        [2, 3, 10, 0],
        [2, 10, 12, 3],
    ]


@settings(max_examples=100)
@given(
    start=st.integers(0, 10**15),
    cores=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9)), max_size=6), min_size=1, max_size=6
    ),
    shuffle=st.randoms(use_true_random=False),
)
def test_every_instant_of_every_core_is_shown_once(start: int, cores: list[Any], shuffle: Any) -> None:
    rows, ends = [], [start]
    for core, spans in enumerate(cores):
        at = start
        for idle, scheduling, work in spans:
            begin = at + idle + scheduling
            rows.append((core, 1, at + idle, begin, begin + work))
            at = begin + work
        ends.append(at)
    if not rows:
        return
    shuffle.shuffle(rows)
    end = max(ends)
    found = np.stack(loop_intervals(chunks(*rows), len(cores), start, end), axis=1)
    for core, spans in enumerate(cores):
        mine = found[found[:, 0] == core]
        if end > start:
            assert mine[0, 1] == start
            assert mine[-1, 2] == end
        assert (mine[1:, 1] == mine[:-1, 2]).all()
        assert (mine[:, 2] > mine[:, 1]).all()
        length = mine[:, 2] - mine[:, 1]
        assert length[mine[:, 3] <= 1].sum() == sum(work for _, _, work in spans)
        assert length[mine[:, 3] == 2].sum() == sum(scheduling for _, scheduling, _ in spans)
        assert (np.diff(mine[mine[:, 3] <= 1, 3]) != 0).all()  # two chunks in a row have different shades


def test_bars_axes_and_the_makespan() -> None:
    figure = loop_figure(SMALL, n_cores=3, end_ns=12, title="gss", first_core=(0, 2, 3))
    upper, lower = figure.axes
    bars = upper.collections[0]
    assert len(bars.get_paths()) == 9
    corners = bars.get_paths()[3].vertices[:4]
    assert sorted(set(np.asarray(corners)[:, 0].tolist())) == [7.0, 9.0]
    assert np.asarray(corners)[:, 1].min() > 0.0
    assert np.asarray(corners)[:, 1].max() < 1.0
    shades = {tuple(np.round(colour, 6)) for colour in np.asarray(bars.get_facecolor())[[0, 1, 2, 3]]}
    assert len(shades) == 4
    (between,) = upper.collections[1].get_segments()
    assert [y for _, y in between] == [2, 2]
    (end,) = upper.get_lines()
    assert list(end.get_xdata()) == [12, 12]
    assert upper.get_ylabel() == "core"
    assert lower.get_xlabel() == "time since the start of the loop [ns]"
    assert upper.get_title(loc="left") == "gss"
    assert upper.get_title(loc="right") == "makespan 12 ns; 3 chunks, 10 tasks, 3 cores"
    _, dots = lower.get_lines()
    assert list(zip(dots.get_xdata(), dots.get_ydata(), strict=True)) == [(0, 5), (0, 4), (6, 1)]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a chunk", "the next", "scheduling", "idle", "makespan"]


@pytest.mark.parametrize(
    ("last_ns", "unit", "at"), [(2_999, "ns", 2_999), (3_000, "µs", 3), (7200 * 10**9, "min", 120)]
)
def test_the_unit_suits_the_makespan(last_ns: int, unit: str, at: float) -> None:
    upper, lower = loop_figure(chunks((0, 1, 0, 0, last_ns)), n_cores=1).axes
    assert lower.get_xlabel().endswith(f"[{unit}]")
    assert list(upper.get_lines()[0].get_xdata()) == [at, at]


def test_many_chunks_are_a_picture_of_what_they_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "SINGLE_BARS", 8)
    monkeypatch.setattr(loop, "SINGLE_DOTS", 2)
    upper, lower = loop_figure(SMALL, n_cores=3, end_ns=12).axes
    (picture,) = upper.images
    pixels = np.asarray(picture.get_array())
    assert pixels.shape == (3, bars._COLUMNS, 3)
    colours = [loop.CHUNK_COLOURS[0], loop.IDLE_COLOUR, loop.SCHEDULING_COLOUR, loop.CHUNK_COLOURS[1]]
    for at, colour in zip((2, 5, 6.5, 8), colours, strict=True):
        expected = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        assert pixels[0, int(at / 12 * bars._COLUMNS)] == pytest.approx(expected, abs=1e-9)
    spans = sorted(np.asarray(segment)[:, 1].tolist() for segment in lower.collections[0].get_segments())
    assert [[round(lo / 0.93), round(hi / 1.07)] for lo, hi in spans] == [[1, 1], [4, 5]]


def test_chunk_sizes_are_squares_side_by_side() -> None:
    figure = chunk_sizes_figure({"gss": [5, 3, 2], "static": [5, 5], "ss": [1] * 10, "a": [10], "b": [4, 6]}, title="T")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["gss", "static", "ss", "a", "b"]
    assert [axes.get_title(loc="right") for axes in shown][2:4] == ["10 chunks", "1 chunk"]
    boxes = [path.get_extents().bounds for path in shown[0].collections[0].get_paths()]
    assert boxes == [(0, 0, 5, 5), (5, 0, 3, 3), (8, 0, 2, 2)]
    assert {axes.get_xlim() for axes in shown} == {(0, 10)}
    assert len({axes.get_ylim() for axes in shown}) == 1


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="no chunk was run"):
        loop_figure(LoopChunks(*[np.empty(0, np.int64)] * 5), n_cores=3)
    with pytest.raises(InputError, match="no chunk sizes"):
        chunk_sizes_figure({"gss": []})
