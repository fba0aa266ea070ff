"""The notebooks of the tutorials run, and print what is kept in them. (test_first_hour.py has the first one.)"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tools.site.notebooks import NOTEBOOKS, executed, printed


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-hour", "own-policy", "own-technique"]


@pytest.mark.parametrize("name", [pytest.param("own-policy", marks=pytest.mark.release), "own-technique"])
def test_a_notebook_prints_what_is_kept_in_it(tmp_path: Path, name: str) -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    kept = nbformat.read(path, as_version=4)
    again = executed(path, tmp_path)
    assert printed(again) == printed(kept)
    # Tables and pictures may differ by the versions of libraries; that there are some may not.
    kinds = [
        [
            [sorted(output.get("data", {})) for output in cell.get("outputs", ()) if output.output_type != "stream"]
            for cell in one.cells
        ]
        for one in (again, kept)
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_small_and_of_no_machine(path: Path) -> None:
    assert path.stat().st_size < 200_000
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))
