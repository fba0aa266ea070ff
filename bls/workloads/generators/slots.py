"""Half-hours of the calendar, one after the other: the slots that arrivals are counted in and drawn into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.workloads.calendar import Calendar
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array

SLOT_NS = 1800 * NS_PER_S
SLOTS_PER_DAY = 48

# Generated jobs may arrive over as many slots as a hundred years have.
_MOST_SLOTS = 100 * 366 * SLOTS_PER_DAY


@dataclass(frozen=True)
class HalfHours:
    """Consecutive half-hours, each with what local clocks show at its start."""

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
        """How far into its slot each instant is, from 0 to below 1."""
        return (instants_ns - self.start_ns) % SLOT_NS / SLOT_NS


def slots(calendar: Calendar, first_ns: int, count: int) -> HalfHours:
    """So many half-hours, from the local half-hour of an instant on."""
    clock = calendar.date(first_ns)
    into_s = clock.minute % 30 * 60 + clock.second
    start_ns = (first_ns // NS_PER_S - into_s) * NS_PER_S
    starts = start_ns + SLOT_NS * np.arange(count, dtype=np.int64)
    return HalfHours(start_ns, calendar.half_hour(starts), calendar.weekday(starts), calendar.month(starts) - 1)


def checked_span(count: float, source: str, n_jobs: int) -> None:
    """See that generated jobs arrive over no more slots than a hundred years have. Raises InputError if they do."""
    if count > _MOST_SLOTS:
        raise InputError(f"n_jobs: {n_jobs} jobs that arrive as those of {source} would last for more than 100 years")


def grown(count: int, source: str, n_jobs: int) -> int:
    """A greater number of slots to try. Raises InputError if there were as many already as a hundred years have."""
    checked_span(count + 1, source, n_jobs)
    return min(2 * count, _MOST_SLOTS)
