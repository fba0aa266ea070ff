"""What a policy in Python answers: which waiting jobs start, and on which cores where it names them; read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from bls.engine import state as b
from bls.engine.state import BatchState
from bls.seen.jobs import SeenJob
from traces.base.errors import InputError, PluginError, shown
from traces.base.ranges import whole
from traces.intervals import intervals_text

__all__ = ["Answer", "cores_text", "put_answer", "read_answer"]

#: So much of a list of cores is shown.
_SHOWN = 80


class Answer(NamedTuple):
    """An answer of ``decide()``.

    Attributes
    ----------
    rows : list of int
        Of the jobs that start, in this order.
    named : dict of int to list of (int, int)
        The cores of those that are placed by the policy, half-open intervals by place in ``rows``.
    """

    rows: list[int]
    named: dict[int, list[tuple[int, int]]]


def cores_text(cores: Iterable[tuple[int, int]]) -> str:
    """Cores as an error shows them: ``core 3``, ``cores 0-3 8``."""
    text = intervals_text(cores)
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"core {short}" if text.isdigit() else f"cores {short}"


def _intervals(job: SeenJob, cores: Any, n_cores: int) -> list[tuple[int, int]]:
    # The cores that a policy names for a job.
    placed = f"decide() placed job {job.job_id} on"
    if isinstance(cores, str | bytes) or not hasattr(cores, "__iter__"):
        raise PluginError(f"{placed} {shown(cores)}; allowed: the numbers of {job.cores} cores, as [0, 1, 5]")
    numbers: list[int] = []
    for core in cores.tolist() if hasattr(cores, "tolist") else cores:
        try:
            numbers.append(whole("core", core, 0, n_cores - 1))
        except InputError as error:
            raise PluginError(f"{placed} {shown(core)}: {error}") from None
    numbers.sort()
    found: list[tuple[int, int]] = []
    for core in numbers:
        if found and core < found[-1][1]:
            raise PluginError(f"{placed} core {core} twice")
        if found and core == found[-1][1]:
            found[-1] = (found[-1][0], core + 1)
        else:
            found.append((core, core + 1))
    return found


def _check_number(job: SeenJob, cores: list[tuple[int, int]], whole_hosts: bool) -> None:
    number = sum(hi - lo for lo, hi in cores)
    if number == 0 or (number != job.cores and not whole_hosts):
        named = f"on {number} core{'s' * (number != 1)}, {cores_text(cores)}" if number else "on no core"
        raise PluginError(f"decide() placed job {job.job_id} {named}; it asks for {job.cores}")


def _check_apart(jobs: Mapping[int, SeenJob], answer: Answer) -> None:
    # No core is named for two jobs.
    spans = sorted((lo, hi, place) for place, cores in answer.named.items() for lo, hi in cores)
    for (_, end, one), (begin, _, other) in pairwise(spans):
        if begin < end:
            first, second = (jobs[answer.rows[place]].job_id for place in sorted((one, other)))
            where = cores_text(answer.named[max(one, other)])
            raise PluginError(f"decide() placed job {second} on {where}: core {begin} is named for job {first}, too")


def read_answer(
    answer: Iterable[Any], waiting: Mapping[int, SeenJob], rejected: Mapping[int, str], n_cores: int, whole_hosts: bool
) -> Answer:
    """What a policy has answered.

    Parameters
    ----------
    answer : iterable of SeenJob or of (SeenJob, iterable of int)
        Jobs that start, on cores that the allocator chooses, or on these.
    waiting : mapping of int to SeenJob
        The jobs that wait, by row.
    rejected : mapping of int to str
        Rows that the policy rejects; it may do so while it answers.
    n_cores : int
        Cores of the machine.
    whole_hosts : bool
        Whether hosts are not shared, so that jobs may hold more cores than they ask for.

    Raises
    ------
    PluginError
        If something is no such thing, or a job is not waiting, named twice, or rejected; or if a core is none of the
        machine's, is named twice, or there are more or fewer than the job asks for. What else a job needs is found out as
        it starts (``bls.engine.named_cores``).
    """
    rows: list[int] = []
    found = Answer(rows, {})
    for given in answer:
        if isinstance(given, SeenJob):
            job, placed = given, False
        elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], SeenJob):
            job, placed = given[0], True
        else:
            raise PluginError(
                f"decide() gave {shown(given)}; allowed: jobs of view.waiting, or pairs of one and its cores"
            )
        if waiting.get(job.row) is not job:
            raise PluginError(f"decide() gave job {job.job_id}, which {_why_not_waiting(job)}")
        if placed:
            found.named[len(rows)] = _intervals(job, given[1], n_cores)
            _check_number(job, found.named[len(rows)], whole_hosts)
        rows.append(job.row)
    if len(rows) > 1 and len(set(rows)) < len(rows):
        twice = next(row for row in rows if rows.count(row) > 1)
        raise PluginError(f"decide() gave job {waiting[twice].job_id} twice")
    if rejected and (both := [row for row in rows if row in rejected]):
        raise PluginError(f"decide() gave job {waiting[both[0]].job_id}, which it rejects")
    if len(found.named) > 1:
        _check_apart(waiting, found)
    return found


def _why_not_waiting(job: SeenJob) -> str:
    if not job.dependency_holds:
        return f"waits for job {job.depends_on}"
    return "is not waiting"


def put_answer(state: BatchState, answer: Answer, rejected: Iterable[int]) -> None:
    """Hand an answer, and the rows of jobs that are rejected, to the engine."""
    entries = [-1 - row for row in rejected]
    before = len(entries)
    entries += answer.rows
    state.sizes[b.N_CHOSEN] = len(entries)
    if entries:
        state.chosen[: len(entries)] = entries
    if answer.named:
        first = [0] * (before + 1)
        spans: list[tuple[int, int]] = []
        for place in range(len(answer.rows)):
            spans += answer.named.get(place, ())
            first.append(len(spans))
        state.chosen_first[: len(first)] = first
        state.chosen_lo[: len(spans)], state.chosen_hi[: len(spans)] = zip(*spans, strict=True)
        state.sizes[b.N_NAMED] = len(spans)
