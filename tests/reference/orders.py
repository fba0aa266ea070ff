"""Sort keys of the queue, smallest first: functions of (job, now). Times are seconds where a constant has a unit."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from reference.machine import Job, Rules


def deadline(job: Job, slack: float | Fraction) -> int:
    """submit + slack × estimate, rounded to ns."""
    return job.submit + round(Fraction(slack) * job.estimate)


def _wait_s(job: Job, now: int) -> float:
    return (now - job.submit) / 1e9


def _requested_s(job: Job) -> float:
    return job.estimate / 1e9


def _log10_submit(job: Job) -> float:
    return math.log10(max(job.submit / 1e9, 1.0))  # before 1 s counts as 1 s


def wfp3(job: Job, now: int) -> float:
    """The largest (w/r)³·n first."""
    waited: float = _wait_s(job, now) / _requested_s(job)
    return -float(waited**3.0) * job.cores


def unicef(job: Job, now: int) -> float:
    """The largest w / (log2(n)·r) first; log2(1) counts as log2(1 + 1e-15)."""
    width = math.log2(job.cores) if job.cores > 1 else math.log2(1 + 1e-15)
    return -_wait_s(job, now) / (width * _requested_s(job))


def f1(job: Job, now: int) -> float:
    """log10(r)·n + 870·log10(q); a run time below 1 s counts as 1 s."""
    return math.log10(max(_requested_s(job), 1.0)) * job.cores + 870 * _log10_submit(job)


def f2(job: Job, now: int) -> float:
    """√r·n + 25600·log10(q)."""
    return math.sqrt(_requested_s(job)) * job.cores + 25600 * _log10_submit(job)


def f3(job: Job, now: int) -> float:
    """r·n + 6.86e6·log10(q)."""
    return _requested_s(job) * job.cores + 6.86e6 * _log10_submit(job)


def f4(job: Job, now: int) -> float:
    """r·√n + 5.3e5·log10(q)."""
    return _requested_s(job) * math.sqrt(job.cores) + 5.3e5 * _log10_submit(job)


ORDERS: dict[str, Callable[[Job, int], float | int]] = {
    "fcfs": lambda job, now: job.submit,
    "sjf": lambda job, now: job.estimate,
    "ljf": lambda job, now: -job.estimate,
    "saf": lambda job, now: job.estimate * job.cores,
    "wfp3": wfp3,
    "unicef": unicef,
    "f1": f1,
    "f2": f2,
    "f3": f3,
    "f4": f4,
}


def key(job: Job, now: int, rules: Rules, planned: int) -> float | int:
    """Sort key of a job at an instant; its deadline always follows from its request."""
    if rules.order == "edf":
        return deadline(job, rules.slack)
    job = replace(job, estimate=planned)
    return rules.order(job, now) if callable(rules.order) else ORDERS[rules.order](job, now)
