"""The first hour of a newcomer, with a home that nobody has worked in: the README's commands, a notebook, a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import nbformat
import pytest
from hatchling.build import build_wheel
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


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.release)])
def test_the_readme_from_its_first_command_to_its_last(
    tmp_path: Path, surroundings: dict[str, str], whole: bool
) -> None:
    commands = blocks(README, "bash")
    if not whole:  # fewer runs, and no process for each application
        fewer = {"--seeds 10 --workers 2": "--seeds 2 --workers 1", "fcfs,sjf": "fcfs", "--coupling process ": ""}
        for old, new in fewer.items():
            commands = [one.replace(old, new) for one in commands]
    printed_by = [run(tmp_path, surroundings, "bash", "-e", "-c", block) for block in commands]
    # How many processes work at once, and so how often the levels wait for each other, depends on the machine.
    two_levels = [
        line for line in blocks(README, "text")[0].splitlines() if line and line.split()[0] not in _OF_MACHINE
    ]
    assert len(two_levels) == 3
    assert set(two_levels) <= set(printed_by[0].splitlines())
    run(tmp_path, surroundings, "twolevel", "story", "first", "100")
    (script,) = blocks(README, "python")
    assert "hours" in run(tmp_path, surroundings, "python", "-c", script)
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("*")} | {
        f"first/{path.name}" for path in (tmp_path / "first").iterdir()
    }
    assert made == {
        *("processes", "inline", "first", "first.png", "compared", "first-trace"),
        *(f"first/{name}" for name in ("run.json", "jobs.parquet", "tasks.parquet", "trace")),
    }


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


def test_a_wheel_in_a_fresh_environment(
    tmp_path: Path, surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    wheel = tmp_path / build_wheel(str(tmp_path))
    venv.create(tmp_path / "fresh", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "fresh" / "lib").glob("python3.*/site-packages")
    # The dependencies are those of this environment; its link to the checkout is in a file .pth, which is not read from there.
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{libraries}\n")
    python = tmp_path / "fresh" / "bin" / "python"
    pip = ("-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--no-deps", "--no-index", wheel)
    run(tmp_path, surroundings, sys.executable, *pip)
    twolevel = tmp_path / "fresh" / "bin" / "twolevel"
    out = tmp_path / "out"
    run(tmp_path, surroundings, twolevel, "run", "sample", "--als", "gss", "--variation", "0.25", "--out", out)
    assert (out / "trace" / "traces.otf2").is_file()
    told = run(tmp_path, surroundings, twolevel, "doctor")
    assert str(site / "bridge") in told
    assert str(ROOT) not in told
