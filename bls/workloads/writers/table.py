"""Writes a workload as a table with all columns, CSV or Parquet; the map ``twolevel`` reads it back.

Columns without values are omitted. Times are whole ns since time 0. A column of numbers with names has a second column for the
names, which ends in ``_name``. Further columns begin with ``extra.``; columns with their names end in ``.name``. The header is
in comments of the CSV file, or in the metadata of the Parquet file. A job that was cancelled before its start
(``Workload.run_unknown``) has no run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bls.workloads.columns import OPTIONAL
from bls.workloads.readers.tables.jobs import NAMES
from bls.workloads.readers.tables.sources import HEADER_KEY
from bls.workloads.workload import Workload
from traces.compiled import Array

EXTRA = "extra."  #: beginning of the names of further columns
_NAMED = ("user", "group", "queue", "partition", "qos", "application")


def write_table(workload: Workload, path: Path) -> tuple[str, ...]:
    """Write a workload to a new file that ends in ``.csv``, ``.csv.gz`` or ``.parquet``, and return :func:`unwritten`."""
    table = pa.table(_columns(workload))
    if path.name.lower().endswith(".parquet"):
        import pyarrow.parquet as pq

        header = "\n".join(workload.header).encode(errors="replace")
        pq.write_table(table.replace_schema_metadata({HEADER_KEY: header} if header else None), path)
        return unwritten(workload)
    import pyarrow.csv as arrow_csv

    with pa.OSFile(str(path), "wb") as file:
        packed = pa.CompressedOutputStream(file, "gzip") if path.name.lower().endswith(".gz") else file
        for line in workload.header:
            packed.write(f"#{line}\n".encode(errors="replace"))
        arrow_csv.write_csv(table, packed)
        packed.close()
    return unwritten(workload)


def unwritten(workload: Workload) -> tuple[str, ...]:
    """Name the facts that a table cannot hold: the part of a log that was selected, and the jobs that no metric counts."""
    lost = {"window": workload.window is not None or workload.waiting > 0, "uncounted": workload.uncounted is not None}
    return tuple(name for name, there in lost.items() if there)


def _columns(workload: Workload) -> dict[str, Any]:
    number = workload.job_id
    found: dict[str, Any] = {"job": number}
    if workload.ids:
        found["job_name"] = _texts([workload.ids.get(job) for job in number.tolist()])
    found["submit_ns"] = workload.submit_ns
    found["run_ns"] = pa.array(workload.run_ns, mask=workload.run_unknown)
    found["cores"] = workload.cores
    found["estimate_ns"] = workload.estimate_ns
    for name, default in OPTIONAL.items():
        column = getattr(workload, name)
        names = workload.names if name == "application" else workload.labels.get(name, {})
        if np.any(column != default):
            found[name] = pa.array(np.asarray(column), mask=np.asarray(column == default))
            if name in _NAMED and names:
                found[f"{name}_name"] = _names(column, names)
    if workload.also_preceding:
        lists = [workload.also_preceding.get(job) for job in number.tolist()]
        found["also_preceding"] = _texts([" ".join(map(str, one)) if one else None for one in lists])
    for name, column in workload.extras.items():
        found[f"{EXTRA}{name}"] = pa.array(np.asarray(column))
        if names := workload.labels.get(name, {}):
            found[f"{EXTRA}{name}{NAMES}"] = _names(column, names)
    return {
        name: pa.array(np.asarray(column)) if isinstance(column, np.ndarray) else column
        for name, column in found.items()
    }


def _names(column: Array, names: Mapping[int, str]) -> Any:
    numbers, place = np.unique(column, return_inverse=True)
    known = _texts([names.get(number) for number in numbers.tolist()])
    return known.take(pa.array(place))


def _texts(values: list[str | None]) -> Any:
    return pa.array(
        [None if value is None else value.encode(errors="replace").decode() for value in values], pa.string()
    )
