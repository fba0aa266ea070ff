"""The tables of pages that ``tools.sections`` writes."""

from __future__ import annotations

from pages import ROOT

from als.techniques import TECHNIQUES
from tools import sections


def test_the_pages_show_their_data() -> None:
    assert sections.main(["--check"]) == 0  # python -m tools.sections


def test_the_page_on_coordination_names_the_techniques_that_serve_wanted_cores_last() -> None:
    by_place = [name for name, technique in TECHNIQUES.items() if technique.places]
    page = (ROOT / "docs" / "explanation/coordination.md").read_text("utf-8")
    names = ", ".join(f"`{name}`" for name in by_place)
    assert f"| {names}, which chooses tasks by their place | does as without hints |" in page
