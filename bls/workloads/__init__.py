"""The readers of workload files, one format a file, and the small workload that is shipped.

To add one: a file here, a line in :data:`READERS`. Outside packages add theirs under the entry-point group
``twolevel.readers``. A reader is called like the ending of its files' names: ``swf`` reads ``x.swf.gz``; other endings are
in :data:`ENDINGS`. Where the ending says nothing, the file's first lines do.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from bls.workloads.readers.batsim import read_batsim
from bls.workloads.readers.first_lines import format_by_content, other_format
from bls.workloads.readers.gwf import read_gwf
from bls.workloads.readers.sacct import read_sacct
from bls.workloads.readers.swf import read_swf
from bls.workloads.workload import OTHER_FORMAT, Workload
from traces.base.errors import InputError, PluginError, blamed_on
from traces.base.given_file import without_ending
from traces.base.plugins import entry_points, resolve

__all__ = ["ENDINGS", "READERS", "WorkloadReader", "format_of", "read_workload", "sample_path"]

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
        if name in READERS and (other := other_format(path)) is not None:
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
    looks = format_by_content(path)
    if ending in ENDINGS:  # sacct writes JSON, too
        return "sacct" if looks == "sacct" else ENDINGS[ending]
    return looks or _DEFAULT
