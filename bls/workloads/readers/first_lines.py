"""Which format a workload file is in, as far as its first lines tell."""

from __future__ import annotations

import os
import re

from traces.base.errors import InputError
from traces.base.given_file import GivenFile

__all__ = ["format_by_content"]

_LOOKED_AT = 1 << 16
_GWF_FIELDS = 29
_NAMES_A_JOB = re.compile(r"""(?:^|[|,;\t"])jobid(?:raw)?(?:[|,;\t"\s]|$)""", re.IGNORECASE)


def format_by_content(path: str | os.PathLike[str]) -> str | None:
    """The name of the format that the first lines of a file are in; None if they are of no known one.

    A file that cannot be read, or can be read only once (as a pipe), has none: its reader will say what is wrong.
    """
    try:
        if not os.path.isfile(path):
            return None
        with GivenFile(path, "workload file") as file:
            block = bytearray(_LOOKED_AT)
            got = file.readinto(memoryview(block))
    except (InputError, ValueError):  # ValueError: a NUL in the name
        return None
    commented = False
    for text in block[:got].decode("utf-8-sig", "replace").splitlines():
        line = text.strip()
        if line.startswith("#"):
            commented = True
        elif line.startswith("{"):
            return "batsim"
        elif line:
            if _NAMES_A_JOB.search(line):
                return "gwf" if "submittime" in line.lower() else "sacct"
            return "gwf" if commented or len(line.split()) == _GWF_FIELDS else None
    return "gwf" if commented else None
