"""Tables of jobs for tests of comparisons, written by hand."""

from typing import Any

import pandas as pd

from traces.tables import CUT_BECAUSE, JOB_COLUMNS, STARTED_BECAUSE


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    """A table as of ``jobs.parquet``: of a row ``job``, ``start``, ``end`` are needed, instants in ns.

    ``submit`` is 0, ``eligible`` the submit, ``allocation`` four cores, ``cores`` 4, ``attempt`` 0, ``state`` completed, unless
    the row says otherwise; there are columns ``cut_because`` and ``started_because`` if some row has them.
    """
    made = []
    for row in rows:
        submit = row.get("submit", 0)
        values = dict.fromkeys(JOB_COLUMNS, 0) | {
            "job_id": row["job"],
            "submit_ns": submit,
            "start_ns": row["start"],
            "end_ns": row["end"],
            "eligible_ns": row.get("eligible", submit),
            "cores": row.get("cores", 4),
            "allocation": row.get("allocation", "0-3"),
            "attempt": row.get("attempt", 0),
            "why": "head",
            "state": row.get("state", "completed"),
        }
        made.append(values)
    found = pd.DataFrame(made, columns=list(JOB_COLUMNS))
    for name in (CUT_BECAUSE, STARTED_BECAUSE):
        if any(name in row for row in rows):
            found[name] = [row.get(name, "") for row in rows]
    return found
