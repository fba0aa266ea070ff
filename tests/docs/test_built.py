"""Builds of the project: wheels, source distributions, notebooks, and the gallery of pictures."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest
from command_line import twolevel
from hatchling.build import build_sdist, build_wheel
from layers import these_stay
from pages import ROOT

from bridge.cli.run_commands import COMMANDS
from bridge.runs.figures import RUN_FIGURES
from bridge.studies.drawing import STUDY_FIGURES
from tools.pictures import PICTURES, Section, stale
from tools.site.gallery import PAGE, gallery
from tools.site.notebooks import NOTEBOOKS, executed, printed

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
        stated = ran(tmp_path, twolevel, "doctor")
        assert str(environment / "lib") in stated
        assert str(ROOT) not in stated
    tables = {path.read_bytes() for path in tmp_path.glob("out-*/jobs.parquet")}
    assert len(tables) == (build is build_wheel)  # the same bytes with every Python


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-hour", "own-policy", "own-technique"]


@pytest.mark.parametrize("name", [pytest.param("own-policy", marks=pytest.mark.release), "own-technique"])
def test_a_notebook_prints_what_is_kept_in_it(tmp_path: Path, name: str) -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    kept = nbformat.read(path, as_version=4)
    again = executed(path, tmp_path)
    assert printed(again) == printed(kept)
    # Tables and pictures may differ by the versions of libraries; that there are some may not.
    kinds = [
        [
            [sorted(output.get("data", {})) for output in cell.get("outputs", ()) if output.output_type != "stream"]
            for cell in one.cells
        ]
        for one in (again, kept)
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_small_and_of_no_machine(path: Path) -> None:
    assert path.stat().st_size < 200_000
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))


#: Sections whose pictures are drawn at every commit; all are before a release.
QUICK = ("Task lengths", "Speeds of cores", "The two-level paper's four jobs")
COMMANDS_SHOWN = sorted({command for section in PICTURES for command in section.pictures.values() if command})


def test_the_page_is_the_one_of_the_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == gallery()  # python -m tools.site.gallery


def test_every_picture_is_shown_once() -> None:
    shown = [name for section in PICTURES for name in section.pictures]
    assert sorted(shown) == sorted(path.name for path in (ROOT / "docs" / "images").iterdir())


@pytest.mark.parametrize("command", COMMANDS_SHOWN)
def test_a_command_has_these_options(command: str) -> None:
    words = shlex.split(command)
    assert words[0] == "twolevel"
    named = words[1 : 3 if words[1] == "workload" else 2]  # a command of a group
    assert named[0] in (*COMMANDS, "workload")
    known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", twolevel(*named, "--help-all").out))
    assert {word for word in words if word.startswith("-")} <= known


def test_every_figure_by_name_is_shown_but_those_that_are_like_another() -> None:
    names = {shlex.split(command)[-1] for command in COMMANDS_SHOWN if "--only" in command}
    # Those of a study that are bars or curves of other metrics; and power, which has a command of its own.
    assert {*RUN_FIGURES, *STUDY_FIGURES} - names == {"power", "wait", "slowdown", "computing-utilisation"}
    assert names <= {*RUN_FIGURES, *STUDY_FIGURES}


@pytest.mark.parametrize(
    "section",
    these_stay([section for section in PICTURES if section.draw], lambda section: section.heading in QUICK),
    ids=lambda section: section.heading,
)
def test_a_generator_draws_the_pictures_of_the_pages(section: Section, tmp_path: Path) -> None:
    """A picture that is drawn differently today is stale. Other versions of matplotlib may round other pixels."""
    assert not stale(section, tmp_path), "python -m tools.pictures"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(section.pictures)
