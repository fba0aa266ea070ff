"""Machine code that comes with the package: a small library is built, loaded where there is no numba, and damaged."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tools
from tools.build_wheel import platform_tag
from traces.kernels import shipped
from traces.kernels.catalogue import kernel_modules
from traces.kernels.declared import OURS, Kernel

_MODULES = ("als.engine.metrics", "bls.metrics.schedule", "traces.algorithms.extremes")

# What the kernels of these modules give, in a process that has neither numba nor LLVM.
_PROGRAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())

from pathlib import Path
import numpy as np
from traces.kernels import shipped
shipped.FOLDER = Path(sys.argv[1])

from als.engine.metrics import finish_imbalance
from bls.metrics.schedule import Downtime
from traces.algorithms.extremes import extremes

print(extremes(np.array([3.0, -1.5, 2.0])), extremes(np.array([7, -2])))
print(finish_imbalance(np.array([10, 30]), 0))
hosts = np.array([1, 0, 1])
down = Downtime(hosts, np.ones(3, np.int64), np.array([5, 0, 9]), np.array([9, 4, -1])).within(0, 20)
print(down.host.tolist(), down.down_ns.tolist(), down.up_ns.tolist())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("machine_code")
    build = f"from tools.build_wheel import *; from pathlib import Path; build_library({_MODULES}, Path({os.fspath(made)!r}))"
    subprocess.run([sys.executable, "-c", build], env=_environment(), capture_output=True, check=True)
    return made


def _environment() -> dict[str, str]:
    # Of a process in which kernels are compiled, even where they are not in this one.
    root = Path(tools.__file__).resolve().parents[1]
    return dict(os.environ, PYTHONPATH=os.fspath(root), NUMBA_DISABLE_JIT="0")


@pytest.fixture
def copy(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    shipped.library.cache_clear()
    yield tmp_path
    shipped.library.cache_clear()


def test_a_run_from_a_library_needs_no_compiler(folder: Path, tmp_path: Path) -> None:
    env = _environment() | {"XDG_CACHE_HOME": os.fspath(tmp_path)}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, os.fspath(folder)], env=env, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["(-1.5, 3.0) (-2, 7)", "0.5", "[0, 1] [0, 5] [4, 20]"]
    assert list(tmp_path.iterdir()) == []


def test_it_holds_the_units_that_it_was_made_of(copy: Path) -> None:
    assert shipped.units() == set(_MODULES)
    found = shipped.unit("als.engine.metrics")
    assert found is not None
    assert sorted(returned for _, returned in found.values()) == ["f", "f", "v"]
    assert all(address for address, _ in found.values())
    assert shipped.unit("als.engine.loop") is None
    library = shipped.library()
    assert library is not None
    assert library.facts["kernels"] >= 7


@pytest.mark.parametrize("other", [{"source": "0123456789abcdef"}, {"format": 0}])
def test_a_library_of_other_sources_or_form_is_not_used(
    other: dict[str, Any], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, index = shipped.library_files(copy)
    index.write_text(json.dumps(json.loads(index.read_text()) | other))
    assert shipped.units() == frozenset()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("how", ["missing", "emptied", "cut", "flipped", "no index"])
def test_a_damaged_library_is_not_used_and_that_is_said_once(
    how: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, index = shipped.library_files(copy)
    raw = code.read_bytes()
    if how == "missing":
        code.unlink()
    elif how == "no index":
        index.write_text("{")
    else:
        at = len(raw) // 2
        code.write_bytes(
            {"emptied": b"", "cut": raw[:at], "flipped": raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]}[how]
        )
    assert shipped.unit("als.engine.metrics") is None
    assert shipped.unit("traces.algorithms.extremes") is None
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert os.fspath(index if how == "no index" else code) in said[0]


def test_a_library_that_needs_the_c_library_alone_runs_on_many_systems(folder: Path) -> None:
    code, _ = shipped.library_files(folder)
    assert platform_tag(code).startswith("manylinux_2_")
    assert platform_tag(code).endswith(os.uname().machine)


def test_the_catalogue_lists_every_module_that_holds_a_kernel() -> None:
    found = set()
    for package in OURS:
        for one in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if one.name.endswith("__main__") or one.name.startswith("bridge.adapters.simgrid.inside."):
                continue  # what is run as a program, and what only another Python may be able to load
            module = importlib.import_module(one.name)
            kernels = [k for k in vars(module).values() if isinstance(k, Kernel) and k.__module__ == one.name]
            unsaid = [kernel.__name__ for kernel in kernels if kernel.is_entry and kernel.parameters is None]
            assert not unsaid, f"{one.name}: entries that do not say what they take, and so are in no wheel: {unsaid}"
            if any(kernel.is_entry for kernel in kernels):
                found.add(one.name)
    assert kernel_modules() == sorted(found)
