"""Replications of an experiment on one log: its windows of one length, or the log with submits that are shaken a little.

A replication is simulated for every setting that is compared, so that the settings are compared in pairs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bls.workloads.selection import select
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.errors import whole as whole_number
from traces.base.time import MAX_NS, format_ns

#: Most windows of a log.
_MOST = 100_000

#: Names the streams that submits are shaken by.
_STREAM = 0x7368616B65


def window_begins(log: Workload, length_ns: int, warm_up_ns: int = 0, *, where: str = "replicate") -> tuple[int, ...]:
    """The begins of the windows of a log that are its replications, instants of the log's time (ns).

    They follow one another from the first submit plus the warm-up on. The last one ends by the last submit. Those in which
    no job is submitted are left out.

    - ``log``: with all of its jobs, also those that the platform has no room for
    - ``length_ns``, ``warm_up_ns``: lengths of a window, and of the time before it that is simulated and not counted

    Raises InputError if the log has no such window, or more than 100,000.
    """
    first, last = int(log.submit_ns[0]) + warm_up_ns, int(log.submit_ns[-1])
    n, name = (last - first) // length_ns, Path(log.source).name
    if n < 1:
        needed = format_ns(length_ns) + (f" and a warm-up of {format_ns(warm_up_ns)}" if warm_up_ns else "")
        span = format_ns(last - int(log.submit_ns[0]))
        raise InputError(f"{where}: {name} has submits for {span}, too short for a window of {needed}")
    if n > _MOST:
        raise InputError(f"{where}: {name} has {n} windows of {format_ns(length_ns)}; allowed: up to {_MOST}")
    begins = first + length_ns * np.arange(n, dtype=np.int64)
    some = np.diff(np.searchsorted(log.submit_ns, np.append(begins, begins[-1] + length_ns))) > 0
    return tuple(begins[some].tolist())


def replication(
    workload: Workload,
    begin_ns: int,
    length_ns: int,
    warm_up_ns: int = 0,
    *,
    preset: bool | None = None,
    n_cores: int | None = None,
    whole: Workload | None = None,
    where: str = "replicate",
) -> Workload:
    """The jobs submitted in [begin, begin + length), and those before that they meet, which no metric counts.

    - ``workload``: jobs that fit the platform
    - ``begin_ns``, ``length_ns``, ``warm_up_ns``: of :func:`window_begins`. The simulation begins at begin - warm-up,
      which becomes time 0.
    - ``preset``, ``n_cores``, ``whole``: with which jobs it begins then: see :func:`bls.workloads.selection.select`

    Returns Workload: jobs that were submitted before ``begin_ns`` are ``uncounted``. Raises InputError if no job is
    submitted in the window.
    """
    first, stop = np.searchsorted(workload.submit_ns, [begin_ns, min(begin_ns + length_ns, MAX_NS)]).tolist()
    if first == stop:
        window = f"{format_ns(begin_ns)} to {format_ns(begin_ns + length_ns)}"
        raise InputError(f"{where}: no job of {workload.source} that fits the platform is submitted from {window}")
    start_ns = begin_ns - warm_up_ns
    spec = f"window:{f'{start_ns}ns' if start_ns else '0'}+{length_ns + warm_up_ns}ns"
    chosen = select(workload, spec, preset=preset, n_cores=n_cores, whole=whole, where=where)
    earlier = workload.job_id[:first]
    return chosen.take(np.arange(len(chosen)), uncounted=np.isin(chosen.job_id, earlier))


def shaken(log: Workload, sample: int, within_ns: int) -> Workload:
    """A sample of a log: the log itself if its number is 0, else each job up to some time later.

    Jobs that run or wait at the start of a window (``Workload.preset``, ``waiting``) stay there. A job is cancelled, or
    may start, after the same time since its submit. ``sample``: from 0; the same number gives the same submits.
    ``within_ns``: each job is submitted less than this later, from 1.
    """
    whole_number("shake", within_ns, 1, MAX_NS)
    if sample == 0:
        return log
    later = np.random.default_rng([sample, _STREAM]).integers(0, within_ns, len(log))
    if log.waiting or log.preset.any():
        later[log.submit_ns == 0] = 0
    submit_ns = log.submit_ns + later
    cancel_ns = np.where(log.cancel_ns < 0, -1, log.cancel_ns + later)
    begin_ns = np.where(log.begin_ns < 0, -1, log.begin_ns + later)
    order = np.lexsort((log.line, submit_ns))
    return log.take(order, submit_ns=submit_ns[order], cancel_ns=cancel_ns[order], begin_ns=begin_ns[order])
