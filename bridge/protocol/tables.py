"""The order of messages: a table for each kind of connection and for its jobs. All else is an error of the sender.

A table has for each state the senders, for each sender its messages, and for each message the next state.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeVar


class Role(StrEnum):
    """One end of a connection: the bridge, or one of the others."""

    BRIDGE = "bridge"
    APPLICATION = "application"
    HOST = "host"
    SCHEDULER = "scheduler"


class ConnectionState(StrEnum):
    """State of a connection; every kind of connection begins with the first state of its table."""

    AWAIT_HELLO = "await hello"
    AWAIT_WELCOME = "await welcome"
    AWAIT_MACHINE = "await machine"
    AWAIT_JOIN = "await join"
    AWAIT_ADMITTED = "await admitted"
    PREPARING = "preparing"
    READY = "ready"
    TELLING = "telling"
    DECIDING = "deciding"
    CLOSING = "closing"
    CLOSED = "closed"
    ERROR = "error"


class JobState(StrEnum):
    """State of a job on the connection of an application."""

    ABSENT = "absent"
    LOADING = "loading"
    LINKING = "linking"
    RUNNING = "running"
    SUSPENDED = "suspended"
    REPORTING = "reporting"
    SENDING = "sending"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """Event of a job: the ``type`` of a message, or one of several kinds of a message that is split by its content."""

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


class ScheduledJob(StrEnum):
    """State of a job on the connection of a scheduler."""

    ABSENT = "ABSENT"
    HELD = "HELD"
    WAITING = "WAITING"
    CHOSEN = "CHOSEN"
    REJECTED = "REJECTED"
    RUNNING = "RUNNING"


_State = TypeVar("_State", bound=StrEnum)
Table = Mapping[_State, Mapping[str, Mapping[str, _State]]]
_S, _J, _E, _W = ConnectionState, JobState, JobEvent, ScheduledJob
_BRIDGE, _APPLICATION, _HOST, _SCHEDULER = Role

EITHER, END = "either", "end of stream"  # the end of the stream, which either side may cause
ORDER, ANSWER = "order", "answer"  # messages about one job, by their common entry in a table
LUMPED: Final = {
    ORDER: ("start", "lengths", "edges", "resume", "cancel"),
    ANSWER: ("promise", "wish", "suspended", "records", "transfers", "outcome", "failed"),
}

#: How a connection may be over: the bridge refuses the other side, or the stream ends.
_REFUSED, _ENDS = {"refused": _S.CLOSED}, {END: _S.CLOSED}

#: The connection of an application.
APPLICATION_TABLE: Final[Table[ConnectionState]] = {
    _S.AWAIT_HELLO: {_APPLICATION: {"hello": _S.AWAIT_WELCOME}, _BRIDGE: _REFUSED, EITHER: _ENDS},
    _S.AWAIT_WELCOME: {_BRIDGE: {"welcome": _S.READY, **_REFUSED}, EITHER: _ENDS},
    _S.READY: {
        _BRIDGE: {ORDER: _S.READY, **_REFUSED, "quit": _S.CLOSING},
        _APPLICATION: {ANSWER: _S.READY},
        EITHER: _ENDS,  # an error while a job is open
    },
    # Messages sent before the quit was read are dropped.
    _S.CLOSING: {_APPLICATION: {ANSWER: _S.CLOSING}, EITHER: _ENDS},
}

_CANCEL: Final[dict[str, JobState]] = {_E.CANCEL: _J.CANCELLED}
_OVER: Final[dict[str, JobState]] = {_E.OUTCOME: _J.ABSENT, _E.FAILED: _J.ABSENT}

#: A job on the connection of an application that is ready. A cancel of an absent one crossed the last answer about it.
JOB_TABLE: Final[Table[JobState]] = {
    _J.ABSENT: {_BRIDGE: {_E.START: _J.RUNNING, _E.START_LENGTHS: _J.LOADING, **_CANCEL}},
    _J.LOADING: {
        _BRIDGE: {_E.LENGTHS: _J.LOADING, _E.LENGTHS_BEFORE_EDGES: _J.LINKING, _E.LAST_LENGTHS: _J.RUNNING, **_CANCEL}
    },
    _J.LINKING: {_BRIDGE: {_E.EDGES: _J.LINKING, _E.LAST_EDGES: _J.RUNNING, **_CANCEL}},
    _J.RUNNING: {
        _APPLICATION: {
            _E.PROMISE: _J.RUNNING,
            _E.WISH: _J.RUNNING,
            _E.SUSPENDED: _J.SUSPENDED,
            _E.RECORDS: _J.REPORTING,
            **_OVER,
        },
        _BRIDGE: _CANCEL,
    },
    _J.SUSPENDED: {_BRIDGE: {_E.RESUME: _J.RUNNING, **_CANCEL}},
    _J.REPORTING: {_APPLICATION: {_E.RECORDS: _J.REPORTING, _E.TRANSFERS: _J.SENDING, **_OVER}, _BRIDGE: _CANCEL},
    _J.SENDING: {_APPLICATION: {_E.TRANSFERS: _J.SENDING, **_OVER}, _BRIDGE: _CANCEL},
    # Messages sent before the cancel was read are dropped.
    _J.CANCELLED: {_APPLICATION: {_E(answer): _J.CANCELLED for answer in LUMPED[ANSWER]}},
}

#: The connection of a host; each of its application processes has its own connection.
HOST_TABLE: Final[Table[ConnectionState]] = {
    _S.AWAIT_JOIN: {_HOST: {"join": _S.AWAIT_ADMITTED}, _BRIDGE: _REFUSED, EITHER: _ENDS},
    _S.AWAIT_ADMITTED: {_BRIDGE: {"admitted": _S.PREPARING, **_REFUSED}, EITHER: _ENDS},
    _S.PREPARING: {
        _HOST: {"ready": _S.READY, "declined": _S.CLOSED},
        _BRIDGE: {"over": _S.CLOSING, **_REFUSED},
        EITHER: _ENDS,
    },
    _S.READY: {
        _BRIDGE: {"launch": _S.READY, "kill": _S.READY, "over": _S.CLOSING, **_REFUSED},
        _HOST: {"gone": _S.READY, "unborn": _S.READY, "declined": _S.CLOSED},
        EITHER: _ENDS,
    },
    # Messages under way at the end of the run are dropped.
    _S.CLOSING: {_HOST: dict.fromkeys(("ready", "declined", "gone", "unborn"), _S.CLOSING), EITHER: _ENDS},
}

_NEWS: Final = ("submitted", "eligible", "started", "expected", "released", "given", "ended", "host")

#: The connection of a scheduler. It may not end before the run does.
SCHEDULER_TABLE: Final[Table[ConnectionState]] = {
    _S.AWAIT_HELLO: {_SCHEDULER: {"hello": _S.AWAIT_WELCOME}, _BRIDGE: _REFUSED, EITHER: _ENDS},
    _S.AWAIT_WELCOME: {_BRIDGE: {"welcome": _S.AWAIT_MACHINE, **_REFUSED}},
    _S.AWAIT_MACHINE: {_BRIDGE: {"machine": _S.TELLING, **_REFUSED, "quit": _S.CLOSING}},
    _S.TELLING: {
        _BRIDGE: {**dict.fromkeys(_NEWS, _S.TELLING), "decide": _S.DECIDING, **_REFUSED, "quit": _S.CLOSING},
    },
    _S.DECIDING: {
        _SCHEDULER: {"decided": _S.TELLING, "failed": _S.CLOSED},
        _BRIDGE: {**_REFUSED, "quit": _S.CLOSING},
    },
    # Messages under way when the run was given up are dropped.
    _S.CLOSING: {_SCHEDULER: {"decided": _S.CLOSING, "failed": _S.CLOSING}, EITHER: _ENDS},
}

#: Events of jobs that messages of schedulers' connections are split into.
SUBMITTED_HELD, SUBMITTED_WAITING = "submitted, held", "submitted, waiting"
DECIDED_START, DECIDED_REJECT = "decided: start", "decided: reject"

#: A job on the connection of a scheduler; a job that has left is absent, and its key is not used again.
SCHEDULED_JOB_TABLE: Final[Table[ScheduledJob]] = {
    _W.ABSENT: {_BRIDGE: {SUBMITTED_HELD: _W.HELD, SUBMITTED_WAITING: _W.WAITING}},
    _W.HELD: {_BRIDGE: {"eligible": _W.WAITING, "ended": _W.ABSENT}},
    _W.WAITING: {
        _SCHEDULER: {DECIDED_START: _W.CHOSEN, DECIDED_REJECT: _W.REJECTED},
        _BRIDGE: {"started": _W.RUNNING, "ended": _W.ABSENT},  # started: running since the beginning of the run
    },
    _W.CHOSEN: {_BRIDGE: {"started": _W.RUNNING}},
    _W.REJECTED: {_BRIDGE: {"ended": _W.ABSENT}},
    _W.RUNNING: {_BRIDGE: {"expected": _W.RUNNING, "released": _W.RUNNING, "given": _W.RUNNING, "ended": _W.ABSENT}},
}


def rows(table: Table[_State]) -> Iterator[tuple[_State, str, str, _State]]:
    """Yield the rows of a table: state, event, sender, next state."""
    for before, senders in table.items():
        for sender, events in senders.items():
            for event, after in events.items():
                yield before, event, sender, after


def steps(table: Table[_State]) -> dict[_State, dict[str, _State]]:
    """Return the next state by state (the table's order) and event, or message if several events are one message."""
    found: dict[_State, dict[str, _State]] = {state: {} for state in (*table, *type(next(iter(table))))}
    for before, event, _, after in rows(table):
        found[before].update(dict.fromkeys(LUMPED.get(event, (event,)), after))
    return found


def senders(table: Table[_State]) -> dict[str, Role]:
    """Return the sender of each message."""
    sent = [(event, Role(sender)) for _, event, sender, _ in rows(table) if sender != EITHER]
    return {message: sender for event, sender in sent for message in LUMPED.get(event, (event,))}
