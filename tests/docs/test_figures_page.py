"""The page of figures names those that there are, and its pictures and its example are real."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
from pages import ROOT, blocks, section, table

from bridge.runs.figures import RUN_FIGURES
from bridge.studies.drawing import STUDY_FIGURES
from tools.pictures import PICTURES

PAGE = ROOT / "docs" / "reference/figures.md"


def test_the_page_names_every_figure_of_a_run() -> None:
    rows = [row for row in table(section(PAGE, "Drawing them")) if row[1].endswith(".parquet")]
    assert {row[0].strip("`"): row[1].removesuffix(".parquet") for row in rows} == {
        name: kind.needs for name, kind in RUN_FIGURES.items()
    }
    for name in RUN_FIGURES:
        assert re.search(rf"^## .*\b{name}\b", PAGE.read_text(encoding="utf-8"), re.MULTILINE), name


def test_the_functions_are_there_with_the_parameters_that_are_said() -> None:
    said = re.findall(r"^\| `(\w+)\((.*?)\)` \| `(traces\.[\w.]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(said) == 9 + 11 + 5
    for name, parameters, module in said:
        function = getattr(importlib.import_module(module), name)
        real = list(inspect.signature(function).parameters)
        assert real[1:] == parameters.split(", ")[2:], name


def test_each_picture_is_made_by_the_tool_and_small() -> None:
    shown = re.findall(r"\]\(../images/([\w-]+\.png)\)", PAGE.read_text(encoding="utf-8"))
    made = [name for made in PICTURES for name in made.pictures if re.match(r"(run|study)-.*\.png", name)]
    assert sorted(made) == sorted(name for name in shown if name.startswith(("run-", "study-")))
    for name in made:
        assert (ROOT / "docs" / "images" / name).stat().st_size < 150_000, name


def test_the_page_names_every_figure_of_a_study() -> None:
    rows = [
        row
        for row in table(section(PAGE, "Figures of studies"))
        if row[1].removeprefix("kept ") in ("results", "costs", "comparisons", "`jobs`", "`decisions`")
    ]
    assert [row[0].strip("`") for row in rows] == list(STUDY_FIGURES)


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(next(iter(blocks(PAGE, "python"))), str(PAGE), "exec"), {})
    assert (tmp_path / "utilisation.png").read_bytes().startswith(b"\x89PNG")
