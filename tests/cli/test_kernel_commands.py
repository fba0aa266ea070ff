"""What the commands say that look at machine code, where it came with the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.cli import doctor, kernel_commands
from traces.kernels import shipped


@pytest.fixture
def _came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "units", lambda: frozenset({"als.engine.loop", "bls.engine.loop"}))
    monkeypatch.setattr("traces.compiled.jit_enabled", lambda: True)


@pytest.mark.usefixtures("_came")
def test_nothing_is_left_to_compile(capsys: pytest.CaptureFixture[str]) -> None:
    kernel_commands.warm_up_command(everything=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "machine code of all 2 modules came with the package: there is nothing to compile\n"


@pytest.mark.usefixtures("_came")
def test_the_doctor_says_where_it_is() -> None:
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["kernels"] == (f"{shipped.FOLDER}: machine code of all 2 modules came with the package", True)


def test_a_full_disk_is_not_warm(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    few = "from bridge.runs import kernels as r; r.BATCH = r.INLINE = r.WORKER = {}; r.APPLICATION = {'als.lengths.equal': 1}"
    code = f"{limit}\n{few}\nimport sys; sys.argv = ['twolevel', 'warm-up']\nfrom bridge.cli import main\nmain()"
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    env.pop("NUMBA_CACHE_DIR", None)
    # -B, or what it imports first would be kept, cut, as everybody's bytecode.
    done = subprocess.run([sys.executable, "-B", "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert "machine code of 1 of 1 modules is not kept" in done.stderr
