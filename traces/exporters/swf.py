"""The jobs of a run in the Standard Workload Format.

One line per job, in the order of (submit, row). A job with several attempts shows its last one, and its wait is the time
from the submit to this attempt's start. Field 5 is the number of held cores, field 8 the request. The status is 1 for
completed jobs, 5 for cancelled ones, 0 for killed or failed ones. For a job that never started, wait and run time are -1. A
ledger has no users, groups or queues: they are -1. The log's names of single jobs are comments, ``; Job: NUMBER NAME``.
"""

from pathlib import Path

import numpy as np

from traces.base.written_file import fresh
from traces.exporters.swf_lines import STATUS, job_comments, swf_lines
from traces.ledger import STATES, Ledger

FILE = "jobs.swf"  #: name of the written file


def write_swf_jobs(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger's jobs as ``directory / "jobs.swf"``; equal ledgers give equal bytes. Raises InputError if the file
    exists or cannot be written."""
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
