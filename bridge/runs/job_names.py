"""Names of the jobs of a result: the words that name them on the command line, and the ids in their log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bls.workloads.job_words import JobWords
from traces.tables import NAME, job_names

#: Key in a record's workload: the names in the table of jobs are ids of single jobs.
IDS = "ids"


def job_words(folder: Path) -> JobWords:
    """Return the reader of the words that name jobs of a result.

    Raises InputError if its table of jobs cannot be read.
    """
    numbers, names = job_names(folder / "jobs.parquet")
    return JobWords.of(numbers, names) if len(numbers) else JobWords()


def ids_of(record: Mapping[str, Any], jobs: Any) -> dict[int, str]:
    """Ids of the jobs of a result by job number; empty where its log has only numbers."""
    workload = record.get("workload")
    if not isinstance(workload, Mapping) or not workload.get(IDS) or NAME not in jobs:
        return {}
    return {int(number): str(name) for number, name in zip(jobs["job_id"], jobs[NAME], strict=True) if name}
