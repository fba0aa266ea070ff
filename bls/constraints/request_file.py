"""Reads what jobs ask for from a CSV file.

::

    job_id,unit_cores,gpu,memory_gb,matlab,switches,begin_s
    17,4,1,16,,1,3600
    18,,,2,1,,

``job_id`` is needed; the others are columns of choice: ``unit_cores`` (a divisor of the job's cores), ``switches`` (the
most leaf switches that the job accepts, 0 for any), ``begin_s`` (the instant from which the job may join the queue, in
seconds since time 0), resources for each unit and licences for the job, by the platform's
names; memory as ``memory_gb``, ``memory_mb`` or ``memory_kb``. An empty field leaves what holds without the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bls.machine.resource_amounts import MEMORY, MEMORY_UNITS_KB, memory_unit
from bls.workloads.job_words import JobWords
from bls.workloads.workload import Workload
from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import read_csv
from traces.compiled import Array

_WHOLE = re.compile(r"[0-9]{1,18}")


def read_request_file(
    path: str | os.PathLike[str],
    workload: Workload,
    columns: Sequence[str],
    known: Array,
    readers: Mapping[str, Callable[[str, str], int]] | None = None,
    kind: str = "request file",
) -> dict[str, Array]:
    """The columns of a request file.

    - ``columns``: what it may have beside ``job_id``
    - ``known``, ndarray of int64: job numbers that it may name beside the workload's; their lines are checked and left aside
    - ``readers``: how the values of those columns are read that are no whole numbers: ``read(where, text)`` gives an int from
      0, or raises an ``InputError`` whose message begins with ``where``
    - ``kind``: what the file is called where it is none

    Returns dict of str to ndarray of int64, shape (n,): the file's columns by row of the workload; -1 where it says
    nothing. Raises InputError: one line that names the file and the line: a column or job is unknown, a job has two
    lines, a value is no whole number, or ``unit_cores`` does not divide the job's cores.
    """
    source = os.fspath(path)
    lines = read_csv(source, kind)
    _, header = next(lines)
    _check_header(header, columns, source)
    rows = {job: row for row, job in enumerate(workload.job_id.tolist())}
    words = JobWords(workload.numbers_of_ids)
    others = set(known.tolist()) - rows.keys()
    found = {name: np.full(len(workload), -1, np.int64) for name in header if name != "job_id"}
    seen: set[int] = set()
    for line, values in lines:
        where = f"{source}: line {line}"
        numbers = {}
        for name, value in zip(header, values, strict=True):
            if value and readers is not None and name in readers:
                numbers[name] = readers[name](f"{where}: {name}", value)
                continue
            if name == "job_id" and value and not _WHOLE.fullmatch(value):
                numbers[name] = words.one(value, f"{where}: {name}")
                continue
            if value and not _WHOLE.fullmatch(value):
                raise InputError(f"{where}: {name}: {shown(value)} is not a whole number from 0")
            numbers[name] = int(value) if value else -1
        job = numbers.pop("job_id")
        if job < 0:
            raise InputError(f"{where}: job_id: missing")
        if job not in rows and job not in others:
            raise InputError(f"{where}: job {job} is not in {workload.source}")
        if job in seen:
            raise InputError(f"{where}: job {job} has two lines")
        seen.add(job)
        unit_cores = numbers.get("unit_cores", -1)
        if unit_cores == 0:
            raise InputError(f"{where}: unit_cores: 0 is out of range; allowed: 1 or more")
        if job in others:
            continue
        cores = int(workload.cores[rows[job]])
        if unit_cores > 0 and cores % unit_cores:
            raise InputError(f"{where}: unit_cores: {unit_cores} does not divide job {job}'s {cores} cores")
        for name, number in numbers.items():
            found[name][rows[job]] = number
    return found


def _check_header(header: Sequence[str], columns: Sequence[str], source: str) -> None:
    for name in header:
        if name == MEMORY:
            memory_unit(name, f"{source}: column {name}")
        if name != "job_id" and name not in columns:
            raise one_of("column", name, ["job_id", *columns], source)
        if header.count(name) > 1:
            raise InputError(f"{source}: column {shown(name)} is there twice")
    if "job_id" not in header:
        raise InputError(f"{source}: column job_id: missing")
    if sum(name in MEMORY_UNITS_KB for name in header) > 1:
        raise InputError(f"{source}: memory is there in two units; allowed: one column of it")
