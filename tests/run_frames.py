"""Tables of jobs and tasks as a run writes them, made by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

#: Nanoseconds of a second.
S = 10**9


def jobs_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Rows of jobs.parquet, of times in seconds; what is not said is what follows, or plain.

    A row has ``submit``, ``start``, ``end`` and ``cores``; a start of -1 says that the job never started.
    """
    made = []
    for number, row in enumerate(rows, start=1):
        started = row["start"] >= 0
        made.append(
            {
                "job_id": row.get("job_id", number),
                "submit_ns": row["submit"] * S,
                "start_ns": row["start"] * S if started else -1,
                "end_ns": row["end"] * S if started else -1,
                "estimate_ns": row.get("estimate", 3600) * S,
                "deadline_ns": (row["submit"] + 2 * row.get("estimate", 3600)) * S,
                "cores": row["cores"],
                "tasks": 0,
                "chunks": 0,
                "length_gflop": 0.0,
                "allocation": row.get("allocation", ""),
                "imbalance": row.get("imbalance", np.nan),
                "cov": np.nan,
                "attempt": row.get("attempt", 0),
                "why": row.get("why", "head" if started else "never"),
                "state": row.get("state", "completed" if started else "cancelled"),
                "eligible_ns": row.get("eligible", row["submit"]) * S,
                "held_cores": row.get("held", row["cores"]) if started else 0,
            }
        )
    return pd.DataFrame(made)


def tasks_of(rows: Sequence[tuple[int, int, int, int, float, float, float]]) -> pd.DataFrame:
    """Rows of tasks.parquet: job, task, chunk, core, start [s], end [s], length [GFLOP]; a core of -1 never ran."""
    names = ["job_id", "task", "chunk", "core", "start_ns", "end_ns", "length_gflop"]
    table = pd.DataFrame(rows, columns=names)
    for name in ("start_ns", "end_ns"):
        table[name] = np.where(table["core"] >= 0, np.rint(table[name] * S), -1).astype(np.int64)
    return table.astype({"job_id": np.int64, "task": np.int64, "chunk": np.int32, "core": np.int32})
