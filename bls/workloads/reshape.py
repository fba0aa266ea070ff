"""Workloads made from a workload: a part, a denser, faster or wider version, a selection of jobs, and replications.

All are pure functions. The header records the change, and its ``UnixStartTime`` moves with time 0, so that calendars stay
right.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bls.workloads.header import log_name, moved_header
from bls.workloads.selection import running_and_queued, select
from bls.workloads.workload import Workload
from traces.base.errors import InputError, Mention, real
from traces.base.errors import whole as whole_number
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array

FACTORS = (0.001, 1000.0)  #: smallest and largest factor of :func:`scale`

# A factor becomes the nearest fraction with at most this denominator, so that columns are scaled with integers; with the range
# of factors, no product below exceeds int64.
_MOST_DENOMINATOR = 10**7


def cut(workload: Workload, spec: object) -> Workload:
    """The jobs submitted in a part of a workload; ``spec`` as of :func:`bls.workloads.selection.select`. ``remarks`` state how
    many running and queued jobs of the log are left out at the start of a window."""
    chosen = select(workload, spec, preset=False)
    start_ns, remarks = 0, workload.remarks
    if chosen.window is not None:
        start_ns = chosen.window.begin_ns
        running, queued = running_and_queued(workload, start_ns)
        if running or queued:
            remarks += (f"window: written without the {running} running and {queued} queued jobs of the log",)
    text = f"{spec}".strip()
    note = f"{'all jobs' if text == 'all' else f'the jobs {text}'} of {log_name(workload)}"
    header = moved_header(workload.header, len(chosen), start_ns, note)
    return chosen.take(np.arange(len(chosen)), header=header, window=None, remarks=remarks)


def filter_jobs(
    workload: Workload,
    *,
    users: Iterable[int] | None = None,
    queues: Iterable[int] | None = None,
    partitions: Iterable[int] | None = None,
    cores: tuple[int | None, int | None] = (None, None),
    run: tuple[int | None, int | None] = (None, None),
    status: Iterable[int] | None = None,
) -> Workload:
    """The jobs that pass every test; their times stay. ``users``, ``queues``, ``partitions``, ``status``: allowed numbers; -1
    stands for an unknown number. ``cores``, ``run``: smallest and largest width, and run time in ns, both included; None for no
    bound. Raises InputError if no job is left, or the lower bound is above the upper one."""
    kept = np.ones(len(workload), bool)
    stated: list[str] = []
    given = {"users": users, "queues": queues, "partitions": partitions, "status": status}
    columns = workload.user, workload.queue, workload.partition, workload.status
    for (name, numbers), column in zip(given.items(), columns, strict=True):
        if numbers is not None:
            wanted = np.unique(np.fromiter(numbers, np.int64))
            kept &= np.isin(column, wanted)
            stated.append(f"{name} {_listed(wanted)}")
    for name, column, (low, high) in (("cores", workload.cores, cores), ("run", workload.run_ns, run)):
        shown_as = format_ns if name == "run" else str
        if low is not None and high is not None and low > high:
            raise InputError(f"{Mention(name, name)}: {shown_as(low)} to {shown_as(high)}; allowed: low to high")
        if low is not None:
            kept &= column >= low
            stated.append(f"{name} from {shown_as(low)}")
        if high is not None:
            kept &= column <= high
            stated.append(f"{name} to {shown_as(high)}")
        if name == "run" and (low is not None or high is not None):
            kept &= ~workload.run_unknown
    what = ", ".join(stated) or "all"
    if not kept.any():
        raise InputError(f"{workload.source}: none of {len(workload)} jobs is left ({what})")
    note = f"the jobs with {what} of {log_name(workload)}"
    return workload.take(kept, header=moved_header(workload.header, int(np.count_nonzero(kept)), 0, note))


def scale(
    workload: Workload, *, load: float | None = None, speed: float | None = None, cores: float | None = None
) -> Workload:
    """The same jobs, denser, faster or wider: ``load`` divides the times between submits, and the first submit stays; ``speed``
    divides run times and estimates, to at least 1 ns; ``cores`` multiplies widths, to at least 1 core.

    All values are rounded once, half to even. Recorded waits become unknown, since they belong to another system. A user
    cancels after the same wait as before, and a job is held for the same time; think times stay. Raises InputError if there is
    no factor, one is not from 0.001 to 1000, or a resulting time or width is beyond 2**62.
    """
    given = {name: value for name, value in (("load", load), ("speed", speed), ("cores", cores)) if value is not None}
    if not given:
        load_factor, *others = (Mention(name, name) for name in ("load", "speed", "cores"))
        raise InputError(f"scale: nothing to do; allowed: {load_factor}, {' or '.join(map(str, others))}")
    # As written in decimals: 1.2 is 6/5, not the nearest binary number.
    factors = {
        name: Fraction(repr(float(real(str(Mention(name, name)), value, *FACTORS)))).limit_denominator(
            _MOST_DENOMINATOR
        )
        for name, value in given.items()
    }
    changed: dict[str, Any] = {}
    submit, unknown = workload.submit_ns, workload.run_unknown
    if load is not None:
        first = submit[0]
        submit = first + _times(submit - first, 1 / factors["load"], "submit_ns", workload.source)
    if speed is not None:
        run = np.maximum(_times(workload.run_ns, 1 / factors["speed"], "run_ns", workload.source), 1)
        changed["run_ns"] = np.where(unknown, workload.run_ns, run)
        estimate = _times(workload.estimate_ns, 1 / factors["speed"], "estimate_ns", workload.source)
        changed["estimate_ns"] = np.maximum(estimate, 1)
    if cores is not None:
        changed["cores"] = np.maximum(_times(workload.cores, factors["cores"], "cores", workload.source), 1)
    changed["submit_ns"], changed["wait_ns"] = submit, np.array(-1)
    if int(workload.cancel_ns.max()) >= 0:
        patience = workload.cancel_ns - workload.submit_ns
        if np.any((workload.cancel_ns >= 0) & (patience > MAX_NS - submit)):
            raise _beyond("cancel_ns", workload.source)
        changed["cancel_ns"] = np.where(workload.cancel_ns < 0, -1, submit + patience)
        changed["wait_ns"] = np.where(unknown, patience, -1)
    if workload.held.any():
        hold = workload.earliest_ns - workload.submit_ns
        if np.any(hold > MAX_NS - submit):
            raise _beyond("begin_ns", workload.source)
        changed["begin_ns"] = np.where(workload.held, submit + hold, -1)
    what = ", ".join(f"{name} × {float(value):g}" for name, value in given.items())
    note = f"{log_name(workload)} with {what}"
    header = moved_header(workload.header, len(workload), 0, note, same_span=load is None)
    # Jobs submitted one after the other may now be submitted together: then the order of lines decides.
    if np.any((np.diff(submit) == 0) & (np.diff(workload.line) < 0)):
        order = np.lexsort((workload.line, submit))
        moved = {name: column[order] if column.ndim else column for name, column in changed.items()}
        return workload.take(order, **moved, header=header)
    return replace(workload, **changed, header=header)


def _times(column: Array, factor: Fraction, name: str, source: str) -> Array:
    """``column`` (from 0) times a factor, rounded half to even, in integer arithmetic."""
    up, down = factor.numerator, factor.denominator
    if int(column.max()) * up // down >= MAX_NS:
        raise _beyond(name, source)
    whole = column // down
    rest = (column - whole * down) * up
    parts = rest // down
    left = 2 * (rest - parts * down)
    result = whole * up + parts
    return np.asarray(result + ((left > down) | ((left == down) & (result % 2 == 1))))


def _beyond(name: str, source: str) -> InputError:
    return InputError(f"{source}: with this factor, {name} is beyond the range; allowed: to {MAX_NS}")


def _listed(numbers: Array) -> str:
    return " ".join(map(str, numbers.tolist())) if len(numbers) <= 10 else f"{len(numbers)} of them"


_MOST = 100_000  #: largest number of windows of a log
_STREAM = 0x7368616B65  #: name of the stream of random submits


def window_begins(log: Workload, length_ns: int, warm_up_ns: int = 0, *, where: str = "replicate") -> tuple[int, ...]:
    """Beginnings of the windows of a log that serve as replications, instants of the log's time (ns). They follow one another
    from the first submit plus the warm-up (simulated but not counted) and end by the last submit. Windows without submits are
    left out. ``log``: including jobs that do not fit the platform. Raises InputError if the log has no such window, or more
    than 100,000."""
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
) -> Workload:
    """The jobs submitted in [begin, begin + length), and earlier jobs, which no metric counts (``uncounted``). The simulation
    begins at begin - warm-up, which becomes time 0. ``workload``: jobs that fit the platform. ``preset``, ``n_cores`` and
    ``whole``: as for :func:`bls.workloads.selection.select`. Raises InputError if no job is submitted in the window."""
    first, stop = np.searchsorted(workload.submit_ns, [begin_ns, min(begin_ns + length_ns, MAX_NS)]).tolist()
    if first == stop:
        window = f"{format_ns(begin_ns)} to {format_ns(begin_ns + length_ns)}"
        raise InputError(f"replicate: no job of {workload.source} that fits the platform is submitted from {window}")
    start_ns = begin_ns - warm_up_ns
    spec = f"window:{f'{start_ns}ns' if start_ns else '0'}+{length_ns + warm_up_ns}ns"
    chosen = select(workload, spec, preset=preset, n_cores=n_cores, whole=whole, where="replicate")
    earlier = workload.job_id[:first]
    return chosen.take(np.arange(len(chosen)), uncounted=np.isin(chosen.job_id, earlier))


def shaken(log: Workload, sample: int, within_ns: int) -> Workload:
    """A random variation of a log: sample 0 is the log itself; in others each job is submitted later by less than ``within_ns``
    (from 1). The same number gives the same submits.

    Jobs that run or wait at the start of a window (``Workload.preset``, ``waiting``) stay there. Cancellations and earliest
    starts move with the submits.
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
