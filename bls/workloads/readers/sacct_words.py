"""Words of a dump of ``sacct`` that no column of a workload keeps, read again for the jobs of which they are asked.

Names of nodes, features and reservations are texts, of which a log of millions of jobs has millions; those who want them
want them of the jobs of a selection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from bls.workloads.readers.sacct_dump import Dump
from bls.workloads.readers.sacct_values import job_number
from traces.base.given_file import GivenFile


def sacct_words(path: str | os.PathLike[str], jobs: Mapping[int, int]) -> dict[int, dict[str, str]]:
    """The words of some lines, by job number and then by their use (``bls.workloads.readers.sacct_columns``). ``jobs``: the
    number of the line of each job (``Workload.line``) to that of the job; a line of another job is left out. Raises
    InputError if the file cannot be read, or its first line does not name the columns that are needed."""
    source = os.fspath(path)
    found: dict[int, dict[str, str]] = {}
    with GivenFile(path, "workload file") as file:
        for line, candidates in Dump(file, source):
            if line in jobs:
                for words in candidates:
                    if job_number(words["job_id"]) == jobs[line]:
                        found.setdefault(jobs[line], words)
    return found
