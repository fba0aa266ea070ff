"""The benchmark, its calls and its page; and the matrix of small runs with its digests."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pages import table
from tables import table_rows

from als.techniques import TECHNIQUES
from tools.bench import __main__ as bench
from tools.bench.cases import CASES, ON_DEMAND
from tools.bench.rows import HEAD, Case, Found, Missing, Row, Slowness, line, measured
from tools.digest_cases import all_cases
from tools.digest_coverage import uncovered
from tools.digests import differences, digests_of, read_digests, write_digests


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


def test_the_matrix_has_every_entry_of_every_registry(monkeypatch):
    cases = all_cases()
    assert uncovered(cases) == []
    assert "als.techniques:TECHNIQUES tap" in uncovered([case for case in cases if "tap" not in str(case.given)])
    monkeypatch.setitem(TECHNIQUES, "novel", replace(TECHNIQUES["ss"], name="novel"))
    assert uncovered(cases) == ["als.techniques:TECHNIQUES novel"]


def test_cases_and_digests_have_the_same_names():
    commit, digests = read_digests(Path(__file__).parents[1] / "digests.json")
    names = [case.name for case in all_cases()]
    assert commit
    assert list(digests) == names
    assert len(set(names)) == len(names) > 300


def test_differences_are_named_by_case_table_and_column(tmp_path):
    jobs = {"start_ns": np.arange(3), "cores": np.ones(3)}
    before = {"a": digests_of({"jobs": jobs}), "b": digests_of({"jobs": jobs, "tasks": {"core": [1]}}), "c": {}}
    write_digests(before, "abc", tmp_path / "digests.json")
    assert read_digests(tmp_path / "digests.json") == ("abc", before)
    later = digests_of({"jobs": {**jobs, "start_ns": np.arange(1, 4)}})
    after = {"a": later, "b": {"raised": {"InputError: no": ""}}, "d": {}}
    assert list(differences(before, before)) == []
    assert list(differences(before, after)) == [
        "a: jobs: start_ns",
        "b: jobs: no more",
        "b: tasks: no more",
        "b: raised: InputError: no",
        "c: no more",
        "d: only now",
    ]
