"""A wheel and a source distribution, installed with all they need into an empty environment of this Python, and of others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel
from pages import ROOT

OLDEST = 11  # requires-python is >=3.11


def pythons() -> dict[int, Path]:
    """Minor version of Python 3 → an interpreter that starts: of the command path, of pyenv, and the one that runs this."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    folders += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin"))
    found = {sys.version_info.minor: Path(sys.executable)}
    for folder in folders:
        for path in sorted(folder.glob("python3.[0-9]*")):
            named = re.fullmatch(r"python3\.(\d+)", path.name)
            if named and int(named[1]) >= OLDEST and int(named[1]) not in found and _starts(path):
                found[int(named[1])] = path
    return found


def _starts(python: Path) -> bool:
    # A shim of pyenv's has the name of a version that may not be there; free-threaded builds have no wheels of our libraries.
    asked = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    ran = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    return (ran.returncode, ran.stdout) == (0, "0\n")


def ran(folder: Path, *command: object) -> str:
    """What a command prints, with nothing of this environment but where packages and the cache are."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**kept, "NUMBA_DISABLE_JIT": "1"},  # machine code is for other tests: kernels are plain Python, too
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("build", "minors"),
    [
        pytest.param(build_wheel, (sys.version_info.minor,), id="wheel, this Python"),
        pytest.param(build_wheel, None, id="wheel, every Python", marks=pytest.mark.release),
        pytest.param(build_sdist, None, id="sdist, every Python", marks=pytest.mark.release),
    ],
)
def test_installed_into_an_empty_environment(build, minors, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    package = tmp_path / build(str(tmp_path))
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    assert uv, "uv is a library of the tests"
    everywhere = pythons()
    assert sys.version_info.minor in everywhere
    for minor, python in ((minor, everywhere[minor]) for minor in minors or everywhere):
        environment = tmp_path / f"python3.{minor}"
        ran(tmp_path, uv, "venv", "--quiet", "--no-python-downloads", "--python", python, environment)
        ran(tmp_path, uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python", package)
        twolevel = environment / "bin" / "twolevel"
        where = "import sys, bls, als, bridge, traces; print(sys.version_info.minor, bridge.__file__)"
        said = ran(tmp_path, environment / "bin" / "python", "-c", where).split()
        assert said[0] == str(minor)
        assert Path(said[1]).is_relative_to(environment)
        assert ran(tmp_path, twolevel, "--version") == "twolevel 0.1.0\n"
        if build is build_sdist:  # it is the same package from here on
            continue
        run = ("run", "sample", "--select", "first:10", "--als", "gss", "--variation", "0.25")
        assert "jobs on cores           10 on 256\n" in ran(tmp_path, twolevel, *run, "--out", f"out-{minor}")
        assert (tmp_path / f"out-{minor}" / "trace" / "traces.otf2").is_file()
        told = ran(tmp_path, twolevel, "doctor")
        assert str(environment / "lib") in told
        assert str(ROOT) not in told
    tables = {path.read_bytes() for path in tmp_path.glob("out-*/jobs.parquet")}
    assert len(tables) == (build is build_wheel)  # the same bytes with every Python
