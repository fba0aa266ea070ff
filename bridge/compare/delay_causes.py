"""Causes of starts from the table of jobs of a run: the job whose end each job waited for, and chains of causes.

Rules: docs/reference/compare.md. Arrays have one row per job that started. Chains are summed by pointer doubling: after k steps
a pointer leads 2ᵏ links back, so n jobs need log₂(longest chain) steps over arrays."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from bls.engine.features.hints.records import HintRecords
from bls.engine.features.records import START_DELAY
from bls.engine.features.releases.records import ReleaseRecords
from bls.engine.features.widths.records import WidthRecords
from traces.compiled import Array
from traces.intervals import intervals_of, parse_intervals
from traces.records.events import JobEvents, of_kind
from traces.tables import CUT_BECAUSE, STARTED_BECAUSE, DataFrame

T = TypeVar("T")
Pair: TypeAlias = tuple[T, T]  #: a pair of equal kinds: of run A and of run B

#: Causes of a start; ``StartCauses.kind`` is the position in this tuple.
CAUSES = (
    "submit", "eligible", "dependency", "retry", "release", "unmatched", "pass", "freed", "hinted", "asked", "wished", "lost",
    START_DELAY.cause,
)  # fmt: skip

#: Causes that are links of a chain: the job started at the end of a compared job.
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
    # (h,): rows that received a hint, and the waiting rows that started later; none by default
    hinted_row: Array
    hinted_for: Array
    # (a,): rows whose cores the scheduler requested, and these cores; none by default
    asked_row: Array
    asked_core: Array
    wished: bool  # whether these rows had offered them
    # ndarray of str, shape (n,): how a row lost all its cores, and the last core; empty (default) if it did not
    cut_because: Array
    # ndarray of str, shape (n,): the policy's reason for a start; empty (default) without one
    started_because: Array
    delay_ns: Array  # (n,): time for which a row had its cores before its start; 0 by default

    @classmethod
    def of(cls, jobs: DataFrame, events: Collection[JobEvents] = ()) -> Self:
        """Read the started rows of a table of jobs, and their releases, hints and requests for cores from events."""
        some = jobs["start_ns"].to_numpy() >= 0
        started = jobs[some]
        releases, hints = of_kind(events, ReleaseRecords), of_kind(events, HintRecords)
        widths = of_kind(events, WidthRecords)
        hinted = (hints.wanted > 0) & (hints.waiting >= 0)
        hinted[hinted] = some[hints.waiting[hinted]]  # jobs that never started have no row
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
            hinted_row=place[hints.job[hinted]],
            hinted_for=place[hints.waiting[hinted]],
            asked_row=place[widths.job[asked]],
            asked_core=widths.core[asked],
            wished=bool((widths.change == 0).any()),
            delay_ns=np.full(len(started), started.get(START_DELAY.column, 0), np.int64),
            **{
                name: started[name].to_numpy(object) if name in started else np.full(len(started), "", object)
                for name in (CUT_BECAUSE, STARTED_BECAUSE)
            },
        )

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def had_ns(self) -> Array:
        """The instant at which each row had its cores."""
        return self.start_ns - self.delay_ns


@dataclass(frozen=True, eq=False)
class StartCauses:
    """Causes of the starts of the compared jobs in one run: arrays of int64, shape (m,)."""

    kind: Array  # number of the cause among :data:`CAUSES`
    link: Array  # number of the compared job whose end is the cause, or −1
    # the job whose end or release is the cause, even if only this run has it; −1 without
    job_id: Array
    attempt: Array


def find_causes(late: StartedJobs, early: StartedJobs, late_row: Array, early_row: Array) -> StartCauses:
    """Find the cause of the start of each compared job in the run ``late``, compared with the run ``early``. ``late_row`` and
    ``early_row``: int64 (m,), the rows of the compared jobs in each."""
    number = np.full(len(late), -1)
    number[late_row] = np.arange(len(late_row))
    lateness = np.zeros(len(late), np.int64)
    lateness[late_row] = late.end_ns[late_row] - early.end_ns[early_row]
    at_once = late.had_ns == late.eligible_ns
    # Which of the jobs that ended at once is the cause: first compared ones, then the most delayed, then by number.
    rank = np.argsort(np.lexsort((late.attempt, late.job_id, -lateness, number < 0)))
    found = _released_by(late, ~at_once, rank)
    kind = np.full(len(late), _CODE["pass"])
    kind[found >= 0] = _CODE["release"]
    kind[at_once] = np.where(late.eligible_ns == late.submit_ns, _CODE["submit"], _CODE["eligible"])[at_once]
    kind[at_once & (late.delay_ns > 0)] = _CODE[START_DELAY.cause]
    depends, on = _preceding(late, early, late_row, early_row)
    kind[depends], found[depends] = _CODE["dependency"], on
    again, before = _attempts_before(late)
    kind[again], found[again] = _CODE["retry"], before
    # A job that only this run has ends the chain: its delay is unknown.
    kind[(found >= 0) & (number[found] < 0)] = _CODE["unmatched"]
    # The cause ended then only because it lost its cores in one of the runs.
    otherwise = np.zeros(len(late), np.bool_)
    otherwise[late_row] = late.cut_because[late_row] != early.cut_because[early_row]
    kind[(found >= 0) & otherwise[found]] = _CODE["lost"]
    # So does a job that released cores and continued.
    waited = np.flatnonzero(kind == _CODE["pass"])
    freed = _freed_by(late, waited)
    kind[waited[freed >= 0]] = _CODE["freed"]
    kind[waited[_had_hint(late, waited, freed)]] = _CODE["hinted"]
    kind[waited[_were_asked(late, waited, freed)]] = _CODE["wished" if late.wished else "asked"]
    found[waited] = np.where(freed >= 0, freed, found[waited])
    found, kind = found[late_row], kind[late_row]
    named = found >= 0
    ends = named & ~np.isin(kind, [_CODE[name] for name in ("freed", "hinted", "asked", "wished")])
    job, attempt = (np.where(named, column[found], -1) for column in (late.job_id, late.attempt))
    return StartCauses(kind, np.where(ends, number[found], -1), job, attempt)


def _released_by(late: StartedJobs, waited: Array, rank: Array) -> Array:
    """The row whose end gave each waiting row its cores, or −1. Rows of run time 0 are no causes, so a cause always started
    earlier, and chains have no cycles."""
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
        best = _least_overlapping(late, rows[tied], group, there, np.repeat(np.arange(len(groups)), sizes), rank)
        found[rows[tied]] = np.where(best >= 0, best, found[rows[tied]])
    return found


def _freed_by(late: StartedJobs, rows: Array) -> Array:
    """The row that released a core when each row started, or −1; preferably one whose core the row took."""
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


def _had_hint(late: StartedJobs, rows: Array, freed: Array) -> Array:
    """Whether the releasing row of each row (:func:`_freed_by`) had received a hint that this row waits for its cores."""
    hinted = set(zip(late.hinted_row.tolist(), late.hinted_for.tolist(), strict=True))
    pairs = zip(freed.tolist(), rows.tolist(), strict=True)
    return np.array([pair in hinted for pair in pairs], np.bool_)


def _were_asked(late: StartedJobs, rows: Array, freed: Array) -> Array:
    """Whether the scheduler had requested a core that the releasing row of each row (:func:`_freed_by`) released then."""
    asked = set(zip(late.asked_row.tolist(), late.asked_core.tolist(), strict=True))
    releases = zip(late.freed_row.tolist(), late.freed_core.tolist(), late.freed_ns.tolist(), strict=True)
    gave = {(row, at) for row, core, at in releases if (row, core) in asked}
    return np.array([pair in gave for pair in zip(freed.tolist(), late.had_ns[rows].tolist(), strict=True)], np.bool_)


def _least_overlapping(late: StartedJobs, rows: Array, group: Array, there: Array, of: Array, rank: Array) -> Array:
    """For each row, the lowest-ranked of ``there`` (in groups ``of``) in its group that held a core which it took; or −1."""
    owner, lo, hi = _core_intervals(late.allocation, rows)
    holder, held_lo, held_hi = _core_intervals(late.allocation, there)
    # Groups are in sequence on the axis of cores, so that each search stays within one group.
    width = int(max(hi.max(initial=0), held_hi.max(initial=0)))
    lo, hi = lo + group[owner] * width, hi + group[owner] * width
    held_lo, held_hi = held_lo + of[holder] * width, held_hi + of[holder] * width
    order = np.argsort(held_lo, kind="stable")
    holder, held_lo, held_hi = holder[order], held_lo[order], held_hi[order]
    begin = np.searchsorted(np.maximum.accumulate(held_hi), lo, "right")
    size = np.maximum(np.searchsorted(held_lo, hi, "left") - begin, 0)
    pair, at = np.repeat(np.arange(len(lo)), size), intervals_of(begin, size)
    shared = held_hi[at] > lo[pair]
    least = np.full(len(rows), len(rank))
    np.minimum.at(least, owner[pair[shared]], rank[there[holder[at[shared]]]])
    by_rank = np.append(np.argsort(rank), -1)
    found: Array = by_rank[least]
    return found


def _core_intervals(allocation: Array, rows: Array) -> tuple[Array, Array, Array]:
    """Position in ``rows``, first core and end (exclusive) of every interval of cores of these rows."""
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
    """Rows that started when the end of their preceding job made them eligible, and the rows of these jobs.

    The table does not name the preceding job. It is known if exactly one job ended in both runs such that the row's instants
    follow: eligible = max(submit, its end). (With a think time there is none.)
    """
    eligible, eligible_early = late.eligible_ns[late_row], early.eligible_ns[early_row]
    submit = late.submit_ns[late_row]
    asking = (late.had_ns[late_row] == eligible) & (eligible > submit)
    asking &= ~np.isin(eligible, _ends_of_others(late, early, late_row, early_row))
    could = np.flatnonzero(~late.requeued[late_row] & ~early.requeued[early_row])
    row = np.flatnonzero(asking)
    if not len(row) or not len(could):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # A job's two ends as one number, which makes candidates with equal ends neighbours.
    ends, at = np.unique(late.end_ns[late_row[could]], return_inverse=True)
    ends_early, at_early = np.unique(early.end_ns[early_row[could]], return_inverse=True)
    both = at * (len(ends_early) + 1) + at_early
    order = np.argsort(both, kind="stable")
    could, both = could[order], both[order]
    # In the other run it ended at the row's instant, too, or, if that is the submit, at any instant until then.
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
    """Final ends in ``late`` of jobs whose end in ``early`` is unknown."""
    known = np.zeros(len(late), bool)
    known[late_row] = ~early.requeued[early_row]
    instants: Array = late.end_ns[~late.requeued & ~known]
    return instants


class ChainSums(NamedTuple):
    """Sums from each job back to the root of its chain: arrays of int64."""

    root: Array  # (m,): the root; a job without a link is its own root
    links: Array  # (m,): number of links
    totals: Array  # (t, m): the sum of each term over the links


def sums_along(link: Array, terms: Array) -> ChainSums:
    """Sum terms over the links of every chain. ``link``: int64 (m,), the job that each waited for, or −1. ``terms``:
    int64 (t, m), of each job's link; values of jobs without a link are ignored."""
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
    """Return the number of ``counted`` jobs (bool, (m,)) that have each job in their chain, other than itself: int64 (m,).
    ``link``: int64 (m,), the job that each waited for, or −1."""
    within = counted.astype(np.int64)  # itself, and the jobs up to 2ᵏ − 1 links after it
    back = link.copy()
    while (held := np.flatnonzero(back >= 0)).size:
        # Sums of float64 are exact here: none exceeds the number of jobs.
        within = within + np.bincount(back[held], weights=within[held], minlength=len(link)).astype(np.int64)
        back[held] = back[back[held]]
    return within - counted
