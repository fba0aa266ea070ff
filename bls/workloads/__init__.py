"""Readers of workload files, one format per file; the small shipped workload; and workloads made from a seed.

To add a reader: a file in ``readers`` and an entry of :data:`READERS`. Outside packages use the entry-point group
``twolevel.readers``. A reader has the name of its files' ending; :data:`ENDINGS` lists other endings.
"""

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from bls.options import CANCELLED
from bls.workloads.workload import OTHER_FORMAT, Workload
from traces.base.errors import InputError, Mention, PluginError, blamed_on, shown
from traces.base.given_file import GivenFile, without_ending
from traces.base.plugins import Registry, entry_points, resolve

_GROUP = "twolevel.readers"
_DEFAULT = "swf"


@runtime_checkable
class WorkloadReader(Protocol):
    """Reads one format."""

    def __call__(self, path: str | os.PathLike[str], /) -> Workload:
        """The workload of a file.

        Every line (or record) becomes a job or is counted as a reject under exactly one reason; nothing is repaired. For a file
        that cannot be used, raises an ``InputError`` of one line that names the file. A reader that can also read jobs that
        were cancelled before their start has a further parameter ``cancelled: bool = False``.
        """


READERS = Registry[WorkloadReader](
    {
        "swf": "bls.workloads.readers.swf:read_swf",
        "sacct": "bls.workloads.readers.sacct:read_sacct",
        "batsim": "bls.workloads.readers.batsim:read_batsim",
        "gwf": "bls.workloads.readers.gwf:read_gwf",
        "table": "bls.workloads.readers.tables.reader:read_table",
    }
)
_TABLE = "table"
_TEXTS = ("csv", "tsv")  # endings of text in any format
ENDINGS = {"json": "batsim"} | dict.fromkeys(
    ("csv", "tsv", "jsonl", "ndjson", "parquet", "toml"), _TABLE
)  #: further endings of file names
_LOOKED_AT = 1 << 16
_GWF_FIELDS = 29
_NAMES_A_JOB = re.compile(r"(?:^|[^a-z0-9_])jobid(?:raw)?(?:[^a-z0-9_]|$)", re.IGNORECASE)
_OF_SACCT = re.compile(r'"(?:job_id|association|slurm|submission)"\s*:', re.IGNORECASE)
_OF_BATSIM = re.compile(r'"(?:nb_res|profiles|subtime|profile)"\s*:')
_NAMES_COLUMNS = re.compile(r'"?[A-Za-z][^,;|\t]*[,;|\t]')
_A_JOB = re.compile(r"[0-9]+(?:[_+.][^|]*)?\|(?:[^|]*\|){3}")

#: Formats without a reader, by their first line that is neither blank nor a comment.
_OTHERS = {
    "an accounting file of LSF (lsb.acct)": re.compile(r'"JOB_[A-Z]+"\s+"[0-9.]+"\s'),
    "an accounting log of PBS or Torque": re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:]{8};[A-Za-z];"),
    "an accounting file of Grid Engine": re.compile(r"(?:[^:]*:){40,}"),
    "a history of HTCondor": re.compile(r"\*\*\* |[A-Z][A-Za-z]+ = \S"),
    "a zip file or an Excel workbook": re.compile(r"PK\x03\x04"),
    "a tar archive": re.compile(r".{257}ustar"),
}

#: End of the error about a file in a format without a reader.
_READ = f"Formats that are read: {', '.join(READERS)}. For others, use bls.Workload.from_jobs"


def read_workload(
    path: str | os.PathLike[str], *, format: str | None = None, cancelled: bool | None = False
) -> Workload:
    """Read a workload file.

    Parameters
    ----------
    path : path
        The file, or ``"sample"``: the shipped workload.
    format : str, optional
        A reader's name: one of :data:`READERS`, an installed package's, or ``FILE.py:NAME``; a table with its map of columns is
        ``table:NAME`` or ``table:FILE.toml``. By default the ending of the file's name (:data:`ENDINGS`), without the ending of
        a compressed file. If the ending is ambiguous or no reader has it, the first lines decide, with ``swf`` as the last
        choice.
    cancelled : bool or None
        Whether jobs that were cancelled before their start are jobs too (``Workload.run_unknown``), not rejects. None: if the
        reader can read them.

    Raises
    ------
    InputError
        If the format is unknown, the file cannot be used, or the reader cannot read cancelled jobs.
    PluginError
        If an outside reader fails.
    """
    if path == "sample":
        path = sample_path()
    name = format or format_of(path)
    columns = ""
    if name.startswith(f"{_TABLE}:"):
        name, _, columns = name.partition(":")
    reader = resolve("workload format", name, READERS, _GROUP, WorkloadReader, str(Mention("format", "format")))
    can_cancel = "cancelled" in signature(reader).parameters
    if columns:
        reader = partial(cast(Any, reader), columns=columns)
    if cancelled and not can_cancel:
        raise InputError(f"{path}: reader {name} cannot read jobs that were cancelled before their start")
    try:
        with nullcontext() if name in READERS else blamed_on(f"{path}: reader {name} failed"):
            wanted = can_cancel if cancelled is None else cancelled
            workload = partial(cast(Any, reader), cancelled=True)(path) if wanted else reader(path)
    except InputError as error:
        if name == _TABLE:
            raise InputError(error.text.removesuffix(OTHER_FORMAT)) from None
        if name in READERS and (other := _other_format(path)) is not None:
            raise InputError(f"{path}: looks like {other}, a format without a reader. {_READ}") from None
        if error.text.endswith(OTHER_FORMAT):
            raise InputError(f"{error.text}. {_READ}") from None
        raise
    if not isinstance(workload, Workload):
        raise PluginError(f"{path}: reader {name} returned {type(workload).__name__}; allowed: a Workload")
    return workload


def sample_path() -> Path:
    """Path of the shipped workload: a synthetic day on 256 cores, made by this project."""
    return Path(__file__).with_name("sample.swf")


def format_of(path: str | os.PathLike[str]) -> str:
    """Guess the format of a file: the name of its reader."""
    ending = Path(without_ending(os.fspath(path))).suffix.removeprefix(".").lower()
    if ending in READERS or (ending and ending in entry_points(_GROUP).names):
        return ending
    if ending == "toml":
        return _TABLE
    beginning = _beginning(path)
    if _is_table(beginning):
        return _TABLE
    looks = _format_by_content(beginning)
    if ending not in ENDINGS or (ending in _TEXTS and _NAMES_COLUMNS.match(_first_line(beginning)) is None):
        return looks or _DEFAULT
    may_be_sacct = ending in (*_TEXTS, "json")  # which sacct writes, too
    return "sacct" if looks == "sacct" and may_be_sacct else ENDINGS[ending]


def _is_table(beginning: str) -> bool:
    """Whether the file with this beginning is Parquet, or a table that a map of the project recognises."""
    if beginning.startswith("PAR1"):
        return True
    line = _first_line(beginning)
    is_json = line.lstrip().startswith("[") or (line.lstrip().startswith("{") and line.rstrip().endswith("}"))
    if not (_NAMES_COLUMNS.match(line) or is_json) or _OF_BATSIM.search(beginning):
        return False
    from bls.workloads.readers.tables.named import is_recognised

    return is_recognised(beginning, line)


def _first_line(beginning: str) -> str:
    """The first line that is neither blank nor a comment."""
    return next((line for line in beginning.splitlines() if line.strip() and not line.startswith("#")), "")


def _format_by_content(beginning: str) -> str | None:
    """The format of the first lines of a file; None if it is unknown, or the file can be read only once (such as a pipe)."""
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
            if _A_JOB.match(line):  # a dump of sacct that lacks the line with its columns
                return "sacct"
            return "gwf" if commented or len(line.split()) == _GWF_FIELDS else None
    return "gwf" if commented else None


def _other_format(path: str | os.PathLike[str]) -> str | None:
    """Description of a format without a reader, if the first lines of a file have it; None otherwise."""
    lines = (line.strip() for line in _beginning(path).splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return next((name for name, look in _OTHERS.items() if look.match(first)), None)


def _beginning(path: str | os.PathLike[str]) -> str:
    """The text at the beginning of a file; empty if it cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with GivenFile(path, "workload file") as file:
            block = bytearray(_LOOKED_AT)
            got = file.readinto(memoryview(block))
    except (InputError, ValueError):  # ValueError: a NUL in the name
        return ""
    return block[:got].decode("utf-8-sig", "replace")


def workload_blocks(path: str | os.PathLike[str]) -> Iterator[Workload] | None:
    """The jobs of a file, some at a time, as :func:`bls.workloads.readers.swf.swf_blocks`; None if its format is read as a
    whole."""
    name = format_of(path)
    if name == _DEFAULT:
        from bls.workloads.readers.swf import swf_blocks

        return swf_blocks(path)
    if name == _TABLE:
        from bls.workloads.readers.tables.reader import table_blocks

        return table_blocks(path)
    return None


@runtime_checkable
class SeededWorkload(Protocol):
    """Makes jobs from a seed."""

    def __call__(self, seed: int, /) -> Workload:
        """The jobs of a seed, 0 to 2**64 - 1: equal for equal seeds, at any time and in any process."""


def is_seeded(given: str | os.PathLike[str]) -> bool:
    """Whether the text names a function that makes jobs, ``FILE.py:NAME``, rather than a file of jobs."""
    file, colon, name = os.fspath(given).rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def given_workload(given: str | os.PathLike[str], seed: int, *, cancelled: bool = False) -> Workload:
    """The workload that a user names: a file, ``sample``, or ``FILE.py:NAME``, a function of the run's seed. ``cancelled``: for
    files, whether jobs that were cancelled before their start are jobs. Raises InputError if there is no such file or function,
    or the file cannot be used; PluginError if the function fails or returns something else."""
    if not is_seeded(given):
        return read_workload(given, cancelled=cancelled)
    name = os.fspath(given)
    if cancelled:
        raise InputError(f"{CANCELLED}: {shown(name)} makes its jobs; allowed: with a file that records cancelled jobs")
    make = resolve("workload", name, {}, "", SeededWorkload, "workload")
    with blamed_on(f"workload: {name}({seed}) failed"):
        found: object = make(seed)
    if not isinstance(found, Workload):
        raise PluginError(f"workload: {name}({seed}) returned {type(found).__name__}; allowed: a bls.Workload")
    return replace(found, source=name)
