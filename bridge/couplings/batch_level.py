"""What a batch level is for a coupling, which runs its jobs' applications: driven, asked what has started, given outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from bls.engine.status import BatchStatus
from traces.compiled import Array


class BatchLevel(Protocol):
    """The batch level of one simulation, seen from a coupling; jobs are named by their rows.

    It is driven so: :meth:`advance`; on ``STARTED`` answer for every row of :meth:`started` with :meth:`outcome` or
    :meth:`promise`; on ``DUE`` with the outcome of a job whose promise has come due; until ``DONE``.
    ``bls.simulator.BatchSimulator`` is one, with a policy of keys or scores, one in Python, or another program. The inline
    coupling calls its engine's kernels, and so takes no other; the couplings with processes use only what is here.
    """

    @property
    def now_ns(self) -> int:
        """The simulated instant."""

    @property
    def ended(self) -> int:
        """How many jobs have ended for good, or were withdrawn."""

    @property
    def rows(self) -> int:
        """How many rows there are: jobs, and later attempts of jobs that were cut."""

    @property
    def releases(self) -> bool:
        """Whether jobs release cores before their end."""

    @property
    def awaits_outcomes(self) -> bool:
        """Whether the outcome of a job counts from its start on, and not only at its end: a promise of it is not enough."""

    @property
    def waits_for_others(self) -> bool:
        """Whether :meth:`advance` may wait for another program, so that nothing else should wait for it."""

    def advance(self, max_ends: int) -> BatchStatus:
        """Run until something is needed from outside; returns ``DONE``, ``STARTED``, ``DUE`` or ``PAUSED``.

        Raises
        ------
        TwolevelError
            If it cannot go on; the message says who is to blame.
        """

    def break_off(self) -> None:
        """From another thread: have :meth:`advance` give up where it waits for another program."""

    def started(self) -> list[int]:
        """The rows that await an answer."""

    def origin(self, row: int) -> int:
        """The row of the workload that a row is an attempt at."""

    def start_ns(self, row: int) -> int:
        """When a row's job has started."""

    def stop_ns(self, row: int) -> int | None:
        """The instant at which a job that has started is cut at the latest; None if it is not."""

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The half-open intervals of cores that a row's job holds or held."""

    def promise(self, row: int, not_before_ns: int) -> bool:
        """Report that a running job ends at ``not_before_ns`` or later; False if that takes back what is known."""

    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool:
        """Report when a running job ends, and whether because it was cut; False if that cannot be."""

    @property
    def hints(self) -> bool:
        """Whether running jobs receive hints for which of their cores others wait."""

    @property
    def molds(self) -> bool:
        """Whether jobs may start with other numbers of cores than they ask for."""

    @property
    def resizes(self) -> bool:
        """Whether running jobs are given cores, or asked for some."""

    @property
    def evolves(self) -> bool:
        """Whether running jobs are given cores, or asked for some, as they request."""

    def width_range(self, row: int) -> tuple[int, int]:
        """Between which numbers of cores the width of a row's job may change; twice the same where it may not."""

    def wish(self, row: int, wished_ns: Array, cores: Array, until_ns: int) -> bool:
        """Report how many cores a job that has started requests, and when, before its outcome; False if that cannot be."""

    @property
    def directs(self) -> bool:
        """Whether running jobs are directed: the speeds of their cores are scaled, or they are ended."""

    @property
    def scales(self) -> bool:
        """Whether the speeds of their cores are scaled."""

    def scaled(self, row: int) -> list[tuple[int, int]]:
        """How the speeds of a running job's cores were last scaled: cores, -1 for all; and by what, parts per billion."""

    def hinted(self, row: int) -> bool:
        """Whether the latest commands of a running job have a hint for which of its cores others wait."""

    def resized(self, row: int) -> tuple[list[int], list[int]]:
        """The cores that a running job was last given, and those that it was asked for."""

    def holds(self, row: int, core_number: Array) -> Array:
        """Which of these cores a running job holds: bool."""

    def reached(self) -> list[int]:
        """The rows of the running jobs that receive commands from the latest pass, once."""

    def wanted(self, row: int, core_number: Array) -> Array:
        """For which of its cores others wait, by the latest hint to a running job: bool."""

    def take_back(self, row: int) -> bool:
        """Take back how a running job was to go on: it needs an outcome or a promise again."""

    def loss(self, row: int, end_ns: int, core: int) -> bool:
        """Report when a running job ends because its cores are lost, ``core`` last; False if that cannot be."""

    def release(self, row: int, core_number: Array, released_ns: Array, end_ns: int) -> bool:
        """Report when a job that has started releases cores, before its outcome; False if that cannot be."""

    def put_off_stop(self, row: int, core_number: Array, released_ns: Array) -> bool:
        """Whether a job that was cut would have released the failing hosts by then: its application is to be run again."""
