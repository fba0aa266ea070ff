"""Why a job started when it did, by the table of jobs of a run: which job's end it waited for, and chains of causes.

The rules stand in docs/reference/compare.md. All of it is arrays: rows are those of jobs that started. Chains are summed by
doubling pointers: after k steps each leads 2ᵏ links back, so that n jobs take log₂(longest chain) steps over arrays."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traces.compiled import Array
from traces.intervals import intervals_of, parse_intervals
from traces.records.events import JobEvents, of_kind
from traces.records.hints import HintRecords
from traces.records.releases import ReleaseRecords
from traces.records.widths import WidthRecords
from traces.tables import BOOT_WAIT, CUT_BECAUSE, STARTED_BECAUSE

if TYPE_CHECKING:
    import pandas as pd

#: Why a job started at its instant and not before; ``StartCauses.kind`` counts in this order.
CAUSES = (
    "submit", "eligible", "dependency", "retry", "release", "unmatched", "pass", "freed", "hinted", "asked", "wished", "lost",
    "boot",
)  # fmt: skip

#: Those that name a compared job, at whose end the job started: the links of a chain.
LINKS = ("dependency", "retry", "release", "lost")

_CODE = {name: code for code, name in enumerate(CAUSES)}


@dataclass(frozen=True, eq=False)
class StartedJobs:
    """The rows of a run's table of jobs that started, in its order: arrays of shape (n,), instants in ns."""

    # ndarray of int64: as in the table
    job_id: Array
    attempt: Array
    cores: Array
    submit_ns: Array
    eligible_ns: Array
    start_ns: Array
    end_ns: Array
    allocation: Array  # as in the table
    requeued: Array  # whether another attempt follows
    # (k,): cores that rows released before their end, and when; none by default
    freed_row: Array
    freed_core: Array
    freed_ns: Array
    # (h,): rows that were told that a row which started later waits for some of their cores; none by default
    told_row: Array
    told_of: Array
    # (a,): rows that were asked for cores, and which; none by default
    asked_row: Array
    asked_core: Array
    wished: bool  # whether it was as they wished for fewer
    # ndarray of str, shape (n,): how all cores of a row were lost, and which was the last; empty where they were not,
    # by default everywhere
    cut_because: Array
    # ndarray of str, shape (n,): why its policy has started a row; empty where it did not say, by default everywhere
    started_because: Array
    # (n,): for how long it had its cores and waited for their hosts to boot; 0 by default everywhere
    boot_wait_ns: Array

    @classmethod
    def of(cls, jobs: pd.DataFrame, events: Collection[JobEvents] = ()) -> StartedJobs:
        """The started rows of a table of jobs, and of events what they released, were told, and were asked for."""
        some = jobs["start_ns"].to_numpy() >= 0
        started = jobs[some]
        releases, hints = of_kind(events, ReleaseRecords), of_kind(events, HintRecords)
        widths = of_kind(events, WidthRecords)
        told = (hints.wanted > 0) & (hints.waiting >= 0)
        told[told] = some[hints.waiting[told]]  # who never started is no row here
        asked = widths.change < 0
        place = np.cumsum(some) - 1
        names = ("job_id", "attempt", "cores", "submit_ns", "eligible_ns", "start_ns", "end_ns")
        return cls(
            **{name: started[name].to_numpy(np.int64) for name in names},
            allocation=started["allocation"].to_numpy(object),
            requeued=started["state"].to_numpy(object) == "requeued",
            freed_row=place[releases.job],
            freed_core=releases.core,
            freed_ns=releases.released_ns,
            told_row=place[hints.job[told]],
            told_of=place[hints.waiting[told]],
            asked_row=place[widths.job[asked]],
            asked_core=widths.core[asked],
            wished=bool((widths.change == 0).any()),
            boot_wait_ns=started[BOOT_WAIT].to_numpy(np.int64)
            if BOOT_WAIT in started
            else np.zeros(some.sum(), np.int64),
            **{
                name: started[name].to_numpy(object) if name in started else np.full(some.sum(), "", object)
                for name in (CUT_BECAUSE, STARTED_BECAUSE)
            },
        )

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def had_ns(self) -> Array:
        """The instant at which each row had its cores: its start, but for hosts that had to boot first."""
        return self.start_ns - self.boot_wait_ns


@dataclass(frozen=True, eq=False)
class StartCauses:
    """Why each compared job started when it did in one run: arrays of int64, shape (m,)."""

    kind: Array  # number of the cause among :data:`CAUSES`
    link: Array  # number of the compared job at whose end it started, −1 where there is none
    # the job at whose end it started, also if only this run has it, or that had released a core then; −1 without
    job_id: Array
    attempt: Array


def find_causes(late: StartedJobs, early: StartedJobs, late_row: Array, early_row: Array) -> StartCauses:
    """Return why each compared job started in the run ``late`` at its instant and not before; it is compared with the
    run ``early``. ``late_row`` and ``early_row``: int64 (m,), the rows of the compared jobs in each."""
    number = np.full(len(late), -1)
    number[late_row] = np.arange(len(late_row))
    lateness = np.zeros(len(late), np.int64)
    lateness[late_row] = late.end_ns[late_row] - early.end_ns[early_row]
    at_once = late.had_ns == late.eligible_ns
    found = _released_by(late, ~at_once, _ranks(late, lateness, number < 0))
    kind = np.full(len(late), _CODE["pass"])
    kind[found >= 0] = _CODE["release"]
    kind[at_once] = np.where(late.eligible_ns == late.submit_ns, _CODE["submit"], _CODE["eligible"])[at_once]
    kind[at_once & (late.boot_wait_ns > 0)] = _CODE["boot"]
    depends, on = _preceding(late, early, late_row, early_row)
    kind[depends], found[depends] = _CODE["dependency"], on
    again, before = _attempts_before(late)
    kind[again], found[again] = _CODE["retry"], before
    # What only this run has is named, and ends the chain: how much later it ended cannot be said.
    kind[(found >= 0) & (number[found] < 0)] = _CODE["unmatched"]
    # What it waited for would not have ended then, had it not lost its cores in one of the runs only.
    otherwise = np.zeros(len(late), np.bool_)
    otherwise[late_row] = late.cut_because[late_row] != early.cut_because[early_row]
    kind[(found >= 0) & otherwise[found]] = _CODE["lost"]
    # So does who released cores, and ran on.
    waited = np.flatnonzero(kind == _CODE["pass"])
    freed = _freed_by(late, waited)
    kind[waited[freed >= 0]] = _CODE["freed"]
    kind[waited[_knew(late, waited, freed)]] = _CODE["hinted"]
    kind[waited[_were_asked(late, waited, freed)]] = _CODE["wished" if late.wished else "asked"]
    found[waited] = np.where(freed >= 0, freed, found[waited])
    found, kind = found[late_row], kind[late_row]
    named = found >= 0
    ends = named & ~np.isin(kind, [_CODE[name] for name in ("freed", "hinted", "asked", "wished")])
    return StartCauses(
        kind,
        np.where(ends, number[found], -1),
        np.where(named, late.job_id[found], -1),
        np.where(named, late.attempt[found], -1),
    )


def _ranks(late: StartedJobs, lateness: Array, unmatched: Array) -> Array:
    """Of several jobs that ended at once the one of least rank is named: compared, most delayed, of smallest number."""
    order = np.lexsort((late.attempt, late.job_id, -lateness, unmatched))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _released_by(late: StartedJobs, waited: Array, rank: Array) -> Array:
    """The row at whose end each row that waited had its cores, −1 where nobody ended then; of those without a length
    nobody is it.

    So a cause always started before, and no chain comes back to where it has been.
    """
    found = np.full(len(late), -1)
    enders = np.flatnonzero(late.end_ns > late.start_ns)
    enders = enders[np.lexsort((rank[enders], late.end_ns[enders]))]
    instants = late.end_ns[enders]
    rows = np.flatnonzero(waited)
    first = np.searchsorted(instants, late.had_ns[rows], "left")
    stop = np.searchsorted(instants, late.had_ns[rows], "right")
    some = stop > first
    rows, first, stop = rows[some], first[some], stop[some]
    found[rows] = enders[first]
    tied = stop > first + 1
    if tied.any():
        groups, group = np.unique(first[tied], return_inverse=True)
        sizes = np.searchsorted(instants, instants[groups], "right") - groups
        there = enders[intervals_of(groups, sizes)]
        best = _least_overlapping(
            late.allocation, rows[tied], group, there, np.repeat(np.arange(len(groups)), sizes), rank
        )
        found[rows[tied]] = np.where(best >= 0, best, found[rows[tied]])
    return found


def _freed_by(late: StartedJobs, rows: Array) -> Array:
    """Who released a core at the instant at which each row started, −1 if nobody: first who released one that the row took."""
    found = np.full(len(rows), -1)
    if not len(late.freed_ns):
        return found
    order = np.lexsort((late.freed_core, late.attempt[late.freed_row], late.job_id[late.freed_row], late.freed_ns))
    instants = late.freed_ns[order]
    first, stop = (np.searchsorted(instants, late.had_ns[rows], side) for side in ("left", "right"))
    for place in np.flatnonzero(stop > first).tolist():
        there = order[first[place] : stop[place]]
        there = there[late.freed_row[there] != rows[place]]
        if not len(there):
            continue
        taken = np.zeros(len(there), np.bool_)
        for lo, hi in parse_intervals(late.allocation[rows[place]], "allocation"):
            taken |= (late.freed_core[there] >= lo) & (late.freed_core[there] < hi)
        found[place] = late.freed_row[there[np.argmax(taken)]]
    return found


def _knew(late: StartedJobs, rows: Array, freed: Array) -> Array:
    """Whether who released a core for each row, by :func:`_freed_by`, had been told before that this row waits for it."""
    told = set(zip(late.told_row.tolist(), late.told_of.tolist(), strict=True))
    pairs = zip(freed.tolist(), rows.tolist(), strict=True)
    return np.array([pair in told for pair in pairs], np.bool_)


def _were_asked(late: StartedJobs, rows: Array, freed: Array) -> Array:
    """Whether who released a core for each row, by :func:`_freed_by`, had been asked for one that it released then."""
    if not len(late.asked_row):
        return np.zeros(len(rows), np.bool_)
    asked = set(zip(late.asked_row.tolist(), late.asked_core.tolist(), strict=True))
    gave: dict[tuple[int, int], list[int]] = {}
    for row, core, at in zip(late.freed_row.tolist(), late.freed_core.tolist(), late.freed_ns.tolist(), strict=True):
        gave.setdefault((row, at), []).append(core)
    pairs = zip(freed.tolist(), late.had_ns[rows].tolist(), strict=True)
    return np.array([any((who, core) in asked for core in gave.get((who, at), ())) for who, at in pairs], np.bool_)


def _least_overlapping(
    allocation: Array, rows: Array, group: Array, others: Array, others_group: Array, rank: Array
) -> Array:
    """Of each row the one of least rank among ``others`` of its group that held a core which it took, or −1."""
    owner, lo, hi = _core_intervals(allocation, rows)
    holder, held_lo, held_hi = _core_intervals(allocation, others)
    # Groups stand one behind the other on the axis of cores, so that one search is within one group.
    width = int(max(hi.max(initial=0), held_hi.max(initial=0)))
    lo, hi = lo + group[owner] * width, hi + group[owner] * width
    held_lo, held_hi = held_lo + others_group[holder] * width, held_hi + others_group[holder] * width
    order = np.argsort(held_lo, kind="stable")
    holder, held_lo, held_hi = holder[order], held_lo[order], held_hi[order]
    begin = np.searchsorted(np.maximum.accumulate(held_hi), lo, "right")
    size = np.maximum(np.searchsorted(held_lo, hi, "left") - begin, 0)
    pair, at = np.repeat(np.arange(len(lo)), size), intervals_of(begin, size)
    shared = held_hi[at] > lo[pair]
    least = np.full(len(rows), len(rank))
    np.minimum.at(least, owner[pair[shared]], rank[others[holder[at[shared]]]])
    by_rank = np.append(np.argsort(rank), -1)
    found: Array = by_rank[least]
    return found


def _core_intervals(allocation: Array, rows: Array) -> tuple[Array, Array, Array]:
    """The place in ``rows``, first core, and one behind the last, of every interval of cores of these rows."""
    known: dict[str, list[tuple[int, int]]] = {}
    places: list[int] = []
    bounds: list[tuple[int, int]] = []
    for place, text in enumerate(allocation[rows].tolist()):
        if text not in known:
            known[text] = parse_intervals(text, "allocation")
        places += [place] * len(known[text])
        bounds += known[text]
    lo, hi = np.array(bounds, np.int64).reshape(-1, 2).T
    return np.array(places, np.int64), lo, hi


def _attempts_before(late: StartedJobs) -> tuple[Array, Array]:
    """Rows that started in the instant of the cut of the attempt before; and that attempt's rows."""
    order = np.lexsort((late.attempt, late.job_id))
    before, row = order[:-1], order[1:]
    same = (late.job_id[before] == late.job_id[row]) & (late.attempt[before] + 1 == late.attempt[row])
    same &= late.end_ns[before] == late.had_ns[row]
    return row[same], before[same]


def _preceding(late: StartedJobs, early: StartedJobs, late_row: Array, early_row: Array) -> tuple[Array, Array]:
    """Rows that started as they became eligible at the end of the job before them; and that job's rows.

    The table does not say which job that is. It is known where one job, and only one, ended in both runs so that the row's
    instants follow: eligible = max(submit, its end). (With a think time there is none.)
    """
    eligible, eligible_early = late.eligible_ns[late_row], early.eligible_ns[early_row]
    submit = late.submit_ns[late_row]
    asking = (late.had_ns[late_row] == eligible) & (eligible > submit)
    asking &= ~np.isin(eligible, _ends_of_others(late, early, late_row, early_row))
    could = np.flatnonzero(~late.requeued[late_row] & ~early.requeued[early_row])
    row = np.flatnonzero(asking)
    if not len(row) or not len(could):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # A job's two ends as one number, so that those that could be it are next to each other.
    ends, at = np.unique(late.end_ns[late_row[could]], return_inverse=True)
    ends_early, at_early = np.unique(early.end_ns[early_row[could]], return_inverse=True)
    both = at * (len(ends_early) + 1) + at_early
    order = np.argsort(both, kind="stable")
    could, both = could[order], both[order]
    # In the run compared with it ended at the row's instant, too, or where that is the submit, at any until then.
    since = np.searchsorted(ends_early, eligible_early[row], "left")
    since[eligible_early[row] <= submit[row]] = 0
    until = np.searchsorted(ends_early, eligible_early[row], "right")
    place = np.searchsorted(ends, eligible[row], "left")
    there = ends[np.minimum(place, len(ends) - 1)] == eligible[row]
    first, stop = (np.searchsorted(both, place * (len(ends_early) + 1) + bound, "left") for bound in (since, until))
    there &= stop == first + 1
    row, found = late_row[row[there]], late_row[could[first[there]]]
    long = late.end_ns[found] > late.start_ns[found]
    return row[long], found[long]


def _ends_of_others(late: StartedJobs, early: StartedJobs, late_row: Array, early_row: Array) -> Array:
    """Instants at which a job left for good in ``late`` of which it is not known when it left in ``early``."""
    known = np.zeros(len(late), bool)
    known[late_row] = ~early.requeued[early_row]
    instants: Array = late.end_ns[~late.requeued & ~known]
    return instants


class ChainSums(NamedTuple):
    """What there is on the way from each job back to the first of its chain: arrays of int64."""

    root: Array  # (m,): the first job; a job that waited for nobody is its own
    links: Array  # (m,): how many links there are
    totals: Array  # (t, m): the sum of each term over the links


def sums_along(link: Array, terms: Array) -> ChainSums:
    """Sum terms over the links of every chain. ``link``: int64 (m,), the job that each waited for, or −1. ``terms``:
    int64 (t, m), of each job's link; what stands at a job without one is not counted."""
    held = link >= 0
    back = np.where(held, link, np.arange(len(link)))
    totals = np.where(held, terms, 0)
    links = held.astype(np.int64)
    while True:
        further = back[back]
        if np.array_equal(further, back):
            return ChainSums(back, links, totals)
        totals = totals + totals[:, back]
        links = links + links[back]
        back = further


def followers(link: Array, counted: Array) -> Array:
    """Return how many of the ``counted`` jobs (bool, (m,)) have each job in their chain, before themselves: int64 (m,).
    ``link``: int64 (m,), the job that each waited for, or −1."""
    within = counted.astype(np.int64)  # itself, and those up to 2ᵏ − 1 links behind it
    back = link.copy()
    while (held := np.flatnonzero(back >= 0)).size:
        # Sums of float64 are exact here: none exceeds the number of jobs.
        within = within + np.bincount(back[held], weights=within[held], minlength=len(link)).astype(np.int64)
        back[held] = back[back[held]]
    return within - counted
