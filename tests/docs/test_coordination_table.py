"""The tables of the page on coordination, from a study's comparisons that are made by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from pages import ROOT

from als.techniques import TECHNIQUES
from tools import coordination_page
from traces.base.errors import InputError

COLUMNS = ["workload", "backfill", "als", "option", "value", "metric", "ratio", "ratio_low", "ratio_high"]


def comparisons() -> pd.DataFrame:
    cases = product(("W1", "W2"), ("none", "easy"), ("static", "ss"), ("release", "hint"))
    return pd.DataFrame(
        [
            (*case, "coordination", way, metric, ratio, ratio - 0.01, ratio + 0.01)
            for place, (*case, way) in enumerate(cases)
            for metric, ratio in (("makespan_ns", 1 + place / 100), ("mean_wait_ns", 0.5))
        ],
        columns=COLUMNS,
    )


def test_a_line_for_each_case_and_a_column_for_each_way() -> None:
    lines = coordination_page.table(comparisons(), "makespan_ns")
    assert lines[0] == "| workload | backfilling | technique | `release` | `hint` |"
    assert lines[1].count("---") == 5
    assert len(lines) == 2 + 2 * 2 * 2
    assert lines[2] == "| W1 | none | static | 1.000 [0.990, 1.010] | 1.010 [1.000, 1.020] |"
    assert lines[-1] == "| W2 | easy | ss | 1.140 [1.130, 1.150] | 1.150 [1.140, 1.160] |"


def test_a_value_that_is_missing_is_an_error_and_no_shifted_column() -> None:
    with pytest.raises(InputError, match="W1, none, static: has"):
        coordination_page.table(comparisons().drop(index=0), "makespan_ns")


def test_another_comparison_is_an_error() -> None:
    with pytest.raises(InputError, match="not a comparison of one of coordination, resize"):
        coordination_page.table(comparisons().assign(option="als"), "makespan_ns")
    with pytest.raises(InputError, match="utilisation"):
        coordination_page.table(comparisons(), "utilisation")


def test_the_page_is_filled(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "page.md"
    page.parent.mkdir()
    names = coordination_page.PARTS["coordination", "none"]
    parts = "".join(f"<!-- generated: {part} -->\n<!-- end of {part} -->\n" for part in names)
    page.write_text(f"before\n{parts}behind\n")
    assert coordination_page.main([str(tmp_path), "--page", str(page)]) == 2  # no study is there
    whole = comparisons().assign(workload=lambda rows: rows["workload"].replace("W1", "CEA-Curie"))
    more = {"base": "none", "seeds": 10, "confidence": 0.95, "bls": "fcfs", "difference": 0.0}
    whole = whole.assign(**more, difference_low=-1.0, difference_high=1.0)
    whole.to_parquet(tmp_path / "comparisons.parquet")
    assert coordination_page.main([str(tmp_path), "--page", str(page)]) == 0
    assert page.read_text().startswith("before\n<!-- generated: makespans -->\n| workload |")
    assert page.read_text().count("| W2 |") == 8
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [
        "coordination-CEA-Curie.png",
        "coordination-W2.png",
    ]


def test_a_study_of_evolving_jobs_has_parts_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "page.md"
    page.parent.mkdir()
    other = coordination_page.PARTS["resize", "none"]
    names = [*other, *coordination_page.EVOLVING]
    page.write_text("".join(f"<!-- generated: {part} -->\n<!-- end of {part} -->\n" for part in names))
    rows = comparisons().assign(option="resize", base="none")
    rows["value"] = rows["value"].replace({"release": "equal", "hint": "evolve"})
    more = [
        rows[rows["metric"] == "mean_wait_ns"].assign(metric=name) for name in ("mean_bounded_slowdown", "utilisation")
    ]
    pd.concat([rows, *more]).to_parquet(tmp_path / "comparisons.parquet")
    coordination_page.write(tmp_path, page)
    assert (
        page.read_text().count("| technique | `equal` | `evolve` |")
        == page.read_text().count("|---|---|---|---|---|")
        == 4
    )
    assert page.read_text().startswith(
        "".join(f"<!-- generated: {part} -->\n<!-- end of {part} -->\n" for part in other)
    )


def test_a_study_of_hints_has_parts_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "page.md"
    page.parent.mkdir()
    names = coordination_page.PARTS["coordination", "release"]
    page.write_text("".join(f"<!-- generated: {part} -->\n<!-- end of {part} -->\n" for part in names))
    rows = comparisons()
    more = {"base": "release", "seeds": 10, "confidence": 0.95, "bls": "fcfs", "difference": 0.0}
    hints = rows[rows["value"] == "hint"].assign(**more, difference_low=-1.0, difference_high=1.0)
    hints.to_parquet(tmp_path / "comparisons.parquet")
    coordination_page.write(tmp_path, page)
    assert page.read_text().count("| W2 |") == 8
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["coordination-hints-W2.png"]
    hints.assign(base="hint").to_parquet(tmp_path / "comparisons.parquet")
    with pytest.raises(InputError, match="a comparison of coordination with hint; allowed: coordination none"):
        coordination_page.write(tmp_path, page)


def test_the_page_says_which_techniques_serve_wanted_cores_last() -> None:
    by_place = [name for name, technique in TECHNIQUES.items() if technique.places]
    page = (ROOT / "docs" / "explanation/coordination.md").read_text("utf-8")
    assert (
        f"| {', '.join(f'`{name}`' for name in by_place)}, which chooses tasks by their place | does as without hints |"
        in page
    )
