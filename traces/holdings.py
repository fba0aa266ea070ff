"""The cores that jobs held over time, for runs in which running jobs release or get cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.compiled import Array, State
from traces.intervals import intervals_of
from traces.kernels.signatures import Ints
from traces.ledger import JobRecords, Ledger, MachineShape
from traces.records.events import JobEvents


class Holdings(State):
    """One row for the cores that a job held from one instant (its start, or when it got them) to another (its end, or when it
    released them); also for kernels.

    Jobs that never started have no row, jobs without releases or new cores have one; rows are sorted by job, then by instant.
    """

    job: Ints  # (k,): row of ``JobRecords``
    # (k,): instants
    start_ns: Ints
    end_ns: Ints
    cores: Ints  # (k,): number of cores
    first: Ints  # (k + 1,): row ``i`` has the intervals ``first[i]:first[i + 1]`` of the next two
    # half-open intervals of global core numbers, ascending within a row
    lo: Ints
    hi: Ints

    @classmethod
    def of(cls, *columns: Array) -> Holdings:
        """Holdings of columns in this order."""
        return cls(*(np.ascontiguousarray(column, np.int64) for column in columns))

    @classmethod
    def at_starts(cls, jobs: JobRecords) -> Holdings:
        """One row for every job, also one that never started: the cores with which it started, to its end."""
        columns = (jobs.allocation_first, jobs.allocation_lo, jobs.allocation_hi)
        return cls.of(np.arange(len(jobs)), jobs.start_ns, jobs.end_ns, jobs.held_cores, *columns)

    def __len__(self) -> int:
        return len(self.job)


class CoreSpans(NamedTuple):
    """Spans during which jobs held cores: int64 (k,) each, sorted by job, core and instant."""

    job: Array
    core: Array
    start_ns: Array
    end_ns: Array


def spans(
    job: Array, core: Array, start_ns: Array, end_ns: Array, released: tuple[Array, ...], given: tuple[Array, ...]
) -> CoreSpans:
    """Return the spans during which jobs held each core.

    - ``job``, ``core``, ``start_ns``, ``end_ns``: int64 (k,), the jobs' initial cores, and the jobs' starts and ends, by job,
      then core.
    - ``released``, ``given``: (job, core, instant), int64 each, cores released before the jobs' ends, and cores given to them
      after their starts, by job, core and instant.
    """
    begins = np.concatenate([[job, core, start_ns], np.array(given, np.int64)], axis=1)
    begins = begins[:, np.lexsort(begins[::-1])]
    left = np.array(released, np.int64)
    # A core that a job still holds at its end has one end fewer than beginnings.
    kinds, place = np.unique(begins[:2], axis=1, return_inverse=True)
    count = np.bincount(place.reshape(-1), minlength=kinds.shape[1])
    width = int(max(kinds[1].max(initial=0), left[1].max(initial=0))) + 1
    known = kinds[0] * width + kinds[1]
    at = np.searchsorted(known, left[0] * width + left[1])
    still = kinds[:, count > np.bincount(at, minlength=kinds.shape[1])]
    last = np.full(int(max(job.max(initial=0), still[0].max(initial=0))) + 1, -1, np.int64)
    last[job] = end_ns
    ends = np.concatenate([left, [still[0], still[1], last[still[0]]]], axis=1)
    ends = ends[:, np.lexsort(ends[::-1])]
    return CoreSpans(begins[0], begins[1], begins[2], ends[2])


def changing(ledger: Ledger) -> list[JobEvents]:
    """Return the events that change the cores of jobs."""
    return [one for one in ledger.events if one.cores_gained is not None]


def widening(ledger: Ledger) -> list[JobEvents]:
    """Return those among them through which jobs get cores."""
    return [one for one in changing(ledger) if not one.frees]


def core_spans(ledger: Ledger, chosen: Array) -> CoreSpans:
    """Return the spans during which some jobs held each core; ``chosen``: bool (n,), the rows of these jobs."""
    jobs = ledger.jobs
    owner = jobs.owner
    apart = chosen[owner]
    width = (jobs.allocation_hi - jobs.allocation_lo)[apart]
    core = intervals_of(jobs.allocation_lo[apart], width)
    job = np.repeat(owner[apart], width)
    changes = [(one.job, one.named_core, one.at_ns, one.cores_gained) for one in changing(ledger)]
    *columns, gained = np.concatenate([np.zeros((4, 0), np.int64), *changes], axis=1)
    kinds = (gained < 0) & chosen[columns[0]], (gained > 0) & chosen[columns[0]]
    released, given = (tuple(column[some] for column in columns) for some in kinds)
    return spans(job, core, jobs.start_ns[job], jobs.end_ns[job], released, given)


def holdings(ledger: Ledger) -> Holdings:
    """Return the cores that the jobs of a ledger held, and when."""
    jobs = ledger.jobs
    count = np.diff(jobs.allocation_first)
    apart = np.zeros(len(jobs), np.bool_)
    for one in changing(ledger):
        apart[one.job] = True
    lo, hi = jobs.allocation_lo, jobs.allocation_hi
    if not apart.any():
        rows = np.flatnonzero(jobs.started)
        first = np.concatenate([[0], np.cumsum(count[rows])])
        return Holdings.of(rows, jobs.start_ns[rows], jobs.end_ns[rows], jobs.held_cores[rows], first, lo, hi)
    # Core by core for jobs that did not hold all cores from start to end, and then joined again.
    owner = jobs.owner
    whole = ~apart[owner]
    by_core = core_spans(ledger, apart)
    lo, hi = np.concatenate([lo[whole], by_core.core]), np.concatenate([hi[whole], by_core.core + 1])
    owner = owner[whole]
    since = np.concatenate([jobs.start_ns[owner], by_core.start_ns])
    until = np.concatenate([jobs.end_ns[owner], by_core.end_ns])
    owner = np.concatenate([owner, by_core.job])
    order = np.lexsort((lo, since, until, owner))
    owner, since, until, lo, hi = owner[order], since[order], until[order], lo[order], hi[order]
    another = np.ones(len(owner), np.bool_)
    another[1:] = (owner[1:] != owner[:-1]) | (until[1:] != until[:-1]) | (since[1:] != since[:-1])
    begins = another.copy()
    begins[1:] |= lo[1:] != hi[:-1]
    at = np.flatnonzero(begins)
    lo, hi = lo[at], np.concatenate([hi[at[1:] - 1], hi[-1:]])
    first_of_row = np.flatnonzero(another[at])
    first = np.concatenate([first_of_row, [len(lo)]])
    rows = at[first_of_row]
    cores = np.add.reduceat(hi - lo, first_of_row)
    return Holdings.of(owner[rows], since[rows], until[rows], cores, first, lo, hi)


def cores_by_host(machine: MachineShape, held: Holdings) -> tuple[Array, Array, Array]:
    """Return the rows of holdings, their hosts, and the number of their cores on each, int64 (k,): by row, intervals of cores,
    then host."""
    first, last = machine.host_of(held.lo), machine.host_of(held.hi - 1)
    count = last - first + 1
    row, host = np.repeat(np.repeat(np.arange(len(held)), np.diff(held.first)), count), intervals_of(first, count)
    lo, hi = np.repeat(held.lo, count), np.repeat(held.hi, count)
    return row, host, np.minimum(hi, machine.first_core[host + 1]) - np.maximum(lo, machine.first_core[host])


def gpu_ends(ledger: Ledger) -> Array:
    """Return the instants at which jobs had left the host of each GPU that they held, int64 (rows of ``ledger.gpus``,): -1 if
    they had no core on it. They are the ends of jobs if the GPUs of hosts are unknown."""
    gpus, machine = ledger.gpus, ledger.machine
    assert gpus is not None
    if gpus.left_ns is not None:
        return gpus.left_ns
    if machine.first_gpu is None:
        return np.asarray(ledger.jobs.end_ns[gpus.job])
    held = holdings(ledger)
    row, on_host, _ = cores_by_host(machine, held)
    host = np.concatenate([on_host, machine.host_of_gpu(gpus.gpu)])
    key = np.concatenate([held.job[row], gpus.job]) * (machine.n_hosts + 1) + host
    known, place = np.unique(key, return_inverse=True)
    end_ns = np.full(len(known), -1)
    np.maximum.at(end_ns, place[: len(row)], held.end_ns[row])
    return np.asarray(end_ns[place[len(row) :]])


class HeldGpus(NamedTuple):
    """Parts of GPUs that jobs held: int64 (k,) each, by job, then GPU; and the GPUs of hosts, as in a ``MachineShape``."""

    job: Array  # row of ``JobRecords``
    job_id: Array  # its number
    gpu: Array
    milli: Array  # thousandths of the GPU
    start_ns: Array
    end_ns: Array
    first: Array  # int64 (n_hosts + 1,)
    kinds: Sequence[str] = ()  # of each host's GPUs


def held_gpus(ledger: Ledger) -> HeldGpus | None:
    """Return the GPUs that the jobs of a ledger held, and when; None if no host has any."""
    gpus, jobs, first = ledger.gpus, ledger.jobs, ledger.machine.first_gpu
    if gpus is None or first is None:
        return None
    job = gpus.job
    held = (gpus.gpu, gpus.milli, jobs.start_ns[job], gpu_ends(ledger))
    return HeldGpus(job, jobs.job_id[job], *held, first, ledger.machine.gpu_kinds)
