"""Answers of a policy in Python, checked and passed to the engine: which jobs start on which cores, commands to running jobs,
the next wake-up; and the reason why a job cannot have the cores that were named for it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from bls.constraints.advance_reservations import Windows
from bls.engine import state as b
from bls.engine.features.directions.given import ALL, Commands, Entry
from bls.engine.features.python.choice import cores_text, named_refusal
from bls.machine.platform import Platform
from bls.seen.jobs import SeenJob
from traces.base.errors import InputError, PluginError, printable, shown, whole
from traces.base.scale import scale_of
from traces.intervals import joined_numbers

Cores = list[tuple[int, int]]  #: cores as half-open intervals, ascending and disjoint
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


class Directions:
    """Commands of a policy to running jobs in the present pass, by their rows."""

    def __init__(self) -> None:
        self._job_ids: dict[int, int] = {}
        self._of_all: dict[int, int] = {}  # scales of all cores
        self._of_some: dict[int, dict[int, int]] = {}  # scales of single cores
        self._ends: dict[int, int] = {}
        self._widths: dict[int, int] = {}
        self._hints: dict[int, tuple[list[int], SeenJob | None]] = {}  # wanted cores, and the job that waits for them

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
        self._hints[job.row] = sorted(named), waiting

    def take(self, running: Set[int], started: Sequence[int], rejected: Set[int]) -> Commands:
        """The commands for the engine, which are cleared. Raises AnswerError if a job neither runs nor starts in this pass; or
        if a hint names a waiting job that is started or rejected."""
        if strange := self._job_ids.keys() - running - set(started):
            job_id = next(job_id for row, job_id in self._job_ids.items() if row in strange)
            raise AnswerError(f"directs job {shown(job_id)}, which does not run, and which it does not start")
        hints = self._hint_entries(set(started), rejected)
        alone = self._of_all.keys() - self._of_some.keys() - self._ends.keys()
        plain = {row: scale for row, scale in self._of_all.items() if row in alone}
        entries: list[Entry] = []
        for row in (self._of_all.keys() | self._of_some.keys() | self._ends.keys()) - alone:
            if row in self._of_all:
                entries.append((row, b.SCALED, ALL, self._of_all[row]))
            entries += [(row, b.SCALED, core, scale) for core, scale in sorted(self._of_some.get(row, {}).items())]
            if row in self._ends:
                entries.append((row, b.ENDED_BY, ALL, self._ends[row]))
        found = dict(self._widths), hints, plain, sorted(entries, key=lambda one: one[0])
        for commands in (self._job_ids, self._of_all, self._of_some, self._ends, self._widths, self._hints):
            commands.clear()
        return found

    def _hint_entries(self, started: Set[int], rejected: Set[int]) -> list[Entry]:
        # Entries for the engine of all hints.
        entries: list[Entry] = []
        for row, (cores, waiting) in self._hints.items():
            if waiting is not None and (waiting.row in started or waiting.row in rejected):
                does = "starts" if waiting.row in started else "rejects"
                raise AnswerError(f"hints to job {self._job_ids[row]} that job {waiting.job_id} waits, which it {does}")
            entries += [(row, b.HINTED, core, -1 if waiting is None else waiting.row) for core in cores or [-1]]
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


def refusal(state: b.BatchState, row: int, platform: Platform, windows: Windows | None, domains: Sequence[str]) -> str:
    """The reason why a job cannot have the cores named for it, from the notes of ``bls.engine.features.python.decided`` in
    ``state``. ``domains``: the names of the domains; the first, of the machine, is empty."""
    jobs = state.jobs
    why = int(state.choice.refused)
    if why == b.NO_POWER:
        more, room, where = state.choice.refused_at, state.choice.refused_of, state.choice.refused_where
        draws = f"gave job {jobs.number[row]}, which would draw {more / 1000:g} W more than idle cores"
        there = f" of {domains[where]}" if domains[where] else ""
        return f"{draws}; under the limit to power{there} {max(room, 0) / 1000:g} W are left"
    return named_refusal(state, row, platform, () if windows is None else [str(window) for window in windows.windows])
