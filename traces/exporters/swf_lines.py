"""Lines of the Standard Workload Format from columns: one compiled loop over the digits.

A line has the 18 fields of the format, then any extra ones, separated by one space. Times are seconds with exactly as many
decimals as they need, so that a reader gets the same nanoseconds back.

Source: D. Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive; S. Chapin et al.,
doi:10.1007/3-540-47954-6_4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from traces.base.errors import escaped
from traces.compiled import Array, compiled
from traces.kernels.signatures import Chars, Ints, Ints2

#: The fields of a line, in order; names that end in ``_ns`` are times, written in seconds.
FIELDS = (
    *("job_id", "submit_ns", "wait_ns", "run_ns", "allocated", "cpu_ns", "used_kb", "requested", "estimate_ns"),
    *("memory_kb", "status", "user", "group", "application", "queue", "partition", "preceding", "think_ns"),
)

#: The status (field 11) by final state of a job in ``traces.ledger.STATES``: 0 failed, 1 completed, 5 cancelled or rejected.
STATUS: Mapping[str, int] = {"completed": 1, "killed": 0, "cancelled": 5, "failed": 0, "requeued": 0, "rejected": 5}

_BLOCK = 1 << 15  #: lines per block, which is held in memory besides the columns

# Sign, 19 digits, a point and a space.
_MOST_BYTES = 22


def job_comments(ids: Mapping[int, str], numbers: Iterable[int]) -> Iterator[str]:
    """Return a comment ``; Job: NUMBER NAME`` for each of these jobs that has a name, as the format names queues.

    Names are written in one line (:func:`traces.base.errors.escaped`).
    """
    return (f"; Job: {number} {escaped(ids[number])}" for number in numbers if ids.get(number))


def swf_lines(columns: Mapping[str, Array], extras: Sequence[Array] = ()) -> Iterator[bytes]:
    """Yield the lines of all jobs, in blocks of whole lines, each with its LF.

    - ``columns``: mapping of str to ndarray of int64, shape (n,), by the names of :data:`FIELDS`; a missing column is -1 in
      every line, the format's value for unknown. A negative time is unknown.
    - ``extras``: sequence of ndarray of int64, shape (n,), further columns, the fields from 19 on.
    """
    given = [columns.get(name) for name in FIELDS] + list(extras)
    n = len(columns["job_id"])
    seconds = np.array([name.endswith("_ns") for name in FIELDS] + [False] * len(extras), np.int64)
    rows = min(n, _BLOCK)
    values = np.empty((len(given), rows), np.int64)
    text = np.empty(rows * len(given) * _MOST_BYTES, np.int8)
    for first in range(0, n, _BLOCK):
        stop = min(first + _BLOCK, n)
        for field, column in enumerate(given):
            values[field, : stop - first] = -1 if column is None else column[first:stop]
        used = _write(values, stop - first, seconds, text)
        yield text[:used].tobytes()


@compiled(makes_arrays=True)
def _write(values: Ints2, n: int, seconds: Ints, text: Chars) -> int:
    """Write ``n`` lines into ``text`` (int8) from values (int64, shape (fields, at least n)); return the bytes used.

    Fields with ``seconds`` are times in ns, written in seconds.
    """
    at = 0
    digits = np.empty(20, np.int8)
    for row in range(n):
        for field in range(len(values)):
            value = values[field, row]
            if field > 0:
                text[at] = 32
                at += 1
            decimals = 0
            if seconds[field] == 1:
                if value < 0:
                    value = -1
                else:
                    decimals = 9
                    while decimals > 0 and value % 10 == 0:
                        value //= 10
                        decimals -= 1
            count = 0
            if value < 0:
                text[at] = 45  # -
                at += 1
                digits[0] = 48 - value % -10  # the lowest int64 cannot be negated
                value //= -10
                count = 1
            while value > 0 or count <= decimals:
                digits[count] = 48 + value % 10
                value //= 10
                count += 1
            for k in range(count - 1, -1, -1):
                text[at] = digits[k]
                at += 1
                if k == decimals and k > 0:
                    text[at] = 46  # .
                    at += 1
        text[at] = 10
        at += 1
    return at
