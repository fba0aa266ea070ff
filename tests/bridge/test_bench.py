"""The benchmark: when a figure has failed, how cases are called, and that the page has the rows of the table of cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import table

from tools.bench import __main__ as bench
from tools.bench import rows
from tools.bench.cases import CASES, ON_DEMAND
from tools.bench.rows import HEAD, Case, Found, Missing, Row, line, measured, slowness


def made(must: str, figure: float, slow: float = 1.0, unit: str = "s") -> Row:
    return Row("case", figure, unit, must, figure, figure, 1, memory_mib=5.0, slowness=slow)


@pytest.mark.parametrize(
    ("must", "good", "bad", "slow", "unit"),
    [
        ("≤ 15 s", 22.0, 23.0, 1.0, "s"),
        ("≥ 300,000 chunks/s", 201_000.0, 199_000.0, 1.0, "s"),
        # Bounds of times depend on the slowness of the machine.
        ("≤ 15 s", 44.0, 46.0, 2.0, "s"),
        ("≥ 5 M/s", 1.7, 1.6, 2.0, "M/s"),
        ("≤ 8 MB", 12.0, 13.0, 2.0, "MB"),
    ],
)
def test_a_row_is_far_off(must: str, good: float, bad: float, slow: float, unit: str) -> None:
    assert [made(must, figure, slow, unit).far_off for figure in (good, bad)] == [False, True]


def test_memory_has_a_bound_and_words_are_none() -> None:
    for must, slow, far_off in (
        ("≤ 30 s, ≤ 2 MiB", 1.0, True),
        ("≤ 30 s, ≤ 4 MiB", 1.0, False),
        ("≤ 9 s, ≤ 3 MiB", 2.0, True),
    ):
        assert made(must, 1.0, slow).far_off == far_off
    assert not made("linear in jobs", 1e9).far_off
    assert not made("", 1e9).far_off


@pytest.mark.parametrize(
    ("group", "expected"), [("start", 10.0), ("couplings", 10.0), ("batch", 2.0), ("warm-up", 2.0)]
)
def test_slowness_is_that_of_work_like_the_groups(monkeypatch: pytest.MonkeyPatch, group: str, expected: float) -> None:
    monkeypatch.setattr(rows, "timed", lambda work: ({rows._python: 0.18, rows._computing: 0.166}[work], None))
    assert slowness(group) == pytest.approx(expected)
    monkeypatch.setattr(rows, "timed", lambda work: (1e-3, None))
    assert slowness(group) == 1.0


@pytest.mark.parametrize(("runs", "expected"), [(0, [False]), (1, [True, False]), (3, [False] * 4)])
def test_calls_that_do_not_count_come_first(runs: int, expected: list[bool]) -> None:
    calls: list[bool] = []

    def work(*, short: bool = False) -> Found:
        calls.append(short)
        return Found((float(len(calls)),), f"call {len(calls)}", 10.0 * len(calls))

    row = measured(Case("group", "a case", "", "s", runs, work, "elsewhere 9 s"))
    assert calls == expected
    assert (row.low, row.high, row.runs) == (len(calls) - max(1, runs) + 1, len(calls), max(1, runs))
    assert row.note == f"call {len(calls)}; elsewhere 9 s"


def _wrong() -> float:
    raise AssertionError("two and two are five")


def _missing() -> float:
    raise Missing("x.swf is not here")


@pytest.mark.parametrize(
    ("work", "code", "rows", "said"),
    [
        (lambda: 1.0, 0, 1, ""),
        (lambda: 1e9, 1, 1, "missed by more than half: a case"),
        (_wrong, 1, 0, "failed: a case"),
        (_missing, 0, 0, "not run: a case: x.swf is not here"),
    ],
)
def test_exit_codes_and_the_page(
    work: Callable[..., float],
    code: int,
    rows: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "slowness", lambda group: 1.0)
    monkeypatch.setattr(bench, "CASES", (Case("group", "a case", "≤ 2 s", "s", 0, work),))
    monkeypatch.setattr(bench, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text("# Page\n\n<!-- measured -->\nold\n<!-- end -->\n\nLast.\n")
    assert bench.main(["--out", str(tmp_path), "--case", "group"]) == code
    assert said in "".join(capsys.readouterr())
    record = json.loads((tmp_path / "bench.json").read_text())
    assert len(record["rows"]) == rows
    assert bench.main(["--out", str(tmp_path), "--page"]) == 0
    text = (tmp_path / "page.md").read_text()
    assert text.startswith(f"# Page\n\n<!-- measured -->\n\nMeasured {record['date']}, ")
    assert text.endswith("\n<!-- end -->\n\nLast.\n")
    assert HEAD + "".join(line(Row(**row)) for row in record["rows"]) in text


def test_titles_name_one_case_and_the_page_has_no_others() -> None:
    bounds = {case.title: case.must for case in CASES}
    assert len(bounds) == len(CASES)
    assert set(ON_DEMAND) < {case.group for case in CASES}
    text = bench.PAGE.read_text(encoding="utf-8")
    assert re.search(r"^Measured \d{4}-\d\d-\d\d, \d+ × .*, Python 3\.\d+\.\d+\.", text, re.MULTILINE)
    for name, _, must, *_ in table(text):
        assert bounds[name] == must
