"""The benchmark: when a figure has failed, how cases are called, and that the page has the rows of the table of cases."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from pages import table
from tables import table_rows

from tools.bench import __main__ as bench
from tools.bench.cases import CASES, ON_DEMAND
from tools.bench.rows import HEAD, Case, Found, Missing, Row, Slowness, line, measured


@pytest.mark.parametrize(("must", "figure", "unit", "slow", "far_off"), table_rows(__file__, "far_off"))
def test_a_row_is_far_off(must: str, figure: float, unit: str, slow: float, far_off: bool) -> None:
    row = Row("case", figure, unit, must, figure, figure, 1, memory_mib=5.0, slowness=slow)
    assert row.far_off == far_off


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
    monkeypatch.setattr(bench, "Slowness", lambda group: nullcontext(SimpleNamespace(value=1.0)))
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


def test_the_slowness_is_relative_to_the_reference_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with Slowness("couplings") as found:
        pass
    monkeypatch.setattr("tools.bench.rows._PYTHON_S", 1e-9)
    with Slowness("couplings") as thousandfold:
        pass
    assert 1 <= found.value < thousandfold.value


def test_a_process_that_cannot_measure_the_slowness_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.bench.rows._python", sys.exit)
    with pytest.raises(RuntimeError, match=r"measures the machine ended with 0$"), Slowness("couplings"):
        pass


def test_titles_name_one_case_and_the_page_has_no_others() -> None:
    bounds = {case.title: case.must for case in CASES}
    assert len(bounds) == len(CASES)
    assert set(ON_DEMAND) < {case.group for case in CASES}
    text = bench.PAGE.read_text(encoding="utf-8")
    assert re.search(r"^Measured \d{4}-\d\d-\d\d, \d+ × .*, Python 3\.\d+\.\d+\.", text, re.MULTILINE)
    for name, _, must, *_ in table(text):
        assert bounds[name] == must
