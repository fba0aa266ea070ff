"""The connection of a scheduler: the order of messages about jobs, and the rules for its decisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from bridge.protocol import scheduler_messages as m
from bridge.protocol import tables as t
from bridge.protocol.packing import unpack_int32
from bridge.protocol.scheduler_messages import SCHEDULER_MESSAGES, SCHEDULER_ROLE, SCHEDULER_VERSION
from bridge.protocol.session import Book
from bridge.protocol.vocabulary import BrokenRule, Greeting, Message, name_of
from traces.base.errors import shown
from traces.records.gpus import WHOLE_GPU

_STEPS: Final = t.steps(t.SCHEDULED_JOB_TABLE)

#: Why a job that is not waiting cannot be started or rejected.
_NOT_WAITING: Final = {
    t.ScheduledJob.HELD: "waits for another job",
    t.ScheduledJob.CHOSEN: "this answer already starts",
    t.ScheduledJob.REJECTED: "this answer already rejects",
    t.ScheduledJob.RUNNING: "runs",
}

#: Fields of ``machine`` that state which directions of a scheduler the run supports.
_LETS: Final = {"widths": "resizes", "hints": "hints"}
_DIRECTIONS: Final = ("speeds", "ends", "widths", "hints")  # directions of a scheduler to running jobs


def intervals(column: bytes) -> list[tuple[int, int]]:
    """The half-open intervals in a column."""
    ends = unpack_int32(column).tolist()
    return list(zip(ends[::2], ends[1::2], strict=True))


@dataclass
class _Known:
    """State of a job that has not left."""

    job: m.Submitted
    state: t.ScheduledJob


class SchedulerBook(Book):
    """The jobs on the connection of a scheduler, and the decision under way. ``decision``: the number of the latest
    question. ``directs``: the directions that the scheduler's hello announces; None before the hello."""

    peer = t.Role.SCHEDULER
    messages = SCHEDULER_MESSAGES
    strange = frozenset({t.ConnectionState.AWAIT_HELLO})

    def __init__(self) -> None:
        self.directs: tuple[str, ...] | None = None
        self.decision = 0
        self._now_ns = self._n_cores = self._n_gpus = 0
        self._whole_hosts = False
        self._lets: dict[str, bool] = {}  # directions that the run supports
        self._jobs: dict[int, _Known] = {}

    def unwelcome(self, greeting: Greeting) -> str:
        """See ``Book``; refused are other roles and other versions."""
        if greeting.role != SCHEDULER_ROLE:
            return f"role is {shown(greeting.role) if greeting.role else 'missing'}; expected: {SCHEDULER_ROLE!r}"
        if greeting.version == SCHEDULER_VERSION:
            return ""
        return f"version {greeting.version} of the scheduler role is not supported; supported: {SCHEDULER_VERSION}"

    def job_state(self, job: int) -> t.ScheduledJob:
        """State of a job."""
        known = self._jobs.get(job)
        return t.ScheduledJob.ABSENT if known is None else known.state

    def judge(self, message: Message) -> bool:
        if (rule := _RULES.get(type(message))) is not None:
            rule(self, message)
        return True

    def _judge_hello(self, message: m.SchedulerHello) -> None:
        said = message.directs
        if len(set(said)) < len(said) or not set(said) <= set(_DIRECTIONS):
            known = ", ".join(map(repr, _DIRECTIONS))
            raise BrokenRule(f"directs: {shown(list(said))}; allowed: some of {known}, each once, or nothing")
        self.directs = said

    def _judge_machine(self, message: m.MachineDescription) -> None:
        together = sum(group.count * group.cores for group in message.hosts)
        if together != message.cores:
            raise BrokenRule(f"machine: {together} cores on its hosts; expected: {message.cores}")
        self._n_cores, self._whole_hosts = message.cores, message.whole_hosts
        self._n_gpus = sum(group.count * group.gpus for group in message.hosts)
        self._lets = {"widths": message.resizes, "hints": message.hints}

    def _judge_started(self, message: m.Started) -> None:
        self._judge_placed(message)
        if len(message.gpus) % 4:
            raise BrokenRule(f"gpus: {len(message.gpus)} bytes; allowed: 4 for each GPU")
        gpus = unpack_int32(message.gpus)
        if len(gpus) and (gpus[0] < 0 or gpus[-1] >= self._n_gpus or np.any(np.diff(gpus) < 0)):
            raise BrokenRule(f"gpus: {shown(gpus.tolist())}; allowed: ascending numbers below {self._n_gpus}")

    def _judge_placed(self, message: m.Started | m.Released | m.Given) -> None:
        self._judge_cores(message.cores)
        self._judge_job(message)

    def _judge_job(self, message: m.Eligible | m.Started | m.Expected | m.Released | m.Given | m.Ended) -> None:
        key, event = message.job, name_of(message)
        before = self.job_state(key)
        after = _STEPS[before].get(event)
        if after is None:
            raise BrokenRule(f"{event} of job {key} is not allowed while the job is {before!s}")
        if after is t.ScheduledJob.ABSENT:
            del self._jobs[key]
        else:
            self._jobs[key].state = after

    def _judge_submit(self, message: m.Submitted) -> None:
        if message.job in self._jobs:
            raise BrokenRule(f"job {message.job} is submitted twice")
        if not message.min_cores <= message.cores <= message.max_cores:
            may = f"may have {message.min_cores} to {message.max_cores}"
            raise BrokenRule(f"submitted: job {message.job} requests {message.cores} cores, and {may}")
        event = t.SUBMITTED_HELD if message.eligible_ns is None else t.SUBMITTED_WAITING
        self._jobs[message.job] = _Known(message, _STEPS[t.ScheduledJob.ABSENT][event])

    def _judge_cores(self, column: bytes) -> list[tuple[int, int]]:
        if not column or len(column) % 8:
            raise BrokenRule(f"cores: {len(column)} bytes; allowed: 8 for each interval, and at least one")
        found = intervals(column)
        ends = unpack_int32(column)
        if ends[0] < 0 or ends[-1] > self._n_cores or np.any(np.diff(ends)[::2] < 1) or np.any(np.diff(ends)[1::2] < 0):
            allowed = f"half-open intervals, ascending and disjoint, of cores 0 to {self._n_cores - 1}"
            raise BrokenRule(f"cores: {shown(found)}; allowed: {allowed}")
        return found

    def _judge_question(self, message: m.Decide) -> None:
        if message.decision != self.decision + 1 or message.now_ns < self._now_ns:
            raise BrokenRule(f"decide {message.decision} at {message.now_ns} ns; expected: {self.decision + 1}, later")
        left = unpack_int32(message.free_gpus) if len(message.free_gpus) == 4 * self._n_gpus else np.array([-1])
        if np.any((left < 0) | (left > WHOLE_GPU)):
            allowed = f"0 to {WHOLE_GPU} for each of {self._n_gpus} GPUs"
            raise BrokenRule(f"free_gpus: {len(message.free_gpus)} bytes; allowed: int32 from {allowed}")
        self.decision, self._now_ns = message.decision, message.now_ns

    def _judge_answer(self, message: m.Decided) -> None:
        if message.decision != self.decision:
            raise BrokenRule(f"decided {message.decision}; expected: {self.decision}")
        for instant in message.wake_ns:
            if instant <= self._now_ns:
                raise BrokenRule(f"it asks to decide at {instant} ns; allowed: later than now, {self._now_ns}")
        for one in message.reject:
            self._take_up(one.job, "reject", t.DECIDED_REJECT)
            if not one.reason.strip():
                raise BrokenRule(f"it rejects {self._named(one.job)} without a reason; allowed: 1 to 200 characters")
        spans: list[tuple[int, int, int]] = []
        for chosen in message.start:
            self._take_up(chosen.job, "start", t.DECIDED_START)
            spans += self._placed(chosen)
        spans.sort()
        for (_, end, one_key), (begin, _, other) in pairwise(spans):
            if begin < end:
                first, second = sorted((one_key, other))
                raise BrokenRule(f"it places {self._named(first)} and {self._named(second)} on core {begin}")
        self._judge_directions(message)

    def _judge_directions(self, message: m.Decided) -> None:
        self._judge_whom("scales", "speeds", message.scale)
        self._judge_whom("ends", "ends", message.end)
        self._judge_whom("resizes", "widths", message.resize)
        self._judge_whom("hints to", "hints", message.hint)
        for scaled in message.scale:
            if scaled.cores is not None:
                self._judge_named("scales", scaled.job, scaled.cores)
        for resized in message.resize:
            least, most = self._jobs[resized.job].job.min_cores, self._jobs[resized.job].job.max_cores
            if not least <= resized.cores <= most or least == most:
                allowed = f"{least} to {most}" if least < most else "jobs whose width may change"
                raise BrokenRule(f"it resizes {self._named(resized.job)} to {resized.cores} cores; allowed: {allowed}")
        for hinted in message.hint:
            self._judge_hint(hinted)

    def _judge_whom(self, how: str, name: str, said: Sequence[m.ScaleJob | m.EndJob | m.ResizeJob | m.HintJob]) -> None:
        if not said:
            return
        if name not in (self.directs or ()):
            raise BrokenRule(f"it {how} {self._named(said[0].job)}; allowed: if its hello has {name!r} in directs")
        if not self._lets.get(name, True):
            raise BrokenRule(f"it {how} {self._named(said[0].job)}; allowed: if machine has {_LETS[name]} = true")
        keys = [one.job for one in said]
        if name != "speeds" and len(set(keys)) < len(keys):
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise BrokenRule(f"it {how} {self._named(twice)} twice; allowed: once")
        states = (t.ScheduledJob.RUNNING,) if name == "hints" else (t.ScheduledJob.RUNNING, t.ScheduledJob.CHOSEN)
        for one in said:
            known = self._jobs.get(one.job)
            if known is None or known.state not in states:
                more = ", or jobs that it starts" if t.ScheduledJob.CHOSEN in states else ""
                raise BrokenRule(f"it {how} {self._named(one.job)}, which is not running; allowed: running jobs{more}")

    def _judge_hint(self, hinted: m.HintJob) -> None:
        if hinted.cores is not None:
            self._judge_named("hints to", hinted.job, hinted.cores)
        if hinted.waiting is None:
            if hinted.cores is None:
                return
            allowed = "the job that waits for these cores"
            raise BrokenRule(f"it hints to {self._named(hinted.job)}: waiting: nil; allowed: {allowed}")
        known = self._jobs.get(hinted.waiting)
        if known is None or known.state is not t.ScheduledJob.WAITING:
            why = "does not exist" if known is None else _NOT_WAITING[known.state]
            what = f"that {self._named(hinted.waiting)} waits, which {why}; allowed: waiting jobs, {self._waiting()}"
            raise BrokenRule(f"it hints to {self._named(hinted.job)} {what}")

    def _judge_named(self, what: str, job: int, cores: bytes) -> list[tuple[int, int]]:
        try:
            return self._judge_cores(cores)
        except BrokenRule as error:
            raise BrokenRule(f"it {what} {self._named(job)}: {error}") from None

    def _take_up(self, key: int, what: str, event: str) -> None:
        known = self._jobs.get(key)
        if known is None:
            raise BrokenRule(f"it {what}s job {key}, which does not exist; allowed: waiting jobs, {self._waiting()}")
        after = _STEPS[known.state].get(event)
        if after is None:
            why = f"{_NOT_WAITING[known.state]}; allowed: waiting jobs, {self._waiting()}"
            raise BrokenRule(f"it {what}s {self._named(key)}, which {why}")
        known.state = after

    def _placed(self, chosen: m.StartJob) -> list[tuple[int, int, int]]:
        if chosen.cores is None:
            return []
        found = self._judge_named("places", chosen.job, chosen.cores)
        together, asked = sum(hi - lo for lo, hi in found), self._jobs[chosen.job].job.cores
        if together != asked and not (self._whole_hosts and together > asked):
            raise BrokenRule(f"it places {self._named(chosen.job)} on {together} cores; the request is {asked}")
        return [(lo, hi, chosen.job) for lo, hi in found]

    def _named(self, key: int) -> str:
        # With the number for the user, who knows the log, and the key for the scheduler's author.
        number = self._jobs[key].job.number if key in self._jobs else key
        return f"job {key}" if number == key else f"job {key} (number {number})"

    def _waiting(self) -> str:
        waiting = [str(key) for key, known in self._jobs.items() if known.state is t.ScheduledJob.WAITING]
        return (", ".join(waiting[:5]) or "none") + (" …" if len(waiting) > 5 else "")


#: The rule for each message, in addition to the table of the connection.
_RULES: Final[dict[type[Message], Callable[[SchedulerBook, Any], None]]] = {
    m.SchedulerHello: SchedulerBook._judge_hello,
    m.MachineDescription: SchedulerBook._judge_machine,
    m.Submitted: SchedulerBook._judge_submit,
    **dict.fromkeys((m.Eligible, m.Expected, m.Ended), SchedulerBook._judge_job),
    m.Started: SchedulerBook._judge_started,
    **dict.fromkeys((m.Released, m.Given), SchedulerBook._judge_placed),
    m.Decide: SchedulerBook._judge_question,
    m.Decided: SchedulerBook._judge_answer,
}
