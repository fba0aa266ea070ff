"""What the tests of the command line share: a folder to work in, and one result to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import twolevel

from traces.figures.drawing.canvas import Figure, figure_format


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``twolevel run`` wrote of twenty jobs, with their tasks and without a trace."""
    folder = tmp_path_factory.mktemp("result") / "r"
    ran = twolevel(
        *("run", "sample", "--als", "gss", "--variation", 0.25, "--select", "first:20"),
        *("--tasks", "--no-trace", "--out", folder),
    )
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(autouse=True)
def _figures_are_not_rendered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that are called in this process make their figures, and write a file for each that says only which it is.

    To render them takes longer than all else that most commands do. ``test_first_hour.py`` and the pages' examples do so; a
    test here that looks into a picture asks for ``rendered``.
    """
    if "rendered" in request.fixturenames:
        return

    def save_all(figure: Figure, paths: Sequence[Path]) -> list[Path]:
        for path in paths:
            figure_format(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"a figure of {len(figure.axes)} axes")
        return list(paths)

    monkeypatch.setattr("traces.figures.drawing.canvas.save_all", save_all)


@pytest.fixture
def rendered() -> None:
    """Figures are drawn as users see them."""
