"""Fixtures of the tests of the command line: a working folder, and one result."""

from pathlib import Path

import pytest
from command_line import succeeds


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output of ``twolevel run`` for twenty jobs, with their tasks and without a trace."""
    folder = tmp_path_factory.mktemp("result") / "r"
    succeeds(
        *("run", "sample", "--als", "gss", "--variation", 0.25, "--select", "first:20"),
        *("--tasks", "--trace", "none", "--out", folder),
    )
    return folder


@pytest.fixture(autouse=True)
def _figures_are_not_rendered(request: pytest.FixtureRequest) -> None:
    """Those of ``unrendered``; a test that looks into a picture requests ``rendered``."""
    if "rendered" not in request.fixturenames:
        request.getfixturevalue("unrendered")


@pytest.fixture
def rendered() -> None:
    """Figures are drawn as users see them."""
