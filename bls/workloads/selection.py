"""The jobs of a workload to simulate: those that fit the platform, and a selection among them.

Fit first, then select: ``first:N`` counts jobs that can run, and so does the search for the busiest window.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from operator import mul

import numpy as np

from bls.engine.features.presets.options import PRESET
from bls.options import OVERSIZE, SELECT
from bls.workloads.header import Calendar, with_start
from bls.workloads.workload import TOO_WIDE, LogWindow, Workload
from traces.base.errors import InputError, at, shown
from traces.base.time import MAX_NS, NS_PER_S, format_ns, parse_duration_ns, parse_instant_ns
from traces.compiled import Array

_FORMS = (
    "all, first:N, busiest:LENGTH, heaviest:LENGTH, window:START+LENGTH or window:START..END, as first:1000, busiest:24h, "
    "heaviest:7d, window:7d+24h or window:2003-01-01T12:00..2003-02-01"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_COUNT = re.compile(r"[0-9]{1,18}")


def fit(workload: Workload, n_cores: int, oversize: str = OVERSIZE.default) -> Workload:
    """The jobs that can run on a platform.

    Parameters
    ----------
    workload : Workload
    n_cores : int
        Cores of the platform.
    oversize : {"reject", "clamp"}
        Whether wider jobs are counted as rejects, or given all cores of the platform and counted in ``Workload.clamped``; these
        keep their run time and estimate.

    Raises
    ------
    InputError
        If no job is left, or ``oversize`` is something else.
    """
    OVERSIZE.check(oversize)
    wide = workload.cores > n_cores
    n_wide = int(np.count_nonzero(wide))
    if n_wide == 0:
        return workload
    if oversize == "clamp":
        cores = np.minimum(workload.cores, n_cores)
        return workload.take(np.arange(len(workload)), cores=cores, clamped=workload.clamped + n_wide)
    if n_wide == len(workload):
        raise InputError(
            f"{workload.source}: none of {n_wide} jobs fits a platform of {n_cores} cores; "
            f"the narrowest requests {workload.cores.min()}"
        )
    return workload.rejecting({TOO_WIDE: wide})


def select(
    workload: Workload,
    spec: object,
    *,
    preset: bool | None = None,
    n_cores: int | None = None,
    whole: Workload | None = None,
    where: str = "",
) -> Workload:
    """The jobs that a specification names. Facts about the file (header, rejects) are kept; if time 0 changes, the header's
    ``UnixStartTime`` moves with it.

    Parameters
    ----------
    workload : Workload
    spec : str
        A selection of jobs (docs/explanation/model.md#workload). A window is cut to begin with the log.
    preset : bool, optional
        Whether to select also the jobs that, by the log, run or wait at the window's start
        (docs/reference/batch-failures.md#jobs-that-run-already-jobs-that-were-cancelled). They are marked in
        ``Workload.preset`` or counted in ``Workload.waiting``. By default this is done if the log records waits and the running
        jobs fit ``n_cores``; else ``Workload.window`` gives the reason for the empty machine.
    n_cores : int, optional
        Cores of the platform; default: enough for all jobs that run then.
    whole : Workload, optional
        The log including jobs that do not fit the platform, since those of them that run then also hold cores.
    where : str
        The option, for messages.

    Raises
    ------
    InputError
        If the specification is invalid, or selects no job; if ``preset`` is requested without a window or recorded waits;
        or for a date if the log has none, or no usable zone.
    """
    where = at(where or str(SELECT), spec)
    if not isinstance(spec, str):
        raise InputError(f"{where}: {shown(spec)} is not a text; allowed: {_FORMS}")
    kind, colon, value = spec.strip().partition(":")
    if preset and kind in ("all", "first"):
        raise InputError(
            f"{where}: {shown(spec)} has no start at which jobs could run; {PRESET} needs busiest:, heaviest: or window:"
        )
    if preset and not np.any(workload.wait_ns >= 0):
        raise InputError(f"{where}: {PRESET} needs recorded waits; {workload.source} has none")
    if kind == "all" and not colon:
        return workload
    if kind == "first" and _COUNT.fullmatch(value) and int(value) > 0:
        return workload.take(np.arange(min(int(value), len(workload))))
    if kind in WINDOWS and value:
        length_ns = parse_duration_ns(value, where)
        start_ns = WINDOWS[kind](workload, length_ns)[0]
        stop_ns = start_ns + length_ns
    elif kind == "window" and ("+" in value or ".." in value):
        start_ns, stop_ns = _interval(workload, value.strip(), where)
    else:
        raise InputError(f"{where}: {shown(spec)} is not a selection; allowed: {_FORMS}")
    # Python integers: the sum may exceed int64, and numpy would compare floats.
    stop_ns = min(stop_ns, 2**63 - 1)
    first, stop = np.searchsorted(workload.submit_ns, [start_ns, stop_ns]).tolist()
    if first == stop:
        raise InputError(
            f"{where}: no job is submitted in {shown(spec)}; the jobs of {workload.source} are submitted "
            f"from {_when(workload, int(workload.submit_ns[0]))} to {_when(workload, int(workload.submit_ns[-1]))}"
        )
    start_ns = max(start_ns, 0)  # the log has nothing before its time 0
    there = _there(workload, start_ns)
    empty = _why_empty(workload if whole is None else whole, there, start_ns, preset, n_cores)
    chosen = np.zeros((2, len(workload)), bool) if empty else there
    return _window(workload, first, stop, LogWindow(start_ns, stop_ns, empty), *chosen)


def _interval(workload: Workload, text: str, where: str) -> tuple[int, int]:
    """Start (it may be below 0) and end of ``START+LENGTH`` or ``START..END``, ns."""
    start, dots, end = text.partition("..")
    if dots:
        start_ns, end_ns = _instant_ns(workload, start, where), _instant_ns(workload, end, where)
        if end_ns <= start_ns:
            raise InputError(f"{where}: the window {shown(text)} ends before it begins")
        return start_ns, min(end_ns, MAX_NS)
    start, plus, length = text.rpartition("+")
    if not plus:
        raise InputError(f"{where}: {shown('window:' + text)} is not a selection; allowed: {_FORMS}")
    start_ns = _instant_ns(workload, start, where)
    return start_ns, min(start_ns + parse_duration_ns(length, where), MAX_NS)


def _instant_ns(workload: Workload, text: str, where: str) -> int:
    """An instant of the log's time, ns: negative for a date before the log began."""
    if not _DATE.fullmatch(text.strip()):
        return parse_instant_ns(text, where)
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"{where}: {shown(text)} is not a date; allowed: e.g. 2003-01-31 or 2003-01-31T12:00"
        ) from None
    calendar = Calendar.of(workload)
    if calendar.start is None:
        raise InputError(
            f"{where}: {shown(text)} is a date, and {workload.source} does not say its own (no UnixStartTime in its header)"
        )
    if date.tzinfo is None:
        remark = next((remark for remark in calendar.remarks if remark.startswith("TimeZone")), None)
        if remark and calendar.zone is UTC:
            raise InputError(f"{where}: {shown(text)}: {workload.source}: {remark}; allowed: e.g. 2003-01-31T12:00Z")
        date = date.replace(tzinfo=calendar.zone)
    # Not by astimezone(UTC), which has no dates before year 1 and after 9999.
    begun = calendar.start.astimezone(UTC).replace(tzinfo=None)
    since = date.replace(tzinfo=None) - begun - (date.utcoffset() or timedelta())
    return (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1000


def _when(workload: Workload, ns: int) -> str:
    calendar = Calendar.of(workload)
    return format_ns(ns) if calendar.start is None else f"{format_ns(ns)} ({calendar.date(ns):%Y-%m-%dT%H:%M})"


def busiest_window(workload: Workload, length_ns: int) -> tuple[int, int]:
    """The first of the windows [t, t + length) with the most submits, where t is a submit: t and the number of submits."""
    submit = workload.submit_ns
    counts = _stops(submit, length_ns) - np.arange(len(submit))
    best = int(np.argmax(counts))
    return int(submit[best]), int(counts[best])


def heaviest_window(workload: Workload, length_ns: int) -> tuple[int, int]:
    """The window [t, t + length) in which the most work is submitted, beginning at a submit t; the earliest of equals. Returns
    t and the sum of cores × run time (core-ns) of the jobs submitted in the window. Jobs without a known run time count 0."""
    submit = workload.submit_ns
    run = np.where(workload.run_unknown, 0, workload.run_ns)
    # Python integers: the work of a log exceeds int64.
    until = [0, *accumulate(map(mul, workload.cores.tolist(), run.tolist()))]
    stops = _stops(submit, length_ns).tolist()
    work = [until[stop] - until[first] for first, stop in enumerate(stops)]
    best = max(range(len(work)), key=work.__getitem__)
    return int(submit[best]), work[best]


#: Windows found from a log's submits, by kind of selection: a function of workload and length (ns) to start and amount.
WINDOWS = {"busiest": busiest_window, "heaviest": heaviest_window}


def _stops(submit: Array, length_ns: int) -> Array:
    # For the window from each submit, the first job after it. Written as submit - length < t, which cannot overflow; among
    # equal submits, the window of the first has all of them.
    return np.searchsorted(submit - length_ns, submit, side="left")


def check_preset(workload: Workload, n_cores: int) -> None:
    """Check that the machine has room for the jobs that run at time 0. Raises InputError if not."""
    held = sum(workload.cores[workload.preset == 1].tolist())  # Python integers: a sum may exceed int64
    if held > n_cores:
        raise InputError(
            f"{workload.source}: by its recorded waits and run times, {held} cores run jobs at the selection's start; "
            f"the platform has {n_cores}; allowed: {PRESET:False}, which starts with an empty machine"
        )


def running_and_queued(workload: Workload, start_ns: int) -> tuple[int, int]:
    """Number of jobs submitted before an instant that run then, and that are queued then, as recorded in the log."""
    running, queued = _there(workload, start_ns).sum(axis=1).tolist()
    return running, queued


def _there(workload: Workload, start_ns: int) -> Array:
    # Jobs that run and jobs that wait at an instant, by the log: bool (2, n).
    submit, wait, cancel = workload.submit_ns, workload.wait_ns, workload.cancel_ns
    age = _age(workload, start_ns)
    known = (submit < start_ns) & (wait >= 0) & ((cancel < 0) | (cancel > start_ns))
    runs = known & (age >= 0) & (workload.run_ns - age > 0) & ~workload.run_unknown
    return np.array([runs, known & (age < 0)])


def _age(workload: Workload, start_ns: int) -> Array:
    # The time that each job has run at an instant. Never a sum of two such columns: 2**62 + 2**62 exceeds int64.
    return np.asarray(start_ns - workload.submit_ns - np.maximum(workload.wait_ns, 0))


def _why_empty(whole: Workload, there: Array, start_ns: int, preset: bool | None, n_cores: int | None) -> str:
    # Reason for the empty machine; "" if it is not empty.
    if preset is not None:
        n_running, n_waiting = there.sum(axis=1).tolist()
        by_log = f"; the log records {_jobs(n_running, 'running')} and {_jobs(n_waiting, 'queued')} then"
        return "" if preset else f"no-preset{by_log * bool(n_running + n_waiting)}"
    if not np.any(whole.wait_ns >= 0):
        return "the log records no start times"
    held = sum(whole.cores[_there(whole, start_ns)[0]].tolist())  # Python integers: a sum may exceed int64
    if n_cores is not None and held > n_cores:
        return f"the log's running jobs hold {held:,} cores then, and the platform has {n_cores:,}"
    return ""


def _jobs(n: int, how: str) -> str:
    return f"{n:,} {how} job{'s' * (n != 1)}"


def _window(workload: Workload, first: int, stop: int, window: LogWindow, runs: Array, waits: Array) -> Workload:
    start_ns, submit, wait = window.begin_ns, workload.submit_ns, workload.wait_ns
    cancel, begin = workload.cancel_ns, workload.begin_ns
    age = _age(workload, start_ns)
    left = workload.run_ns - age
    chosen = runs | waits
    chosen[first:stop] = True
    rows = np.flatnonzero(chosen)
    running, waiting = runs[rows], waits[rows]
    moved = np.where(running | waiting, 0, submit[rows] - start_ns)
    # In the order of (submit, line): running jobs are now submitted together with those submitted at the start.
    order = np.lexsort((workload.line[rows], moved))
    rows, running, waiting, moved = rows[order], running[order], waiting[order], moved[order]
    return workload.take(
        rows,
        submit_ns=moved,
        run_ns=np.where(running, left[rows], workload.run_ns[rows]),
        estimate_ns=np.where(
            running, np.maximum(workload.estimate_ns[rows] - age[rows], 1), workload.estimate_ns[rows]
        ),
        wait_ns=np.where(running, 0, np.where(waiting, -age[rows], wait[rows])),  # from time 0 on
        cancel_ns=np.where(cancel[rows] < 0, -1, cancel[rows] - start_ns),
        begin_ns=np.where(running | (begin[rows] <= start_ns), -1, begin[rows] - start_ns),
        preset=np.where(running, 1, workload.preset[rows]),
        header=with_start(workload.header, start_ns),
        waiting=int(np.count_nonzero(waiting)),
        window=window,
    )
