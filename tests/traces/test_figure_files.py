"""A figure is laid out once for all its files, and anew when it was changed in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.figures.drawing.canvas import Figure, new_figure, save_all


def figure_with_title(title: str) -> Figure:
    figure = new_figure(3, 2)
    figure.subplots().set_title(title)
    return figure


def test_the_layout_is_found_once_and_for_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = figure_with_title("one line")
    engine = figure.get_layout_engine()
    assert engine is not None
    found = []
    execute = engine.execute
    monkeypatch.setattr(engine, "execute", lambda figure: (found.append(figure), execute(figure)))
    paths = [tmp_path / f"figure.{form}" for form in ("svg", "png", "pdf")]
    assert save_all(figure, paths) == paths
    assert len(found) == 1
    low = figure.axes[0].get_position().y1
    figure.axes[0].set_title("one line\nand another")
    save_all(figure, paths[:1])
    assert len(found) == 2
    assert figure.axes[0].get_position().y1 < low
