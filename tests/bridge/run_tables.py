"""Tables of jobs for tests of comparisons: written by hand, or of a small first-come-first-served machine in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from traces.tables import CUT_BECAUSE, JOB_COLUMNS, STARTED_BECAUSE

__all__ = ["served", "table"]


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


def served(
    jobs: Sequence[tuple[int, int, int | None]],
    run_ns: Sequence[int],
    n_cores: int,
    *,
    greedy: bool,
    first: Sequence[int] = (),
) -> pd.DataFrame:
    """What a small machine makes of jobs: (submit, cores, number of the job before it or None), and their run times.

    With ``greedy`` a job that fits passes those that do not. Jobs in ``first`` stand before all others.
    """
    waiting = set(range(len(jobs)))
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    eligible: dict[int, int] = {}
    taken: dict[int, list[int]] = {}
    held: dict[int, str] = {}
    free = set(range(n_cores))
    now = 0
    while waiting:
        for job in sorted(start):
            if end[job] <= now and job in taken:
                free |= set(taken.pop(job))
        for job in sorted(waiting):
            submit, _, before = jobs[job]
            if job not in eligible and (before is None or (before in end and end[before] <= now)):
                instant = submit if before is None else max(submit, end[before])
                if instant <= now:
                    eligible[job] = instant
        ranks = sorted(
            (job for job in waiting if job in eligible), key=lambda job: (job not in first, eligible[job], job)
        )
        again = False
        for job in ranks:
            if jobs[job][1] <= len(free):
                taken[job] = sorted(free)[: jobs[job][1]]
                free -= set(taken[job])
                start[job], end[job] = now, now + run_ns[job]
                waiting.discard(job)
                held[job] = " ".join(map(str, taken[job]))
                again |= run_ns[job] == 0
            elif not greedy:
                break
        if not again:
            now += 1
    return table(
        *(
            {
                "job": job,
                "submit": jobs[job][0],
                "eligible": eligible[job],
                "start": start[job],
                "end": end[job],
                "cores": jobs[job][1],
                "allocation": held[job],
            }
            for job in range(len(jobs))
        )
    )
