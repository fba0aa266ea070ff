"""The gallery has every picture of the pages once, and commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import twolevel
from layers import these_stay
from pages import ROOT

from bridge.cli.run_commands import COMMANDS
from bridge.runs.figures import RUN_FIGURES
from bridge.studies.drawing import STUDY_FIGURES
from tools.pictures import PICTURES, Section, stale
from tools.site.gallery import PAGE, gallery

#: Sections whose pictures are drawn at every commit; all are before a release.
QUICK = ("Task lengths", "Speeds of cores", "The two-level paper's four jobs")
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
    named = words[1 : 3 if words[1] == "workload" else 2]  # a command of a group
    assert named[0] in (*COMMANDS, "workload")
    known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", twolevel(*named, "--help").out))
    assert {word for word in words if word.startswith("-")} <= known


def test_every_figure_by_name_is_shown_but_those_that_are_like_another() -> None:
    names = {shlex.split(command)[-1] for command in COMMANDS_SHOWN if "--only" in command}
    # Those of a study that are bars or curves of other metrics; and power, which has a command of its own.
    assert {*RUN_FIGURES, *STUDY_FIGURES} - names == {"power", "wait", "slowdown", "computing-utilisation"}
    assert names <= {*RUN_FIGURES, *STUDY_FIGURES}


@pytest.mark.parametrize(
    "section",
    these_stay([section for section in PICTURES if section.draw], lambda section: section.heading in QUICK),
    ids=lambda section: section.heading,
)
def test_a_generator_draws_the_pictures_of_the_pages(section: Section, tmp_path: Path) -> None:
    """A picture that is drawn differently today is stale. Other versions of matplotlib may round other pixels."""
    assert not stale(section, tmp_path), "python -m tools.pictures"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(section.pictures)
