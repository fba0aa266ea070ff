"""The invariants of a session of the protocol, and of the jobs on its connection."""

from typing import Any

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.open_job import OpenJob
from bridge.protocol.session import Session
from bridge.protocol.tables import ConnectionState, JobState


def check_session(session: Session[Any]) -> None:
    """Raise AssertionError if an invariant is violated."""
    assert (session._failure is not None) == (session.state is ConnectionState.ERROR)
    assert session.state in (ConnectionState.READY, ConnectionState.ERROR) or not session.book.open_jobs()
    assert session._frames.waiting <= session._frames.capacity
    if isinstance(session.book, ApplicationBook):
        _check_book(session.book)


def _check_book(book: ApplicationBook) -> None:
    gone = {JobState.ABSENT, JobState.CANCELLED}
    assert book._jobs.keys() == {job for job, state in book._states.items() if state not in gone}
    assert JobState.ABSENT not in book._states.values()
    for key, job in book._jobs.items():
        assert job.start.job == key
        _check_job(job, book._states[key])


def _check_job(job: OpenJob, state: JobState) -> None:
    assert job.start.start_ns <= job.now_ns <= job.promised_ns
    assert 0 <= job.lengths <= (job.start.tasks or 0)
    loading = job.start.recipe is None and job.lengths != job.start.tasks
    assert (state is JobState.LOADING) == loading
    assert 0 <= job.edges <= job.announced_edges
    assert (state in (JobState.LOADING, JobState.LINKING)) == (job.edges != job.announced_edges or loading)
    assert (state in (JobState.REPORTING, JobState.SENDING)) == (job.records > 0)
    assert (state is JobState.SENDING) == (job.transfers > 0)
