"""The batch level in a trace: spans of jobs on lanes, their submits, scheduling passes, counters of hosts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from traces.algorithms.lanes import pack_lanes
from traces.base.errors import InputError
from traces.compiled import Array
from traces.exporters.shown.rows import JobNames
from traces.exporters.shown.spans import GPU_MILLI, GpuLanes, Spans, gpu_lanes
from traces.holdings import held_gpus
from traces.ledger import STATES, WHY, Ledger, PowerRecords
from traces.records.events import INT64, STRING, UINT64, JobEvents
from traces.series import HostSeries, LoadSeries, computing_cores, host_series, load_series

#: Maximum number of lanes: each is a row of a viewer, and in some formats a file; thousands of them are unreadable.
MOST_LANES = 1000

#: Activities of a job or the scheduler; references of these regions are consecutive.
REGIONS = {
    "held": "the job is submitted, but must wait for another one to end",
    "queued": "the job may start and waits for that",
    "running": "the job holds cores",
    "submit": "a job is submitted",
    "scheduling pass": "the scheduler decides which of the waiting jobs start",
}
HELD, QUEUED, RUNNING, SUBMIT, PASS = range(len(REGIONS))

#: Attributes of their Enter: name, description, type; references are consecutive from 2.
ATTRIBUTES = (
    ("job", "number of the job in the workload", INT64),
    ("cores", "how many cores it requested", UINT64),
    ("estimate", "the run time that was requested, in ns", INT64),
    ("user", "number of its user, -1 if not known", INT64),
    ("attempt", "number of the attempt at this job, from 0", UINT64),
    ("eligible", "the instant from which it could start, in ns; -1 if it never could", INT64),
    ("why", "why it started when it did", STRING),
    ("state", "what became of the attempt", STRING),
    ("waiting", "jobs that waited before the pass", UINT64),
    ("started", "jobs that the pass started", UINT64),
)

#: The attribute after these, if the log has names for single jobs: on the Enter of their submits and on lanes.
JOB_NAME = ("job name", "what the log calls the job", STRING)

#: The attribute after it, if attempts were cut because all their cores were lost: on the Enter of ``running``.
CUT = ("cut because", "how all its cores were lost, and which was the last", STRING)

_FIRST_ATTRIBUTE, _OF_SUBMIT, _OF_JOB = 2, 4, 8

#: The strings of attributes; string 0 is empty, then come these, then the causes of cut attempts, then the names of jobs.
WORDS = (*WHY, *STATES)


class Series(NamedTuple):
    """A step function of time: each of its values, times ten to the power of ``exponent``, holds until the next one."""

    name: str
    description: str
    unit: str
    exponent: int
    instant_ns: Array
    values: Array  # int64


class ShownBatchLevel(NamedTuple):
    """The contents of a trace besides the activities of cores."""

    load: LoadSeries  # the scheduler's counters
    # on one location; of length 0. ``passes`` has no location if they were not kept.
    submits: Spans
    passes: Spans
    events: dict[type[JobEvents], Spans]  # the same for events of running jobs, by kind
    hosts: HostSeries  # the hosts' counters
    # states of the jobs, each on one lane; if there are too many for this, attempts that ran
    lanes: Spans
    waiting: bool  # whether lanes also show waiting jobs
    power: PowerRecords | None  # the power draw of the machine
    # causes of attempts that were cut because all their cores were lost: strings that follow :data:`WORDS`
    cut_because: tuple[str, ...]
    window_ns: tuple[int, int] | None = None  # (int, int) or None: the shown part of the run; None: all
    # ndarray of int64, or None: cores inside tasks, in thousandths, for the rows of ``load``
    # (:func:`traces.series.computing_cores`); None without tasks
    computing: Array | None = None
    job_names: tuple[str, ...] = ()  # the log's names of jobs: strings that follow ``cut_because``
    gpus: GpuLanes | None = None  # None: no rows of GPUs
    gpu_series: tuple[Series, ...] = ()  # counters of GPUs, all at the same instants; empty if no host has GPUs

    @property
    def strings(self) -> tuple[str, ...]:
        """All strings of attributes, in the order of their references."""
        return ("", *WORDS, *self.cut_because, *self.job_names)

    @property
    def attributes(self) -> tuple[tuple[str, str, int], ...]:
        """All attributes, in the order of their references."""
        found = attributes_of(self.events, named=bool(self.job_names), cut=bool(self.cut_because))
        return found if self.gpus is None else (*found, GPU_MILLI)

    @property
    def regions(self) -> dict[str, str]:
        """Activities of a job or the scheduler with descriptions, in the order of references: :data:`REGIONS`, then events."""
        return REGIONS | {kind.event(): kind.shown for kind in self.events}

    @property
    def points(self) -> dict[str, Spans]:
        """The events of length 0, each kind on one location, by its name."""
        passes = {"scheduling passes": self.passes} if self.passes.n_locations else {}
        return {"submits": self.submits} | passes | {kind.name: spans for kind, spans in self.events.items()}

    @property
    def span_ns(self) -> tuple[int, int]:
        """First and last instant of the run: of its jobs and its scheduling passes (ns); 0 if there are none. For a window,
        its own instants."""
        if self.window_ns is not None:
            return self.window_ns
        shown = (self.submits, self.passes, self.lanes)
        every = np.concatenate([one for spans in shown for one in (spans.start, spans.end)])
        return (int(every.min()), int(every.max())) if len(every) else (0, 0)

    def load_series(self) -> list[Series]:
        """Return ``queue length``, ``busy cores`` and, if tasks are known, ``computing cores``."""
        load = self.load
        found = [
            Series("queue length", "jobs that wait for their start", "jobs", 0, load.instant_ns, load.queue_length),
            Series("busy cores", "cores allocated to jobs", "cores", 0, load.instant_ns, load.busy_cores),
        ]
        if self.computing is not None:
            words = "cores inside tasks, the mean until busy cores change next"
            found.append(Series("computing cores", words, "cores", -3, load.instant_ns, self.computing))
        return [one._replace(values=one.values.astype(np.int64)) for one in found]

    def power_series(self) -> list[Series]:
        """Return the known power series. Each always has a value: without a limit, the full power."""
        if (power := self.power) is None:
            return []
        at = power.instant_ns
        found = [Series("power", "what the machine draws", "W", -3, at, power.power_mw)]
        if (limit := power.limit_mw) is not None:
            words = "the lowest limit to it; where there is none, what is drawn if all cores work at full speed"
            found.append(Series("limit", words, "W", -3, at, np.where(limit < 0, power.full_mw, limit)))
        if power.level is not None:
            words = "state of running jobs that may be slowed, 0: full speed"
            found.append(Series("level", words, "#", 0, at, power.level))
        return [one._replace(values=one.values.astype(np.int64)) for one in found]

    def machine_series(self) -> list[Series]:
        """Return all series of the machine."""
        return [*self.load_series(), *self.power_series(), *self.gpu_series]

    def host_series(self) -> Iterator[tuple[int, Series]]:
        """Yield ``busy cores`` of each host that ever has any."""
        hosts = self.hosts
        for host, (first, stop) in enumerate(zip(hosts.first.tolist(), hosts.stop.tolist(), strict=True)):
            if first < stop:
                at, values = hosts.instant_ns[first:stop], hosts.busy_cores[first:stop]
                yield host, Series("busy cores", "cores allocated to jobs", "cores", 0, at, values)

    def lane_of_rows(self, ledger: Ledger) -> Array:
        """Return the lane on which each row of a ledger's jobs runs, int64 (n,); 0 for jobs that do not run."""
        location = self.lanes.location
        ran = self.lanes.region == RUNNING
        row, n = self.lanes.row[ran], len(ledger.jobs)
        if (row >= n).any():  # cut attempts have further rows of values (_with_cuts)
            cut = np.array(sorted(ledger.cut_because), np.int64)
            row = np.where(row < n, row, cut[np.maximum(row - n, 0)])
        lane = np.zeros(n, np.int64)
        lane[row] = location[ran]
        return lane


def batch_level(ledger: Ledger, most_lanes: int = MOST_LANES) -> ShownBatchLevel:
    """Return a ledger's batch level; waiting jobs are shown if this takes at most ``most_lanes`` lanes. Raises InputError
    if a job is submitted before time 0."""
    jobs = ledger.jobs
    numbers = (jobs.job_id, jobs.cores, jobs.estimate_ns, jobs.user, jobs.attempt, jobs.eligible_ns)
    words = (1 + jobs.why.astype(np.int64), 1 + len(WHY) + jobs.state.astype(np.int64))
    values = np.column_stack([*numbers, *words]).astype(np.int64, copy=False)
    # Jobs submitted before a window are in it from its begin on, but their submits are not.
    first = np.flatnonzero((jobs.attempt == 0) & (jobs.submit_ns >= _begin_ns(ledger)))
    arrived = first[np.argsort(jobs.submit_ns[first], kind="stable")]
    submits = _points(SUBMIT, jobs.submit_ns[arrived], arrived, values, _attributes(0, _OF_SUBMIT))
    passes, nothing = ledger.passes, np.zeros(0, np.int64)
    no_rows = np.zeros(ledger.machine.n_hosts, np.int64)
    hosts = host_series(ledger) if ledger.shows != "lanes" else HostSeries(no_rows, no_rows, nothing, nothing)
    if passes is None:
        points = Spans(np.zeros(1, np.int64), *[nothing] * 4, np.zeros((0, 0), np.int64), nothing, nothing)
    else:
        counts = np.column_stack([passes.waiting, passes.started]).astype(np.int64, copy=False)
        points = _points(PASS, passes.now_ns, np.arange(len(passes)), counts, _attributes(_OF_JOB, len(ATTRIBUTES)))
    lanes = _lanes(ledger, values, waiting=True)
    waiting = lanes.n_locations <= most_lanes
    if not waiting:
        lanes = _lanes(ledger, values, waiting=False)
    reached = _events(ledger)
    because = tuple(sorted(set(ledger.cut_because.values())))
    names = JobNames(ledger).texts
    known = tuple(dict.fromkeys(filter(None, names)))
    if names:
        string = {name: 1 + len(WORDS) + len(because) + place for place, name in enumerate(known)}
        column = np.array([string.get(name, -1) for name in names], np.int64)
        submits, lanes = (_with_names(one, column, reached) for one in (submits, lanes))
    if because:
        lanes = _with_cuts(lanes, ledger.cut_because, because, attributes_of(reached, named=bool(names), cut=False))
    shown = (submits, points, reached, hosts, lanes, waiting, ledger.power)
    load = load_series(ledger)
    gpus = gpu_lanes(ledger, _FIRST_ATTRIBUTE + len(attributes_of(reached, named=bool(names), cut=bool(because))))
    batch = ShownBatchLevel(load, *shown, because, ledger.window_ns, computing_cores(ledger, load), known, gpus)
    batch = batch._replace(gpu_series=_gpu_series(ledger))
    if batch.span_ns[0] < 0:
        raise InputError(
            f"job {jobs.job_id[jobs.submit_ns.argmin()]} is submitted at {batch.span_ns[0]} ns; "
            "a trace cannot show what is before time 0"
        )
    return batch


def _gpu_series(ledger: Ledger) -> tuple[Series, ...]:
    # Busy GPUs, and those of each kind if there are several, wherever one of them changes.
    if (held := held_gpus(ledger)) is None:
        return ()
    kinds = np.repeat(np.array(held.kinds or [""] * ledger.machine.n_hosts, object), np.diff(held.first))
    names = sorted(set(kinds.tolist()))
    names = names if len(names) > 1 else []
    columns = [held.milli, *(np.where(kinds[held.gpu] == name, held.milli, 0) for name in names)]
    parts = np.column_stack(columns).astype(np.int64)
    instants, place = np.unique(np.concatenate([held.start_ns, held.end_ns]), return_inverse=True)
    change = np.zeros((len(instants), len(columns)), np.int64)
    np.add.at(change, place, np.concatenate([parts, -parts]))
    changes = change.any(axis=1)
    at, values = instants[changes], np.cumsum(change[changes], axis=0)
    words = "GPUs held by jobs, whole or in shares"
    said = [("busy GPUs", words), *((f"busy GPUs {name}", f"{words}, of the kind {name}") for name in names)]
    return tuple(Series(*one, "GPUs", -3, at, values[:, column]) for column, one in enumerate(said))


def _events(ledger: Ledger) -> dict[type[JobEvents], Spans]:
    # By time; at one instant in the order of the ledger.
    shown: dict[type[JobEvents], Spans] = {}
    every = attributes_of([type(one) for one in ledger.events], named=False, cut=False)
    for place, one in enumerate(ledger.events):
        at, columns = one.points(ledger.jobs)
        order, values = np.argsort(at, kind="stable"), np.column_stack(columns).astype(np.int64, copy=False)
        if one.holds:
            order = order[at[order] > _begin_ns(ledger)]  # the state at a window's begin was set before
        of = np.array([every.index(attribute) for attribute in one.attributes])
        kinds = np.array([kind for _, _, kind in one.attributes], np.int64)
        shown[type(one)] = _points(len(REGIONS) + place, at[order], order, values, (_FIRST_ATTRIBUTE + of, kinds))
    return shown


def attributes_of(kinds: Collection[type[JobEvents]], *, named: bool, cut: bool) -> tuple[tuple[str, str, int], ...]:
    """Return all attributes of a trace, in the order of their references; kinds of events, names of jobs and cut attempts add
    some."""
    further = dict.fromkeys(one for kind in kinds for one in kind.attributes)
    return (*ATTRIBUTES, *further, *((JOB_NAME,) if named else ()), *((CUT,) if cut else ()))


def _attributes(first: int, stop: int) -> tuple[Array, Array]:
    # References and types of the attributes at these indices.
    kinds = [kind for _, _, kind in ATTRIBUTES[first:stop]]
    return _FIRST_ATTRIBUTE + np.arange(first, stop), np.array(kinds, np.int64)


def _points(region: int, instant_ns: Array, row: Array, values: Array, attributes: tuple[Array, Array]) -> Spans:
    # Spans of length 0 on one location.
    n, at = len(row), np.ascontiguousarray(instant_ns, np.int64)
    return Spans(np.array([0, n]), at, at, np.full(n, region), np.asarray(row, np.int64), values, *attributes)


def _with_names(spans: Spans, string: Array, kinds: Collection[type[JobEvents]]) -> Spans:
    """Add the names of jobs to spans as a further attribute: the string of each job row, -1 for none."""
    values = np.column_stack([spans.values[:, : len(spans.types)], string])
    return _with_attribute(spans, values, len(attributes_of(kinds, named=False, cut=False)))


def _with_attribute(spans: Spans, values: Array, place: int) -> Spans:
    attributes, types = np.append(spans.attributes, _FIRST_ATTRIBUTE + place), np.append(spans.types, STRING)
    return spans._replace(values=values, attributes=attributes, types=types)


def _with_cuts(lanes: Spans, because: Mapping[int, str], texts: Sequence[str], before: Sequence[object]) -> Spans:
    """Add the cause to running spans of cut attempts on the lanes: ``texts`` are strings after :data:`WORDS`, ``before`` all
    other attributes of the trace."""
    rows = np.array(sorted(because), np.int64)
    string = np.array([1 + len(WORDS) + texts.index(because[row]) for row in rows.tolist()], np.int64)
    none = np.full(len(lanes.values), -1)
    # Only running spans have it, so they need their own row.
    values = np.concatenate([np.column_stack([lanes.values, none]), np.column_stack([lanes.values[rows], string])])
    ran = (lanes.region == RUNNING) & np.isin(lanes.row, rows)
    row = np.where(ran, len(none) + np.searchsorted(rows, lanes.row), lanes.row)
    return _with_attribute(lanes, values, len(before))._replace(row=row)


def _begin_ns(ledger: Ledger) -> int:
    return int(np.iinfo(np.int64).min) if ledger.window_ns is None else ledger.window_ns[0]


def _lanes(ledger: Ledger, values: Array, *, waiting: bool) -> Spans:
    """Return each job on one lane from its submit to the end of its last attempt, or, without ``waiting``, each attempt from
    its start; on as few lanes as possible."""
    jobs = ledger.jobs
    begin = np.maximum(np.where(jobs.attempt == 0, jobs.submit_ns, jobs.eligible_ns), _begin_ns(ledger))
    # A job withdrawn before its submission ends at the withdrawal; one withdrawn before it could start was held until then.
    gone = np.maximum(np.where(jobs.started, jobs.start_ns, jobs.left_ns), begin)
    eligible = np.where(jobs.eligible_ns < 0, gone, np.maximum(jobs.eligible_ns, begin))
    edges = np.column_stack([begin, eligible, gone, np.where(jobs.started, jobs.end_ns, gone)])
    held = (eligible > begin) | (jobs.eligible_ns < 0)
    shown = np.column_stack([held, jobs.eligible_ns >= 0, jobs.started]) & [waiting, waiting, True]
    row = np.flatnonzero(shown.any(axis=1))
    whose = np.unique(jobs.job_id, return_inverse=True)[1] if waiting else np.arange(len(row))
    n = int(whose.max(initial=-1)) + 1
    first_ns, last_ns = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
    np.minimum.at(first_ns, whose, edges[row, 0 if waiting else 2])
    np.maximum.at(last_ns, whose, edges[row, 3])
    lane, order = pack_lanes(first_ns, last_ns)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    by_lane = np.argsort(place[whose], kind="stable")  # attempts keep their order in the ledger
    row, lane = row[by_lane], lane[whose[by_lane]]
    shown, edges = shown[row], edges[row]
    upto = np.concatenate([[0], np.cumsum(shown.sum(axis=1))])
    return Spans(
        upto[np.searchsorted(lane, np.arange(lane.max(initial=-1) + 2))],
        edges[:, :-1][shown],
        edges[:, 1:][shown],
        np.broadcast_to([HELD, QUEUED, RUNNING], shown.shape)[shown],
        np.repeat(row, np.diff(upto)),
        values,
        *_attributes(0, _OF_JOB),
    )
