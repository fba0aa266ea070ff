"""Check that the tests find planted faults: ``python -m tools.faults [NAME ...] [--workers N]``, or ``make faults``.

Each file ``tests/faults/NAME.patch`` breaks the code in one place. Its header has a sentence that states the fault, a line
``Tests:`` with files or folders of tests that must find it, and ``Missed: reason`` if no test is known to find it. Each patch
is applied to a fresh copy of the tracked files, and the tests run there. The first test that fails has found the fault. Finally
all these tests run in a copy without faults, where they must pass.

A copy has its own environment: the packages of this one, but the copy's code also in every process that a test starts. It has a
folder for kernels, too. Kernels that a patch cannot change are copied there, the others are compiled again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from traces.kernels import store

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "tests" / "faults"

#: A fault counts as found if the tests run longer than this with it (s).
_LONGEST_S = 600.0

# A file without any of these holds no kernel, and changes none. With one, it changes kernels of these packages.
_KERNEL_MARKS = ("compiled(", "(State)", "(State, ", "(IntEnum)", "_kernel")
_CHANGED = {"bls": ("bls", "bridge"), "als": ("als", "bridge"), "bridge": ("bridge",), "traces": ("",)}

# Process groups to end at an interrupt.
_RUNNING: set[int] = set()

_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/[\w/.]+::\w+)", re.MULTILINE)
_PYTEST = (
    *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-p", "tools.faults", "--layer", "test"),
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A plug-in of the tests: hypothesis stops at a failure, without the long search for a smaller example."""
    from hypothesis import Phase, is_hypothesis_test, settings

    for function in {item.function for item in items if isinstance(item, pytest.Function) and item.cls is None}:
        if is_hypothesis_test(function):
            said = function._hypothesis_internal_use_settings
            phases = (Phase.explicit, Phase.generate)
            function._hypothesis_internal_use_settings = settings(said, phases=phases)


@dataclass(frozen=True)
class Fault:
    """One planted fault."""

    name: str
    patch: Path
    broken: str  # the fault, in one sentence
    tests: tuple[str, ...]  # files or folders of tests, at least one of which must find the fault
    missed: str  # the reason why no test finds it; empty if one does
    files: tuple[str, ...]  # the files that the patch changes


def read_faults() -> list[Fault]:
    """Read the headers of all patches."""
    found = []
    for path in sorted(FAULTS.glob("*.patch")):
        text = path.read_text(encoding="utf-8")
        header, _, _ = text.partition("diff --git ")
        lines = header.splitlines()
        words = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        files = tuple(re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE))
        found.append(
            Fault(path.stem, path, lines[0], tuple(words.get("Tests", "").split()), words.get("Missed", ""), files)
        )
    return found


class _Copy:
    """A copy of the tracked files, or of another copy, with its own environment and folder of kernels."""

    def __init__(self, folder: Path, of: _Copy | None = None, *, plain: bool = False) -> None:
        self.tree, self._folder, self.plain = folder / "tree", folder, plain
        if of is None:
            self._copy_tracked()
        else:
            shutil.copytree(of.tree, self.tree, symlinks=True)
        venv.create(folder / "env", symlinks=True)
        # Paths of a .pth file are searched in order, and those of another environment's .pth files are not read.
        packages = sysconfig.get_path("purelib")
        own = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
        (own / "copy.pth").write_text(f"{self.tree}\n{packages}\n", encoding="utf-8")
        (folder / "t").mkdir()

    def _copy_tracked(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name, follow_symlinks=False)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy; ``TimeoutExpired`` if that takes too long."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
        environment |= {"XDG_CACHE_HOME": str(self._folder / "cache"), "TMPDIR": str(self._folder / "t")}
        environment |= {"NUMBA_DISABLE_JIT": "1"} if self.plain else {}
        environment["PATH"] = f"{self._folder / 'env/bin'}:{Path(sys.executable).parent}:{environment['PATH']}"
        process = subprocess.Popen(
            [self._folder / "env/bin/python", *words],
            cwd=self.tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        _RUNNING.add(process.pid)
        try:
            output, _ = process.communicate(timeout=_LONGEST_S)
        finally:
            _RUNNING.discard(process.pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also processes left by a test
            process.wait()
        return subprocess.CompletedProcess(words, process.returncode, output)

    def kernels(self) -> Path:
        """The folder of this copy's kernels; made if there is none."""
        where = "import als, bls, bridge, traces; print(*(one.__file__ for one in (als, bls, bridge, traces)))"
        said = self.run(
            "-c",
            f"{where}\nfrom traces.kernels import store\nassert not store.why_unused()\nprint(store.cache_directory())",
        )
        files, folder = said.stdout.splitlines()
        if not all(Path(one).is_relative_to(self.tree) for one in files.split()):
            raise SystemExit(f"faults: the copy in {self.tree} imports {files}")
        return Path(folder)


def _copy_kernels(source: Path, target: Path, but: tuple[str, ...] = ()) -> None:
    # All but those whose names begin with this. A kernel's file name contains its folder.
    for path in source.glob("*.code"):
        unit = None if path.name.startswith(but) else store.unpacked(path.read_bytes(), f"{source.name}/{path.stem}")
        if unit is not None:
            (target / path.name).write_bytes(store.packed(unit, f"{target.name}/{path.stem}"))
            (target / path.name).chmod(0o600)


class _Faults:
    """Runs the tests of faults, and of a copy without faults."""

    def __init__(self, clean: _Copy) -> None:
        self._clean = clean
        clean.run("-m", "compileall", "-q", "als", "bls", "bridge", "traces")  # once, for all copies
        self._kernels = clean.kernels()
        self.found: dict[str, list[str]] = {}  # the faults that a test has found
        if (own := store.cache_directory()) is not None:
            _copy_kernels(own, self._kernels)

    def verdict(self, fault: Fault) -> tuple[bool, str]:
        """Whether the tests of a fault behave as its header states, and the line to print."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
            copy = _Copy(Path(folder), self._clean, plain=self._clean.plain)
            command = ["git", "apply", "--whitespace=nowarn", fault.patch]
            applied = subprocess.run(command, cwd=copy.tree, check=False, capture_output=True, text=True)
            if applied.returncode != 0:
                return False, f"DOES NOT APPLY  {fault.name}: {applied.stderr.strip()}"
            sources = {one: (copy.tree / one).read_text(encoding="utf-8") for one in fault.files}
            kernels = [one for one, source in sources.items() if any(mark in source for mark in _KERNEL_MARKS)]
            changed = [package for one in kernels for package in _CHANGED[one.split("/")[0]]]
            _copy_kernels(self._kernels, copy.kernels(), but=(*changed, "user") if changed else ())
            try:
                ran = copy.run(*_PYTEST, "-x", *fault.tests)
            except subprocess.TimeoutExpired:
                return True, f"found           {fault.name}: the tests do not end"
        took = f"{time.monotonic() - began:.0f} s"
        if ran.returncode == 0:
            what = f"missed (known)  {fault.name}: {fault.missed}" if fault.missed else f"NOT FOUND       {fault.name}"
            return bool(fault.missed), f"{what} ({took})"
        failed = _FAILED.search(ran.stdout)
        if ran.returncode != 1 or failed is None:
            return False, f"NO TEST RAN     {fault.name}: pytest ends with {ran.returncode}\n{ran.stdout[-2000:]}"
        self.found.setdefault(failed[1], []).append(fault.name)
        return True, f"found           {fault.name}: {failed[1]} ({took})"

    def without(self) -> list[str]:
        """Tests that found a fault but also fail without one, one line each."""
        ran = self._clean.run(*_PYTEST, *self.found) if self.found else None
        failed = sorted(set(_FAILED.findall(ran.stdout))) if ran else []
        if ran and ran.returncode not in (0, 1):
            raise SystemExit(f"faults: pytest ends with {ran.returncode} where there is no fault\n{ran.stdout[-2000:]}")
        return [f"FAILS ANYWAY    {', '.join(self.found[test])}: {test}, also without the fault" for test in failed]


def main(words: Sequence[str] | None = None) -> int:
    """Run the tests of all or the named faults; return 1 if a fault is missed unexpectedly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a patch in tests/faults; all if none is named")
    parser.add_argument("--workers", type=int, default=1, help="how many faults are tried at the same time (default 1)")
    parser.add_argument("--plain", action="store_true", help="run kernels as plain Python: nothing is compiled")
    chosen = parser.parse_args(words)
    faults = {fault.name: fault for fault in read_faults()}
    if unknown := [name for name in chosen.names if name not in faults]:
        parser.error(f"no such fault: {', '.join(unknown)}; known: {', '.join(faults)}")
    good = []
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        runner = _Faults(_Copy(Path(folder), plain=chosen.plain))
        with ThreadPoolExecutor(chosen.workers) as pool:
            try:
                for is_good, line in pool.map(runner.verdict, [faults[name] for name in chosen.names or faults]):
                    good.append(is_good)
                    print(line, flush=True)
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for group in tuple(_RUNNING):
                    os.killpg(group, signal.SIGKILL)
                return 130
        for line in runner.without():
            good.append(False)
            print(line)
    print(f"{len(chosen.names or faults)} faults; {good.count(False)} lines in capitals")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
