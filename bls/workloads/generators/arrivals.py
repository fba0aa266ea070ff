"""Submits of generated jobs: the Slot Weight Method, in two forms.

Time is divided into half-hours, the slots, each with a weight. From the slot of the last job on, a drawn value v pays the
weights of one slot after the other. Where it no longer suffices, the rest of v determines how far into the slot the next job is
submitted.

``accasim``, the AccaSim paper's form, has 48 weights, one per slot of a day. v is drawn from the source's inter-arrival times
up to v_max. Before each job v_max becomes v_max - (v_max - s)(1 - pr), where s is the slot's length and pr the product of three
progress ratios, for the hour, the weekday and the month of the previous job: the number of jobs generated so far in that hour
(weekday, month) over the final number there, according to the source's share, at most 1. The paper leaves two points open:
here, v_max on the right is always the source's largest inter-arrival time, and the rest of v in its slot is added to the next
v, as in Lublin and Feitelson's program.

``calendar``, this project's form, has a weight for every half-hour of the week (336) times a factor for every month, both from
the rates at which the source's jobs arrived, by a few rounds of proportional fitting. The inter-arrival times are measured on
the clock of these weights, since the weights would otherwise be applied twice; v_max needs no change.

Sources: C. Galleguillos et al., Cluster Computing 23, 2020, section 7.3, doi:10.1007/s10586-019-02905-5; U. Lublin, D.
Feitelson, J. Parallel Distrib. Comput. 63(11), 2003, doi:10.1016/S0743-7315(03)00108-4.
"""

from dataclasses import dataclass

import numpy as np

from bls.workloads.header import Calendar
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Ints, Ints2

SLOT_NS = 1800 * NS_PER_S
SLOTS_PER_DAY = 48

# Limit of the slots over which generated jobs arrive: those of a hundred years.
_MOST_SLOTS = 100 * 366 * SLOTS_PER_DAY


@dataclass(frozen=True)
class HalfHours:
    """Consecutive half-hours, each with the local time at its start."""

    start_ns: int  # start of the first one, since the log's time 0; it may be before it
    # (m,): half-hour of the day 0 to 47, day of the week 0 (Monday) to 6, month 0 to 11
    half_hour: Array
    weekday: Array
    month: Array

    def __len__(self) -> int:
        return len(self.half_hour)

    def of(self, instants_ns: Array) -> Array:
        """The slot of each instant."""
        return (instants_ns - self.start_ns) // SLOT_NS

    def within(self, instants_ns: Array) -> Array:
        """Position of each instant within its slot, from 0 to below 1."""
        return (instants_ns - self.start_ns) % SLOT_NS / SLOT_NS


def slots(calendar: Calendar, first_ns: int, count: int) -> HalfHours:
    """``count`` half-hours, from the local half-hour of an instant on."""
    clock = calendar.date(first_ns)
    into_s = clock.minute % 30 * 60 + clock.second
    start_ns = (first_ns // NS_PER_S - into_s) * NS_PER_S
    starts = start_ns + SLOT_NS * np.arange(count, dtype=np.int64)
    return HalfHours(start_ns, calendar.half_hour(starts), calendar.weekday(starts), calendar.month(starts) - 1)


def checked_span(count: float, source: str, n_jobs: int) -> None:
    """Check that generated jobs arrive within a hundred years. Raises InputError if they do not."""
    if count > _MOST_SLOTS:
        raise InputError(f"n_jobs: {n_jobs} jobs that arrive as those of {source} would last for more than 100 years")


def grown(count: int, source: str, n_jobs: int) -> int:
    """A larger number of slots to try. Raises InputError if it was that of a hundred years already."""
    checked_span(count + 1, source, n_jobs)
    return min(2 * count, _MOST_SLOTS)


_HALF_HOURS = 7 * SLOTS_PER_DAY
_ROUNDS = 20
_SLOT_NS = SLOT_NS  # kernels use constants of their own module


def _covered(source: Workload, n_jobs: int, calendar: Calendar) -> tuple[HalfHours, Array]:
    """The slots from the source's first to its last job, and the jobs submitted in each."""
    first_ns, last_ns = int(source.submit_ns[0]), int(source.submit_ns[-1])
    if first_ns == last_ns:
        jobs = "its only job" if len(source) == 1 else f"all of its {len(source)} jobs"
        raise InputError(f"{source.source}: {jobs} submitted at one instant; a generator needs a source with a span")
    checked_span((n_jobs - 1) * (last_ns - first_ns) / (len(source) - 1) / SLOT_NS, source.source, n_jobs)
    found = slots(calendar, first_ns, (last_ns - first_ns) // SLOT_NS + 2)
    return found, np.bincount(found.of(source.submit_ns), minlength=len(found))


def calendar_arrivals(source: Workload, n_jobs: int, calendar: Calendar, chance: np.random.Generator) -> Array:
    """Submits by the ``calendar`` form: int64 ns since the source's time 0, shape (n_jobs,), ascending. Raises InputError if
    all of the source's jobs are submitted at one instant, or the generated ones would last for more than 100 years."""
    covered, counts = _covered(source, n_jobs, calendar)
    week, month = fitted_weights(covered, counts)
    weights = _weights(covered, week, month)
    clock = _clock(weights)
    place = covered.of(source.submit_ns)
    shown = clock[place] + covered.within(source.submit_ns) * weights[place]
    drawn = np.diff(shown)[chance.integers(0, len(source) - 1, n_jobs - 1)]
    wanted = shown[0] + np.concatenate(([0.0], np.cumsum(drawn)))
    count = len(covered)
    while True:
        ahead = slots(calendar, int(source.submit_ns[0]), count)
        weights = _weights(ahead, week, month)
        clock = _clock(weights)
        if clock[-1] > wanted[-1]:
            break
        count = grown(count, source.source, n_jobs)
    # The last slot that begins there: a slot without weight begins where the next one does, and has no room.
    place = np.searchsorted(clock, wanted, side="right") - 1
    into = (wanted - clock[place]) / weights[place]
    return _whole_seconds(ahead.start_ns + place * SLOT_NS + (into * SLOT_NS).astype(np.int64))


def fitted_weights(covered: HalfHours, counts: Array) -> tuple[Array, Array]:
    """Arrivals per slot as a product: a rate for each half-hour of the week, float64 (336,), and a factor for each month,
    (12,): the most likely ones, if arrivals were independent. ``counts``: jobs submitted in each slot of ``covered``."""
    half_hour = covered.weekday * SLOTS_PER_DAY + covered.half_hour
    kind = half_hour * 12 + covered.month
    time = np.bincount(kind, minlength=_HALF_HOURS * 12).reshape(_HALF_HOURS, 12).astype(np.float64)
    jobs = np.bincount(kind, weights=counts, minlength=_HALF_HOURS * 12).reshape(_HALF_HOURS, 12)
    week, month = np.ones(_HALF_HOURS), np.ones(12)
    for _ in range(_ROUNDS):
        week = _ratio(jobs.sum(axis=1), time @ month)
        month = _ratio(jobs.sum(axis=0), week @ time)
    mean = (month * time.sum(axis=0)).sum() / time.sum()
    month, week = month / mean, week * mean
    month[time.sum(axis=0) == 0] = 1.0
    week[time.sum(axis=1) == 0] = jobs.sum() / time.sum()
    return week, month


def _ratio(jobs: Array, expected: Array) -> Array:
    return np.divide(jobs, expected, out=np.zeros(len(jobs)), where=expected > 0)


def _weights(of: HalfHours, week: Array, month: Array) -> Array:
    return np.asarray(week[of.weekday * SLOTS_PER_DAY + of.half_hour] * month[of.month])


def _clock(weights: Array) -> Array:
    # Time on the clock of the weights at the start of each slot, and at the end of the last.
    return np.concatenate(([0.0], np.cumsum(weights)))


def _whole_seconds(submit_ns: Array) -> Array:
    return np.maximum(submit_ns, 0) // NS_PER_S * NS_PER_S


def accasim_arrivals(source: Workload, n_jobs: int, calendar: Calendar, chance: np.random.Generator) -> Array:
    """Submits by the ``accasim`` form, as :func:`calendar_arrivals`."""
    covered, counts = _covered(source, n_jobs, calendar)
    weights = np.bincount(covered.half_hour, weights=counts, minlength=SLOTS_PER_DAY)
    gaps = np.sort(np.diff(source.submit_ns)) / SLOT_NS
    weights = weights / weights.mean()
    hour, weekday, month = (
        np.bincount(of, weights=counts, minlength=n) / len(source)
        for of, n in ((covered.half_hour // 2, 24), (covered.weekday, 7), (covered.month, 12))
    )
    uniform = chance.random(n_jobs)
    submit_ns = np.zeros(n_jobs, np.int64)
    count = len(covered)
    while True:
        ahead = slots(calendar, int(source.submit_ns[0]), count)
        into = float(ahead.within(source.submit_ns[:1])[0])
        clock = own(np.stack([ahead.half_hour, ahead.weekday, ahead.month]), np.int64)
        done = _walk(uniform, gaps, weights, hour, weekday, month, clock, ahead.start_ns, into, submit_ns)
        if done == n_jobs:
            return _whole_seconds(submit_ns)
        count = grown(count, source.source, n_jobs)


@compiled(makes_arrays=True)
def _walk(
    uniform: Floats, gaps: Floats, weights: Floats, hour_share: Floats, weekday_share: Floats, month_share: Floats,
    clock: Ints2, start_ns: int, into: float, submit_ns: Ints,
) -> int:  # fmt: skip
    """Fill ``submit_ns`` from the left; returns the number of jobs for which there were enough slots. ``uniform``: from 0 to
    below 1, one per job. ``gaps``: the source's inter-arrival times in slots, ascending. ``weights``, (48,): of mean 1. The
    shares, (24,), (7,) and (12,), are of the source's jobs. ``clock``, (3, m): half-hour, weekday and month of each slot; the
    first starts at ``start_ns``, and the first job is submitted at position ``into`` of it."""
    half_hour, weekday, month = clock[0], clock[1], clock[2]
    n, n_slots = len(uniform), len(half_hour)
    in_hour, in_weekday, in_month = np.zeros(24), np.zeros(7), np.zeros(12)
    longest = gaps[gaps.size - 1]
    slot, left = 0, into * weights[half_hour[0]]
    for job in range(n):
        if job > 0:
            h, d, m = half_hour[slot] // 2, weekday[slot], month[slot]
            progress = _progress(in_hour[h], n * hour_share[h]) * _progress(in_weekday[d], n * weekday_share[d])
            progress *= _progress(in_month[m], n * month_share[m])
            v_max = longest - (longest - 1.0) * (1.0 - progress)
            usable = max(1, np.searchsorted(gaps, v_max, side="right"))
            v = left + gaps[int(uniform[job] * usable)]
            while v >= weights[half_hour[slot]]:
                v -= weights[half_hour[slot]]
                slot += 1
                if slot == n_slots:
                    return job
            left = v
        into_ns = int(left / weights[half_hour[slot]] * _SLOT_NS)
        submit_ns[job] = start_ns + slot * _SLOT_NS + into_ns
        in_hour[half_hour[slot] // 2] += 1.0
        in_weekday[weekday[slot]] += 1.0
        in_month[month[slot]] += 1.0
    return n


@compiled()
def _progress(generated: float, wanted: float) -> float:
    """The progress ratio; 1 for an hour, weekday or month without jobs in the source."""
    return min(1.0, generated / wanted) if wanted > 0.0 else 1.0
