"""``twolevel doctor``: what is installed, and who else has our package names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import twolevel

from bridge.cli import doctor
from bridge.replay import installed
from traces.kernels import store

#: Of the packages that are tested: a clone that is not installed, too, or what a source distribution unpacks to.
ROOT = Path(doctor.__file__).resolve().parents[2]


def test_a_sound_installation(here: Path) -> None:
    ran = twolevel("doctor")
    assert (ran.code, ran.err) == (0, "")
    lines = dict(
        line.split(maxsplit=1) for line in ran.out.replace("package ", "").splitlines() if " c" not in line[:9]
    )
    for name in ("bls", "als", "bridge", "traces"):
        assert lines[name] == str(ROOT / name)
    assert lines["twolevel"] == str(ROOT / "twolevel.py")
    assert set(doctor.versions()) >= {"twolevel", "python", "numba", "otf2", "pandas", "pyarrow"}
    assert "not installed" not in doctor.versions().values()
    assert "C functions found" in ran.out
    assert lines["OR-Tools"].split()[:2] == ["(optional)", doctor.versions_of(("ortools",))["ortools"].split()[0]]
    assert "PROBLEM" not in ran.out


@pytest.mark.parametrize(("name", "kind"), [("bls", "package"), ("als", "module"), ("traces", "folder")])
def test_another_package_of_our_name_is_noticed(tmp_path: Path, name: str, kind: str) -> None:
    if kind == "module":
        (tmp_path / f"{name}.py").write_text("")
    else:
        (tmp_path / name).mkdir()
        if kind == "package":
            (tmp_path / name / "__init__.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "bridge.cli", "doctor"]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = next(line for line in ran.stdout.splitlines() if line.startswith(f"package {name} "))
    if kind == "folder":  # a folder without code gives way to a real package, wherever it is
        assert (ran.returncode, str(ROOT / name) in found) == (0, True), ran
    else:
        assert (ran.returncode, "shadows ours" in found, str(tmp_path) in found) == (1, True, True), ran
        assert ran.stderr == ""


def test_a_shadowed_package_is_one_line_in_other_commands(tmp_path: Path) -> None:
    (tmp_path / "bls.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "bridge.cli", "workload", "info", "sample"]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1), ran.stderr
    assert "twolevel doctor" in ran.stderr


def test_another_distribution_with_our_package_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "packages_distributions", lambda: {"bridge": ["twolevel", "bridge-builder"]})
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["package bridge"] == ("also installed by bridge-builder: uninstall one of them", False)
    assert found["package bls"][1]


def test_what_is_optional_is_no_problem_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installed.shutil, "which", lambda *words, **options: None)
    monkeypatch.setattr(doctor, "versions_of", lambda names: dict.fromkeys(names, "not installed"))
    monkeypatch.setenv("CC", "nocc -m64")
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["Slurm (optional)"][0].startswith("none that `twolevel replay` can use: twolevel replay needs Slurm")
    assert found["C compiler (optional)"] == ("no nocc, which `twolevel replay` needs", True)
    assert found["OR-Tools (optional)"][0].startswith("not installed; --bls hcp19")
    assert all(found[f"{name} (optional)"][1] for name in ("Slurm", "C compiler", "OR-Tools"))
    program = tmp_path / "slurmctld"
    program.write_text("#!/bin/sh\necho slurm 19.05.1\n")
    program.chmod(0o700)
    monkeypatch.setattr(installed.shutil, "which", lambda name, **options: str(program))
    text, well = next((text, well) for name, text, well in doctor.examine() if name == "Slurm (optional)")
    assert (well, "is slurm 19.05.1; allowed: 22.05" in text) == (True, True)


def test_a_cache_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "why_unused", lambda: "/there: Permission denied")
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["kernels"] == ("compiled again in every run: /there: Permission denied", False)
