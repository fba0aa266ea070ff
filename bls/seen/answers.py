"""The cores that a policy in Python names for jobs, read and checked, and handed to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from bls.engine.state import BatchState
from bls.seen.jobs import SeenJob
from traces.base.errors import InputError, PluginError, printable, shown, whole
from traces.intervals import intervals_text

#: Cores as half-open intervals, ascending and disjoint.
Cores = list[tuple[int, int]]

#: So much of a list of cores is shown.
_SHOWN = 80

#: The longest reason for a start, or a rejection.
LONGEST_REASON = 200


class Start(NamedTuple):
    """That a job starts: what ``decide()`` may give instead of the job, where it has more to say.

    Attributes
    ----------
    job : SeenJob
    cores : iterable of int, optional
        The numbers of the cores that it gets; None: the allocator chooses.
    because : str, optional
        Why it starts, for people to read: 1 to 200 characters, which stand in the table of jobs (``started_because``).
    """

    job: SeenJob
    cores: Iterable[int] | None = None
    because: str | None = None


#: What a policy gives of each job that it starts: the job; it and its cores; or these, if any are named, and the reason.
Choice: TypeAlias = SeenJob | tuple[SeenJob, Iterable[int]] | tuple[SeenJob, Iterable[int] | None, str | None]


class AnswerError(PluginError):
    """What a policy has decided cannot be. ``did``: what it did, as "gave job 7 twice"."""

    def __init__(self, did: str) -> None:
        super().__init__(f"decide() {did}")
        self.did = did


def cores_text(cores: Iterable[tuple[int, int]]) -> str:
    """Cores as an error shows them: ``core 3``, ``cores 0-3 8``."""
    text = intervals_text(cores)
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"core {short}" if text.isdigit() else f"cores {short}"


def _intervals(job: SeenJob, cores: Any, n_cores: int) -> Cores:
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
    found: Cores = []
    for core in numbers:
        if found and core < found[-1][1]:
            raise AnswerError(f"{where} core {core} twice")
        if found and core == found[-1][1]:
            found[-1] = (found[-1][0], core + 1)
        else:
            found.append((core, core + 1))
    return found


def _check_number(job: SeenJob, cores: Cores, whole_hosts: bool) -> None:
    number = sum(hi - lo for lo, hi in cores)
    if number == 0 or (number != job.cores and not whole_hosts):
        named = f"on {number} core{'s' * (number != 1)}, {cores_text(cores)}" if number else "on no core"
        raise AnswerError(f"placed job {job.job_id} {named}; it asks for {job.cores}")


def reason_text(reason: object) -> str | None:
    """A reason in one line, as it is kept; None if it is no text of 1 to ``LONGEST_REASON`` characters."""
    if not isinstance(reason, str) or not 1 <= len(reason.strip()) <= LONGEST_REASON:
        return None
    return printable(reason.strip())


def placed(given: object, n_cores: int, whole_hosts: bool) -> tuple[SeenJob, Cores | None, str]:
    """A job, the cores on which a policy places it, None where it does not, and why it starts, which may be empty.

    - ``given``: what ``decide()`` gave that is no job
    - ``whole_hosts``: whether hosts are not shared, so that jobs may hold more cores than they ask for

    Raises AnswerError if it is no such thing, the reason is none, or a core is none of the machine's, is named twice, or there
    are more or fewer than the job asks for. What else a job needs is found out as it starts
    (``bls.engine.features.planning.decided``).
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
    cores = _intervals(job, named, n_cores)
    _check_number(job, cores, whole_hosts)
    return job, cores, because


def check_apart(jobs: Mapping[int, SeenJob], rows: Sequence[int], named: Mapping[int, Cores]) -> None:
    """See that no core is named for two jobs; ``rows`` are those of all that start, and ``named`` is by place in it.
    Raises AnswerError if one is."""
    spans = sorted((lo, hi, place) for place, cores in named.items() for lo, hi in cores)
    for (_, end, one), (begin, _, other) in pairwise(spans):
        if begin < end:
            first, second = (jobs[rows[place]].job_id for place in sorted((one, other)))
            where = cores_text(named[max(one, other)])
            raise AnswerError(f"placed job {second} on {where}: core {begin} is named for job {first}, too")


def put_answer(state: BatchState, rows: Sequence[int], named: Mapping[int, Cores], rejected: Iterable[int]) -> None:
    """Hand to the engine the rows of jobs that are rejected, and of those that start, with the cores of some of them."""
    entries = [-1 - row for row in rejected]
    before = len(entries)
    entries += rows
    state.n_chosen = len(entries)
    state.chosen[: len(entries)] = entries
    if named:
        first = [0] * (before + 1)
        spans: list[tuple[int, int]] = []
        for place in range(len(rows)):
            spans += named.get(place, ())
            first.append(len(spans))
        state.chosen_first[: len(first)] = first
        state.chosen_lo[: len(spans)], state.chosen_hi[: len(spans)] = zip(*spans, strict=True)
        state.n_named = len(spans)
