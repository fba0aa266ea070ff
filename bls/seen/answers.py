"""Answers of a policy in Python, checked and passed to the engine: which jobs start on which cores, commands to running jobs,
the next wake-up; and the reason why a job cannot have the cores that were named for it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.engine import state as b
from bls.engine.features.directions.state import Directed
from bls.machine.platform import Platform
from bls.seen.jobs import SeenJob
from traces.base.errors import InputError, PluginError, printable, shown, whole
from traces.base.scale import scale_of
from traces.base.time import format_ns
from traces.intervals import intervals_text, joined_numbers

Cores = list[tuple[int, int]]  #: cores as half-open intervals, ascending and disjoint
_SHOWN = 80  #: length up to which a list of cores is shown
LONGEST_REASON = 200  #: the longest reason for a start, or a rejection


class Start(NamedTuple):
    """A start of a job with details: an answer of ``decide()`` in place of the job.

    - ``cores``: numbers of its cores; None: the allocator chooses them
    - ``because``: reason for the start, for people: 1 to 200 characters, in the table of jobs (``started_because``)
    """

    job: SeenJob
    cores: Iterable[int] | None = None
    because: str | None = None


#: Answer of a policy about a job that it starts: the job; the job and its cores; or cores (if named) and the reason.
Choice: TypeAlias = SeenJob | tuple[SeenJob, Iterable[int]] | tuple[SeenJob, Iterable[int] | None, str | None]


class AnswerError(PluginError):
    """An impossible answer of a policy. ``did``: its action, as "gave job 7 twice"."""

    def __init__(self, did: str) -> None:
        super().__init__(f"decide() {did}")
        self.did = did


def cores_text(cores: Iterable[tuple[int, int]]) -> str:
    """Cores in the form of errors: ``core 3``, ``cores 0-3 8``."""
    text = intervals_text(cores)
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"core {short}" if text.isdigit() else f"cores {short}"


def _intervals(job: SeenJob, cores: Any, n_cores: int, whole_hosts: bool) -> Cores:
    # The cores that a policy names for a job.
    where = f"placed job {job.job_id} on"
    if isinstance(cores, str | bytes) or not hasattr(cores, "__iter__"):
        raise AnswerError(f"{where} {shown(cores)}; allowed: the numbers of {job.cores} cores, as [0, 1, 5]")
    numbers: list[int] = []
    for core in cores.tolist() if hasattr(cores, "tolist") else cores:
        try:
            numbers.append(whole("core", core, 0, n_cores - 1))
        except InputError as error:
            raise AnswerError(f"{where} {shown(core)}: {error.text}") from None
    numbers.sort()
    twice = next((core for core, other in pairwise(numbers) if core == other), None)
    if twice is not None:
        raise AnswerError(f"{where} core {twice} twice")
    found, number = joined_numbers(numbers), len(numbers)
    if number == 0 or (number != job.cores and not whole_hosts):
        named = f"on {number} core{'s' * (number != 1)}, {cores_text(found)}" if number else "on no core"
        raise AnswerError(f"placed job {job.job_id} {named}; it requests {job.cores}")
    return found


def reason_text(reason: object) -> str | None:
    """A reason in one line, as it is stored; None if it is not a text of 1 to ``LONGEST_REASON`` characters."""
    if not isinstance(reason, str) or not 1 <= len(reason.strip()) <= LONGEST_REASON:
        return None
    return printable(reason.strip())


def placed(given: object, n_cores: int, whole_hosts: bool) -> tuple[SeenJob, Cores | None, str]:
    """A job, the cores that a policy names for it (None if it names none), and the reason for its start (may be empty).

    ``given`` is an answer of ``decide()`` that is not a job. With ``whole_hosts`` jobs may hold more cores than they
    request. Further requirements of the job are checked at its start (``bls.engine.features.python.decided``). Raises
    AnswerError if the answer is not of an allowed form.
    """
    if not (isinstance(given, tuple) and 2 <= len(given) <= 3 and isinstance(given[0], SeenJob)):
        allowed = "jobs of view.waiting, pairs of one and its cores, or bls.Start(job, cores, because)"
        raise AnswerError(f"gave {shown(given)}; allowed: {allowed}")
    job, named, *why = given
    because = "" if not why or why[0] is None else reason_text(why[0])
    if because is None:
        allowed = f"a text of 1 to {LONGEST_REASON} characters"
        raise AnswerError(f"gave job {job.job_id} with the reason {shown(why[0])}; allowed: {allowed}")
    if why and named is None:
        return job, None, because
    return job, _intervals(job, named, n_cores, whole_hosts), because


def check_apart(jobs: Mapping[int, SeenJob], rows: Sequence[int], named: Mapping[int, Cores]) -> None:
    """Raise AnswerError if a core is named for two jobs. ``rows``: jobs that start; ``named``: cores by position in it."""
    spans = sorted((lo, hi, place) for place, cores in named.items() for lo, hi in cores)
    for (_, end, one), (begin, _, other) in pairwise(spans):
        if begin < end:
            first, second = (jobs[rows[place]].job_id for place in sorted((one, other)))
            where = cores_text(named[max(one, other)])
            raise AnswerError(f"placed job {second} on {where}: core {begin} is named for job {first}, too")


def put_answer(state: b.BatchState, rows: Sequence[int], named: Mapping[int, Cores], rejected: Iterable[int]) -> None:
    """Pass the rows of rejected and of starting jobs to the engine, with the cores of some of the latter."""
    entries = [-1 - row for row in rejected]
    before = len(entries)
    entries += rows
    state.n_chosen = len(entries)
    state.choice.rows[: len(entries)] = entries
    if named:
        first = [0] * (before + 1)
        spans: list[tuple[int, int]] = []
        for place in range(len(rows)):
            spans += named.get(place, ())
            first.append(len(spans))
        state.choice.first[: len(first)] = first
        state.choice.lo[: len(spans)], state.choice.hi[: len(spans)] = zip(*spans, strict=True)
        state.choice.n_named = len(spans)


class WakeUps:
    """Future instants, each once, the earliest first. ``pending``: a heap of them."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self._asked: set[int] = set()

    def add(self, instant_ns: int) -> None:
        """Add an instant."""
        if instant_ns not in self._asked:
            self._asked.add(instant_ns)
            heappush(self.pending, instant_ns)

    def next_after(self, now_ns: int) -> int | None:
        """The earliest instant after the present one, None if there is none; earlier ones are dropped."""
        while self.pending and self.pending[0] <= now_ns:
            self._asked.discard(heappop(self.pending))
        return self.pending[0] if self.pending else None


_ALL = -1  #: stands for all cores of a job


class Directions:
    """Commands of a policy to running jobs in the present pass, by their rows."""

    def __init__(self) -> None:
        self._job_ids: dict[int, int] = {}
        self._of_all: dict[int, int] = {}  # scales of all cores
        self._of_some: dict[int, dict[int, int]] = {}  # scales of single cores
        self._ends: dict[int, int] = {}
        self._widths: dict[int, int] = {}
        self._hints: dict[int, tuple[list[int], int]] = {}  # wanted cores, and the job that waits for them, -1 for none

    def __bool__(self) -> bool:
        return bool(self._job_ids)

    def scale(self, job: SeenJob, factor: Any, cores: Iterable[Any] | None, held: Set[int] | None) -> None:
        """Scale the speeds of all cores of a job, or of ``cores`` among those that are ``held``, as :meth:`scale_all`."""
        if cores is None:
            self.scale_all([job], factor)
            return
        where, scale = f"scale() of job {job.job_id}", _scale(job, factor)
        named = _numbered(where, cores)
        scales = self._of_some.setdefault(job.row, {})
        for core in named:
            if core in scales:
                raise PluginError(f"{where}: core {core} twice in one pass")
            if held is None or core not in held:
                allowed = "all of its cores, as it does not run yet" if held is None else "cores that it holds"
                raise PluginError(f"{where}: core {core}; allowed: {allowed}")
            scales[core] = scale
        self._job_ids[job.row] = job.job_id

    def scale_all(self, jobs: Sequence[SeenJob], factor: Any) -> None:
        """Scale the speeds of all cores of jobs. Raises PluginError if the factor is invalid, or a core is scaled again."""
        if not jobs:
            return
        job_ids, of_all, scale = self._job_ids, self._of_all, _scale(jobs[0], factor)
        for job in jobs:
            if of_all.setdefault(job.row, 0):
                raise PluginError(f"scale() of job {job.job_id}: all of its cores twice in one pass")
            if job.row in self._of_some:
                did = "all of its cores after some of them in one pass"
                raise PluginError(f"scale() of job {job.job_id}: {did}; allowed: all first")
            job_ids[job.row], of_all[job.row] = job.job_id, scale

    def end(self, job: SeenJob, state: int) -> None:
        """End a job, with this state. Raises PluginError if it was ended already in this pass."""
        if job.row in self._ends:
            raise PluginError(f"job {job.job_id} is ended twice in one pass; allowed: cancel() or requeue(), once")
        self._ends[job.row] = state
        self._job_ids[job.row] = job.job_id

    def resize(self, job: SeenJob, cores: int) -> None:
        """Set the number of cores that a job should have; replaces an earlier command in this pass."""
        self._job_ids[job.row], self._widths[job.row] = job.job_id, cores

    def hint(self, job: SeenJob, cores: Iterable[Any], waiting: SeenJob | None, held: Set[int]) -> None:
        """Inform a job that another one waits for these of its cores. Raises PluginError if a core is not the job's, no
        waiting job is named for the cores, or the command was given already in this pass."""
        where = f"hint() of job {job.job_id}"
        named = _numbered(where, cores)
        if len(set(named)) < len(named):
            twice = next(core for core in named if named.count(core) > 1)
            raise PluginError(f"{where}: core {twice} twice; allowed: once")
        if strange := [core for core in named if core not in held]:
            raise PluginError(f"{where}: core {strange[0]}; allowed: cores that it holds and computes on")
        if named and waiting is None:
            raise PluginError(f"{where}: waiting: None; allowed: the job that waits for these cores")
        if job.row in self._hints:
            raise PluginError(f"{where} twice in one pass; allowed: once")
        self._job_ids[job.row] = job.job_id
        self._hints[job.row] = sorted(named), -1 if waiting is None else waiting.row

    def put(self, state: b.BatchState, running: Set[int], started: Sequence[int], rejected: Set[int]) -> None:
        """Pass the commands to the engine, and clear them. Raises AnswerError if a job neither runs nor starts in this pass; or
        if a hint names a waiting job that is started or rejected."""
        if strange := self._job_ids.keys() - running - set(started):
            job_id = next(job_id for row, job_id in self._job_ids.items() if row in strange)
            raise AnswerError(f"directs job {shown(job_id)}, which does not run, and which it does not start")
        hints = self._hint_entries(state, set(started), rejected)
        if self._widths:
            state.requests.of_row.width[list(self._widths)] = list(self._widths.values())
        # First jobs whose only command is a scale of all cores: one assignment per column.
        alone = self._of_all.keys() - self._of_some.keys() - self._ends.keys()
        plain = {row: scale for row, scale in self._of_all.items() if row in alone}
        entries: list[tuple[int, int, int, int]] = []
        for row in (self._of_all.keys() | self._of_some.keys() | self._ends.keys()) - alone:
            if row in self._of_all:
                entries.append((row, b.SCALED, _ALL, self._of_all[row]))
            entries += [(row, b.SCALED, core, scale) for core, scale in sorted(self._of_some.get(row, {}).items())]
            if row in self._ends:
                entries.append((row, b.ENDED_BY, _ALL, self._ends[row]))
        at, directed = len(hints), state.directions.decided
        if hints:
            _put(directed, 0, hints)
        if plain:
            stop = at + len(plain)
            directed.job[at:stop], directed.value[at:stop] = list(plain), list(plain.values())
            directed.what[at:stop], directed.core[at:stop] = b.SCALED, _ALL
            at = stop
        if entries:
            _put(directed, at, sorted(entries, key=lambda one: one[0]))
        state.directions.n_decided = at + len(entries)
        for commands in (self._job_ids, self._of_all, self._of_some, self._ends, self._widths, self._hints):
            commands.clear()

    def _hint_entries(
        self, state: b.BatchState, started: Set[int], rejected: Set[int]
    ) -> list[tuple[int, int, int, int]]:
        # Entries for the engine of all hints.
        entries: list[tuple[int, int, int, int]] = []
        for row, (cores, waiting) in self._hints.items():
            if waiting in started or waiting in rejected:
                does = "starts" if waiting in started else "rejects"
                number = state.jobs.number.item(waiting)
                raise AnswerError(f"hints to job {self._job_ids[row]} that job {number} waits, which it {does}")
            entries += [(row, b.HINTED, core, waiting) for core in cores or [-1]]
        return entries


def _scale(job: SeenJob, factor: Any) -> int:
    try:
        return scale_of(factor)
    except InputError as error:
        raise PluginError(f"scale() of job {job.job_id}: {error.text}") from None


def _numbered(where: str, cores: Iterable[Any]) -> list[int]:
    # Cores as numbers, in the given order.
    if not isinstance(cores, Iterable) or isinstance(cores, str):
        raise PluginError(f"{where}: cores: {shown(cores)}; allowed: numbers of cores, as [3, 4]")
    try:
        return [whole("core", core, 0, 2**62) for core in cores]
    except InputError as error:
        raise PluginError(f"{where}: {error.text}") from None


def _put(directed: Directed, at: int, entries: Sequence[tuple[int, int, int, int]]) -> None:
    # Write entries (job, command, core, value), beginning at position ``at``.
    for column, values in zip(directed, zip(*entries, strict=True), strict=True):
        column[at : at + len(entries)] = values


def refusal(state: b.BatchState, row: int, platform: Platform, windows: Windows | None, domains: Sequence[str]) -> str:
    """The reason why a job cannot have the cores named for it, from the notes of ``bls.engine.features.python.decided`` in
    ``state``. ``domains``: their names, the machine's is empty."""
    jobs = state.jobs
    why = int(state.choice.refused)
    if why == b.NO_POWER:
        more, room, where = state.choice.refused_at, state.choice.refused_of, state.choice.refused_where
        draws = f"gave job {jobs.number[row]}, which would draw {more / 1000:g} W more than idle cores"
        there = f" of {domains[where]}" if domains[where] else ""
        return f"{draws}; under the limit to power{there} {max(room, 0) / 1000:g} W are left"
    first = next(k for k in range(int(state.n_chosen)) if state.choice.rows[k] == row)
    named = slice(int(state.choice.first[first]), int(state.choice.first[first + 1]))
    cores = cores_text(zip(state.choice.lo[named].tolist(), state.choice.hi[named].tolist(), strict=True))
    return f"placed job {jobs.number[row]} on {cores}: {_why(state, row, platform, windows, why)}"


def _why(state: b.BatchState, row: int, platform: Platform, windows: Windows | None, why: int) -> str:
    at, of = state.choice.refused_at, state.choice.refused_of
    if why == b.TAKEN:
        return f"core {at} {_holder(state, at)}"
    if why == b.OUTSIDE:
        return f"core {at} is not of its partition, {shown(platform.partitions[state.jobs.partition[row]].name)}"
    if why in (b.IN_WINDOW, b.OUT_OF_WINDOW):
        assert windows is not None
        window = windows.windows[at]
        lasts = f"{window}, from {format_ns(window.begin_ns)} to {format_ns(window.end_ns)}"
        if why == b.IN_WINDOW:
            return f"it would meet {lasts}, on core {of}"
        return f"it may only run inside {lasts}" if of < 0 else f"core {of} is not of its {window}"
    if why == b.NO_RESOURCE:
        n, names = int(state.settings.n_resources), platform.resource_names
        left = max(0, int(state.cores_profile.now.amounts[at * n + of]))
        return f"host {at} has {left} {names[of]} left, and each unit needs {state.needs[of, row]}"
    if why == b.NO_LICENCE:
        n, amounts = int(state.settings.n_resources), state.cores_profile.now.amounts
        left = int(amounts[len(amounts) - len(platform.licence_names) + at])
        return f"{left} {platform.licence_names[at]} are left, and it needs {state.needs[n + at, row]}"
    if why == b.SWITCHES:
        return f"they are on {at} leaf switches, and it accepts {state.switch_limit[state.jobs.origin[row]]}"
    texts: dict[int, str] = {
        b.TOO_FEW: f"its units can use {at} of them, and it requests {state.jobs.cores[row]}",
        b.TOO_MANY: f"it does not need host {at}; allowed: as many whole hosts as it needs",
        b.BROKEN_UNIT: f"{of} cores on host {at} are no multiple of the {state.jobs.unit_cores[row]} of a unit",
        b.SHARED_HOST: f"{of} of the cores of host {at}; allowed: whole hosts, which jobs do not share",
        b.HELD_BACK: "a limit of its partition on what runs at once does not let it start now",
    }
    return texts[why]


def _holder(state: b.BatchState, core: int) -> str:
    jobs = state.jobs
    for row in np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0)).tolist():
        first = int(jobs.held_first[row])
        for k in range(first, first + int(jobs.held_count[row])):
            released = len(state.releases.holder) > 0 and state.releases.holder[core] != row
            if state.pool.lo[k] <= core < state.pool.hi[k] and not released:
                return f"is held by job {jobs.number[row]}"
    return f"is on host {state.host_of[core]}, which is down"
