"""The readers of workload files, one format per file; the small workload that is shipped; and workloads made of a seed.

To add one: a file here, a line in :data:`READERS`. Outside packages add theirs under the entry-point group
``twolevel.readers``. A reader is called like the ending of its files' names: ``swf`` reads ``x.swf.gz``; other endings are
in :data:`ENDINGS`. Where the ending says nothing, the file's first lines do.
"""

import os
import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from bls.options import CANCELLED
from bls.workloads.readers.batsim import read_batsim
from bls.workloads.readers.gwf import read_gwf
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.swf import read_swf
from bls.workloads.workload import OTHER_FORMAT, Workload
from traces.base.errors import InputError, PluginError, blamed_on, shown
from traces.base.given_file import GivenFile, without_ending
from traces.base.plugins import entry_points, resolve

__all__ = [
    "ENDINGS",
    "READERS",
    "SeededWorkload",
    "WorkloadReader",
    "format_of",
    "given_workload",
    "is_seeded",
    "read_workload",
    "sample_path",
]

_GROUP = "twolevel.readers"
_DEFAULT = "swf"


@runtime_checkable
class WorkloadReader(Protocol):
    """Reads one format."""

    def __call__(self, path: str | os.PathLike[str], /) -> Workload:
        """The workload of a file.

        Every line (or record) becomes a job or is counted as a reject under exactly one reason; nothing is
        repaired. ``Workload.from_lines`` sorts the jobs and finds duplicates. For a file that cannot be
        used it raises an ``InputError`` of one line that names the file.

        A reader that can also make jobs of those that were cancelled before their start has a further
        parameter ``cancelled: bool = False``.
        """
        ...


READERS: dict[str, WorkloadReader] = {"swf": read_swf, "sacct": read_sacct, "batsim": read_batsim, "gwf": read_gwf}

#: Endings of names that are not a reader's own.
ENDINGS = {"json": "batsim"}

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

#: What is said of a file in a format that no reader reads.
_READ = f"Formats that are read: {', '.join(READERS)}. For others, use bls.Workload.from_jobs"


def read_workload(
    path: str | os.PathLike[str], *, format: str | None = None, where: str = "format", cancelled: bool | None = False
) -> Workload:
    """Read a workload file.

    Parameters
    ----------
    path : path
        The file, or ``"sample"``: the workload that is shipped.
    format : str, optional
        A reader's name: one of :data:`READERS`, an installed package's, or ``FILE.py:NAME``. By default the
        ending of the file's name (:data:`ENDINGS`), without that of a compressed file; where no reader is called so, or
        several formats have the ending, what the first lines look like; ``swf`` where they are no other's.
    where : str
        The option ``format`` was given in, for messages.
    cancelled : bool or None
        Whether jobs that were cancelled before their start are jobs too (``Workload.run_unknown``), not rejects. None:
        where the reader can tell.

    Raises
    ------
    InputError
        If the format is unknown, the file cannot be used, or cancelled jobs are asked of a reader that has no
        parameter ``cancelled``.
    PluginError
        If an outside reader fails.
    """
    if path == "sample":
        path = sample_path()
    name = format or format_of(path)
    reader = resolve("workload format", name, READERS, _GROUP, WorkloadReader, where)
    tells = "cancelled" in signature(reader).parameters
    if cancelled and not tells:
        raise InputError(f"{path}: reader {name} cannot tell jobs that were cancelled before their start")
    try:
        with nullcontext() if name in READERS else blamed_on(f"{path}: reader {name} failed"):
            wanted = tells if cancelled is None else cancelled
            workload = partial(cast(Any, reader), cancelled=True)(path) if wanted else reader(path)
    except InputError as error:
        if name in READERS and (other := _other_format(path)) is not None:
            raise InputError(f"{path}: looks like {other}, a format without a reader. {_READ}") from None
        if error.text.endswith(OTHER_FORMAT):
            raise InputError(f"{error.text}. {_READ}") from None
        raise
    if not isinstance(workload, Workload):
        raise PluginError(f"{path}: reader {name} gave a {type(workload).__name__}; allowed: a Workload")
    return workload


def sample_path() -> Path:
    """The shipped workload: a synthetic day on 256 cores, made by this project."""
    return Path(__file__).with_name("sample.swf")


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file seems to be in: the name of its reader."""
    ending = Path(without_ending(os.fspath(path))).suffix.removeprefix(".").lower()
    if ending in READERS or (ending and ending in entry_points(_GROUP).names):
        return ending
    looks = _format_by_content(path)
    if ending in ENDINGS:  # sacct writes JSON, too
        return "sacct" if looks == "sacct" else ENDINGS[ending]
    return looks or _DEFAULT


def _format_by_content(path: str | os.PathLike[str]) -> str | None:
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


def _other_format(path: str | os.PathLike[str]) -> str | None:
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


@runtime_checkable
class SeededWorkload(Protocol):
    """Makes jobs."""

    def __call__(self, seed: int, /) -> Workload:
        """The jobs of a seed, 0 to 2**64 - 1: the same ones for the same seed, whenever and in whichever process it is asked.
        Their ``source`` becomes the name under which the function was given."""
        ...


def is_seeded(given: str | os.PathLike[str]) -> bool:
    """Whether this names a function that makes jobs, ``FILE.py:NAME``, and no file of jobs."""
    file, colon, name = os.fspath(given).rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def given_workload(given: str | os.PathLike[str], seed: int, *, cancelled: bool = False) -> Workload:
    """The workload that a user names: a file, ``sample``, or ``FILE.py:NAME``, a function that makes it of the run's seed.

    ``seed``: what the function is given. ``cancelled``: of a file: whether jobs that were cancelled before their start
    are jobs, too. Raises InputError if there is no such file or function, or the file cannot be used. Raises
    PluginError if the function fails, or gives something else.
    """
    if not is_seeded(given):
        return read_workload(given, cancelled=cancelled)
    name = os.fspath(given)
    if cancelled:
        raise InputError(
            f"{CANCELLED}: {shown(name)} makes its jobs; allowed: with a file, which says who was cancelled"
        )
    make = resolve("workload", name, {}, "", SeededWorkload, "workload")
    with blamed_on(f"workload: {name}({seed}) failed"):
        found: object = make(seed)
    if not isinstance(found, Workload):
        raise PluginError(f"workload: {name}({seed}) gave a {type(found).__name__}; allowed: a bls.Workload")
    return replace(found, source=name)
