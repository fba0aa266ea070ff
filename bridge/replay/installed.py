"""The Slurm on this computer, and the two parts in C that work with it, compiled at their first use and kept."""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bridge.replay.messages import LAYOUTS
from traces.base.errors import InputError
from traces.kernels import store

PACKAGES = "slurmctld slurm-client slurm-wlm-basic-plugins libslurm-dev"  # names of the Debian packages
_FURTHER = ("/usr/sbin", "/usr/local/sbin")  # folders of administrators' programs, searched in addition to PATH
_VERSION = re.compile(r"(\d\d\.\d\d)\.(\S+)")


@dataclass(frozen=True)
class Slurm:
    """An installed Slurm."""

    slurmctld: Path
    release: str  # such as ``22.05.8``
    version: int  # of its protocol


def installed_slurm() -> Slurm:
    """The installed Slurm. Raises InputError if there is none, or its messages are not supported."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FURTHER])
    found = shutil.which("slurmctld", path=path)
    if found is None:
        packages = f"Debian's packages are {PACKAGES}"
        raise InputError(f"twolevel replay needs Slurm, and slurmctld is not installed; {packages}")
    try:
        said = subprocess.run([found, "-V"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{found} -V: {error}") from None
    named = _VERSION.search(said)
    if named is None or named[1] not in LAYOUTS:
        raise InputError(f"{found} is {said.strip() or 'not Slurm'}; allowed: {', '.join(LAYOUTS)}")
    return Slurm(Path(found), f"{named[1]}.{named[2]}", LAYOUTS[named[1]])


_SOURCES = Path(__file__).with_name("native")
_LONGEST_WORDS = 300


def clock_library(folder: Path) -> Path:
    """The library for slurmctld's clock, in ``folder``. Raises InputError if it cannot be built."""
    return _built("clock.c", ["-fPIC", "-shared"], ["-ldl", "-lpthread"], "", folder)


def requests_program(release: str, folder: Path) -> Path:
    """The program that uses libslurm, in ``folder``. Raises InputError if it cannot be built."""
    return _built("requests.c", [], ["-lslurm"], release, folder)


def _built(name: str, before: list[str], after: list[str], release: str, folder: Path) -> Path:
    # Copied into the folder, so that it is not removed while in use.
    source = _SOURCES / name
    compiler = shlex.split(os.environ.get("CC", "cc"))
    digest = hashlib.sha256(source.read_bytes())
    digest.update(repr((compiler, before, after, release, os.uname().machine)).encode())
    file = f"replay-{source.stem}-{digest.hexdigest()[:16]}"
    kept = None if store.why_unused() is not None else store.cache_directory()
    own = folder / file
    with contextlib.suppress(OSError):
        if kept is not None and (kept / file).stat().st_uid == os.geteuid():
            shutil.copyfile(kept / file, own)
            own.chmod(0o700)
            return own
    command = [*compiler, "-O2", *before, str(source), "-o", str(own), *after]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        what = f"a C compiler, and {command[0]} is not installed; CC can name another"
        raise InputError(f"twolevel replay needs {what}") from None
    if said.returncode:
        error = next((line for line in said.stderr.splitlines() if "error" in line or "failed" in line), said.stderr)
        raise InputError(f"{command[0]} cannot build {name}: {error.strip()[:_LONGEST_WORDS]}")
    if kept is not None:
        with contextlib.suppress(OSError):  # a full disk: it is built again next time
            descriptor, fresh = tempfile.mkstemp(dir=kept, prefix=f".new-{file}-")
            os.close(descriptor)
            shutil.copyfile(own, fresh)
            os.replace(fresh, kept / file)
    return own
