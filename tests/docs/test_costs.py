"""A run of the tests ends with what they cost."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from costs import BUDGETS
from pages import ROOT


def test_costs_are_listed_by_folder_and_by_test(tmp_path: Path) -> None:
    (tmp_path / "als").mkdir()
    (tmp_path / "als" / "test_both.py").write_text(
        "def test_quick():\n    pass\n\n\ndef test_slow():\n    assert sum(range(10**7))\n"
    )
    words = ("-m", "pytest", "-q", "-p", "costs", "-p", "no:cacheprovider", str(tmp_path))
    ran = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "PATH": ""},
    )
    lines = ran.stdout.splitlines()
    first = next(k for k, line in enumerate(lines) if line.endswith("budget"))
    folder, everything, slow, quick = (line.split() for line in lines[first + 1 : first + 5])
    assert (folder[:2], folder[4]) == (["als", "2"], str(tomllib.loads(BUDGETS.read_text())["cpu_s"]["als"]))
    assert everything[:2] == ["all", "2"]
    assert (slow[2].endswith("test_slow"), quick[2].endswith("test_quick")) == (True, True)


def test_every_folder_of_tests_has_a_budget() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert set(tomllib.loads(BUDGETS.read_text())["cpu_s"]) == folders
