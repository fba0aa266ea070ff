"""The first hour of a newcomer, with a home that nobody has worked in: the README's commands, a notebook, a wheel."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from command_line import succeeds
from nbclient import NotebookClient
from pages import ROOT, blocks

from tools.site.notebooks import printed
from traces.kernels.store import cache_directory

README = ROOT / "README.md"
NOTEBOOK = ROOT / "docs" / "tutorials" / "first-hour.ipynb"

_OF_MACHINE = ("processes", "bridge")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which there is nothing but kernels that have been compiled."""
    home = tmp_path_factory.mktemp("home")
    if (kept := cache_directory()) is not None:
        (home / ".cache" / "twolevel").mkdir(parents=True)
        (home / ".cache" / "twolevel" / Path(kept).name).symlink_to(kept)
    return home


@pytest.fixture(scope="module")
def surroundings(home: Path) -> dict[str, str]:
    """Variables of a shell that has never heard of the project's checkout."""
    ours = {
        name: text for name, text in os.environ.items() if name in ("LANG", "LC_ALL", "NUMBA_DISABLE_JIT", "TMPDIR")
    }
    return ours | {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}


def run(folder: Path, surroundings: dict[str, str], *command: str | Path) -> str:
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


#: Fewer runs for every commit, and no process for each application.
FEWER = {"--seeds 10": "--seeds 10 --workers 1", "fcfs,edf,sjf": "fcfs", "static,ss,gss,fac": "static,fac"}


def test_the_commands_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They print the lines and the rows of the table that the README shows."""
    monkeypatch.chdir(tmp_path)
    text = "".join(blocks(README, "bash")).replace("--coupling process ", "")
    for old, new in FEWER.items():
        text = text.replace(old, new)
    shown: dict[str, list[str]] = {}
    for line in text.splitlines():
        ran = succeeds(*shlex.split(line, comments=True)[1:])
        shown.setdefault(line.split()[1], []).append(ran.out)
    levels, table = blocks(README, "text")
    lines = [line for line in levels.splitlines() if line and line.split()[0] not in _OF_MACHINE]
    assert len(lines) == 3
    assert set(lines) <= set(shown["run"][1].splitlines())
    names = ("fcfs × static", "fcfs × fac")
    here, there = (
        [line.replace("*", "").split() for line in text.splitlines() if line.startswith(names)]
        for text in (shown["grid"][0].partition("\n\n")[0], table)
    )
    assert here == there
    assert len(there) == 2


@pytest.mark.release
def test_the_readme_from_its_first_command_to_its_last(tmp_path: Path, surroundings: dict[str, str]) -> None:
    for block in blocks(README, "bash"):
        run(tmp_path, surroundings, "bash", "-e", "-c", block)
    (script,) = blocks(README, "python")
    assert "hours" in run(tmp_path, surroundings, "python", "-c", script)
    assert {path.name for path in tmp_path.glob("*")} == {"processes", "inline", "compared", "table.tex", "first-trace"}
    assert (tmp_path / "processes" / "report.html").is_file()


def test_the_notebook(tmp_path: Path, surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in surroundings.items():
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())]
    assert shown.count("image/png") == 2
    assert shown.count("text/html") == 3
    assert printed(notebook) == printed(nbformat.read(NOTEBOOK, as_version=4))  # python -m tools.site.notebooks
