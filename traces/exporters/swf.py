"""The jobs of a run in the Standard Workload Format: a log of a system that never was.

One line per job, in the order of (submit, row): of a job that was tried again its last attempt, whose wait is the time from
its submit to that attempt's start. Field 5 is what it held, field 8 what it asked for. The status is 1 for jobs that were
completed, 5 for those cancelled, 0 for those killed or failed. Of a job that never started, the wait and the run time are
-1. A ledger knows neither users, groups nor queues: they are -1. The names that the log has for single jobs are comments,
``; Job: NUMBER NAME``.
"""

from pathlib import Path

import numpy as np

from traces.exporters.shown.written import fresh
from traces.exporters.swf_lines import STATUS, job_comments, swf_lines
from traces.ledger import STATES, Ledger

#: Name of the file that is written.
FILE = "jobs.swf"


def write_swf_jobs(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger's jobs as ``directory / "jobs.swf"``; equal ledgers give equal bytes. Raises InputError if there is one
    already, or it cannot be written."""
    path = Path(directory) / FILE
    jobs = ledger.jobs
    last = {number: row for row, number in enumerate(jobs.job_id.tolist())}
    rows = np.array(sorted(last.values(), key=lambda row: (int(jobs.submit_ns[row]), row)), np.int64)
    started = jobs.started[rows]
    status = np.array([STATUS[state] for state in STATES], np.int64)[jobs.state[rows]]
    columns = {
        "job_id": jobs.job_id[rows],
        "submit_ns": jobs.submit_ns[rows],
        "wait_ns": np.where(started, jobs.start_ns[rows] - jobs.submit_ns[rows], -1),
        "run_ns": np.where(started, jobs.end_ns[rows] - jobs.start_ns[rows], -1),
        "allocated": np.where(started, jobs.held_cores[rows], -1),
        "requested": jobs.cores[rows],
        "estimate_ns": jobs.estimate_ns[rows],
        "status": status,
    }
    machine = ledger.machine
    header = [
        *("Version: 2.2", f"Computer: {machine.name}"),
        *(f"MaxJobs: {len(rows)}", f"MaxRecords: {len(rows)}"),
        *(f"MaxNodes: {machine.n_hosts}", f"MaxProcs: {machine.n_cores}"),
        "Note: jobs of a simulation",
    ]
    with fresh(path) as file:
        file.write("".join(f"; {' '.join(line.split())}\n" for line in header).encode())
        file.writelines(f"{line}\n".encode() for line in job_comments(ledger.ids, columns["job_id"].tolist()))
        file.writelines(swf_lines(columns))
    return path
