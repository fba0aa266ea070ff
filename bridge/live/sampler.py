"""Samples of a run under way: its current numbers at any time, and its whole state while the engine pauses."""

import math
from collections import deque

import numpy as np

from bls.running_jobs import counter, moment_of
from bls.simulator import BatchSimulator
from bridge.live.file import Cells, Look, Pulse, Resource, RunningJob, Setting
from traces.compiled import Array
from traces.ledger import STATES

FEW_HOSTS, _CELLS_A_HOST = 32, 64  # largest number of hosts that are shown one by one, and of cells for each
_MOST_CELLS = 6144  # largest number of cells of a larger machine; each stands for one or more hosts
_LISTED = 24  # number of running jobs listed, the widest
_REMEMBERED = 128  # largest number of past instants that are kept, evenly spread over the samples
_RECENT_S = 3.0  # rates are averaged over this many seconds


def cells(first_core: Array) -> Cells:
    """The cells of a machine whose host ``h`` has the cores ``first_core[h]:first_core[h + 1]``."""
    n_hosts = len(first_core) - 1
    if n_hosts > FEW_HOSTS:
        together = -(-n_hosts // _MOST_CELLS)
        hosts = np.arange(0, n_hosts, together)
        return Cells((*first_core[hosts].tolist(), int(first_core[-1])), tuple(hosts.tolist()))
    borders: list[int] = []
    hosts_of: list[int] = []
    for host in range(n_hosts):
        lo, cores = int(first_core[host]), int(first_core[host + 1] - first_core[host])
        parts = min(cores, _CELLS_A_HOST)
        borders += [lo + part * cores // parts for part in range(parts)]
        hosts_of += [host] * parts
    return Cells((*borders, int(first_core[-1])), tuple(hosts_of))


def occupy(first_core: Array, lo: Array, hi: Array, row: Array) -> tuple[Array, Array]:
    """Number of held cores in each cell, and the row that holds most of them, of equal ones the lowest, or -1; int64 (C,).

    - ``first_core``: int64 (C + 1,), cell ``c`` has the cores ``first_core[c]:first_core[c + 1]``.
    - ``lo``, ``hi``, ``row``: int64 (k,), row ``row`` holds the cores [lo, hi); no core is held twice.
    """
    n = len(first_core) - 1
    holder = np.full(n, -1, np.int64)
    first = np.searchsorted(first_core, lo, side="right") - 1
    count = np.searchsorted(first_core, hi, side="left") - first
    before = np.cumsum(count) - count
    cell = np.arange(count.sum()) + np.repeat(first - before, count)
    part = np.minimum(np.repeat(hi, count), first_core[cell + 1]) - np.maximum(np.repeat(lo, count), first_core[cell])
    busy = np.bincount(cell, part, n).astype(np.int64)
    if not len(cell):
        return busy, holder
    # A row may hold several pieces of one cell.
    of = np.repeat(row, count)
    order = np.lexsort((of, cell))
    cell, of, part = cell[order], of[order], part[order]
    heads = np.flatnonzero(np.r_[True, (np.diff(cell) != 0) | (np.diff(of) != 0)])
    cell, of, together = cell[heads], of[heads], np.add.reduceat(part, heads)
    order = np.lexsort((of, -together, cell))
    where, at = np.unique(cell[order], return_index=True)
    holder[where] = of[order][at]
    return busy, holder


class _Past:
    """A bounded number of instants of a run; when it is full, every second one is dropped."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, int, int]] = []
        self._every, self._seen = 1, 0

    def until(self, instant: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        """Add an instant; return the kept ones, with this one last."""
        if self._seen % self._every == 0 and len(self._kept) == _REMEMBERED:
            self._kept = self._kept[::2]
            self._every *= 2
        if self._seen % self._every == 0:
            self._kept.append(instant)
        self._seen += 1
        return self._kept if self._kept[-1] == instant else [*self._kept, instant]


class Sampler:
    """Reads the state of one run, from its start, and changes nothing. ``options``: for :attr:`Setting.options`."""

    def __init__(self, simulator: BatchSimulator, options: dict[str, str]) -> None:
        platform, workload, requests = simulator.platform, simulator.workload, simulator.constraints.requests
        self._simulator: BatchSimulator | None = simulator
        self._counts, self._workload = counter(simulator.state), workload
        cells_ = cells(platform.first_core)
        self._first_core = np.array(cells_.first_core, np.int64)
        self._host_core = platform.first_core
        self._recent: deque[tuple[float, int, int]] = deque()
        self._past = _Past()
        resources = [Resource("cores", platform.n_cores)]
        # Amount of each further resource that each row of the workload requests: (n,).
        self._held: list[Array] = []
        if requests is not None:
            amounts = (*platform.host_resources.sum(axis=0).tolist(), *platform.licence_amounts.tolist())
            units = (workload.cores // requests.unit_cores)[:, None]
            held = np.concatenate((requests.per_unit * units, requests.licences), axis=1)
            for column, name in enumerate((*requests.resource_names, *requests.licence_names)):
                if held[:, column].any():
                    resources.append(Resource(name, int(amounts[column])))
                    self._held.append(np.ascontiguousarray(held[:, column]))
        if len(simulator.state.gpus.host):
            resources.append(Resource("GPUs", platform.n_gpus))
        counts = len(workload), platform.n_cores, platform.n_hosts
        self.setting = Setting(str(workload.source), *counts, options, tuple(resources), cells_)

    def pulse(self, elapsed_s: float) -> Pulse:
        """The current numbers, ``elapsed_s`` after the run began; at any time, from any one thread."""
        counts = self._counts()
        now_ns, ended = counts.now_ns, counts.ended
        recent = self._recent
        recent.append((elapsed_s, now_ns, ended))
        while len(recent) > 2 and recent[1][0] < elapsed_s - _RECENT_S:
            recent.popleft()
        since_s = elapsed_s - recent[0][0] or math.inf
        rates = (now_ns - recent[0][1]) / 1e9 / since_s, (ended - recent[0][2]) / since_s
        return Pulse(elapsed_s, now_ns, ended, counts.running, counts.waiting, *rates)

    def look(self) -> Look:
        """The whole state; call only while the engine pauses."""
        simulator, workload = self._simulator, self._workload
        assert simulator is not None  # not released yet
        moment = moment_of(simulator)
        rows, origin, cores = moment.rows, moment.origin, moment.cores
        busy, holder = occupy(self._first_core, moment.lo, moment.hi, moment.holder)
        number = np.full(len(holder), -1, np.int64)
        number[holder >= 0] = moment.job_id[np.searchsorted(rows, holder[holder >= 0])]
        down = occupy(self._first_core, self._host_core[moment.down], self._host_core[moment.down + 1], moment.down)[0]
        widest = np.lexsort((rows, -cores))[:_LISTED]
        listed = origin[widest]
        known = workload.job_id[listed], workload.user[listed], cores[widest], moment.start_ns[widest]
        used = (int(cores.sum()), *(int(of[origin].sum()) for of in self._held))
        if len((gpus := simulator.state.gpus).host):
            used += (-int(-(gpus.count[rows] * gpus.milli[origin]).sum() // 1000),)  # rounded up
        instant = (moment.now_ns, moment.waiting, used[0])
        past_ns, past_waiting, past_busy = zip(*self._past.until(instant), strict=True)
        return Look(
            now_ns=moment.now_ns,
            used=used,
            down_hosts=len(moment.down),
            states={name: n for name, n in zip(STATES, moment.ends, strict=True) if n},
            busy=tuple(busy.tolist()),
            down=tuple(down.tolist()),
            job=tuple(number.tolist()),
            widest=tuple(RunningJob(*job) for job in np.column_stack((*known, workload.estimate_ns[listed])).tolist()),
            past_ns=past_ns,
            past_waiting=past_waiting,
            past_busy=past_busy,
        )

    def let_go(self) -> None:
        """Release the simulator at the end of the run, so that its state can be freed; :meth:`pulse` still works."""
        self._simulator = None
