"""Batsim's jobs.csv, one line per job, as evalys' ``JobSet.from_csv`` reads it.

The columns are Batsim's, in its order. Times are seconds with as many decimals as necessary; ``stretch`` is turnaround over
execution time. Unknown values are empty, as in Batsim.

- ``job_id``: the job's number, or the part after ``!`` of a log's id such as ``a!12``; for a later attempt ``12#1``, as for a
  job submitted again; ``workload_name``: ``w0``, or the part before ``!``.
- ``profile``: ``application`` with an application level, ``delay`` without.
- ``submission_time``: the submit; for a later attempt the instant at which the previous one was cut.
- ``requested_time``: the estimate; ``consumed_energy``: -1, not known; ``metadata``: empty.
- ``success``: 1 for ``COMPLETED_SUCCESSFULLY``, else 0.
- ``final_state``: ``COMPLETED_SUCCESSFULLY``, ``COMPLETED_WALLTIME_REACHED`` (killed), ``COMPLETED_FAILED`` (lost its host),
  ``COMPLETED_KILLED`` (cancelled while it ran, or cut and tried again), ``REJECTED`` (never started: no times, no resources).
- ``allocated_resources``: the cores it held, as ``0-63 128``; evalys counts them from 0 to the highest that any job held.

Source: Batsim's documentation, "Jobs" (output), and its ``src/export.cpp``; evalys' ``JobSet``.
"""

from pathlib import Path

from traces.base.time import NS_PER_S
from traces.base.written_file import fresh
from traces.exporters.csv import quoted
from traces.intervals import intervals_text
from traces.ledger import STATES, Ledger

FILE = "jobs.csv"  #: name of the file that is written

COLUMNS = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time"),
    *("turnaround_time", "stretch", "allocated_resources", "consumed_energy", "metadata"),
)

_FINAL = {
    "completed": "COMPLETED_SUCCESSFULLY",
    "killed": "COMPLETED_WALLTIME_REACHED",
    "cancelled": "COMPLETED_KILLED",
    "failed": "COMPLETED_FAILED",
    "requeued": "COMPLETED_KILLED",
}


def write_batsim_jobs(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger's jobs as ``directory / "jobs.csv"``; equal ledgers give equal bytes. Raises InputError if the file
    exists or cannot be written."""
    path = Path(directory) / FILE
    jobs = ledger.jobs
    submits = jobs.submit_ns.copy()
    submits[jobs.attempt > 0] = jobs.eligible_ns[jobs.attempt > 0]
    submits[jobs.attempt == 0] = jobs.begin_ns[jobs.attempt == 0]
    columns = (jobs.job_id, jobs.attempt, submits, jobs.start_ns, jobs.end_ns, jobs.estimate_ns, jobs.cores)
    rows = zip(*(column.tolist() for column in (*columns, jobs.state, jobs.chunks)), strict=True)
    with fresh(path) as file:
        file.write((",".join(COLUMNS) + "\n").encode("ascii"))
        for row, values in enumerate(rows):
            line = _line(values, intervals_text(jobs.allocation(row)), ledger.ids.get(values[0], ""))
            file.write((line + "\n").encode("utf-8"))
    return path


def _line(values: tuple[int, ...], held: str, said: str) -> str:
    number, attempt, submit, start, end, estimate, cores, state, chunks = values
    origin, mark, own = (said or f"{number}").rpartition("!")
    name = f"{own}#{attempt}" if attempt else own
    done = STATES[state]
    names = (quoted(name), quoted(origin) if mark else "w0", "application" if chunks else "delay")
    first = (*names, _seconds(submit), f"{cores}", _seconds(estimate))
    if start < 0:
        return ",".join((*first, "0", "REJECTED", "", "", "", "", "", "", "", "", '""'))
    run, turnaround = end - start, end - submit
    stretch = repr(turnaround / run) if run > 0 else ""
    ended = ("1" if done == "completed" else "0", _FINAL[done])
    times = (_seconds(start), _seconds(run), _seconds(end), _seconds(start - submit), _seconds(turnaround))
    return ",".join((*first, *ended, *times, stretch, held, "-1", '""'))


def _seconds(ns: int) -> str:
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(ns), NS_PER_S)
    return f"{sign}{whole}.{f'{rest:09d}'.rstrip('0') or '0'}"
