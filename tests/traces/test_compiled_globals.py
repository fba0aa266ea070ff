"""What a user's kernel reads from its file's globals is what it finds in this run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

USERS = {
    "a number": ("GIVEN = int(Path('given.txt').read_text())", "return GIVEN"),
    "an array": ("GIVEN = np.loadtxt('given.txt', ndmin=1)", "return int(GIVEN[0])"),
    "a closure": (
        """
def made(given):
    @compiled()
    def inner():
        return given
    return inner
GIVEN = made(int(Path('given.txt').read_text()))
""",
        "return GIVEN()",
    ),
    "another kernel": (
        """
NUMBER = int(Path('given.txt').read_text())
@compiled()
def inner():
    return NUMBER
""",
        "return inner()",
    ),
    "a module": ("import theirs", "return theirs.GIVEN"),
    "a column of ours": ("from als.engine.state import CHUNKS", "return CHUNKS"),
    "numpy": ("", "return int(np.sqrt(16.0))"),
}


def user(here: Path, text: str) -> ModuleType:
    """The user's file, loaded anew as a new run would."""
    path = here / "users.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("users", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", USERS)
def test_globals_are_those_of_this_run(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    first, last = USERS[case]
    imports = "from pathlib import Path\nimport numpy as np\nfrom traces.compiled import compiled"
    text = f"{imports}\n{first}\n@compiled()\ndef kernel():\n    {last}\n"
    found = []
    for given in (1, 2, 3):
        (tmp_path / "given.txt").write_text(str(given), encoding="utf-8")
        (tmp_path / "theirs.py").write_text(f"GIVEN = {given}\n#{'-' * given}", encoding="utf-8")
        monkeypatch.delitem(sys.modules, "theirs", raising=False)
        found.append(user(tmp_path, text).kernel())
    if case in ("a column of ours", "numpy"):
        assert len(set(found)) == 1
    else:
        assert found == [1, 2, 3]
