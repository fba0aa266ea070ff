"""Machine code that is kept or comes with the package: made again where it is not whole; a right result or one clear line."""

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tables import table_text

import tools
from tools.build_wheel import platform_tag
from traces.kernels import store
from traces.kernels.declared import OURS, Kernel
from traces.kernels.units import kernel_modules

pytestmark = pytest.mark.whole

#: Calls the kernel of equal task lengths, which needs a module to be compiled, and says whether numba was needed.
_PROGRAM = table_text(__file__, "program")

_UNIT = "als.lengths.contract.code"


def call(cache: Path, program: str = _PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with this folder for the cache; what it has printed."""
    given = os.environ | {"XDG_CACHE_HOME": str(cache)} | environment
    given.pop("NUMBA_CACHE_DIR", None)
    # -B, or what one imports first that may write no large file would be kept, cut, as everybody's bytecode.
    return subprocess.run(
        [sys.executable, "-B", "-c", program], env=given, capture_output=True, text=True, timeout=100, check=False
    )


def folder_of(cache: Path) -> Path:
    (found,) = (cache / "twolevel").glob("kernels-*")
    return found


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if not line.startswith("compiling for this version")]


def compiled_again(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the program compiled; it has said nothing it should not."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    word, numba = done.stdout.split()
    assert word == "address"
    return numba == "True"


@pytest.fixture(scope="module")
def first_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the unit is kept, to be copied; made by a process of a lax umask."""
    made = tmp_path_factory.mktemp("cache")
    before = os.umask(0o000)
    try:
        assert compiled_again(call(made))
    finally:
        os.umask(before)
    assert not compiled_again(call(made))
    return made


@pytest.fixture
def cache(tmp_path: Path, first_cache: Path) -> Path:
    """A cache of the test's own in which the unit is kept."""
    return shutil.copytree(first_cache, tmp_path, dirs_exist_ok=True)


def test_others_can_neither_read_nor_write_it(cache: Path) -> None:
    folder = folder_of(cache)
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o022 == 0 for path in folder.glob("*.code"))


def test_a_damaged_file_is_dropped_and_made_again(cache: Path) -> None:
    path = folder_of(cache) / _UNIT
    whole, flipped = path.read_bytes(), bytearray(path.read_bytes())
    flipped[-20] ^= 4
    unit = f"{path.parent.name}/{path.stem}"
    assert store.unpacked(whole, unit) is not None
    for damaged in (b"", whole[:-30], b"x" * 3000, bytes(flipped)):
        assert store.unpacked(damaged, unit) is None
    path.write_bytes(flipped)
    done = call(cache)
    assert compiled_again(done)
    assert words_of(done) == []
    assert path.read_bytes() != b""
    assert not compiled_again(call(cache))


def test_files_that_other_users_may_change_are_not_used(cache: Path) -> None:
    folder, unit = folder_of(cache), folder_of(cache) / _UNIT
    unit.chmod(0o666)
    assert call(cache, "from traces.kernels.store import unit_names; print(*unit_names())").stdout.split() == ["0", "1"]
    assert compiled_again(call(cache))
    assert not compiled_again(call(cache))  # it was made again
    for path in (unit, folder):
        try:
            os.chown(path, 12345, -1)
        except PermissionError:
            path.chmod(0o777)  # not the superuser: nothing of others can be made here
        assert compiled_again(call(cache))
    shutil.chown(folder, os.getuid())
    folder.chmod(0o770)
    done = call(cache)
    assert compiled_again(done)
    (line,) = words_of(done)
    assert "other users may write to" in line
    assert str(folder) in line


def test_no_room_is_one_line(tmp_path: Path) -> None:
    done = call(tmp_path, "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" + _PROGRAM)
    assert compiled_again(done)
    (line,) = words_of(done)
    assert "File too large" in line
    assert _UNIT in line
    assert [path.name for path in folder_of(tmp_path).iterdir() if path.suffix != ".lock"] == []


def test_a_place_where_nothing_can_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    why = "from traces.kernels.store import why_unused; print(why_unused())"
    assert str(tmp_path / "file") in call(tmp_path / "file", why).stdout
    assert (
        "home" in call(tmp_path, "import os\nos.environ['HOME'] = ''\ndel os.environ['XDG_CACHE_HOME']\n" + why).stdout
    )


def test_the_digest_is_of_every_file_that_has_kernels() -> None:
    counted = {path for path, _, _ in store._kernel_files()}
    for path in (module.replace(".", "/") for module in kernel_modules()):
        assert counted & {f"{path}.py", f"{path}/__init__.py"}, path
    assert {"traces/figures/drawing/bars.py", "bridge/couplings/inline_state.py"} <= counted
    assert "traces/figures/drawing/canvas.py" not in counted


def test_a_compiler_that_is_killed_leaves_nothing_that_harms(tmp_path: Path) -> None:
    program = "from traces.kernels import build\nemit = build.emit\n"
    program += "def said(*given):\n    print('compiling', flush=True)\n    import signal\n    signal.pause()\n"
    command = [sys.executable, "-c", program + "build.emit = said\n" + _PROGRAM]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "compiling\n"  # it holds the lock now
        killed.kill()
    assert compiled_again(call(tmp_path))  # nobody waits for the dead
    assert not compiled_again(call(tmp_path))


_SLOW = table_text(__file__, "slow")


def test_the_second_process_waits_for_the_lock(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)

    def begun(**more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _SLOW + _PROGRAM]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment | more, stdin=pipe, stdout=pipe, text=True)

    with begun(SLOW="1") as first:
        assert first.stdout is not None
        assert [first.stdout.readline() for _ in range(2)] == ["asks\n", "compiles\n"]
        with begun() as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "asks\n"
            assert first.communicate("\n", timeout=100)[0] == "address True\n"
            assert second.communicate(timeout=100)[0] == "address False\n"


_BEFORE = """
import math, sys
import numpy as np
from traces.compiled import State, as_value, compiled, types
from traces.kernels.signatures import Floats
"""

#: Kernels of a user's, and what they read; ``{}`` is what is edited between two runs.
_READ = table_text(__file__, "read")


def test_a_users_kernel_that_reads_something_else_is_another(tmp_path: Path) -> None:
    for edits, answers in (
        (("floor", "float64", "a: Floats; b: Floats", "int64"), ["2.0", "True", "1.0", "int64"]),
        (("ceil", "float32", "b: Floats; a: Floats", "float64"), ["3.0", "False", "1.0", "float64"]),
    ):
        (tmp_path / "mine.py").write_text(_BEFORE + _READ.format(*edits))
        done = call(tmp_path, f"import runpy; runpy.run_path({str(tmp_path / 'mine.py')!r}, run_name='__main__')")
        assert (done.returncode, done.stdout.split()) == (0, answers), done.stderr


def test_a_users_kernel_that_reads_constants_is_kept(tmp_path: Path) -> None:
    kernel = "from bls.engine.state import REQUEUED\n@compiled()\ndef kernel(x: float) -> float:\n"
    kernel += "    return math.floor(abs(x)) + np.sqrt(x) + REQUEUED\n"
    (tmp_path / "mine.py").write_text(f"{_BEFORE}{kernel}kernel(4.0)\nprint('address', 'numba' in sys.modules)\n")
    program = f"import runpy; runpy.run_path({str(tmp_path / 'mine.py')!r}, run_name='__main__')"
    assert compiled_again(call(tmp_path, program))
    assert not compiled_again(call(tmp_path, program))


def test_a_file_of_another_unit_or_version_is_not_run(cache: Path) -> None:
    folder = folder_of(cache)
    other = folder / "als.lengths.other.code"
    other.write_bytes((folder / _UNIT).read_bytes())
    doctor = "from traces.kernels.store import unit_names; print(*unit_names())"
    assert call(cache, doctor).stdout.split() == ["1", "1"]
    other.unlink()
    path = folder / _UNIT
    found = store.unpacked(path.read_bytes(), f"{folder.name}/{path.stem}")
    assert found is not None
    path.write_bytes(store.packed(found, f"kernels-of-another/{path.stem}"))
    assert compiled_again(call(cache))
    assert not compiled_again(call(cache))


def test_only_folders_of_versions_are_removed(tmp_path: Path) -> None:
    names = [f"kernels-{k:016x}" for k in range(5)] + ["kernels-of-mine"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o700)
    ours = {"a.code": store._MAGIC + b"x", "a.lock": b"", ".new-a.b-0a1b2c3d": b"x", f"replay-clock-{0:016x}": b"x"}
    for name, content in ours.items():
        (tmp_path / names[0] / name).write_bytes(content)
    mine = {"my.code": b"x", "my.lock": b"x", "thesis.tex": b"x", "a/b": b"x"}
    (tmp_path / names[1] / "a").mkdir()
    for name, content in {**mine, **ours}.items():
        (tmp_path / names[1] / name).write_bytes(content)
    for k, name in enumerate(names):
        os.utime(tmp_path / name, (k, k))
    os.utime(tmp_path / "kernels-of-mine", (0, 0))
    program = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path)!r}\n"
    call(tmp_path, program + "from traces.kernels.store import why_unused; assert why_unused() is None")
    left = {path.name for path in tmp_path.iterdir()}
    assert {"kernels-of-mine", *names[1:]} <= left
    assert names[0] not in left
    kept = {
        path.relative_to(tmp_path / names[1]).as_posix() for path in (tmp_path / names[1]).rglob("*") if path.is_file()
    }
    assert kept == set(mine)


def test_files_of_a_killed_process_are_removed(cache: Path) -> None:
    path = folder_of(cache) / _UNIT
    left = path.with_name(".new-als.lengths.contract-killed")
    left.write_bytes(b"x")
    path.unlink()
    assert compiled_again(call(cache))
    assert not left.exists()


def test_a_source_that_is_edited_after_it_was_loaded_is_not_kept_for_the_new_one(tmp_path: Path) -> None:
    # What this process has loaded is older than what is there when it first looks: as if it had begun before that.
    late = "from traces.kernels import store\nstore._BEGAN_NS = 0\n"
    done = call(tmp_path, late + _PROGRAM)
    assert compiled_again(done)
    (line,) = words_of(done)
    assert "edited after this process had begun" in line
    assert not list((tmp_path).rglob("*.code"))


@pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o1777, True)])
def test_a_folder_above_that_others_may_write_to_is_not_trusted(tmp_path: Path, mode: int, used: bool) -> None:
    tmp_path.chmod(mode)
    where = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path)!r}\n"
    done = call(tmp_path, where + "from traces.kernels.store import why_unused; print(why_unused())")
    assert (done.stdout == "None\n") == used
    if not used:
        assert done.stdout.startswith(f"other users may write to {tmp_path};")


_MODULES = ("als.metrics.loops", "bls.metrics.schedule", "traces.algorithms.extremes")

# What the kernels of these modules give, in a process that has neither numba nor LLVM.
_PROGRAM_SHIPPED = table_text(__file__, "program_shipped")


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
    monkeypatch.setattr(store, "SHIPPED", tmp_path)
    store.shipped_library.cache_clear()
    yield tmp_path
    store.shipped_library.cache_clear()


def test_a_run_from_a_library_needs_no_compiler(folder: Path, tmp_path: Path) -> None:
    env = _environment() | {"XDG_CACHE_HOME": os.fspath(tmp_path)}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM_SHIPPED, os.fspath(folder)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["(-1.5, 3.0) (-2, 7)", "0.5", "[0, 1] [0, 5] [4, 20]"]
    assert list(tmp_path.iterdir()) == []


def test_a_library_has_the_units_it_was_built_from(copy: Path) -> None:
    assert store.library_files(copy)[0].is_file()
    assert store.shipped_units() == set(_MODULES)
    found, missing = (store.shipped_unit(name) for name in ("als.metrics.loops", "als.engine.loop"))
    assert found is not None
    assert missing is None
    assert sorted(returned for _, returned in found.values()) == ["f", "f", "v"]
    assert all(address for address, _ in found.values())


@pytest.mark.parametrize("other", [{"source": "0123456789abcdef"}, {"format": 0}])
def test_a_library_of_other_sources_or_form_is_not_used(
    other: dict[str, Any], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, index = store.library_files(copy)
    index.write_text(json.dumps(json.loads(index.read_text()) | other))
    assert store.shipped_units() == frozenset()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("how", ["missing", "emptied", "cut", "flipped", "no index"])
def test_a_damaged_library_is_reported_once_and_not_used(
    how: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, index = store.library_files(copy)
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
    assert store.shipped_unit("als.metrics.loops") is None
    assert store.shipped_unit("traces.algorithms.extremes") is None
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert os.fspath(index if how == "no index" else code) in said[0]


def test_a_library_that_needs_the_c_library_alone_runs_on_many_systems(folder: Path) -> None:
    code, _ = store.library_files(folder)
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
