"""The conductor's end of the clock that slurmctld runs under: whose turn it is, and what the instant is.

``native/clock.c`` says how it works. All instants here are a timer's, in ns; the date is one plus what was skipped.
"""

import ctypes
import mmap
import time
from pathlib import Path
from typing import Any, NamedTuple

from traces.base.time import NS_PER_S

#: No instant: nobody waits for any.
NEVER = 2**63 - 1


class _Shared(ctypes.Structure):
    # As in native/clock.c.
    _fields_ = (
        ("turn", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("timer_ns", ctypes.c_int64),
        ("skipped_ns", ctypes.c_int64),
        ("until_ns", ctypes.c_int64),
        ("since_ns", ctypes.c_int64),
        ("rate", ctypes.c_double),
        ("wake_ns", ctypes.c_int64),
        ("wakes", ctypes.c_int64),
        ("turns", ctypes.c_int64),
        ("no_room", ctypes.c_int64),
    )


class Clock:
    """A clock in a new file, ``path``, that a program shares; the program has the first turn. It first shows
    ``date_ns`` and runs ``rate`` times as fast as real time; 0: it stands still until it is moved. ``library`` is the
    built ``native/clock.c``."""

    def __init__(self, path: Path, library: Path, date_ns: int, rate: float = 0.0) -> None:
        self.rate = rate
        self._library = ctypes.CDLL(str(library))
        for function in (self._library.twolevel_clock_pass, self._library.twolevel_clock_await):
            function.argtypes = (ctypes.c_void_p, ctypes.c_int64)
        self._library.twolevel_clock_size.restype = ctypes.c_size_t
        size = self._library.twolevel_clock_size()
        assert size == ctypes.sizeof(_Shared)
        path.write_bytes(bytes(size))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self._shared = _Shared.from_buffer(self._map)
        self._shared.turn = 1
        self._shared.timer_ns = self._shared.until_ns = date_ns
        self._shared.since_ns = time.monotonic_ns()
        self._shared.rate = rate

    @property
    def now_ns(self) -> int:
        """The instant."""
        shared = self._shared
        passed_ns = int((time.monotonic_ns() - shared.since_ns) * self.rate) if self.rate else 0
        return int(shared.timer_ns) + passed_ns

    @property
    def skipped_ns(self) -> int:
        """By how much the date is later than the instant."""
        return int(self._shared.skipped_ns)

    @property
    def wake_ns(self) -> int:
        """The next instant that a thread of the program waits for, or :data:`NEVER`; in the conductor's turn."""
        return int(self._shared.wake_ns)

    @property
    def loaded(self) -> bool:
        """Whether the program runs under it."""
        return bool(self._shared.threads)

    @property
    def counts(self) -> dict[str, int]:
        """How often a thread's wait for an instant has ended, and how often the conductor had its turn."""
        return {"wakes": int(self._shared.wakes), "turns": int(self._shared.turns)}

    @property
    def no_room(self) -> int:
        """Why the program could not write a file: an ``errno`` as of a full disk; 0: it could."""
        return int(self._shared.no_room)

    def move(self, instant_ns: int) -> None:
        """Move the clock on, in the conductor's turn; one that runs moves by itself."""
        if not self.rate:
            assert instant_ns >= self._shared.timer_ns
            self._shared.timer_ns = instant_ns

    def skip(self, span_ns: int) -> None:
        """Move the date on; who waits for an instant waits no shorter."""
        self._shared.skipped_ns += span_ns

    def pass_turn(self, until_ns: int, patience_s: float) -> bool:
        """Let the program run until it needs the conductor, or comes to an instant; whether it has come to that in time."""
        self._shared.until_ns = until_ns
        return self._called(self._library.twolevel_clock_pass, patience_s)

    def await_turn(self, patience_s: float) -> bool:
        """Wait for the conductor's turn once more; whether it has come in time."""
        return self._called(self._library.twolevel_clock_await, patience_s)

    def close(self) -> None:
        """Let go of the file."""
        del self._shared
        self._map.close()

    def _called(self, function: Any, patience_s: float) -> bool:
        return not function(ctypes.addressof(self._shared), int(patience_s * NS_PER_S))


class ClockPace(NamedTuple):
    """How the clock goes."""

    origin_ns: int  # the date of the workload's time 0
    settle_ns: int  # when nothing has happened for so long the date jumps; 0: it never does
    cleanup_ns: int = 0  # how long nodes take to clean up after a job
