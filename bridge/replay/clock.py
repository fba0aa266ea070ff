"""The conductor's end of slurmctld's clock: whose turn it is, and the present instant.

``native/clock.c`` explains the mechanism. All instants here are those of a timer, in ns; the date is the timer plus all jumps.
"""

import ctypes
import mmap
import time
from pathlib import Path
from typing import Any, NamedTuple

from traces.base.time import NS_PER_S

NEVER = 2**63 - 1  # no instant: no thread waits for any


class _Shared(ctypes.Structure):
    # As in native/clock.c.
    _fields_ = (
        ("turn", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),  # 0 until the program uses this clock
        ("timer_ns", ctypes.c_int64),
        ("skipped_ns", ctypes.c_int64),  # difference of the date and the timer
        ("until_ns", ctypes.c_int64),
        ("since_ns", ctypes.c_int64),
        ("rate", ctypes.c_double),
        ("wake_ns", ctypes.c_int64),  # during the conductor's turn: the next instant for which a thread waits, or NEVER
        ("wakes", ctypes.c_int64),  # number of ended waits of threads
        ("turns", ctypes.c_int64),  # number of the conductor's turns
        ("no_room", ctypes.c_int64),  # error number of a file that could not be written, as on a full disk; 0: none
    )


class Clock:
    """A clock in a new file that a program shares, which has the first turn. It first shows ``date_ns`` and runs ``rate`` times
    as fast as real time; 0: it stands still until it is moved. ``library``: the compiled ``native/clock.c``."""

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
        self.shared = _Shared.from_buffer(self._map)
        self.shared.turn = 1
        self.shared.timer_ns = self.shared.until_ns = date_ns
        self.shared.since_ns = time.monotonic_ns()
        self.shared.rate = rate

    @property
    def now_ns(self) -> int:
        """The present instant."""
        shared = self.shared
        passed_ns = int((time.monotonic_ns() - shared.since_ns) * self.rate) if self.rate else 0
        return int(shared.timer_ns) + passed_ns

    def move(self, instant_ns: int) -> None:
        """Move the clock on, in the conductor's turn; a running clock moves by itself."""
        if not self.rate:
            assert instant_ns >= self.shared.timer_ns
            self.shared.timer_ns = instant_ns

    def skip(self, span_ns: int) -> None:
        """Move the date on; threads that wait for an instant do not wake earlier."""
        self.shared.skipped_ns += span_ns

    def pass_turn(self, until_ns: int, patience_s: float) -> bool:
        """Let the program run until it needs the conductor, or reaches an instant; return whether that happened in time."""
        self.shared.until_ns = until_ns
        return self._called(self._library.twolevel_clock_pass, patience_s)

    def await_turn(self, patience_s: float) -> bool:
        """Wait for the conductor's turn again; return whether it came in time."""
        return self._called(self._library.twolevel_clock_await, patience_s)

    def close(self) -> None:
        """Release the file."""
        del self.shared
        self._map.close()

    def _called(self, function: Any, patience_s: float) -> bool:
        return not function(ctypes.addressof(self.shared), int(patience_s * NS_PER_S))


class ClockPace(NamedTuple):
    """The pace of the clock."""

    origin_ns: int  # the date of the workload's time 0
    settle_ns: int  # idle time after which the date jumps; 0: never
    cleanup_ns: int = 0  # time that nodes take to clean up after a job
