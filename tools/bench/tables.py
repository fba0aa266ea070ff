"""Cases of the benchmark that read large tables of jobs, with a map of their columns."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from bls.workloads.readers.tables.reader import read_table
from tools.bench.commands import python
from tools.bench.rows import Found, scratch, timed

_MAP = """
zone = "Europe/Rome"

[columns]
job_id = "job"
submit = "submitted"
start = "started"
end = "ended"
run = { column = "elapsed", unit = "s" }
walltime = { column = "limit", unit = "min", infinite = "UNLIMITED" }
cores = "cores"
hosts = "nodes"
gpus = "gpus"
memory = { column = "memory", unit = "GB" }
user = "user"
partition = "partition"
name = "name"
state = { column = "state", completed = "COMPLETED", failed = ["FAILED", "TIMEOUT"], cancelled = "CANCELLED" }
"""
_STREAM = """
import sys
from bls.workloads.readers.tables.reader import table_blocks
assert sum(map(len, table_blocks(sys.argv[1], columns=sys.argv[2]))) == int(sys.argv[3])
"""
_STATES = np.array(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7"])
_ROWS = 500_000  # of a row group


@cache
def _map() -> Path:
    path = scratch() / "table.toml"
    path.write_text(_MAP, encoding="utf-8")
    return path


def _rows(first: int, n: int) -> Any:
    """Some rows of a table with dates, states and names, as accounting databases write them."""
    random = np.random.default_rng(first)
    number = np.arange(first, first + n)
    submit = 1_700_000_000 + 2 * number  # before clocks go forward
    start = submit + random.integers(0, 7200, n)
    run = random.integers(1, 86_400, n)

    def dates(seconds: Any) -> Any:
        return pa.array(seconds).cast(pa.timestamp("s"))

    def names(form: str, count: int) -> Any:
        return pa.array([form.format(k) for k in range(count)]).take(pa.array(random.integers(0, count, n)))

    columns = {"job": number, "submitted": dates(submit), "started": dates(start), "ended": dates(start + run)}
    columns |= {"elapsed": run, "limit": pa.array(30 * random.integers(1, 60, n)).cast(pa.string())}
    columns |= {name: random.integers(1, 512, n) for name in ("cores", "memory")}
    columns |= {"nodes": random.integers(1, 16, n), "gpus": random.integers(0, 5, n)}
    columns |= {"user": names("user{:03}", 500), "partition": names("part-{}", 4), "name": names("app-{}", 3000)}
    return pa.table(columns | {"state": pa.array(_STATES[random.integers(0, 4, n)])})


@cache
def _table(ending: str, n: int) -> Path:
    path = scratch() / f"table-{n}.{ending}"
    if ending == "parquet":
        with pq.ParquetWriter(path, _rows(0, 1).schema) as file:
            for first in range(0, n, _ROWS):
                file.write_table(_rows(first, min(_ROWS, n - first)))
        return path
    rows = _rows(0, n)
    for place, name in enumerate(rows.column_names):
        if pa.types.is_timestamp(rows[name].type):
            rows = rows.set_column(place, name, pc.strftime(rows[name], "%Y-%m-%dT%H:%M:%S"))
    if ending == "csv":
        pyarrow.csv.write_csv(rows, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()), encoding="utf-8")
    return path


def read(ending: str, n: int) -> float:
    """Million rows per second of the reader of tables."""
    path, columns = _table(ending, n), str(_map())
    took, found = timed(lambda: read_table(path, columns=columns))
    assert len(found) == n
    return n / took / 1e6


def stream(n: int, *, short: bool = False) -> Found:
    """Time to read a Parquet table in blocks; ``short``: only some rows."""
    n = 1000 if short else n
    cost = python("-c", _STREAM, str(_table("parquet", n)), str(_map()), str(n))
    return Found((cost.wall_s,), f"wall time of the process; {cost.memory_mib:.0f} MiB", cost.memory_mib)
