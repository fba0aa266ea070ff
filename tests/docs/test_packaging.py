"""What is built of the project: a wheel with the command as a module, and a source distribution that its tests pass in."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel
from pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEFT_OUT = {
    *(".venv", ".git", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache"),
    ".benchmarks",
}


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    return ROOT


def test_a_wheel_has_the_packages_and_the_command_as_a_module(root: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    tops = {name.partition("/")[0] for name in names if "dist-info" not in name}
    assert tops == {"als", "bls", "bridge", "traces", "twolevel.py"}
    assert {"bls/workloads/sample.swf", "bridge/PROTOCOL.md", "bridge/py.typed", "bridge/__init__.pyi"} <= names
    assert {"bridge/replay/native/clock.c", "bridge/replay/native/requests.c"} <= names
    assert "\nAuthor: The twolevel developers\n" in metadata


def test_a_source_distribution_has_what_its_tests_need(root: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("als", "bls", "bridge", "traces", "tools", "tests", "docs", ".ci")
    needed = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    missing = {str(path.relative_to(root)) for path in needed if "__pycache__" not in path.parts} - names
    assert {name for name in missing if Path(name).parts[0] not in LEFT_OUT and Path(name).name[0] != "."} == set()
    pages = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"}
    assert pages | {"Makefile", "pyproject.toml"} <= names
    assert not [name for name in names if name.partition("/")[0] in {"demo", "bench", "dist", *LEFT_OUT}]


def test_authors_are_those_of_the_citation() -> None:
    cited = re.search(r'^authors:\n  - name: "(.*)"', (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited
    assert [one["name"] for one in PROJECT["authors"]] == [cited[1]]
