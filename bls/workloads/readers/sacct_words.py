"""Words of a dump of ``sacct`` that no column of a workload keeps, read again for the jobs of which they are asked.

Names of nodes, features and reservations are texts, of which a log of millions of jobs has millions; those who want them
want them of the jobs of a selection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from bls.workloads.readers.job_rows import text_lines
from bls.workloads.readers.sacct import job_number
from bls.workloads.readers.sacct_columns import Columns
from traces.base.given_file import GivenFile

__all__ = ["sacct_words"]


def sacct_words(path: str | os.PathLike[str], jobs: Mapping[int, int]) -> dict[int, dict[str, str]]:
    """The words of some lines, by job number and then by their use (``bls.workloads.readers.sacct_columns``).

    Parameters
    ----------
    path : path
        The dump.
    jobs : mapping of int to int
        The number of the line of each job (``Workload.line``) to that of the job; a line of another job is left out.

    Raises
    ------
    InputError
        If the file cannot be read, or its first line does not name the columns that are needed.
    """
    source = os.fspath(path)
    found: dict[int, dict[str, str]] = {}
    columns: Columns | None = None
    with GivenFile(path, "workload file") as file:
        for line, text in text_lines(file, source):
            if text.startswith("#"):
                continue
            if columns is None:
                columns = Columns(text, f"{source}: line {line}")
            elif line in jobs:
                words = columns.words(text)
                if words is not None and job_number(words["job_id"]) == jobs[line]:
                    found[jobs[line]] = words
    return found
