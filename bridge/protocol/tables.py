"""In which order messages may be sent: two tables, of a connection and of a job on it; what is not in them is forbidden.

``PROTOCOL.md`` says what the messages mean; its tables and picture are made from the ones here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from bridge.protocol.job_session import JobSession
from bridge.protocol.messages import Edges, Lengths, Message, Start, name_of


class ConnectionState(StrEnum):
    """Where a connection is."""

    AWAIT_HELLO = "await hello"
    AWAIT_WELCOME = "await welcome"
    READY = "ready"
    CLOSING = "closing"
    CLOSED = "closed"
    ERROR = "error"


class ConnectionEvent(StrEnum):
    """What happens to a connection. Messages about one job are lumped together by their sender."""

    HELLO = "hello"
    WELCOME = "welcome"
    REFUSED = "refused"
    ORDER = "order"
    ANSWER = "answer"
    QUIT = "quit"
    END_OF_STREAM = "end of stream"


class JobState(StrEnum):
    """Where a job is on one connection."""

    ABSENT = "absent"
    LOADING = "loading"
    LINKING = "linking"
    RUNNING = "running"
    SUSPENDED = "suspended"
    REPORTING = "reporting"
    SENDING = "sending"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """What happens to a job: a message of this ``type``, or of one that is split by what it contains."""

    START = "start with a recipe"
    START_LENGTHS = "start with tasks"
    LENGTHS = "lengths, more to come"
    LENGTHS_BEFORE_EDGES = "lengths, the last before edges"
    LAST_LENGTHS = "lengths, the last"
    EDGES = "edges, more to come"
    LAST_EDGES = "edges, the last"
    PROMISE = "promise"
    WISH = "wish"
    SUSPENDED = "suspended"
    RESUME = "resume"
    RECORDS = "records"
    TRANSFERS = "transfers"
    OUTCOME = "outcome"
    FAILED = "failed"
    CANCEL = "cancel"


#: What may happen to a connection, and where it is then.
CONNECTION_TABLE: Final[dict[tuple[ConnectionState, ConnectionEvent], ConnectionState]] = {
    (ConnectionState.AWAIT_HELLO, ConnectionEvent.HELLO): ConnectionState.AWAIT_WELCOME,
    (ConnectionState.AWAIT_HELLO, ConnectionEvent.REFUSED): ConnectionState.CLOSED,
    (ConnectionState.AWAIT_HELLO, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
    (ConnectionState.AWAIT_WELCOME, ConnectionEvent.WELCOME): ConnectionState.READY,
    (ConnectionState.AWAIT_WELCOME, ConnectionEvent.REFUSED): ConnectionState.CLOSED,
    (ConnectionState.AWAIT_WELCOME, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
    (ConnectionState.READY, ConnectionEvent.ORDER): ConnectionState.READY,
    (ConnectionState.READY, ConnectionEvent.ANSWER): ConnectionState.READY,
    (ConnectionState.READY, ConnectionEvent.REFUSED): ConnectionState.CLOSED,
    (ConnectionState.READY, ConnectionEvent.QUIT): ConnectionState.CLOSING,
    (ConnectionState.READY, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
    # Sent before the quit was read; dropped.
    (ConnectionState.CLOSING, ConnectionEvent.ANSWER): ConnectionState.CLOSING,
    (ConnectionState.CLOSING, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
}

#: What may happen to a job on a ready connection, and where it is then.
JOB_TABLE: Final[dict[tuple[JobState, JobEvent], JobState]] = {
    (JobState.ABSENT, JobEvent.START): JobState.RUNNING,
    (JobState.ABSENT, JobEvent.START_LENGTHS): JobState.LOADING,
    # The cancel crossed the job's last answer.
    (JobState.ABSENT, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.LOADING, JobEvent.LENGTHS): JobState.LOADING,
    (JobState.LOADING, JobEvent.LENGTHS_BEFORE_EDGES): JobState.LINKING,
    (JobState.LOADING, JobEvent.LAST_LENGTHS): JobState.RUNNING,
    (JobState.LOADING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.LINKING, JobEvent.EDGES): JobState.LINKING,
    (JobState.LINKING, JobEvent.LAST_EDGES): JobState.RUNNING,
    (JobState.LINKING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.RUNNING, JobEvent.PROMISE): JobState.RUNNING,
    (JobState.RUNNING, JobEvent.WISH): JobState.RUNNING,
    (JobState.RUNNING, JobEvent.SUSPENDED): JobState.SUSPENDED,
    (JobState.RUNNING, JobEvent.RECORDS): JobState.REPORTING,
    (JobState.RUNNING, JobEvent.OUTCOME): JobState.ABSENT,
    (JobState.RUNNING, JobEvent.FAILED): JobState.ABSENT,
    (JobState.RUNNING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.SUSPENDED, JobEvent.RESUME): JobState.RUNNING,
    (JobState.SUSPENDED, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.REPORTING, JobEvent.RECORDS): JobState.REPORTING,
    (JobState.REPORTING, JobEvent.TRANSFERS): JobState.SENDING,
    (JobState.REPORTING, JobEvent.OUTCOME): JobState.ABSENT,
    (JobState.REPORTING, JobEvent.FAILED): JobState.ABSENT,
    (JobState.REPORTING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.SENDING, JobEvent.TRANSFERS): JobState.SENDING,
    (JobState.SENDING, JobEvent.OUTCOME): JobState.ABSENT,
    (JobState.SENDING, JobEvent.FAILED): JobState.ABSENT,
    (JobState.SENDING, JobEvent.CANCEL): JobState.CANCELLED,
    # Sent before the cancel was read; dropped.
    (JobState.CANCELLED, JobEvent.PROMISE): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.WISH): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.SUSPENDED): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.RECORDS): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.TRANSFERS): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.OUTCOME): JobState.CANCELLED,
    (JobState.CANCELLED, JobEvent.FAILED): JobState.CANCELLED,
}

#: Which connection event each message is.
CONNECTION_EVENTS: Final = {
    "hello": ConnectionEvent.HELLO,
    "welcome": ConnectionEvent.WELCOME,
    "refused": ConnectionEvent.REFUSED,
    "quit": ConnectionEvent.QUIT,
    **dict.fromkeys(("start", "lengths", "edges", "resume", "cancel"), ConnectionEvent.ORDER),
    **dict.fromkeys(
        ("promise", "wish", "suspended", "records", "transfers", "outcome", "failed"), ConnectionEvent.ANSWER
    ),
}


def job_event(message: Message, job: JobSession | None) -> JobEvent:
    """What a message about a job is: several kinds are split by what they contain, and what came before."""
    if isinstance(message, Start):
        return JobEvent.START if message.recipe is not None else JobEvent.START_LENGTHS
    if isinstance(message, Lengths):
        given = len(message.length_gflop) // 8 + (job.lengths if job else 0)
        if not job or given != job.start.tasks:
            return JobEvent.LENGTHS
        return JobEvent.LENGTHS_BEFORE_EDGES if job.told_edges else JobEvent.LAST_LENGTHS
    if isinstance(message, Edges):
        given = len(message.source) // 4 + (job.edges if job else 0)
        return JobEvent.LAST_EDGES if job and given == job.told_edges else JobEvent.EDGES
    return JobEvent(name_of(message))
