"""The tables of pages that ``tools.sections`` writes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from pages import ROOT

from als.techniques import TECHNIQUES
from tools import sections
from traces.base.errors import InputError

#: A table of ratios by technique and value.
DECLARED = {"data": "made", "rows": {"technique": "`{als}`"}, "columns": "value", "head": "`{}`", "cell": "ratio"}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Rows of a file of data: two techniques of three have equal cells."""
    ratios = {"static": 1.25, "ss": 1.0, "fac": 1.0}
    rows = [
        (als, value, metric, mean + place / 10, mean + place / 10 - 0.02, mean + place / 10 + 0.02)
        for (als, mean), (place, value), metric in product(ratios.items(), enumerate(("a", "b")), ("m", "n"))
    ]
    found = pd.DataFrame(rows, columns=["als", "value", "metric", "ratio", "ratio_low", "ratio_high"])
    monkeypatch.setattr(sections, "DATA", tmp_path)
    found.to_csv(tmp_path / "made.csv", index=False)
    return found


def test_the_pages_show_their_data() -> None:
    assert sections.main(["--check"]) == 0  # python -m tools.sections


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        (
            {"where": {"metric": "m"}},
            [
                "| technique | `a` | `b` |",
                "|---|---|---|",
                "| `static` | 1.250 [1.230, 1.270] | 1.350 [1.330, 1.370] |",
                "| `ss` | 1.000 [0.980, 1.020] | 1.100 [1.080, 1.120] |",
                "| `fac` | 1.000 [0.980, 1.020] | 1.100 [1.080, 1.120] |",
            ],
        ),
        (
            {"where": {"metric": ["m"], "value": "b"}, "merge": "als", "names": {"b": "B"}, "digits": {"b": 1}},
            ["| technique | B |", "|---|---|", "| `static` | 1.4 [1.3, 1.4] |", "| `ss, fac` | 1.1 [1.1, 1.1] |"],
        ),
    ],
)
@pytest.mark.usefixtures("made")
def test_a_line_for_each_case_and_a_column_for_each_value(more: dict[str, object], lines: list[str]) -> None:
    assert sections.table(DECLARED | more) == lines


def test_a_cell_that_is_missing_or_there_twice_is_an_error(made: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="two rows for `a`"):
        sections.table(DECLARED)
    made.drop(index=0).to_csv(sections.DATA / "made.csv", index=False)
    with pytest.raises(InputError, match="`static`: has `b`; needed: `b`, `a`"):
        sections.table(DECLARED | {"where": {"metric": "m"}})


@pytest.mark.usefixtures("made")
def test_only_what_is_between_the_marks_is_written() -> None:
    page = "a\n<!-- generated: x -->\nold\n<!-- end of x -->\nb\n"
    declared = {"x": DECLARED | {"where": {"metric": "m", "als": "ss", "value": "a"}}}
    new = sections.updated(page, declared)
    lines = "| technique | `a` |\n|---|---|\n| `ss` | 1.000 [0.980, 1.020] |\n"
    assert new == f"a\n<!-- generated: x -->\n{lines}<!-- end of x -->\nb\n"
    assert sections.updated(new, declared) == new
    with pytest.raises(InputError, match="no section x"):
        sections.updated("a page", declared)


def test_the_comparisons_of_a_study_are_kept(made: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    made.assign(effect_size=1.0).to_parquet(sections.DATA / "comparisons.parquet")
    sections.keep(sections.DATA, "kept")
    assert sections.read("kept").columns.tolist() == ["als", "value", "metric", "ratio", "ratio_low", "ratio_high"]
    assert sections.main(["--check", "no/page.md"]) == 2
    assert "no/page.md: no page with declared sections" in capsys.readouterr().err


def test_the_page_on_coordination_names_the_techniques_that_serve_wanted_cores_last() -> None:
    by_place = [name for name, technique in TECHNIQUES.items() if technique.places]
    page = (ROOT / "docs" / "explanation/coordination.md").read_text("utf-8")
    names = ", ".join(f"`{name}`" for name in by_place)
    assert f"| {names}, which chooses tasks by their place | does as without hints |" in page
