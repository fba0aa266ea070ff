"""Which format a workload file is in, as far as its first lines tell."""

from __future__ import annotations

import os
import re

from traces.base.errors import InputError
from traces.base.given_file import GivenFile

_LOOKED_AT = 1 << 16
_GWF_FIELDS = 29
_NAMES_A_JOB = re.compile(r"(?:^|[^a-z0-9_])jobid(?:raw)?(?:[^a-z0-9_]|$)", re.IGNORECASE)
_OF_SACCT = re.compile(r'"(?:job_id|association|slurm|submission)"\s*:', re.IGNORECASE)
_OF_BATSIM = re.compile(r'"(?:nb_res|profiles|subtime|profile)"\s*:')
_A_JOB = re.compile(r"[0-9]+(?:[_+.][^|]*)?\|(?:[^|]*\|){3}")

#: Formats of others that no reader has, by their first line that is neither blank nor a comment.
_OTHERS = {
    "an accounting file of LSF (lsb.acct)": re.compile(r'"JOB_[A-Z]+"\s+"[0-9.]+"\s'),
    "an accounting log of PBS or Torque": re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:]{8};[A-Za-z];"),
    "an accounting file of Grid Engine": re.compile(r"(?:[^:]*:){40,}"),
    "a history of HTCondor": re.compile(r"\*\*\* |[A-Z][A-Za-z]+ = \S"),
    "a trace of Helios": re.compile(r"job_id,(?:.*,)?gpu_num(?:,|$)"),
    "a trace of Philly": re.compile(r'\[?\s*\{\s*"(?:status|vc|jobid)"\s*:|\[$'),
    "a table of Slurm's database": re.compile(r'(?:.*[,|;\t])?"?id_job"?(?:[,|;\t]|$)'),
    "a Parquet file": re.compile(r"PAR1"),
    "a zip file": re.compile(r"PK\x03\x04"),
}


def format_by_content(path: str | os.PathLike[str]) -> str | None:
    """The name of the format that the first lines of a file are in; None if they are of no known one. A file that cannot be
    read, or can be read only once (as a pipe), has none: its reader will say what is wrong."""
    beginning = _beginning(path)
    commented = False
    for text in beginning.splitlines():
        line = text.strip()
        if line.startswith("#"):
            commented = True
        elif line.startswith("{"):
            return "sacct" if _OF_SACCT.search(beginning) and not _OF_BATSIM.search(beginning) else "batsim"
        elif line.startswith(";"):  # a comment of SWF, also one that names JobID
            return "gwf" if commented else None
        elif line:
            if _NAMES_A_JOB.search(line):
                return "gwf" if "submittime" in line.lower() else "sacct"
            if _A_JOB.match(line):  # a dump of sacct without the line that names its columns
                return "sacct"
            return "gwf" if commented or len(line.split()) == _GWF_FIELDS else None
    return "gwf" if commented else None


def other_format(path: str | os.PathLike[str]) -> str | None:
    """What the first lines of a file are of that no reader reads, in words; None if nobody knows."""
    lines = (line.strip() for line in _beginning(path).splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return next((name for name, look in _OTHERS.items() if look.match(first)), None)


def _beginning(path: str | os.PathLike[str]) -> str:
    """The text at the beginning of a file; nothing of one that cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with GivenFile(path, "workload file") as file:
            block = bytearray(_LOOKED_AT)
            got = file.readinto(memoryview(block))
    except (InputError, ValueError):  # ValueError: a NUL in the name
        return ""
    return block[:got].decode("utf-8-sig", "replace")
