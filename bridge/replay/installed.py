"""The Slurm of this computer: where it is, and whether its messages are known."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bridge.replay.messages import LAYOUTS
from traces.base.errors import InputError

#: Debian's names of what is needed.
PACKAGES = "slurmctld slurm-client slurm-wlm-basic-plugins libslurm-dev"

#: Where programs of administrators are, whatever the PATH.
_FURTHER = ("/usr/sbin", "/usr/local/sbin")

_VERSION = re.compile(r"(\d\d\.\d\d)\.(\S+)")


@dataclass(frozen=True)
class Slurm:
    """An installed Slurm."""

    slurmctld: Path
    release: str  # as ``22.05.8``
    version: int  # of its protocol


def installed_slurm() -> Slurm:
    """The Slurm that is installed. Raises InputError if there is none, or one whose messages are not known."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FURTHER])
    found = shutil.which("slurmctld", path=path)
    if found is None:
        raise InputError(f"twolevel replay needs Slurm, and there is no slurmctld; Debian's packages are {PACKAGES}")
    try:
        said = subprocess.run([found, "-V"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{found} -V: {error}") from None
    named = _VERSION.search(said)
    if named is None or named[1] not in LAYOUTS:
        raise InputError(f"{found} is {said.strip() or 'no Slurm'}; allowed: {', '.join(LAYOUTS)}")
    return Slurm(Path(found), f"{named[1]}.{named[2]}", LAYOUTS[named[1]])
