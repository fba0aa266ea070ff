"""The gallery has every picture of the pages once, and commands that exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import twolevel
from matplotlib.image import imread
from pages import ROOT

from bridge.cli.run_commands import COMMANDS
from bridge.runs.figures import RUN_FIGURES
from bridge.studies.drawing import STUDY_FIGURES
from tools.site.gallery import PAGE, PICTURES, gallery
from traces.figures.drawing.canvas import Figure, save

COMMANDS_SHOWN = sorted({command for section in PICTURES for command in section.pictures.values() if command})


def test_the_page_is_the_one_of_the_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == gallery()  # python -m tools.site.gallery


def test_every_picture_is_shown_once() -> None:
    shown = [name for section in PICTURES for name in section.pictures]
    assert sorted(shown) == sorted(path.name for path in (ROOT / "docs" / "images").iterdir())


@pytest.mark.parametrize("command", COMMANDS_SHOWN)
def test_a_command_has_these_options(command: str) -> None:
    words = shlex.split(command)
    assert words[0] == "twolevel"
    assert words[1] in COMMANDS
    known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", twolevel(words[1], "--help").out))
    assert {word for word in words if word.startswith("-")} <= known


def test_every_figure_by_name_is_shown_but_those_that_are_like_another() -> None:
    names = {shlex.split(command)[-1] for command in COMMANDS_SHOWN if "--only" in command}
    # Those of a study that are bars or curves of other metrics; and power, which has a command of its own.
    assert {*RUN_FIGURES, *STUDY_FIGURES} - names == {"power", "wait", "slowdown", "computing-utilisation"}
    assert names <= {*RUN_FIGURES, *STUDY_FIGURES}


@pytest.mark.parametrize("made_by", sorted({section.made_by for section in PICTURES}))
def test_what_made_them_exists(made_by: str) -> None:
    if module := re.match(r"python -m (\S+)", made_by):
        assert importlib.util.find_spec(module[1]) is not None
    elif target := re.match(r"make (\w+)", made_by):
        assert f"\n{target[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    else:
        assert made_by in ("these commands", "the example of the page on comparing")


#: The generators that need no log but the shipped one.
_GENERATORS = [f"{of}_pictures" for of in ("length", "run", "speed", "study", "technique")] + ["paper_four_jobs"]

#: Pictures of wall times, which differ from run to run.
_OF_TIMES = {"run-decisions.png", "study-cost.png", "study-decisions.png", "study-decision-cost.png"}


@pytest.mark.parametrize("module", _GENERATORS)
def test_a_generator_draws_the_pictures_of_the_pages(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A picture that its generator draws differently today is stale. Other versions of matplotlib may round other pixels."""
    generator, drawn = importlib.import_module(f"tools.{module}"), []

    def saved(figure: Figure, path: Path) -> Path:
        drawn.append(path)
        return save(figure, tmp_path / path.name)

    monkeypatch.setattr(generator, "save", saved)
    generator.main()
    assert drawn
    for path in (path for path in drawn if path.name not in _OF_TIMES):
        shown, made = imread(path), imread(tmp_path / path.name)
        assert shown.shape == made.shape, f"{path.name} is stale: python -m tools.{module}"
        other = np.abs(shown - made).max(axis=2) > 0.25
        assert other.mean() < 0.001, f"{path.name} is stale: python -m tools.{module}"
