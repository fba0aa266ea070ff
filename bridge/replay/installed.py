"""The Slurm on this computer, and the two parts in C that work with it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bridge.native import built
from bridge.replay.messages import LAYOUTS
from traces.base.errors import InputError

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


def clock_library(folder: Path) -> Path:
    """The library for slurmctld's clock, in ``folder``. Raises InputError if it cannot be built."""
    library, used = ["-fPIC", "-shared"], ["-ldl", "-lpthread"]
    return built(_SOURCES / "clock.c", folder, command="replay", before=library, after=used)


def requests_program(release: str, folder: Path) -> Path:
    """The program that uses libslurm, in ``folder``. Raises InputError if it cannot be built."""
    return built(_SOURCES / "requests.c", folder, command="replay", after=["-lslurm"], release=release)
