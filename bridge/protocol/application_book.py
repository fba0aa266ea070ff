"""The connection of an application: the order of messages about its jobs, and the state of each job."""

from typing import Any, Final

from bridge.protocol import messages as m
from bridge.protocol.job_rules import RULES
from bridge.protocol.open_job import OpenJob
from bridge.protocol.session import Book, LocalProtocolError
from bridge.protocol.tables import JOB_TABLE, ConnectionState, JobEvent, JobState, Role, steps
from bridge.protocol.vocabulary import BrokenRule, Greeting, Message, name_of

#: Why a hello with the other role is refused, in any version.
IS_SCHEDULER: Final = "it is a scheduler; allowed: an application simulator"

_STEPS: Final = steps(JOB_TABLE)


class ApplicationBook(Book):
    """The jobs on the connection of an application. ``hello``: the hello that was sent or accepted."""

    peer = Role.APPLICATION
    messages = m.APPLICATION_MESSAGES
    strange = frozenset({ConnectionState.AWAIT_HELLO, ConnectionState.AWAIT_WELCOME})

    def __init__(self) -> None:
        self.hello: m.Hello | None = None
        self._jobs: dict[int, OpenJob] = {}
        self._states: dict[int, JobState] = {}  # of open and cancelled jobs
        # of the latest message about a job: the job, the event, and the job's states before and after
        self.latest_step: tuple[int, JobEvent, JobState, JobState] | None = None

    def unwelcome(self, greeting: Greeting) -> str:
        """See ``Book``; refused are schedulers, and other versions."""
        return IS_SCHEDULER if greeting.role == "scheduler" else m.other_version(greeting)

    def job_of(self, message: Message) -> int | None:
        return getattr(message, "job", None)

    def open_jobs(self) -> list[int]:
        """The jobs that have neither ended nor been cancelled, in the order of their starts."""
        return list(self._jobs)

    def job_state(self, job: int) -> JobState:
        """State of a job; ``ABSENT`` if it was never started or has ended."""
        return self._states.get(job, JobState.ABSENT)

    def open_job(self, job: int) -> OpenJob:
        """Return the data of an open job; LocalProtocolError if it is not open."""
        try:
            return self._jobs[job]
        except KeyError:
            raise LocalProtocolError(f"job {job} is not open") from None

    def judge(self, message: Message) -> bool:
        """See ``Book``; answers about a cancelled job are dropped."""
        key = self.job_of(message)
        if key is not None:
            return self._judge_job(message, key)
        if isinstance(message, m.Hello):
            self.hello = message
        elif isinstance(message, m.Welcome):
            if self.hello is None or message.version != self.hello.version:
                raise BrokenRule(f"welcome has version {message.version}; the hello had another")
        else:  # the bridge's last message
            self._jobs.clear()
            self._states.clear()
        return True

    def _judge_job(self, message: Any, key: int) -> bool:
        job, before = self._jobs.get(key), self.job_state(key)
        event = _event(message, job)
        after = _STEPS[before].get(event)
        if after is None:
            raise BrokenRule(f"{event!s} is not allowed while the job is {before!s}")
        accepted = before is not JobState.CANCELLED
        if accepted:
            if job and (rule := RULES.get(type(message))):
                rule(message, job)
            elif isinstance(message, m.SimulateJob):
                assert self.hello is not None  # the connection is ready
                self._jobs[key] = OpenJob.begin(message, self.hello)
            if after is JobState.ABSENT:
                del self._jobs[key], self._states[key]
            else:
                self._states[key] = after
            if after is JobState.CANCELLED:
                self._jobs.pop(key, None)
        self.latest_step = key, event, before, after
        return accepted


def _event(message: Any, job: OpenJob | None) -> JobEvent:
    """The event of a message about a job: some kinds are split by their content and by earlier messages."""
    if isinstance(message, m.SimulateJob):
        return JobEvent.START if message.recipe is not None else JobEvent.START_LENGTHS
    if isinstance(message, m.Lengths):
        given = len(message.length_gflop) // 8 + (job.lengths if job else 0)
        if not job or given != job.start.tasks:
            return JobEvent.LENGTHS
        return JobEvent.LENGTHS_BEFORE_EDGES if job.announced_edges else JobEvent.LAST_LENGTHS
    if isinstance(message, m.EdgeSlice):
        given = len(message.source) // 4 + (job.edges if job else 0)
        return JobEvent.LAST_EDGES if job and given == job.announced_edges else JobEvent.EDGES
    return JobEvent(name_of(message))
